#include "kinds/job_amend.h"

#include "base/json.h"
#include "base/map.h"
#include "kinds/job_keys.h"
#include "kinds/job_shape.h"
#include "kinds/types.h"

/* ---- paths ---- */

enum place { AT_ROOT, AT_METADATA, AT_LABELS, AT_ANNOTATIONS, AT_SPEC, AT_POLICY, BELOW };

struct walk {
	const struct job_shape *shape;
	struct buf *out;
};

static bool among(struct span key, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (span_is(key, names[i]))
			return true;
	return false;
}

/* Whether a copy has it from the job. */
static bool travels(const struct walk *w, enum place at, struct span key)
{
	static const char *const roots[] = {"metadata", "spec"};
	static const char *const meta[] = {"labels", "annotations"};
	static const char *const own_labels[] = {JOB_KEY_QUEUE, COPY_LABEL_HUB_UID};
	static const char *const own_annotations[] = {
	    JOB_KEY_QUEUE,	     JOB_KEY_MIN_PARALLELISM, JOB_KEY_LAST_APPLIED,
	    COPY_ANNOTATION_JOB_UID, COPY_ANNOTATION_EPOCH,   COPY_ANNOTATION_SPEC_HASH};

	switch (at) {
	case AT_ROOT:
		return among(key, roots, ARRAY_LEN(roots));
	case AT_METADATA:
		return among(key, meta, ARRAY_LEN(meta));
	case AT_LABELS:
		return !among(key, own_labels, ARRAY_LEN(own_labels));
	case AT_ANNOTATIONS:
		return !among(key, own_annotations, ARRAY_LEN(own_annotations));
	case AT_SPEC:
		if (w->shape->type == TYPE_RAY_JOB && span_is(key, "shutdownAfterJobFinishes"))
			return false;
		if (w->shape->policy)
			return true;
		__attribute__((fallthrough));
	case AT_POLICY:
		return !span_is(key, "suspend") &&
		       !(w->shape->hub_ttl && span_is(key, "ttlSecondsAfterFinished"));
	case BELOW:
	default:
		return true;
	}
}

static enum place below(const struct walk *w, enum place at, struct span key)
{
	if (at == AT_ROOT)
		return span_is(key, "spec") ? AT_SPEC : AT_METADATA;
	if (at == AT_METADATA)
		return span_is(key, "labels") ? AT_LABELS : AT_ANNOTATIONS;
	if (at == AT_SPEC && w->shape->policy && span_is(key, w->shape->policy))
		return AT_POLICY;
	return BELOW;
}

/* A copy always has these, so that one that comes or goes is told by what is in it. */
static struct span or_empty(enum place at, struct span value)
{
	return at != BELOW && json_text_type(value) != JSON_OBJECT ? SPAN("{}") : value;
}

static bool add_members(const struct walk *w, enum place at, struct span was, struct span is);

/* What stood at the key, what stands there: absent for nothing. True when a path was written,
 * behind `sep`. */
static bool add_path(const struct walk *w, enum place at, struct span key, struct span was,
		     struct span is, const char *sep)
{
	enum place down = below(w, at, key);
	size_t start = w->out->len;

	if (!travels(w, at, key) || (was.len && is.len && span_eq(was, is)))
		return false;
	was = or_empty(down, was);
	is = or_empty(down, is);
	buf_addf(w->out, "%s\"%.*s\":", sep, SPAN_ARGS(key));
	if (!was.len || !is.len || json_text_type(was) != JSON_OBJECT ||
	    json_text_type(is) != JSON_OBJECT) {
		buf_add_str(w->out, "null");
		return true;
	}
	if (add_members(w, down, was, is))
		return true;
	w->out->len = start;
	return false;
}

/* The members of two objects; true when any differs. */
static bool add_members(const struct walk *w, enum place at, struct span was, struct span is)
{
	struct map known = MAP_INIT;
	struct span key, value;
	auto_arena mem = ARENA_INIT;
	const char *sep = "";

	for (size_t pos = 0; json_text_next(is, &pos, &key, &value);) {
		struct span *kept = arena_new(&mem, struct span);
		*kept = value;
		map_put(&known, key, kept);
	}
	buf_add_char(w->out, '{');
	for (size_t pos = 0; json_text_next(was, &pos, &key, &value);) {
		const struct span *now = map_remove(&known, key);
		if (add_path(w, at, key, value, now ? *now : SPAN_NONE, sep))
			sep = ",";
	}
	for (size_t pos = 0; json_text_next(is, &pos, &key, &value);)
		if (map_has(&known, key) && add_path(w, at, key, SPAN_NONE, value, sep))
			sep = ",";
	buf_add_char(w->out, '}');
	map_done(&known);
	return *sep;
}

