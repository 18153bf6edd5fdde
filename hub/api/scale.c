#include "api/scale.h"

#include "api/apply.h"
#include "api/decode.h"
#include "api/read_options.h"
#include "api/render.h"
#include "api/update.h"
#include "api/write.h"
#include "base/json.h"
#include "base/num.h"
#include "kube/patch.h"

#include <errno.h>

/* ".spec.replicas" in a tree; the last step is left to the caller when `ret_last` is not NULL. */
static struct cJSON *walk(struct cJSON *at, const char *path, char *ret_last, size_t size)
{
	struct span rest = span_of(path + 1);

	while (at && rest.ptr) {
		struct span step = span_split(&rest, '.');
		char name[256];
		(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(step));
		if (ret_last && !rest.ptr) {
			(void)snprintf(ret_last, size, "%s", name);
			return at;
		}
		at = ret_last ? json_ensure_object(at, name) : json_get(at, name);
	}
	return at;
}

static int64_t number_at(struct cJSON *object, const char *path)
{
	int64_t v = 0;
	struct cJSON *at = path[0] ? walk(object, path, NULL, 0) : NULL;

	return at && json_value_int64(at, &v) == 0 ? v : 0;
}

static struct cJSON *scale_of(const struct kind *k, struct cJSON *object)
{
	static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion",
					   "creationTimestamp"};
	const struct cJSON *from = json_get(object, "metadata");
	struct cJSON *scale = json_object(), *meta, *spec, *status;
	int64_t replicas = number_at(object, k->scale->spec_replicas);

	json_set_str(scale, "kind", "Scale");
	json_set_str(scale, "apiVersion", "autoscaling/v1");
	meta = json_ensure_object(scale, "metadata");
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		json_set_str(meta, kept[i], json_str(from, kept[i]));
	spec = json_ensure_object(scale, "spec");
	if (replicas) /* as the Go type leaves it out */
		json_set_int(spec, "replicas", replicas);
	status = json_ensure_object(scale, "status");
	json_set_int(status, "replicas", number_at(object, k->scale->status_replicas));
	if (k->scale->label_selector)
		json_set_str(status, "selector",
			     json_value_str(walk(object, k->scale->label_selector, NULL, 0)));
	return scale;
}

/* ---- what is answered ---- */

/* The columns of apiextensions' Scale (its table convertor). */
static const struct kind_column scale_columns[] = {
    {"Desired", "integer", "", ".spec.replicas", "Number of desired replicas", 0},
    {"Available", "integer", "", ".status.replicas", "Number of actual replicas", 0},
    {"Age", "date", "", ".metadata.creationTimestamp", "Time since the object was created", 0},
};

static const struct kind scale_kind = {
    .group = "autoscaling",
    .version = "v1",
    .kind = "Scale",
    .columns = scale_columns,
    .n_columns = ARRAY_LEN(scale_columns),
};

static void add_scale(const struct render *asked, const struct cJSON *scale, struct buf *out)
{
	const char *version = json_str(json_get(scale, "metadata"), "resourceVersion");
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT);
	struct render render = *asked;
	struct store_object o = {0};

	json_print(scale, &text);
	o.json = buf_span(&text);
	(void)!num_parse_u64(span_of(version ? version : ""), UINT64_MAX, &o.revision);
	render.kind = render.stored = &scale_kind;
	render.bindings = NULL;
	render_object(&render, &o, out);
}

/* The answer's object as its Scale. */
static void view(struct call *c)
{
	auto_json *object = NULL, *scale = NULL;
	struct render asked;

	if (json_parse(buf_span(&c->answer.body), NULL, &object, NULL) < 0 ||
	    read_options_render(c, &asked, NULL) < 0)
		return;
	scale = scale_of(c->kind, object);
	buf_clear(&c->answer.body);
	add_scale(&asked, scale, &c->answer.body);
}

/* ---- what is sent ---- */

/* What the object is, and the types of what is read of it; any object would do for the rest: it is
 * merged in parts. */
static int check_kind(const struct cJSON *sent, struct err *reterr)
{
	const char *kind = json_str(sent, "kind"), *version = json_str(sent, "apiVersion");
	const struct cJSON *replicas = json_path(sent, "spec", "replicas", NULL);
	int64_t n;

	if ((kind && kind[0] && strcmp(kind, "Scale") != 0) ||
	    (version && version[0] && strcmp(version, "autoscaling/v1") != 0))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "%.100s in version \"%.100s\" cannot be handled as a Scale of "
			       "autoscaling/v1",
			       kind ? kind : "", version ? version : "");
	if (replicas && !json_is(replicas, JSON_NULL) && json_value_int64(replicas, &n) < 0)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the body cannot be handled as a Scale of autoscaling/v1: "
			       "spec.replicas is not an integer");
	return 0;
}

