#include "kube/copy_reclaim.h"

#include "base/json.h"
#include "base/num.h"
#include "kinds/types.h"

static int64_t number(struct span object, const char *key, int64_t otherwise)
{
	struct span value;
	int64_t n;

	if (json_text_member(object, key, &value) < 0 || json_text_int64(value, &n) < 0 || n < 0 ||
	    n > INT32_MAX)
		return otherwise;
	return n;
}

static bool member(struct span object, const char *key, enum json_type type, struct span *ret)
{
	return object.len && json_text_member(object, key, ret) == 0 &&
	       json_text_type(*ret) == type;
}

/* Of a Job's spec: pods side by side. */
static int64_t side_by_side(struct span spec)
{
	int64_t parallelism = number(spec, "parallelism", 1);

	return num_min(parallelism, number(spec, "completions", parallelism));
}

static size_t of_job(struct span spec, struct span status, int32_t *pods)
{
	int64_t count = side_by_side(spec), succeeded = number(status, "succeeded", 0);
	int64_t left = number(spec, "completions", number(spec, "parallelism", 1)) - succeeded;

	if (count <= 1 || !succeeded || left >= count)
		return 0;
	pods[0] = (int32_t)(count - num_max(left, 0));
	return 1;
}

/* Replicas of the replicated job of this name (JSON text) that succeeded. */
static int64_t succeeded_of(struct span list, struct span name)
{
	struct span one, value;

	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);)
		if (json_text_type(one) == JSON_OBJECT &&
		    json_text_member(one, "name", &value) == 0 && span_eq(value, name))
			return number(one, "succeeded", 0);
	return 0;
}

static size_t of_job_set(struct span spec, struct span status, int32_t *pods)
{
	struct span jobs, told, one, name, job;
	size_t n = 0;

	if (!member(spec, "replicatedJobs", JSON_ARRAY, &jobs) ||
	    !member(status, "replicatedJobsStatus", JSON_ARRAY, &told))
		return 0;
	for (size_t pos = 0; n < COPY_MAX_RECLAIM && json_text_next(jobs, &pos, NULL, &one); n++) {
		int64_t done;
		if (json_text_type(one) != JSON_OBJECT ||
		    !member(one, "name", JSON_STRING, &name) ||
		    !member(one, "template", JSON_OBJECT, &job) ||
		    !member(job, "spec", JSON_OBJECT, &job))
			continue;
		done = succeeded_of(told, name);
		if (done <= number(one, "replicas", 1))
			pods[n] = (int32_t)num_min(num_mul_sat(done, side_by_side(job)), INT32_MAX);
	}
	return n;
}

size_t copy_reclaim_read(uint16_t type, struct span spec, struct span status, struct arena *mem,
			 const int32_t **ret)
{
	int32_t pods[COPY_MAX_RECLAIM] = {0};
	bool any = false;
	size_t n = 0;

	*ret = NULL;
	if (!spec.len || !status.len || json_text_type(spec) != JSON_OBJECT ||
	    json_text_type(status) != JSON_OBJECT)
		return 0;
	if (type == TYPE_JOB)
		n = of_job(spec, status, pods);
	else if (type == TYPE_JOB_SET)
		n = of_job_set(spec, status, pods);
	for (size_t i = 0; i < n; i++)
		any = any || pods[i] > 0;
	if (!any)
		return 0;
	int32_t *copy = arena_array(mem, int32_t, n);
	for (size_t i = 0; i < n; i++)
		copy[i] = pods[i];
	*ret = copy;
	return n;
}
