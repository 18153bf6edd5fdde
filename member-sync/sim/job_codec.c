#include "member-sync/sim/job_codec.h"
#include "base/json.h"
#include "base/num.h"
#include "member-sync/sim/codec.h"

static char *annotation_of(const struct cJSON *meta, const char *key)
{
	return xstrdup(json_str(json_get(meta, "annotations"), key));
}

static int32_t label_number(const struct cJSON *meta, const char *key)
{
	const char *s = json_str(json_get(meta, "labels"), key);
	int64_t v;
	return s && num_parse_i64(span_of(s), 0, INT32_MAX, &v) == 0 ? (int32_t)v : 0;
}

static void read_meta(struct sim_job *j, const struct cJSON *o)
{
	const struct cJSON *meta = json_get(o, "metadata");
	free(j->job_uid);
	free(j->epoch);
	j->job_uid = annotation_of(meta, COPY_ANNOTATION_JOB_UID);
	j->epoch = annotation_of(meta, COPY_ANNOTATION_EPOCH);
	j->created = codec_time(meta, "creationTimestamp");
	j->index = label_number(meta, "jobset.sigs.k8s.io/job-index");
	j->attempt = label_number(meta, "jobset.sigs.k8s.io/restart-attempt");
	j->job_attempt = label_number(meta, "jobset.sigs.k8s.io/job-restart-attempt");
	const char *manager = json_str(json_get(o, "spec"), "managedBy");
	if (!manager)
		manager = json_str(json_path(o, "spec", "runPolicy", NULL), "managedBy");
	j->managed_elsewhere = manager && strstr(manager, "kueue") != NULL;
}

/* Appends the members of an object but the one named so. */
static void add_all_but(struct buf *out, struct span object, const char *key)
{
	struct span k, v;
	const char *sep = "{";
	for (size_t pos = 0; json_text_next(object, &pos, &k, &v);) {
		if (span_is(k, key))
			continue;
		buf_add_str(out, sep);
		buf_add_char(out, '"');
		buf_add_span(out, k);
		buf_add_str(out, "\":");
		buf_add_span(out, v);
		sep = ",";
	}
	buf_add_str(out, *sep == '{' ? "{}" : "}");
}

/* What a controller reads of an object: half of its text would make nodes for nothing. `skip`: of
 * the spec too. */
static int read_tree(const struct store_object *o, bool with_status, const char *skip,
		     struct cJSON **ret, struct err *reterr)
{
	const char *const parts[][2] = {
	    {"metadata", "managedFields"}, {"spec", skip}, {"status", NULL}};
	auto_buf text = BUF_INIT;
	struct span part;
	const char *sep = "{";
	for (size_t i = 0; i < ARRAY_LEN(parts) - !with_status; i++) {
		if (json_text_member(o->json, parts[i][0], &part) < 0)
			continue;
		buf_addf(&text, "%s\"%s\":", sep, parts[i][0]);
		if (parts[i][1] && json_text_type(part) == JSON_OBJECT)
			add_all_but(&text, part, parts[i][1]);
		else
			buf_add_span(&text, part);
		sep = ",";
	}
	buf_add_str(&text, *sep == '{' ? "{}" : "}");
	return json_parse(buf_span(&text), NULL, ret, reterr);
}

static uint64_t hash_text(struct span s)
{
	uint64_t h = s.len, w;
	for (; s.len >= sizeof(w); s = span_make(s.ptr + sizeof(w), s.len - sizeof(w))) {
		memcpy(&w, s.ptr, sizeof(w));
		h = (h ^ w) * 0x9fb21c651e98df25ULL;
		h ^= h >> 32;
	}
	w = 0;
	if (s.len)
		memcpy(&w, s.ptr, s.len);
	h = (h ^ w) * 0x9fb21c651e98df25ULL;
	return h ^ h >> 29;
}

/* Most that is changed of a job from outside is one word: its templates stay. True when they are
 * those that were read before. */
static bool has_same_templates(struct sim_job *j, const struct store_object *o, const char *member)
{
	struct span templates = SPAN_NONE;
	uint64_t before = j->templates;
	(void)json_text_path(o->json, &templates, "spec", member, NULL);
	j->templates = hash_text(templates);
	return templates.len && j->templates == before;
}

int job_codec_read(struct sim_job *j, const struct store_object *o, bool fresh, struct err *reterr)
{
	auto_json *tree = NULL;
	const char *member =
	    j->type == SIM_TRAINING ? training_codec_templates(j->kind->type) : NULL;
	bool same = member && has_same_templates(j, o, member) && !fresh;
	int rc = read_tree(o, fresh, same ? member : NULL, &tree, reterr);
	if (rc) {
		j->templates = 0;
		return rc;
	}
	read_meta(j, tree);
	switch (j->type) {
	case SIM_BATCH:
		batch_job_codec_read(j, tree, fresh);
		break;
	case SIM_JOB_SET:
		job_set_codec_read(j, tree, fresh);
		break;
	case SIM_TRAINING:
		training_codec_read(j, tree, fresh, same);
		break;
	case SIM_RAY:
		ray_job_codec_read(j, tree, fresh);
		break;
	case SIM_RAY_CLUSTER:
		ray_cluster_codec_read(j, tree, fresh);
		break;
	}
	return 0;
}

void job_codec_print_status(const struct sim_job *j, struct buf *out)
{
	switch (j->type) {
	case SIM_BATCH:
		batch_job_codec_print(j, out);
		break;
	case SIM_JOB_SET:
		job_set_codec_print(j, out);
		break;
	case SIM_TRAINING:
		training_codec_print(j, out);
		break;
	case SIM_RAY:
		ray_job_codec_print(j, out);
		break;
	case SIM_RAY_CLUSTER:
		ray_cluster_codec_print(j, out);
		break;
	}
}
