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
 * Candidates are those that Kueue takes: filed in the queue (withinClusterQueue) or in queues of
 * the cohort tree that use more than their quota in a cell that needs preemption
 * (reclaimWithinCohort), holding something in such a cell. Cells that need preemption are those of
 * choices whose mode is not FIT; with a room, every cell of the assignment is looked at (as Kueue
 * does for topologies), and of the candidates those are kept that free quota that is short, or
 * nodes that are useful. So an assignment that fits (mode FIT) finds victims for nodes alone.
 *
 * Nothing is charged when a search returns: trial changes are rolled back. Memory of searches is
 * kept by the forest and reused.
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
/* Every take is followed by a give_back before the search returns, the victims' too. */

struct kueue_victims {
	struct VEC(struct kueue_victim) items; /* in the order of the final list */
	bool borrows;			       /* the preemptor ends up borrowing */
};
void kueue_victims_done(struct kueue_victims *v);

/* Victims that let the assignment's uses fit (and the room's gang); empty when there are none that
 * do. */
void kueue_preempt(struct kueue_forest *f, const struct kueue_workload *w,
		   const struct kueue_assignment *a, const struct kueue_room *room,
		   struct kueue_victims *ret);
/* Whom a search with a room would look at, whichever candidates are useful there: each workload
 * once is shown to `visit`. For a caller with many members: where none of them is, nobody leaves
 * nodes.
 */
void kueue_preempt_visit(struct kueue_forest *f, const struct kueue_workload *w,
			 const struct kueue_assignment *a,
			 void (*visit)(void *context, const struct kueue_workload *w),
			 void *context);
/* The oracle: would `value` of one cell be found by preemption (2.5)? NO_CANDIDATES, PREEMPT (some
 * victim is of its own queue) or RECLAIM; and the borrowing level once the victims are gone. */
enum kueue_mode kueue_preempt_possible(struct kueue_forest *f, const struct kueue_workload *w,
				       uint32_t flavor, uint32_t resource, int64_t value,
				       uint32_t *ret_borrow_level);

/*
 * What an attempt comes to (getAssignments): the assignment at full count when it fits, or has
 * victims; else, with partial admission, the most pods between minCount and count that fit or have
 * victims (2.8); else the full count again, and no victims. *ret_victims is empty unless mode is
 * PREEMPT or RECLAIM.
 */
void kueue_nominate(struct kueue_forest *f, const struct kueue_workload *w,
		    struct kueue_assignment *ret, struct kueue_victims *ret_victims);
/* The second half of that alone. False when there is none; *ret is then of no use. */
bool kueue_nominate_partial(struct kueue_forest *f, const struct kueue_workload *w,
			    struct kueue_assignment *ret, struct kueue_victims *ret_victims);

/* "InClusterQueue", ...: the reason of the Preempted condition. */
const char *kueue_preempt_reason_to_string(enum kueue_preempt_reason reason);

#endif
