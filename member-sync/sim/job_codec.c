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
	const char *manager = json_str(json_get(o, "spec"), "managedBy");
	if (!manager)
		manager = json_str(json_path(o, "spec", "runPolicy", NULL), "managedBy");
	j->managed_elsewhere = manager && strstr(manager, "kueue") != NULL;
}

int job_codec_read(struct sim_job *j, const struct store_object *o, bool fresh, struct err *reterr)
{
	auto_json *tree = NULL;
	int rc = object_tree(o, &tree, reterr);
	if (rc)
		return rc;
	read_meta(j, tree);
	switch (j->type) {
	case SIM_BATCH:
		batch_job_codec_read(j, tree, fresh);
		break;
	case SIM_JOB_SET:
		job_set_codec_read(j, tree, fresh);
		break;
	case SIM_TRAINING:
		training_codec_read(j, tree, fresh);
		break;
	case SIM_RAY:
		ray_job_codec_read(j, tree, fresh);
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
	}
}
