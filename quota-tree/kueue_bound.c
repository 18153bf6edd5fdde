#include "quota-tree/kueue_bound.h"
#include "base/num.h"
#include "quota-tree/kueue_engine.h"
#include <assert.h>

/* ---- what the holders of a queue hold, by priority ---- */

static int cmp_prio_use(const struct kueue_prio_use *u, uint32_t flavor, uint32_t resource,
			int64_t priority)
{
	if (u->flavor != flavor)
		return u->flavor < flavor ? -1 : 1;
	if (u->resource != resource)
		return u->resource < resource ? -1 : 1;
	return u->priority < priority ? -1 : u->priority > priority;
}

/* The first entry not before (flavor, resource, priority). */
static size_t prio_find(const struct kueue_queue *queue, uint32_t flavor, uint32_t resource,
			int64_t priority)
{
	size_t lo = 0, hi = queue->prio_uses.len;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (cmp_prio_use(&queue->prio_uses.items[mid], flavor, resource, priority) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void prio_add(struct kueue_queue *queue, const struct kueue_use *u, int32_t priority,
		     int sign)
{
	size_t k = prio_find(queue, u->flavor, u->resource, priority);
	struct kueue_prio_use *p = k < queue->prio_uses.len ? &queue->prio_uses.items[k] : NULL;
	if (!p || cmp_prio_use(p, u->flavor, u->resource, priority) != 0) {
		assert(sign > 0);
		vec_push(&queue->prio_uses, (struct kueue_prio_use){0});
		p = &queue->prio_uses.items[k];
		memmove(p + 1, p, (queue->prio_uses.len - 1 - k) * sizeof(*p));
		*p = (struct kueue_prio_use){u->flavor, u->resource, priority, 0};
	}
	/* Sums of what fits int64 each may not; a bound that is too high only wakes too early. */
	p->value = sign > 0 ? num_add_sat(p->value, u->value) : num_sub_sat(p->value, u->value);
	if (p->value == 0 && sign < 0) {
		queue->prio_uses.len--;
		memmove(p, p + 1, (queue->prio_uses.len - k) * sizeof(*p));
	}
}

void kueue_bound_count(struct kueue_queue *queue, const struct kueue_workload *w, int sign)
{
	for (size_t i = 0; i < w->n_uses; i++)
		prio_add(queue, &w->uses[i], w->priority, sign);
}

bool kueue_bound_counts(const struct kueue_queue_spec *spec, int32_t of, int32_t priority)
{
	enum kueue_preempt_policy within = spec->preemption.within_cluster_queue;
	return within != KUEUE_PREEMPT_NEVER &&
	       (of < priority || (of == priority && within != KUEUE_PREEMPT_LOWER_PRIORITY));
}

int64_t kueue_bound_own(const struct kueue_queue *queue, const struct kueue_queue_spec *spec,
			uint32_t flavor, uint32_t resource, int32_t priority)
{
	enum kueue_preempt_policy within = spec->preemption.within_cluster_queue;
	if (within == KUEUE_PREEMPT_NEVER)
		return 0;
	int64_t limit = (int64_t)priority + (within != KUEUE_PREEMPT_LOWER_PRIORITY);
	int64_t sum = 0;
	for (size_t k = prio_find(queue, flavor, resource, INT32_MIN); k < queue->prio_uses.len;
	     k++) {
		const struct kueue_prio_use *u = &queue->prio_uses.items[k];
		if (cmp_prio_use(u, flavor, resource, limit) >= 0)
			break;
		sum = num_add_sat(sum, u->value);
	}
	return sum;
}

/* ---- bounds ---- */

bool kueue_bound_is_unknown(const struct kueue_queues *q, const struct kueue_queue_spec *spec)
{
	return spec->preemption.reclaim_within_cohort != KUEUE_PREEMPT_NEVER &&
	       (q->options.fair_sharing ||
		spec->preemption.borrow_within_cohort != KUEUE_PREEMPT_NEVER);
}

int64_t kueue_bound_free(const struct kueue_queues *q, uint32_t node, uint32_t flavor,
			 uint32_t resource)
{
	return num_sub_sat(kueue_forest_subtree(q->forest, node, flavor, resource),
			   kueue_forest_usage(q->forest, node, flavor, resource));
}

int64_t kueue_bound_of(const struct kueue_queues *q, const struct kueue_queue *queue,
		       uint32_t flavor, uint32_t resource, int32_t priority)
{
	const struct kueue_queue_spec *spec = kueue_forest_queue_spec(q->forest, queue->node);
	if (!spec || !kueue_forest_lists(q->forest, queue->node, flavor, resource))
		return -1;
	int64_t own = kueue_bound_own(queue, spec, flavor, resource, priority);
	int64_t bound =
	    num_add_sat(kueue_forest_available(q->forest, queue->node, flavor, resource), own);
	uint32_t n = queue->node, parent = kueue_forest_parent(q->forest, n);
	if (parent == KUEUE_NONE || spec->preemption.reclaim_within_cohort == KUEUE_PREEMPT_NEVER)
		return bound;
	if (kueue_bound_is_unknown(q, spec))
		return INT64_MAX;
	/* A subtree that stays within its own quota takes back what others borrow. Of the need
	 * only the part above what its own lower nodes keep for themselves arrives there; that is
	 * at most what they have free. */
	int64_t kept = 0;
	for (; parent != KUEUE_NONE; n = parent, parent = kueue_forest_parent(q->forest, n)) {
		int64_t room = kueue_bound_free(q, n, flavor, resource);
		bound = num_max(bound, num_add_sat(num_add_sat(room, own), kept));
		kept = num_add_sat(kept, num_max(0, room));
	}
	return bound;
}

struct kueue_quota kueue_bound_quota(const struct kueue_queues *q, uint32_t node, uint32_t flavor,
				     uint32_t resource)
{
	const struct kueue_queue_spec *spec = kueue_forest_queue_spec(q->forest, node);
	struct span f = kueue_forest_flavor_name(q->forest, flavor);
	struct span r = kueue_forest_resource_name(q->forest, resource);
	for (size_t g = 0; g < spec->n_groups; g++) {
		const struct kueue_group_spec *group = &spec->groups[g];
		for (size_t i = 0; i < group->n_flavors; i++) {
			for (size_t k = 0; k < group->n_resources; k++) {
				if (span_eq(group->flavors[i], f) &&
				    span_eq(group->resources[k], r))
					return group->quotas[i * group->n_resources + k];
			}
		}
	}
	return (struct kueue_quota){0};
}