/* The object that is meant is the path's, and the one that was read. */
static int check_identity(const struct call *c, const struct cJSON *scale, const struct cJSON *old,
			  struct err *reterr)
{
	const struct cJSON *meta = json_get(scale, "metadata");
	const char *name = json_str(meta, "name"), *uid = json_str(meta, "uid");
	const char *now = json_str(json_get(old, "metadata"), "uid");
	auto_buf words = BUF_INIT;

	if (!name || !name[0])
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the name of the object (%.*s based on URL) was undeterminable: "
			       "name must be provided",
			       SPAN_ARGS(c->info.name));
	if (!span_is(c->info.name, name))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the name of the object (%.253s) does not match the name on the URL "
			       "(%.*s)",
			       name, SPAN_ARGS(c->info.name));
	if (!uid || !uid[0] || !now || strcmp(uid, now) == 0)
		return 0;
	buf_addf(&words, "Precondition failed: UID in precondition: %.64s, UID in object meta: %s",
		 uid, now);
	return status_set_conflict(reterr, c->kind, name, words.ptr);
}

static int read_change(struct call *c, const struct cJSON *scale, struct cJSON **ret,
		       struct err *reterr)
{
	struct write *w = write_of(c);
	enum patch_type type;
	auto_json *patch = NULL;
	int r;

	if (c->request->method == HTTP_PUT) {
		r = decode_object(c, ret, &w->warnings, reterr);
		return r ? r : check_kind(*ret, reterr);
	}
	r = patch_type_from_media(c->request->content_type, &type);
	if (r || type == PATCH_STRATEGIC)
		return err_set(reterr, ERR_UNSUPPORTED_MEDIA,
			       "the body of the request was in an unknown format - accepted media "
			       "types include: application/json-patch+json, "
			       "application/merge-patch+json");
	r = json_parse(buf_span(&c->request->body), NULL, &patch, reterr);
	return r ? r : patch_apply(type, c->kind, scale, patch, ret, reterr);
}

static int check_replicas(struct call *c, const struct cJSON *given, int64_t *ret,
			  struct err *reterr)
{
	struct write *w = write_of(c);
	auto_buf shown = BUF_INIT;

	*ret = 0;
	if (!given || (json_value_int64(given, ret) == 0 && *ret >= 0 && *ret <= INT32_MAX))
		return 0;
	json_print(given, &shown);
	field_errors_add(&w->errors, FIELD_INVALID, "spec.replicas", shown.ptr, "%s",
			 "should be a non-negative integer");
	return status_set_invalid(reterr, c->kind, w->name, &w->errors);
}

/* The object with the replicas, and the version if one was named, of the changed Scale. */
static int write_back(struct call *c, struct cJSON *object, const struct cJSON *old_scale,
		      const struct cJSON *scale, struct err *reterr)
{
	struct write *w = write_of(c);
	const char *version = json_str(json_get(scale, "metadata"), "resourceVersion");
	const char *old_version = json_str(json_get(old_scale, "metadata"), "resourceVersion");
	struct cJSON *given = json_path(scale, "spec", "replicas", NULL), *at;
	char last[256];
	int64_t replicas = 0;

	int r = check_replicas(c, given, &replicas, reterr);
	if (r)
		return r;
	at = walk(object, c->kind->scale->spec_replicas, last, sizeof(last));
	if (!at)
		return err_set(reterr, ERR_INTERNAL, "the object has no place for replicas");
	json_set_int(at, last, replicas);
	if (version && version[0] &&
	    (!old_version || strcmp(version, old_version) != 0 || c->request->method == HTTP_PUT)) {
		w->conditional = true;
		json_set_str(json_get(object, "metadata"), "resourceVersion", version);
	}
	return 0;
}

