/* UPDATE: a whole object in place of the stored one. */
#include "api/update.h"

#include "api/decode.h"
#include "api/write.h"
#include "base/json.h"

bool update_lends(const struct call *c)
{
	const struct kind *k = c->kind;

	return span_is(c->info.subresource, "status") && write_stored_kind(c) == k && !k->convert &&
	       !k->default_object && !k->strategic && k->type < KIND_FIRST_USER_TYPE;
}

static int admit(struct call *c, const struct cJSON *old, struct cJSON *object, bool is_patch,
		 bool lends, struct err *reterr)
{
	struct write *w = write_of(c);
	struct meta_write meta = write_meta(c);
	int r;
	meta.is_patch = is_patch;
	meta.lends = lends;
	r = meta_prepare_update(old, object, &meta, &w->errors, reterr);
	return r ? write_refuse(c, object, old, r, reterr) : write_admit(c, object, old, reterr);
}

int update_admit(struct call *c, const struct cJSON *old, struct cJSON *object, bool is_patch,
		 struct err *reterr)
{
	return admit(c, old, object, is_patch, false, reterr);
}

int update_prepare(struct call *c, const struct cJSON *old, struct cJSON *object, bool is_patch,
		   bool *ret_changed, struct err *reterr)
{
	auto_json *sent = json_take(json_get(object, "metadata"), "managedFields");
	struct meta_write meta = write_meta(c);
	int r = admit(c, old, object, is_patch, update_lends(c), reterr);
	if (r)
		return r;
	write_record(c, old, object, sent);
	*ret_changed = meta_finish_update(old, object, &meta);
	return 0;
}

void update_submit(struct call *c, const struct store_object *o, struct cJSON *object)
{
	if (update_lends(c))
		write_submit_status(c, o, object);
	else
		write_submit(c, COMMAND_UPDATE, object, o->revision, PROPAGATE_DEFAULT);
}

static void attempt_update(struct call *c)
{
	struct write *w = write_of(c);
	auto_json *object = NULL, *old = NULL;
	auto_reader *reader = NULL;
	struct store_object o;
	struct err e = ERR_INIT;
	bool changed = false;
	int r = decode_object(c, &object, &w->duplicates, &e);
	w->attempts++;
	if (!r)
		r = decode_check_kind(c, object, &w->errors, &e);
	if (!r) {
		w->conditional = meta_is_conditional(object);
		r = write_read(c, c->info.name, &reader, &o, &e);
	}
	if (!r)
		r = write_tree(c, &o, &old, &e);
	if (!r)
		r = update_prepare(c, old, object, false, &changed, &e);
	if (r)
		write_fail(c, &e);
	else if (!changed)
		write_unchanged(c, &o);
	else
		update_submit(c, &o, object);
}

void call_update(struct call *c)
{
	write_begin(c, attempt_update);
}