int job_edit_paths(const struct kind *k, struct span was, struct span is, struct buf *out,
		   struct err *reterr)
{
	struct walk w = {job_shape_of(k->type), out};
	size_t start = out->len;

	if (w.shape && !add_members(&w, AT_ROOT, was, is))
		out->len = start;
	return buf_ok(out) ? 0
			   : err_set(reterr, ERR_TOO_LARGE,
				     "the edit is too large for a job that was sent to a cluster");
}

/* ---- joining and telling ---- */

static void join(struct cJSON *to, const struct cJSON *from)
{
	json_foreach (from, f) {
		struct cJSON *t = json_get(to, json_key(f));
		if (!t)
			json_add(to, json_key(f), json_dup(f));
		else if (json_is(t, JSON_OBJECT) && json_is(f, JSON_OBJECT))
			join(t, f);
		else
			json_set(to, json_key(f), json_null());
	}
}

int job_edit_join(struct span a, struct span b, struct buf *out, struct err *reterr)
{
	auto_json *to = NULL;
	auto_json *from = NULL;

	if (json_parse(a, NULL, &to, reterr) < 0 || json_parse(b, NULL, &from, reterr) < 0)
		return err_set(reterr, ERR_INTERNAL, "edits of a job cannot be read");
	join(to, from);
	json_print(to, out);
	return buf_ok(out) ? 0
			   : err_set(reterr, ERR_TOO_LARGE,
				     "too much of a job that was sent to a cluster is edited");
}

void job_edit_part(struct span paths, const char *member, bool others, struct buf *out)
{
	struct span key, value;
	const char *sep = "{";

	for (size_t pos = 0; json_text_next(paths, &pos, &key, &value);) {
		if (span_is(key, member) == others)
			continue;
		buf_addf(out, "%s\"%.*s\":%.*s", sep, SPAN_ARGS(key), SPAN_ARGS(value));
		sep = ",";
	}
	if (*sep == ',')
		buf_add_char(out, '}');
}

static void add_words(const struct cJSON *paths, const char *prefix, struct buf *out)
{
	json_foreach (paths, p) {
		char path[512];
		(void)snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "",
			       json_key(p));
		if (json_is(p, JSON_OBJECT))
			add_words(p, path, out);
		else
			buf_addf(out, "%s%s", out->len ? ", " : "", path);
	}
}

void job_edit_words(const struct cJSON *paths, struct buf *out)
{
	add_words(paths, "", out);
}

/* ---- the patch ---- */

static const struct cJSON *value_of(const struct cJSON *object, const char *key)
{
	const struct cJSON *v = json_get(object, key);

	return json_is(v, JSON_NULL) ? NULL : v;
}

static void take_values(const struct cJSON *paths, const struct cJSON *present,
			const struct cJSON *want, struct cJSON *patch)
{
	json_foreach (paths, p) {
		const char *key = json_key(p);
		const struct cJSON *is = value_of(present, key), *to = value_of(want, key);
		if (is && to ? json_equal(is, to) : is == to)
			continue;
		if (!to) {
			json_set(patch, key, json_null());
		} else if (json_is(p, JSON_OBJECT) && json_is(is, JSON_OBJECT) &&
			   json_is(to, JSON_OBJECT)) {
			struct cJSON *part = json_object();
			take_values(p, is, to, part);
			json_set(patch, key, part);
		} else {
			json_set(patch, key, json_dup(to));
		}
	}
}

int job_amend(const struct kind *k, const struct cJSON *present, struct cJSON *job,
	      const struct cJSON *paths, const struct job_copy_options *o, struct buf *out,
	      struct err *reterr)
{
	static const char *const demanded[] = {"uid", "resourceVersion"};
	auto_json *want = NULL;
	auto_json *patch = json_object();

	int r = job_copy_tree(k, job, o, &want, reterr);
	if (r < 0)
		return r;
	take_values(paths, present, want, patch);
	struct cJSON *meta = json_ensure_object(patch, "metadata");
	const struct cJSON *hash =
	    json_path(want, "metadata", "annotations", COPY_ANNOTATION_SPEC_HASH, NULL);
	if (json_get(paths, "spec"))
		json_set(json_ensure_object(meta, "annotations"), COPY_ANNOTATION_SPEC_HASH,
			 json_dup(hash));
	for (size_t i = 0; i < ARRAY_LEN(demanded); i++) {
		const struct cJSON *v = json_path(present, "metadata", demanded[i], NULL);
		if (v)
			json_set(meta, demanded[i], json_dup(v));
	}
	json_print(patch, out);
	return buf_ok(out) ? 0 : err_set(reterr, ERR_TOO_LARGE, "the patch is too large");
}
