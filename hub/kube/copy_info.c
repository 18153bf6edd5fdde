/*
 * Each job kind tells its progress in its own way; one row per kind says how to read it
 * (kubernetes-api.md section 4). Everything works on checked JSON text, without a tree.
 */
#include "kube/copy_info.h"

#include "base/json.h"
#include "base/num.h"
#include "kinds/types.h"
#include "kube/copy_reclaim.h"
#include "kube/info_codec.h"
#include "kube/pod_info.h"

struct job_reader {
	uint16_t type;
	const char *suspend_parent; /* member of spec that holds `suspend`, NULL: spec itself */
	enum copy_phase (*phase)(struct span status);
	/* Conditions that say how it ended, the one that is looked for first before the other. */
	const char *ends[2];
};

static bool is_word(struct span value, const char *word)
{
	return value.len >= 2 && value.ptr[0] == '"' &&
	       span_is(span_make(value.ptr + 1, value.len - 2), word);
}

static bool is_positive(struct span value)
{
	int64_t n;
	return json_text_int64(value, &n) == 0 && n > 0;
}

/* Walks status.conditions: the next condition that is True, and its type. */
static bool next_true_one(struct span conditions, size_t *pos, struct span *ret_type,
			  struct span *ret)
{
	struct span c;
	while (json_text_next(conditions, pos, NULL, &c)) {
		struct span key = SPAN_NONE, value, type = SPAN_NONE;
		bool is_true = false;
		for (size_t at = 0; json_text_next(c, &at, &key, &value);) {
			if (span_is(key, "type"))
				type = value;
			else if (span_is(key, "status"))
				is_true = is_word(value, "True");
		}
		if (is_true && type.ptr) {
			*ret_type = type;
			*ret = c;
			return true;
		}
	}
	return false;
}

static bool next_true(struct span conditions, size_t *pos, struct span *ret_type)
{
	struct span one;

	return next_true_one(conditions, pos, ret_type, &one);
}

static bool array_member(struct span object, const char *key, struct span *ret)
{
	return json_text_member(object, key, ret) == 0 && json_text_type(*ret) == JSON_ARRAY;
}

/* batch/v1. Pods that have come and gone count as running until Complete or Failed says more:
 * between two retries no pod is active. */
static enum copy_phase job_phase(struct span status)
{
	struct span key, value, type;
	bool busy = false, suspended = false;

	for (size_t at = 0; json_text_next(status, &at, &key, &value);) {
		if (span_is(key, "active") || span_is(key, "ready") || span_is(key, "succeeded") ||
		    span_is(key, "failed") || span_is(key, "terminating")) {
			busy = busy || is_positive(value);
		} else if (span_is(key, "conditions") && json_text_type(value) == JSON_ARRAY) {
			for (size_t pos = 0; next_true(value, &pos, &type);) {
				if (is_word(type, "Complete"))
					return COPY_SUCCEEDED;
				if (is_word(type, "Failed"))
					return COPY_FAILED;
				suspended = suspended || is_word(type, "Suspended");
			}
		}
	}
	return busy && !suspended ? COPY_RUNNING : COPY_CREATED;
}

/* kubeflow.org/v1: the last condition that is True; a terminal one wins wherever it stands. */
static enum copy_phase kubeflow_phase(struct span status)
{
	struct span conditions, type;
	enum copy_phase phase = COPY_CREATED;

	if (!array_member(status, "conditions", &conditions))
		return COPY_CREATED;
	for (size_t pos = 0; next_true(conditions, &pos, &type);) {
		if (is_word(type, "Succeeded"))
			return COPY_SUCCEEDED;
		if (is_word(type, "Failed"))
			return COPY_FAILED;
		phase = is_word(type, "Running") || is_word(type, "Restarting") ? COPY_RUNNING
										: COPY_CREATED;
	}
	return phase;
}

static bool replicated_jobs_busy(struct span list)
{
	struct span one, key = SPAN_NONE, value;
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);)
		for (size_t at = 0; json_text_next(one, &at, &key, &value);)
			if ((span_is(key, "active") || span_is(key, "ready") ||
			     span_is(key, "succeeded")) &&
			    is_positive(value))
				return true;
	return false;
}

