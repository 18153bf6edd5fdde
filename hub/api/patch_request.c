/* PATCH: the stored object as a tree, patched, then the way of an update. */
#include "api/apply.h"
#include "api/decode.h"
#include "api/option_errors.h"
#include "api/update.h"
#include "api/write.h"
#include "base/json.h"
#include "kube/patch.h"

static int choose_type(const struct call *c, enum patch_type *ret, struct err *reterr)
{
	bool strategic = c->kind->strategic;
	int r = patch_type_from_media(c->request->content_type, ret);
	if (!r && (*ret != PATCH_STRATEGIC || strategic))
		return 0;
	return err_set(reterr, ERR_UNSUPPORTED_MEDIA,
		       "the body of the request was in an unknown format - accepted media types "
		       "include: application/json-patch+json, application/merge-patch+json%s, "
		       "application/apply-patch+yaml",
		       strategic ? ", application/strategic-merge-patch+json" : "");
}

/* Whether the patch insists on a version: then a conflict is the client's to know. */
static bool names_version(enum patch_type type, const struct cJSON *patch)
{
	if (type != PATCH_JSON)
		return meta_is_conditional(patch);
	json_foreach (patch, op) {
		const char *path = json_str(op, "path");
		if (path && strcmp(path, "/metadata/resourceVersion") == 0)
			return true;
	}
	return false;
}

static int read_patch(struct call *c, enum patch_type *ret_type, struct cJSON **ret,
		      struct err *reterr)
{
	int r = choose_type(c, ret_type, reterr);
	if (!r) {
		r = decode_json(buf_span(&c->request->body), ret, &write_of(c)->duplicates, reterr);
		if (r)
			r = err_wrap(reterr, "couldn't read the patch");
	}
	return r;
}

static int patch(const struct call *c, enum patch_type type, const struct cJSON *old,
		 const struct cJSON *body, struct cJSON **ret, struct err *reterr)
{
	return update_lends(c) ? patch_apply_part(type, c->kind, old, body, "status", ret, reterr)
			       : patch_apply(type, c->kind, old, body, ret, reterr);
}

static void attempt(struct call *c)
{
	struct write *w = write_of(c);
	auto_json *old = NULL, *body = NULL, *object = NULL;
	auto_reader *reader = NULL;
	enum patch_type type = PATCH_MERGE;
	struct store_object o;
	struct err e = ERR_INIT;
	bool changed = false;
	int r = read_patch(c, &type, &body, &e);
	w->attempts++;
	if (!r) {
		w->conditional = names_version(type, body);
		r = write_read(c, c->info.name, &reader, &o, &e);
	}
	if (!r)
		r = write_tree(c, &o, &old, &e);
	if (!r)
		r = patch(c, type, old, body, &object, &e);
	if (!r)
		r = update_prepare(c, old, object, true, &changed, &e);
	if (r)
		write_fail(c, &e);
	else if (!changed)
		write_unchanged(c, &o);
	else
		update_submit(c, &o, object);
}

void call_patch(struct call *c)
{
	struct err e = ERR_INIT;
	if (negotiate_body(c->request->content_type) == BODY_APPLY_PATCH) {
		call_apply(c);
	} else if (call_param(c, "force").len) {
		option_refuse(c, "PatchOptions", FIELD_FORBIDDEN, "force", NULL,
			      "may not be specified for non-apply patch");
		(void)option_check(c, &e);
		call_fail(c, &e);
		call_finish(c);
	} else {
		write_begin(c, attempt);
	}
}
