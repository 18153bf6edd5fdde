#ifndef QUOTA_TREE_KUEUE_ASSIGN_H
#define QUOTA_TREE_KUEUE_ASSIGN_H
/*
 * Which flavors a workload would get in its queue, now: reference/kueue.md section 2.5.
 *
 * One assignment is a try on the forest as it stands (trial charges included). Which flavor is
 * next when placement refuses one is the caller's question: kueue_assign_next() goes on through
 * the combinations in fungibility order, an odometer over (pod set, resource group) whose last
 * place turns fastest, so that a fleet can pass over flavors that no member can serve. First those
 * that fit, then the same with victims that leave nodes, then those that need preemption.
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

/* Why a flavor or the whole did not do; the sentences are Kueue's (kueue_message.h). */
enum kueue_why {
	KUEUE_WHY_NONE = 0,
	KUEUE_WHY_NOT_COVERED,	    /* no group covers the resource */
	KUEUE_WHY_NO_FLAVOR,	    /* the flavor does not exist */
	KUEUE_WHY_NO_TOPOLOGY,	    /* the pod set asks for one, the flavor has none */
	KUEUE_WHY_TOPOLOGY_UNKNOWN, /* the flavor's does not exist */
	KUEUE_WHY_NO_LEVEL,	    /* it lacks a level that the pod set names */
	KUEUE_WHY_TOPOLOGY_ONLY,    /* the flavor is for pod sets that ask for one */
	KUEUE_WHY_TAINT,	    /* untolerated */
	KUEUE_WHY_AFFINITY,	    /* selector or affinity does not match the flavor's labels */
	KUEUE_WHY_MAX,		    /* above potentialAvailable */
	KUEUE_WHY_QUOTA,	    /* above available */
	KUEUE_WHY_PLACEMENT,	    /* the caller passed over it */
};

struct kueue_reason {
	enum kueue_why why;
	uint32_t pod_set;	     /* the first of its group */
	uint32_t flavor, resource;   /* KUEUE_NONE where it does not apply */
	const struct taint *taint;   /* TAINT: of the flavor's spec, valid until it is set again */
	int64_t assumed, asked, max; /* MAX: by earlier pod sets, by this one, potentialAvailable */
	int64_t missing;	     /* QUOTA: how much more would be needed */
};

/* The reason of QuotaReserved=False when nothing fits (1.4), least severe first. */
enum kueue_no_fit {
	KUEUE_NO_FIT_NONE = 0,
	KUEUE_TOPOLOGY_PLACEMENT_FAILED,
	KUEUE_WAITING_FOR_QUOTA,
	KUEUE_EXCEEDS_MAX_QUOTA,
	KUEUE_NO_MATCHING_FLAVOR,
};

struct kueue_choice { /* one resource of one pod set */
	uint32_t resource, flavor;
	enum kueue_mode mode;
	uint32_t borrow_level;
	int32_t tried; /* index of the last flavor tried, -1 after the last of the group */
};

/* One flavor that was looked at for the pod sets of a group, the worst of its resources. */
struct kueue_attempt {
	uint32_t pod_set; /* the first of its group */
	uint32_t flavor;
	enum kueue_mode mode;
	uint32_t borrow_level;
	uint32_t first_reason, n_reasons; /* among those of the assignment */
};

/* One turn of the odometer: a resource group for the pod sets of one group. Private. */
struct kueue_turn {
	uint32_t flavor;  /* index in the group */
	uint32_t reasons; /* how many there were after it */
	uint64_t refused; /* flavors that the caller passed over, as bits */
};

enum kueue_pass { /* of kueue_assign_next() */
		  KUEUE_PASS_NONE = 0,
		  KUEUE_PASS_FIT,     /* combinations that fit */
		  KUEUE_PASS_ROOM,    /* the same again: who could leave nodes to it? */
		  KUEUE_PASS_PREEMPT, /* then those that need preemption */
		  KUEUE_PASS_ALL,     /* both, since the first needed it */
};

struct kueue_assignment {
	enum kueue_mode mode; /* of the worst choice */
	enum kueue_no_fit no_fit;
	uint32_t borrow_level; /* highest */
	int32_t counts[KUEUE_MAX_POD_SETS];
	/* One for every request of every pod set, in the order of kueue_workload_requests() (`pods`
	 * among them where the queue covers it), whatever the outcome: flavor KUEUE_NONE and mode
	 * NO_FIT where none was found, KUEUE_NONE and FIT where none is needed (zero of a resource
	 * that no group covers; IgnoreUndeclared). So places mean the same from attempt to attempt,
	 * and the workload keeps .tried by them. */
	struct VEC(struct kueue_choice) choices;
	struct VEC(struct kueue_use) requests; /* by choice: what it asks; flavors KUEUE_NONE */
	uint32_t first_choice[KUEUE_MAX_POD_SETS + 1];
	struct VEC(struct kueue_use) uses; /* what would be charged: sums over the pod sets */
	struct VEC(struct kueue_reason) reasons;
	struct VEC(struct kueue_attempt) attempts; /* of kueue_assign_attempts() alone */
	/* of kueue_assign_next() */
	struct VEC(struct kueue_turn) turns;
	enum kueue_pass pass;
	uint32_t combinations; /* looked at */
};
void kueue_assignment_done(struct kueue_assignment *a);

/*
 * Assigns at `counts` pods per pod set (NULL: kueue_workload_count()), each group from the flavor
 * after the last one tried in w->tried, when there is one. *ret is reused memory of the caller,
 * zeroed the first time. Nothing is charged.
 */
void kueue_assign(struct kueue_forest *f, const struct kueue_workload *w, const int32_t *counts,
		  struct kueue_assignment *ret);
/*
 * Which flavors were looked at on the way to `a`, which fits: takes its turns again into *ret
 * (reused memory of the caller, zeroed the first time), with every reason kept. False, and nothing
 * is done, when they are the first flavors of their groups and nothing is borrowed: then there is
 * nothing to tell. The forest must stand as it did for `a`.
 */
bool kueue_assign_attempts(struct kueue_forest *f, const struct kueue_workload *w,
			   const struct kueue_assignment *a, struct kueue_assignment *ret);
/*
 * The next combination after `a`, whose placement failed: after one that fits, those that fit, then
 * those again (a->pass is ROOM: their quota fits, victims could leave nodes) when the queue's
 * policies allow it any victims, then those that need preemption (PREEMPT, RECLAIM); after one that
 * needs it, all that are left. False
 * when there is none, or after KUEUE_MAX_COMBINATIONS were looked at: then `a` has mode NO_FIT and
 * no_fit TOPOLOGY_PLACEMENT_FAILED. The forest must stand as it did for kueue_assign().
 */
enum { KUEUE_MAX_COMBINATIONS = 1024 };
bool kueue_assign_next(struct kueue_forest *f, const struct kueue_workload *w,
		       struct kueue_assignment *a);
/* "NoMatchingFlavor", ...; "" for NONE. */
const char *kueue_no_fit_to_string(enum kueue_no_fit reason);

#endif