static enum copy_phase job_set_phase(struct span status)
{
	struct span key, value, type;
	bool busy = false, suspended = false;

	for (size_t at = 0; json_text_next(status, &at, &key, &value);) {
		if (span_is(key, "terminalState")) {
			if (is_word(value, "Completed"))
				return COPY_SUCCEEDED;
			if (is_word(value, "Failed"))
				return COPY_FAILED;
		} else if (span_is(key, "conditions") && json_text_type(value) == JSON_ARRAY) {
			for (size_t pos = 0; next_true(value, &pos, &type);) {
				if (is_word(type, "Completed"))
					return COPY_SUCCEEDED;
				if (is_word(type, "Failed"))
					return COPY_FAILED;
				suspended = suspended || is_word(type, "Suspended");
			}
		} else if (span_is(key, "replicatedJobsStatus") &&
			   json_text_type(value) == JSON_ARRAY) {
			busy = replicated_jobs_busy(value);
		}
	}
	return busy && !suspended ? COPY_RUNNING : COPY_CREATED;
}

/* ray.io/v1 has no conditions: two status words. Complete says only that the deployment is over;
 * whether the job succeeded is the other word. Suspending still has pods. */
static enum copy_phase ray_job_phase(struct span status)
{
	struct span deployment = SPAN_NONE, job = SPAN_NONE;

	(void)json_text_member(status, "jobDeploymentStatus", &deployment);
	(void)json_text_member(status, "jobStatus", &job);
	if (is_word(deployment, "Complete"))
		return is_word(job, "SUCCEEDED") ? COPY_SUCCEEDED : COPY_FAILED;
	if (is_word(deployment, "Failed"))
		return COPY_FAILED;
	if (is_word(deployment, "Running") || is_word(deployment, "Retrying") ||
	    is_word(deployment, "Suspending"))
		return COPY_RUNNING;
	return COPY_CREATED;
}

/* No job, but one ends alike: a Workload without a job behind it by its creator's word. */
static enum copy_phase workload_phase(struct span status)
{
	struct span conditions, type;
	size_t pos = 0;

	if (array_member(status, "conditions", &conditions))
		while (next_true(conditions, &pos, &type))
			if (is_word(type, "Finished"))
				return COPY_SUCCEEDED;
	return COPY_CREATED;
}

/* A cluster never ends by itself. Suspended ones have no state but that. */
static enum copy_phase ray_cluster_phase(struct span status)
{
	struct span state = SPAN_NONE, workers = SPAN_NONE;

	(void)json_text_member(status, "state", &state);
	(void)json_text_member(status, "availableWorkerReplicas", &workers);
	if (is_word(state, "suspended"))
		return COPY_CREATED;
	return is_word(state, "ready") || is_positive(workers) ? COPY_RUNNING : COPY_CREATED;
}

/* No job either: nodes are not a run. */
static enum copy_phase request_phase(struct span status)
{
	(void)status;
	return COPY_CREATED;
}

static const struct job_reader readers[] = {
    {TYPE_JOB, NULL, job_phase, {"Complete", "Failed"}},
    {TYPE_PYTORCH_JOB, "runPolicy", kubeflow_phase, {"Succeeded", "Failed"}},
    {TYPE_TF_JOB, "runPolicy", kubeflow_phase, {"Succeeded", "Failed"}},
    {TYPE_MPI_JOB, "runPolicy", kubeflow_phase, {"Succeeded", "Failed"}},
    {TYPE_JOB_SET, NULL, job_set_phase, {"Completed", "Failed"}},
    {TYPE_RAY_JOB, NULL, ray_job_phase, {NULL}},
    {TYPE_WORKLOAD, NULL, workload_phase, {NULL}},
    {TYPE_RAY_CLUSTER, NULL, ray_cluster_phase, {NULL}},
    {TYPE_XGBOOST_JOB, "runPolicy", kubeflow_phase, {"Succeeded", "Failed"}},
    {TYPE_PADDLE_JOB, "runPolicy", kubeflow_phase, {"Succeeded", "Failed"}},
    {TYPE_JAX_JOB, "runPolicy", kubeflow_phase, {"Succeeded", "Failed"}},
    {TYPE_PROVISIONING_REQUEST, NULL, request_phase, {NULL}},
};

