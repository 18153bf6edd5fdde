/*
 * The combinations of flavors after the first: the last turn that has another flavor takes it, and
 * those after it begin anew.
 */
#include "quota-tree/kueue_flavor.h"

static bool is_wanted(const struct kueue_assignment *a)
{
	bool preempts = a->mode == KUEUE_PREEMPT || a->mode == KUEUE_RECLAIM;

	switch (a->pass) {
	case KUEUE_PASS_FIT:
	case KUEUE_PASS_ROOM:
		return a->mode == KUEUE_FIT;
	case KUEUE_PASS_PREEMPT:
		return preempts;
	default:
		return preempts || a->mode == KUEUE_FIT;
	}
}

/* False when all places have been through. */
static bool step(struct kueue_forest *f, const struct kueue_workload *w, struct kueue_assignment *a)
{
	while (a->turns.len) {
		const struct kueue_turn *last = &a->turns.items[a->turns.len - 1];

		if (a->combinations++ >= KUEUE_MAX_COMBINATIONS)
			return false;
		kueue_assign_rerun(f, w, a, a->turns.len - 1,
				   last->refused | UINT64_C(1) << last->flavor);
		if (is_wanted(a))
			return true;
	}
	return false;
}

static bool may_preempt(struct kueue_forest *f, const struct kueue_workload *w)
{
	const struct kueue_node *n = kueue_node(f, w->queue);
	const struct kueue_preemption *p = &n->spec.preemption;

	return p->within_cluster_queue != KUEUE_PREEMPT_NEVER ||
	       (p->reclaim_within_cohort != KUEUE_PREEMPT_NEVER && kueue_node_parent(f, n));
}

/* All places from the first on, in a pass of its own. */
static bool begin_pass(struct kueue_forest *f, const struct kueue_workload *w,
		       struct kueue_assignment *a, enum kueue_pass pass)
{
	if (a->combinations >= KUEUE_MAX_COMBINATIONS)
		return false;
	a->pass = pass;
	kueue_assign_rerun(f, w, a, 0, 0);
	return is_wanted(a) || step(f, w, a);
}

bool kueue_assign_next(struct kueue_forest *f, const struct kueue_workload *w,
		       struct kueue_assignment *a)
{
	if (a->pass == KUEUE_PASS_NONE)
		a->pass = a->mode == KUEUE_FIT ? KUEUE_PASS_FIT : KUEUE_PASS_ALL;
	if (step(f, w, a))
		return true;
	if (a->pass == KUEUE_PASS_FIT && may_preempt(f, w) && begin_pass(f, w, a, KUEUE_PASS_ROOM))
		return true;
	if ((a->pass == KUEUE_PASS_FIT || a->pass == KUEUE_PASS_ROOM) &&
	    begin_pass(f, w, a, KUEUE_PASS_PREEMPT))
		return true;
	kueue_assign_wipe(f, w, a);
	a->mode = KUEUE_NO_FIT;
	a->no_fit = KUEUE_TOPOLOGY_PLACEMENT_FAILED;
	return false;
}
