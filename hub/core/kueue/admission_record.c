#include "core/kueue/admission_record.h"

#include "base/json.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/provisioning_config.h"
#include "core/kueue/topology.h"
#include "core/kueue/workload_restore.h"
#include "kube/quantity.h"

static bool among(const uint32_t *items, size_t n, uint32_t v)
{
	for (size_t i = 0; i < n; i++)
		if (items[i] == v)
			return true;
	return false;
}

void admission_record_take(struct workload *w, const struct kueue_assignment *a)
{
	workload_drop_sets(w);
	w->n_sets = w->unit->shape->n_sets;
	w->sets = xcalloc(w->n_sets, sizeof(*w->sets));
	for (size_t i = 0; i < w->n_sets; i++) {
		struct workload_set *set = &w->sets[i];
		size_t n = a->first_choice[i + 1] - a->first_choice[i];
		set->count = a->counts[i];
		set->flavors = xcalloc(n + 1, sizeof(*set->flavors));
		for (size_t k = a->first_choice[i]; k < a->first_choice[i + 1]; k++) {
			uint32_t flavor = a->choices.items[k].flavor;
			if (flavor != KUEUE_NONE && !among(set->flavors, set->n_flavors, flavor))
				set->flavors[set->n_flavors++] = flavor;
		}
	}
}

/* Whether one of its checks asks for nodes of the flavor. */
static bool is_provisioned(const struct core *c, const struct workload *w, uint32_t flavor,
			   const char *const *checks, size_t n)
{
	const struct cluster_queue *q = workload_cluster_queue(c, w);

	for (size_t i = 0; q && i < n; i++)
		if (provisioning_config_is_check(c, checks[i]) &&
		    cluster_queue_checks_flavors(c, q, checks[i], &flavor, 1))
			return true;
	return false;
}

/* Kueue's flavorassigner delays the topology of a pod set whose flavor has both. */
static bool is_delayed(const struct core *c, const struct workload *w,
		       const struct kueue_assignment *a, size_t i, const char *const *checks,
		       size_t n)
{
	for (size_t k = a->first_choice[i]; n && k < a->first_choice[i + 1]; k++) {
		uint32_t flavor = a->choices.items[k].flavor;
		if (flavor != KUEUE_NONE && topology_of_flavor(c, flavor).len &&
		    is_provisioned(c, w, flavor, checks, n))
			return true;
	}
	return false;
}

static void add_set(const struct core *c, const struct workload *w,
		    const struct kueue_assignment *a, size_t i, bool delayed, struct buf *b)
{
	const struct kueue_forest *f = c->kueue->forest;
	struct kueue_use uses[KUEUE_MAX_REQUESTS + 1];
	size_t n = kueue_workload_requests(f, w->unit, w->unit->queue, i, a->counts[i], uses);
	const struct kueue_choice *choices = a->choices.items + a->first_choice[i];
	auto_buf flavors = BUF_INIT, usage = BUF_INIT;
	char text[QUANTITY_TEXT];

	for (size_t k = 0; k < n && k < a->first_choice[i + 1] - a->first_choice[i]; k++) {
		struct span resource = kueue_forest_resource_name(f, uses[k].resource);
		if (choices[k].flavor == KUEUE_NONE)
			continue;
		buf_add_str(&flavors, flavors.len ? "," : "");
		buf_add_json_str(&flavors, resource);
		buf_add_char(&flavors, ':');
		buf_add_json_str(&flavors, kueue_forest_flavor_name(f, choices[k].flavor));
		buf_add_str(&usage, usage.len ? "," : "");
		buf_add_json_str(&usage, resource);
		buf_addf(&usage, ":\"%s\"", quantity_format(resource, uses[k].value, text));
	}
	buf_add_str(b, "{\"name\":");
	buf_add_json_str(b, w->unit->shape->sets[i].name);
	buf_addf(b, ",\"flavors\":{%s},\"resourceUsage\":{%s},\"count\":%d%s}",
		 flavors.ptr ? flavors.ptr : "", usage.ptr ? usage.ptr : "", a->counts[i],
		 delayed ? ",\"delayedTopologyRequest\":\"Pending\"" : "");
}

char *admission_record_text(const struct core *c, const struct workload *w,
			    const struct kueue_assignment *a, const char *const *checks,
			    size_t n_checks, bool *ret_delayed)
{
	auto_buf b = BUF_INIT;

	*ret_delayed = false;
	buf_add_str(&b, "{\"clusterQueue\":");
	buf_add_json_str(&b, kueue_forest_name(c->kueue->forest, w->unit->queue));
	buf_add_str(&b, ",\"podSetAssignments\":[");
	for (size_t i = 0; i < w->unit->shape->n_sets; i++) {
		if (i)
			buf_add_char(&b, ',');
		bool delayed = is_delayed(c, w, a, i, checks, n_checks);
		add_set(c, w, a, i, delayed, &b);
		*ret_delayed = *ret_delayed || delayed;
	}
	buf_add_str(&b, "]}");
	return buf_steal(&b, NULL);
}
