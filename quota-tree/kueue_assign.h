#ifndef QUOTA_TREE_KUEUE_ASSIGN_H
#define QUOTA_TREE_KUEUE_ASSIGN_H
/*
 * Which flavors a workload would get in its queue, now: reference/kueue.md section 2.5.
 *
 * One assignment is a try on the forest as it stands (trial charges included). Which flavor is
 * next when placement refuses one is the caller's question: kueue_assign_next() goes on through
 * the combinations in fungibility order, an odometer over (pod set, resource group) whose last
 * place turns fastest, so that a fleet can pass over flavors that no member can serve.
 *
 * Whether preemption could help is answered by really searching victims (kueue_preempt.h), for one
 * resource, as Kueue's oracle does.
 */
#include "quota-tree/kueue_workload.h"

enum kueue_mode { /* worst first */
		  KUEUE_NO_FIT = 0,
		  KUEUE_NO_CANDIDATES,
		  KUEUE_PREEMPT,
		  KUEUE_RECLAIM,
		  KUEUE_FIT,
};

/* Why a flavor or the whole did not do; texts are Kueue's (kueue_message.h). */
enum kueue_why {
	KUEUE_WHY_NONE = 0,
	KUEUE_WHY_NOT_COVERED, /* no group covers the resource */
	KUEUE_WHY_NO_FLAVOR,   /* the flavor does not exist */
	KUEUE_WHY_TAINT,       /* untolerated */
	KUEUE_WHY_AFFINITY,    /* selector or affinity does not match the flavor's labels */
	KUEUE_WHY_MAX,	       /* above potentialAvailable: ExceedsMaxQuota */
	KUEUE_WHY_QUOTA,       /* above available: WaitingForQuota */
	KUEUE_WHY_LACKS,       /* above nominal in its own queue, borrowing limit */
	KUEUE_WHY_PLACEMENT,   /* the caller passed over it: TopologyPlacementFailed */
};

struct kueue_reason {
	enum kueue_why why;
	uint32_t pod_set, flavor, resource; /* KUEUE_NONE where it does not apply */
	struct span taint_key;		    /* KUEUE_WHY_TAINT */
	int64_t asked, limit, missing;	    /* numbers of the sentence */
};

struct kueue_choice { /* one resource of one pod set */
	uint32_t resource, flavor;
	enum kueue_mode mode;
	uint32_t borrow_level;
	int32_t tried; /* index of the last flavor tried, -1 after the last of the group */
};

struct kueue_assignment {
	enum kueue_mode mode;  /* of the worst choice */
	uint32_t borrow_level; /* highest */
	int32_t counts[KUEUE_MAX_POD_SETS];
	struct VEC(struct kueue_choice) choices; /* by pod set, then as requests are */
	uint32_t first_choice[KUEUE_MAX_POD_SETS + 1];
	struct VEC(struct kueue_use) uses;
	struct VEC(struct kueue_reason) reasons;
};
void kueue_assignment_done(struct kueue_assignment *a);

/*
 * Assigns at `counts` pods per pod set (NULL: those of the workload), resuming after the flavors
 * tried before as the rules say. *ret is reused memory of the caller, zeroed the first time.
 */
void kueue_assign(struct kueue_forest *f, struct kueue_workload *w, const int32_t *counts,
		  struct kueue_assignment *ret);
/* The next combination after `a`, whose placement failed; false when none is left. */
bool kueue_assign_next(struct kueue_forest *f, struct kueue_workload *w,
		       struct kueue_assignment *a);
/* Partial admission (reference 2.8): the most pods between minCount and count with a mode of FIT,
 * or of PREEMPT with victims. False when there is none. */
bool kueue_assign_partial(struct kueue_forest *f, struct kueue_workload *w,
			  struct kueue_assignment *ret);

#endif
