#ifndef QUOTA_TREE_KUEUE_PREEMPT_H
#define QUOTA_TREE_KUEUE_PREEMPT_H
/*
 * Who gives way: victims of a workload whose assignment does not fit. Classical preemption
 * (reference/kueue.md section 2.6) and fair sharing's (2.7), on the forest as it stands.
 *
 * In a fleet victims serve two wants, quota and nodes. The caller may join the search with
 * `struct kueue_room`: it is told of every victim that is taken or given back, says whether a
 * candidate would free nodes that are needed, and whether the gang would fit. Without one, quota
 * alone decides, exactly as Kueue does.
 *
 * Nothing is charged when a search returns: trial changes are rolled back.
 */
#include "quota-tree/kueue_assign.h"

enum kueue_preempt_reason { /* of the Preempted condition */
			    KUEUE_IN_CLUSTER_QUEUE = 0,
			    KUEUE_IN_COHORT_RECLAMATION,
			    KUEUE_IN_COHORT_FAIR_SHARING,
			    KUEUE_IN_COHORT_RECLAIM_WHILE_BORROWING,
};

struct kueue_victim {
	struct kueue_workload *workload;
	enum kueue_preempt_reason reason;
};

/* The nodes' side of a search on one candidate member; see policies/. */
struct kueue_room {
	void *context;
	/* Whether the workload's pods hold anything there that the gang could use. */
	bool (*useful)(void *context, const struct kueue_workload *w);
	void (*take)(void *context, const struct kueue_workload *w);
	void (*give_back)(void *context, const struct kueue_workload *w);
	bool (*fits)(void *context);
};

struct kueue_victims {
	struct VEC(struct kueue_victim) items; /* in the order of the final list */
	bool borrows;			       /* the preemptor ends up borrowing */
};
void kueue_victims_done(struct kueue_victims *v);

/* Victims that let the assignment's uses fit; empty when there are none that do. */
void kueue_preempt(struct kueue_forest *f, struct kueue_workload *w,
		   const struct kueue_assignment *a, const struct kueue_room *room,
		   struct kueue_victims *ret);
/* The oracle: would `value` of one cell be found by preemption, and how (2.5)? */
enum kueue_mode kueue_preempt_possible(struct kueue_forest *f, struct kueue_workload *w,
				       uint32_t flavor, uint32_t resource, int64_t value,
				       uint32_t *ret_borrow_level);

#endif