static const struct job_reader *reader_of(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_LEN(readers); i++)
		if (readers[i].type == type)
			return &readers[i];
	return NULL;
}

enum copy_phase copy_info_phase(uint16_t type, struct span status)
{
	const struct job_reader *r = reader_of(type);
	if (!r || json_text_type(status) != JSON_OBJECT)
		return COPY_CREATED;
	return r->phase(status);
}

/* The condition of type `end` that is True. */
static bool find_true(struct span conditions, const char *end, struct span *ret)
{
	struct span type;

	for (size_t pos = 0; next_true_one(conditions, &pos, &type, ret);)
		if (is_word(type, end))
			return true;
	return false;
}

int copy_info_words(uint16_t type, struct span status, struct buf *out)
{
	const struct job_reader *r = reader_of(type);
	struct span from = status, conditions, message;

	if (!r || json_text_type(status) != JSON_OBJECT)
		return 0;
	if (r->ends[0] && (!array_member(status, "conditions", &conditions) ||
			   (!find_true(conditions, r->ends[0], &from) &&
			    !find_true(conditions, r->ends[1], &from))))
		return 0;
	if (json_text_member(from, "message", &message) < 0 ||
	    json_text_type(message) != JSON_STRING)
		return 0;
	return json_text_string(message, out);
}

bool copy_info_suspended(uint16_t type, struct span spec)
{
	const struct job_reader *r = reader_of(type);
	struct span value;

	if (!r)
		return false;
	if (r->suspend_parent && json_text_member(spec, r->suspend_parent, &spec) < 0)
		return false;
	return json_text_member(spec, "suspend", &value) == 0 && span_is(value, "true");
}

int copy_info_decode(uint16_t type, struct span json, struct arena *mem, struct copy_info *ret,
		     struct err *reterr)
{
	struct info_meta meta;
	struct copy_info c = {.type = type};
	struct span key = SPAN_NONE, value, epoch = SPAN_NONE, spec = SPAN_NONE;

	if (!reader_of(type))
		return err_set(reterr, ERR_INVALID, "type %u is not a job kind", (unsigned)type);
	info_meta_read(json, &meta);
	if (!meta.name.len || !meta.uid.len)
		return err_set(reterr, ERR_INVALID, "a job copy has no %s",
			       meta.name.len ? "metadata.uid" : "metadata.name");
	c.name = info_string(meta.name, mem);
	c.ns = info_string(meta.ns, mem);
	c.uid = info_string(meta.uid, mem);
	c.revision = meta.revision;
	c.deleting = meta.deleting;
	if (json_text_member(meta.labels, COPY_LABEL_HUB_UID, &value) == 0)
		c.hub_uid = info_string(value, mem);
	if (json_text_member(meta.annotations, COPY_ANNOTATION_JOB_UID, &value) == 0)
		c.job_uid = info_string(value, mem);
	if (json_text_member(meta.annotations, COPY_ANNOTATION_EPOCH, &epoch) == 0 &&
	    num_parse_u64(json_text_plain(epoch), UINT64_MAX, &c.epoch) < 0)
		c.epoch = 0;
	for (size_t at = 0; json_text_next(json, &at, &key, &value);) {
		if (span_is(key, "spec"))
			spec = value;
		else if (span_is(key, "status") && json_text_type(value) == JSON_OBJECT)
			c.status = arena_span(mem, value);
	}
	c.suspended = spec.len && copy_info_suspended(type, spec);
	c.phase = copy_info_phase(type, c.status);
	c.n_reclaimable = copy_reclaim_read(type, spec, c.status, mem, &c.reclaimable);
	*ret = c;
	return 0;
}
