#include "kube/status_draft.h"

#include "base/json.h"
#include "kube/copy_info.h"

#include <errno.h>

static bool managers_of(struct span json, struct store_extent metadata, struct span *ret)
{
	return json_text_member(span_make(json.ptr + metadata.at, metadata.len), "managedFields",
				ret) == 0;
}

static int put_managers(struct object_draft *d, const struct cJSON *list, struct err *reterr)
{
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT);
	struct span old;

	json_print(list, &text);
	if (!managers_of(span_make(d->json, d->len), d->extents.metadata, &old))
		return -ENOENT;
	if (!buf_ok(&text) || d->len - old.len + text.len > STORE_MAX_OBJECT - STORE_REVISION_TEXT)
		return err_set(reterr, ERR_TOO_LARGE, "the object is larger than %zu bytes",
			       STORE_MAX_OBJECT);
	object_draft_replace(d, (size_t)(old.ptr - d->json), old.len, text.ptr);
	return 0;
}

int status_draft_make(const struct kind *k, const struct store_object *o,
		      const struct cJSON *object, struct object_draft *ret, struct err *reterr)
{
	const struct cJSON *list = json_path(object, "metadata", "managedFields", NULL);
	const struct cJSON *status = json_get(object, "status");
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT);
	struct object_draft d;
	struct span old;

	if (managers_of(o->json, o->extents.metadata, &old) != (list != NULL))
		return -ENOENT;
	if (status)
		json_print(status, &text);
	if (!buf_ok(&text))
		return err_set(reterr, ERR_TOO_LARGE, "the object is larger than %zu bytes",
			       STORE_MAX_OBJECT);
	bool finished = copy_phase_is_terminal(copy_info_phase(k->type, buf_span(&text)));
	int r = object_draft_splice_status(o, buf_span(&text), finished, &d, reterr);
	if (r < 0)
		return r;
	if (list)
		r = put_managers(&d, list, reterr);
	if (r < 0) {
		object_draft_done(&d);
		return r;
	}
	*ret = d;
	return 0;
}