static void attempt(struct call *c)
{
	struct write *w = write_of(c);
	auto_json *old = NULL, *object = NULL, *before = NULL, *after = NULL;
	auto_reader *reader = NULL;
	struct store_object o;
	struct err e = ERR_INIT;
	bool changed = false;
	int r = write_read(c, c->info.name, &reader, &o, &e);

	w->attempts++;
	w->view = view;
	w->through = "scale";
	if (!r)
		r = write_tree(c, &o, &old, &e);
	if (!r) {
		before = scale_of(c->kind, old);
		r = read_change(c, before, &after, &e);
	}
	if (!r)
		r = check_identity(c, after, before, &e);
	if (!r) {
		object = json_dup(old);
		json_remove(json_get(object, "metadata"), "resourceVersion");
		r = write_back(c, object, before, after, &e);
	}
	if (!r)
		r = update_prepare(c, old, object, true, &changed, &e);
	if (r)
		write_fail(c, &e);
	else if (!changed)
		write_unchanged(c, &o);
	else
		write_submit(c, COMMAND_UPDATE, object, o.revision, PROPAGATE_DEFAULT);
}

/* ---- apply ---- */

/* apimachinery's ScaleHandler: who owns the replicas of the Scale owns the field behind them, as
 * the object of the same manager through this door; the rest of a Scale is nobody's. */
static int configure(struct call *c, struct cJSON *live, struct cJSON **config, struct err *reterr)
{
	auto_json *before = scale_of(c->kind, live), *ours = json_object();
	const struct cJSON *meta = json_get(*config, "metadata");
	struct cJSON *given = json_path(*config, "spec", "replicas", NULL), *at;
	auto_buf text = BUF_INIT;
	char last[256];
	int64_t replicas;
	int r = apply_check_version(*config, "autoscaling", "v1", "Scale", reterr);

	if (!r)
		r = check_kind(*config, reterr);
	if (!r && json_get(meta, "managedFields"))
		r = err_set(reterr, ERR_BAD_REQUEST, "metadata.managedFields must be nil");
	if (!r)
		r = check_identity(c, *config, before, reterr);
	if (!r)
		r = check_replicas(c, given, &replicas, reterr);
	if (r)
		return r;
	if (given && !json_is(given, JSON_NULL)) {
		at = walk(ours, c->kind->scale->spec_replicas, last, sizeof(last));
		json_set_int(at, last, replicas);
	}
	if (json_str(meta, "resourceVersion"))
		json_set_str(json_ensure_object(ours, "metadata"), "resourceVersion",
			     json_str(meta, "resourceVersion"));
	/* Read again: what was made does not compare with what was parsed. */
	json_print(ours, &text);
	json_free(*config);
	*config = NULL;
	return json_parse(buf_span(&text), NULL, config, reterr);
}

/* Replicas that nobody says any more are none: the Go type knows no absence. */
static int settle(struct call *c, struct cJSON *live, struct cJSON *object, struct err *reterr)
{
	const char *path = c->kind->scale->spec_replicas;
	char last[256];
	struct cJSON *at;

	if (walk(object, path, NULL, 0))
		return 0;
	if (!walk(live, path, NULL, 0))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the spec replicas field \"%s\" cannot be empty", path);
	at = walk(object, path, last, sizeof(last));
	if (at)
		json_set_int(at, last, 0);
	return 0;
}

static void attempt_apply(struct call *c)
{
	static const struct apply_part scale = {"scale", configure, settle, view};
	apply_part(c, &scale);
}

/* ---- the door ---- */

static void read_scale(struct call *c)
{
	auto_json *object = NULL, *scale = NULL;
	auto_reader *reader = NULL;
	struct store_object o;
	struct render asked;
	struct err e = ERR_INIT;
	int r = read_options_render(c, &asked, &e);

	if (!r)
		r = write_read(c, c->info.name, &reader, &o, &e);
	if (!r)
		r = write_tree(c, &o, &object, &e);
	if (r) {
		call_fail(c, &e);
	} else {
		scale = scale_of(c->kind, object);
		call_ok(c, 200, "application/json");
		add_scale(&asked, scale, &c->answer.body);
	}
	call_to_loop(c, call_finish);
}

void call_scale(struct call *c)
{
	c->info.subresource = SPAN_NONE; /* what is written is the object itself */
	if (c->info.verb == API_GET) {
		call_to_worker(c, read_scale);
	} else if (c->info.verb == API_UPDATE || c->info.verb == API_PATCH) {
		bool applies = c->info.verb == API_PATCH &&
			       negotiate_body(c->request->content_type) == BODY_APPLY_PATCH;
		write_begin(c, applies ? attempt_apply : attempt);
	} else {
		call_refuse(c, ERR_METHOD_NOT_ALLOWED);
		call_finish(c);
	}
}
