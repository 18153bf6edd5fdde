#include "kinds/job_rewrite.h"

#include "base/json.h"
#include "kinds/job_shape.h"
#include "kinds/types.h"
#include "kube/patch.h"

static void set_copy(struct cJSON *to, const struct cJSON *from, const char *key)
{
	const struct cJSON *value = json_get(from, key);

	if (value)
		json_set(to, key, json_dup(value));
	else
		json_remove(to, key);
}

/* The member's own labels, by which a Job finds its pods. */
static void keep_selected(struct cJSON *labels, const struct cJSON *was)
{
	static const char *const own[] = {"controller-uid", "batch.kubernetes.io/controller-uid",
					  "job-name", "batch.kubernetes.io/job-name"};

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (json_get(was, own[i]) && !json_get(labels, own[i]))
			set_copy(labels, was, own[i]);
}

static int rewrite_template(uint16_t type, const struct job_template *now,
			    const struct job_template *want, struct err *reterr)
{
	struct cJSON *meta = json_ensure_object(now->node, "metadata");
	struct cJSON *spec = json_ensure_object(now->node, "spec");
	const struct cJSON *want_meta = json_get(want->node, "metadata");
	const struct cJSON *want_spec = json_get(want->node, "spec");

	if (!meta || !spec)
		return err_set_field(reterr, ERR_INVALID, now->path, "not a pod template");
	auto_json *was = json_take(meta, "labels");
	set_copy(meta, want_meta, "labels");
	if (type == TYPE_JOB)
		keep_selected(json_ensure_object(meta, "labels"), was);
	set_copy(meta, want_meta, "annotations");
	set_copy(spec, want_spec, "nodeSelector");
	set_copy(spec, want_spec, "tolerations");
	set_copy(spec, want_spec, "schedulingGates");
	return 0;
}

static int rewrite_templates(const struct job_shape *s, struct cJSON *now, struct cJSON *want,
			     struct err *reterr)
{
	auto_arena mem = ARENA_INIT;
	struct job_templates there = {0}, wanted = {0};

	s->templates(now, &mem, &there);
	s->templates(want, &mem, &wanted);
	if (there.n != wanted.n)
		return err_set(reterr, ERR_INVALID, "the copy has other pod templates");
	for (size_t i = 0; i < there.n; i++) {
		if (!there.items[i].node || !wanted.items[i].node)
			continue;
		int r = rewrite_template(s->type, &there.items[i], &wanted.items[i], reterr);
		if (r < 0)
			return r;
	}
	return 0;
}

static void merge_pairs(struct cJSON *now, struct cJSON *want, const char *key)
{
	struct cJSON *to = json_ensure_object(json_get(now, "metadata"), key);

	json_foreach (json_path(want, "metadata", key, NULL), p)
		json_set(to, json_key(p), json_dup(p));
}

static bool same_spec(const struct cJSON *a, const struct cJSON *b)
{
	const struct cJSON *x =
	    json_path(a, "metadata", "annotations", COPY_ANNOTATION_SPEC_HASH, NULL);
	const struct cJSON *y =
	    json_path(b, "metadata", "annotations", COPY_ANNOTATION_SPEC_HASH, NULL);

	return x && y && json_equal(x, y);
}

int job_rewrite(const struct kind *k, const struct cJSON *present, struct cJSON *job,
		const struct job_copy_options *o, struct buf *out, struct err *reterr)
{
	const struct job_shape *s = job_shape_of(k->type);
	auto_json *want = NULL;
	auto_json *now = json_dup(present);

	int r = job_copy_tree(k, job, o, &want, reterr);
	if (r < 0)
		return r;
	if (!same_spec(now, want))
		return err_set(reterr, ERR_INVALID, "the job was edited since the copy was made");
	merge_pairs(now, want, "labels");
	merge_pairs(now, want, "annotations");
	r = rewrite_templates(s, now, want, reterr);
	if (r < 0)
		return r;
	if (k->type == TYPE_JOB) {
		set_copy(json_get(now, "spec"), json_get(want, "spec"), "parallelism");
		set_copy(json_get(now, "spec"), json_get(want, "spec"), "completions");
	}
	auto_json *patch = patch_merge_diff(present, now);
	struct cJSON *meta = json_ensure_object(patch, "metadata");
	set_copy(meta, json_get(present, "metadata"), "uid");
	set_copy(meta, json_get(present, "metadata"), "resourceVersion");
	json_print(patch, out);
	return buf_ok(out) ? 0 : err_set(reterr, ERR_TOO_LARGE, "the patch is too large");
}
