/*
 * The digest hook of Workloads, and its row form.
 */
#include "kinds/workload_digest.h"

#include "base/json.h"
#include "kinds/hooks.h"
#include "kinds/pod_set_codec.h"
#include "kube/field_errors.h"

#include <errno.h>

#define DIGEST_VERSION	   2
#define DIGEST_NO_TOPOLOGY 1  /* the older one */
#define MAX_POD_SETS	   18 /* reference/kueue.md 1.3 */

/* ---- from the object ---- */

static struct span text(const struct cJSON *object, const char *key)
{
	const char *v = json_str(object, key);
	return v && v[0] ? span_of(v) : SPAN_NONE;
}

static void read_priority(const struct cJSON *spec, struct workload_digest *d)
{
	const struct cJSON *ref = json_get(spec, "priorityClassRef");
	const char *group = json_str(ref, "group");
	int64_t priority = 0;

	d->priority_class = text(ref, "name");
	if (d->priority_class.len && group)
		d->priority_source = strcmp(group, "kueue.x-k8s.io") == 0
					 ? WORKLOAD_PRIORITY_CLASS
					 : WORKLOAD_PRIORITY_POD_CLASS;
	if (json_int64(spec, "priority", &priority) == 0 && priority >= INT32_MIN &&
	    priority <= INT32_MAX)
		d->priority = (int32_t)priority;
}

static int read_pod_set(const struct cJSON *from, size_t i, struct arena *mem,
			struct workload_digest *d, struct field_errors *errors)
{
	struct job_pod_set *set = &d->pod_sets[i];
	char path[64];
	int64_t v;

	(void)snprintf(path, sizeof(path), "spec.podSets[%zu].template", i);
	*set = (struct job_pod_set){.name = text(from, "name"), .count = 1, .groups = 1};
	set->path = arena_span(mem, span_of(path));
	if (!set->name.len)
		set->name = SPAN("main");
	if (json_int64(from, "count", &v) == 0 && v >= 0)
		set->count = v;
	if (json_int64(from, "minCount", &v) == 0 && v > 0 && v < set->count)
		set->min_count = v;
	topology_request_from_object(json_get(from, "topologyRequest"), &set->topology);
	d->groups_of[i] = set->topology.group;
	if (set->count > JOB_MAX_PODS) {
		(void)snprintf(path, sizeof(path), "spec.podSets[%zu].count", i);
		field_errors_add(errors, FIELD_INVALID, path, NULL, "at most %d pods may be",
				 JOB_MAX_PODS);
		return -EINVAL;
	}
	return template_info_decode(json_get(from, "template"), path, mem, &set->pod, errors);
}

static int read_pod_sets(const struct cJSON *list, struct arena *mem, struct workload_digest *d,
			 struct field_errors *errors)
{
	int r = 0;

	d->n_pod_sets = json_len(list);
	if (d->n_pod_sets > MAX_POD_SETS) {
		d->n_pod_sets = 0;
		field_errors_add(errors, FIELD_TOO_MANY, "spec.podSets", NULL,
				 "must have at most %d items", MAX_POD_SETS);
		return -EINVAL;
	}
	d->pod_sets = arena_array(mem, struct job_pod_set, d->n_pod_sets);
	d->groups_of = arena_array(mem, struct span, d->n_pod_sets);
	for (size_t i = 0; i < d->n_pod_sets; i++) {
		int failed = read_pod_set(json_at(list, i), i, mem, d, errors);
		r = r ? r : failed;
	}
	return r;
}

int workload_index(const struct kind *k, const struct cJSON *object, struct buf *out,
		   struct err *reterr)
{
	const struct cJSON *spec = json_get(object, "spec");
	auto_arena mem = ARENA_INIT;
	struct field_errors errors = {.n = 0};
	struct workload_digest d = {0};
	int64_t seconds = 0;

	(void)k;
	d.queue_name = text(spec, "queueName");
	d.inactive = !json_bool(spec, "active", true);
	read_priority(spec, &d);
	if (json_int64(spec, "maximumExecutionTimeSeconds", &seconds) == 0 && seconds > 0)
		d.max_execution_seconds = seconds;
	int r = read_pod_sets(json_get(spec, "podSets"), &mem, &d, &errors);
	if (r < 0) {
		auto_buf words = BUF_INIT;
		field_error_body(&errors.items[0], &words);
		r = err_set_field(reterr, ERR_INVALID, errors.items[0].field, "%.400s", words.ptr);
	} else {
		workload_digest_pack(&d, out);
	}
	field_errors_done(&errors);
	return r;
}

/* ---- the row ---- */

void workload_digest_pack(const struct workload_digest *d, struct buf *out)
{
	info_put_u64(out, DIGEST_VERSION);
	info_put_span(out, d->queue_name);
	info_put_u64(out, (uint64_t)d->priority_source << 1 | d->inactive);
	info_put_span(out, d->priority_class);
	info_put_i64(out, d->priority);
	info_put_i64(out, d->max_execution_seconds);
	info_put_u64(out, d->n_pod_sets);
	for (size_t i = 0; i < d->n_pod_sets; i++) {
		pod_set_pack(&d->pod_sets[i], out);
		info_put_span(out, d->groups_of ? d->groups_of[i] : SPAN_NONE);
	}
}

int workload_digest_unpack(struct span bytes, struct arena *mem, struct workload_digest *ret)
{
	struct info_reader r = info_reader_make(bytes);
	struct workload_digest d = {0};

	uint64_t version = info_get_u64(&r);
	if (version < DIGEST_NO_TOPOLOGY || version > DIGEST_VERSION)
		return -EINVAL;
	d.queue_name = info_get_span(&r);
	uint64_t word = info_get_u64(&r);
	if (word >> 1 > WORKLOAD_PRIORITY_POD_CLASS)
		return -EINVAL;
	d.priority_source = (enum workload_priority_source)(word >> 1);
	d.inactive = word & 1;
	d.priority_class = info_get_span(&r);
	int64_t priority = info_get_i64(&r);
	if (priority < INT32_MIN || priority > INT32_MAX)
		return -EINVAL;
	d.priority = (int32_t)priority;
	d.max_execution_seconds = info_get_i64(&r);
	d.n_pod_sets = info_get_count(&r, 9);
	if (d.n_pod_sets > MAX_POD_SETS)
		return -EINVAL;
	d.pod_sets = arena_array(mem, struct job_pod_set, d.n_pod_sets);
	d.groups_of = arena_array(mem, struct span, d.n_pod_sets);
	for (size_t i = 0; i < d.n_pod_sets; i++) {
		pod_set_unpack(&r, mem, version > DIGEST_NO_TOPOLOGY, &d.pod_sets[i]);
		d.groups_of[i] = info_get_span(&r);
	}
	if (!info_reader_ended(&r))
		return -EINVAL;
	*ret = d;
	return 0;
}
