#ifndef QUOTA_TREE_KUEUE_EXPLAIN_H
#define QUOTA_TREE_KUEUE_EXPLAIN_H
/*
 * Why a workload waits, flavor by flavor: the nomination that its queue would give it now, and how
 * each flavor would do alone. For `why`, which asks on the forest as it stands; what decides are
 * the functions that decide in the cycle (kueue_assign.h, kueue_preempt.h), and nothing is charged
 * or remembered.
 *
 * Cost: one assignment for each flavor of the groups that the workload asks, at most
 * KUEUE_MAX_EXPLAINED; who else waits is not looked at.
 */
#include "quota-tree/kueue_preempt.h"

enum { KUEUE_MAX_EXPLAINED = 256 };

struct kueue_flavor_verdict { /* one flavor for one pod set (the first of its group) */
	uint32_t pod_set, flavor;
	enum kueue_mode mode; /* worst of the resources that its group covers */
	uint32_t borrow_level;
	size_t first_reason, n_reasons; /* in kueue_explanation.reasons; none for FIT */
};

struct kueue_explanation {
	/* From the first flavor on, as after any change of quota: what the last attempt tried is
	 * left out. */
	struct kueue_assignment assignment;
	struct kueue_victims victims;
	/* By pod set and resource group, in the order of the group's flavors. Where a pod set finds
	 * no flavor at all, later ones were not looked at: they are not in here. */
	struct VEC(struct kueue_flavor_verdict) flavors;
	struct VEC(struct kueue_reason) reasons;
};
void kueue_explanation_done(struct kueue_explanation *e);

/* `w` is pending in a queue that its forest knows. *ret is reused memory of the caller, zeroed the
 * first time. */
void kueue_explain(struct kueue_forest *f, const struct kueue_workload *w,
		   struct kueue_explanation *ret);

/* "NoFit", "NoCandidates", "Preempt", "Reclaim", "Fit". */
const char *kueue_mode_to_string(enum kueue_mode mode);

#endif
