/* CREATE: on a worker, from body to command. */
#include "api/decode.h"
#include "api/write.h"
#include "base/json.h"

static int prepare_create(struct call *c, struct cJSON *object, struct err *reterr)
{
	struct write *w = write_of(c);
	struct meta_write meta = write_meta(c);
	auto_json *sent = json_take(json_get(object, "metadata"), "managedFields");
	const char *name = json_value_str(json_path(object, "metadata", "name", NULL));
	int r;
	w->generated = !name || !name[0];
	if (!w->generated)
		snprintf(w->name, sizeof(w->name), "%s", name);
	meta.name = SPAN_NONE;
	r = meta_prepare_create(object, &meta, &w->errors, reterr);
	name = json_value_str(json_path(object, "metadata", "name", NULL));
	snprintf(w->name, sizeof(w->name), "%s", name ? name : "");
	if (r)
		return write_refuse(c, object, NULL, r, reterr);
	r = write_admit(c, object, NULL, reterr);
	if (!r)
		write_record(c, NULL, object, sent);
	return r;
}

static void attempt_create(struct call *c)
{
	struct write *w = write_of(c);
	auto_json *object = NULL;
	struct err e = ERR_INIT;
	int r = decode_object(c, &object, &w->duplicates, &e);
	w->attempts++;
	w->code = 201;
	if (!r)
		r = decode_check_kind(c, object, &w->errors, &e);
	if (!r)
		r = prepare_create(c, object, &e);
	if (r)
		write_fail(c, &e);
	else
		write_submit(c, COMMAND_CREATE, object, 0, PROPAGATE_DEFAULT);
}

void call_create(struct call *c)
{
	write_begin(c, attempt_create);
}
