#include "core/kueue/workload_status.h"

#include "base/json.h"
#include "kube/quantity.h"

#include <errno.h>

/* ---- reading ---- */

static struct span text(const struct cJSON *object, const char *key, struct arena *mem)
{
	const char *v = json_str(object, key);
	return v ? arena_span(mem, span_of(v)) : SPAN_NONE;
}

static usec time_of(const struct cJSON *object, const char *key)
{
	const char *v = json_str(object, key);
	usec t;

	return v && clock_parse(span_of(v), &t) == 0 ? t : 0;
}

static int64_t number(const struct cJSON *object, const char *key)
{
	int64_t v;
	return json_int64(object, key, &v) == 0 ? v : 0;
}

static void read_conditions(const struct cJSON *list, struct arena *mem,
			    struct workload_status *ret)
{
	const struct {
		const char *type;
		struct workload_condition *to;
	} known[] = {
	    {"QuotaReserved", &ret->quota_reserved},
	    {"Admitted", &ret->admitted},
	    {"Evicted", &ret->evicted},
	    {"Requeued", &ret->requeued},
	    {"Finished", &ret->finished},
	    {"PodsReady", &ret->pods_ready},
	};

	json_foreach (list, one) {
		const char *type = json_str(one, "type"), *status = json_str(one, "status");
		for (size_t i = 0; type && status && i < ARRAY_LEN(known); i++)
			if (strcmp(type, known[i].type) == 0)
				*known[i].to = (struct workload_condition){
				    .present = true,
				    .is = strcmp(status, "True") == 0,
				    .since = time_of(one, "lastTransitionTime"),
				    .reason = text(one, "reason", mem),
				    .message = text(one, "message", mem),
				};
	}
}

static void read_assignment(const struct cJSON *from, struct arena *mem,
			    struct workload_assignment *ret)
{
	const struct cJSON *flavors = json_get(from, "flavors");
	const struct cJSON *usage = json_get(from, "resourceUsage");
	size_t n = 0;

	ret->name = text(from, "name", mem);
	ret->count = (int32_t)number(from, "count");
	ret->items = arena_alloc_n(mem, json_len(flavors), sizeof(*ret->items));
	json_foreach (flavors, f) {
		struct span resource = span_of(json_key(f));
		int64_t value = 0;
		int r = quantity_from_node(json_get(usage, json_key(f)), quantity_unit(resource),
					   &value);
		if (!json_value_str(f))
			continue;
		ret->items[n].resource = arena_span(mem, resource);
		ret->items[n].flavor = arena_span(mem, span_of(json_value_str(f)));
		ret->items[n++].usage = r == -ERANGE ? INT64_MAX : value;
	}
	ret->n_items = n;
}

static void read_admission(const struct cJSON *admission, struct arena *mem,
			   struct workload_status *ret)
{
	const struct cJSON *list = json_get(admission, "podSetAssignments");

	ret->has_admission = json_is(admission, JSON_OBJECT);
	if (!ret->has_admission)
		return;
	ret->cluster_queue = text(admission, "clusterQueue", mem);
	ret->assignments = arena_array(mem, struct workload_assignment, json_len(list));
	json_foreach (list, a)
		read_assignment(a, mem, &ret->assignments[ret->n_assignments++]);
}

static void read_checks(const struct cJSON *list, struct arena *mem, struct workload_status *ret)
{
	ret->checks = arena_array(mem, struct workload_check, json_len(list));
	json_foreach (list, k)
		ret->checks[ret->n_checks++] = (struct workload_check){
		    .name = text(k, "name", mem),
		    .state = text(k, "state", mem),
		    .message = text(k, "message", mem),
		    .requeue_after = number(k, "requeueAfterSeconds"),
		    .retries = number(k, "retryCount"),
		    .since = time_of(k, "lastTransitionTime"),
		};
}

void workload_status_read(const struct store_object *o, struct arena *mem,
			  struct workload_status *ret)
{
	struct span status = store_object_part(o, o->extents.status);
	auto_json *tree = NULL;

	*ret = (struct workload_status){0};
	if (!status.len || json_parse(status, NULL, &tree, NULL) < 0)
		return;
	read_conditions(json_get(tree, "conditions"), mem, ret);
	read_admission(json_get(tree, "admission"), mem, ret);
	read_checks(json_get(tree, "admissionChecks"), mem, ret);
	ret->requeue_at = time_of(json_get(tree, "requeueState"), "requeueAt");
	ret->requeues = (int32_t)number(json_get(tree, "requeueState"), "count");
	ret->past_execution = number(tree, "accumulatedPastExecutionTimeSeconds");
	const struct cJSON *reclaimable = json_get(tree, "reclaimablePods");
	ret->reclaimable_names = arena_array(mem, struct span, json_len(reclaimable));
	ret->reclaimable = arena_array(mem, int32_t, json_len(reclaimable));
	json_foreach (reclaimable, r) {
		ret->reclaimable_names[ret->n_reclaimable] = text(r, "name", mem);
		ret->reclaimable[ret->n_reclaimable++] = (int32_t)number(r, "count");
	}
}
