#ifndef QUOTA_TREE_KUEUE_WORKLOAD_H
#define QUOTA_TREE_KUEUE_WORKLOAD_H
/*
 * The engine's record of a workload: what it asks, what it holds, where it stands.
 *
 * Made by kueue_queues_add() (kueue_queues.h) and freed by kueue_queues_remove(). Fields are read
 * by the engine's files and by core; only the engine's functions write them.
 *
 * What workloads of one shape share (pod sets, requests, constraints; not the priority) is kept
 * once and counted: struct kueue_shape. Two workloads of one shape and priority get the same answer
 * from the same queue: they are one equivalence class (reference/kueue.md section 2.3).
 */
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "quota-tree/kueue_forest.h"
#include "quota-tree/kueue_link.h"
#include "quota-tree/rank_list.h"
#include "quota-tree/rank_tree.h"

enum kueue_state {
	KUEUE_PENDING = 0,  /* in its queue's heap */
	KUEUE_INADMISSIBLE, /* parked until something that could help it changes: only told by
			     * kueue_queues_state(), the record says PENDING */
	KUEUE_HELD, /* requeueAt lies ahead, Requeued=False, inactive, its LocalQueue stopped */
	KUEUE_RESERVING, /* holds quota; checks are not Ready yet */
	KUEUE_ADMITTED,
	KUEUE_EVICTED, /* holds quota until its pods are gone */
};

struct kueue_shape_set {
	struct span name;
	int32_t count, min_count;
	struct span group;
	const struct kueue_use *requests; /* flavor KUEUE_NONE, of one pod, sorted by resource */
	size_t n_requests;
	const uint32_t *asked; /* by number, as in struct kueue_pod_set; or NULL */
	size_t n_asked;
	struct constraint constraint;
	bool topology; /* as in struct kueue_pod_set */
	const struct span *levels;
	size_t n_levels;
};

struct kueue_shape {
	struct arena mem;
	struct span key; /* bytes that are equal for equal shapes */
	uint32_t refs;
	uint32_t number; /* dense; given again once the shape is gone */
	const struct kueue_shape_set *sets;
	size_t n_sets;
};

/* A part of an admission as it is recorded: what a pod set holds of one resource. */
struct kueue_holding {
	uint32_t pod_set, flavor, resource;
	int64_t value; /* of all its admitted pods together */
};

struct kueue_class; /* kueue_class.h */
struct kueue_lane;  /* kueue_lane.h */

struct kueue_workload {
	/* identity */
	struct span name, uid;
	void *owner;
	struct kueue_shape *shape;
	uint32_t queue; /* ClusterQueue node, or KUEUE_NONE */
	uint32_t local_queue;
	/* order */
	int32_t priority;
	int64_t created, queue_order, reserved_at;
	bool sticky; /* preemptor that waits for its victims (BestEffortFIFO) */
	/* Whose victim it is since it was last given quota, by that one's number; 0: nobody's.
	 * Numbers are given to those who preempt, and never again. */
	uint64_t gone_for, number;
	/* standing */
	enum kueue_state state;
	bool listed;		/* counts as pending and has a position; held ones may not */
	bool preemptor;		/* issued preemptions and waits for them; sticky ones are too */
	bool admitted;		/* was ADMITTED since it was reserved; an EVICTED one may not be */
	bool held, held_listed; /* kueue_queues_hold(), also while it holds quota */
	struct kueue_use *uses; /* charged while RESERVING, ADMITTED or EVICTED */
	size_t n_uses;
	struct kueue_holding *holdings; /* what makes up the uses, reclaimable pods included */
	size_t n_holdings;
	int32_t *counts; /* by pod set: admitted counts, else NULL (those of the shape) */
	/* reclaimablePods by pod set, or NULL */
	int32_t *reclaimable;
	/* What the last attempt tried (2.5, resume): kueue_choice.tried by choice; NULL: nothing to
	 * resume. Always current: the queues drop it when the rules say so. */
	int32_t *tried;
	uint32_t n_tried;
	uint64_t tried_generation;
	/* By choice: the only flavor to try; NULL: all. Set by the queues around a nomination. */
	const uint32_t *pinned;
	/* among those that hold quota in its queue: kueue_holders.h */
	struct rank_node by_victim;
	bool taken;
	/* where it waits; the queues' own */
	struct kueue_class *class;
	struct kueue_lane *lane; /* of its LocalQueue */
	struct rank_key
	    turn; /* the beginning of kueue_workload_cmp()'s order, while it is listed */
	struct rank_node by_class;
	struct kueue_link unlisted; /* held and not listed */
};

/* ---- shapes ---- */

struct kueue_shapes {
	struct map by_key;
	struct VEC(struct kueue_shape *) by_number; /* NULL: free */
	struct VEC(uint32_t) free_numbers;
};
void kueue_shapes_done(struct kueue_shapes *s); /* every shape must have been given back */

/* ---- making workloads: kueue_queues.c and tests ---- */

/* A PENDING workload of that queue (or KUEUE_NONE), filed nowhere. The spec is copied. ERR_INVALID
 * with the field: more pod sets or requests than kueue_spec.h allows, a resource twice, negative
 * numbers, or totals beyond int64. */
int kueue_workload_create(struct kueue_shapes *shapes, struct kueue_forest *f, uint32_t queue,
			  const struct kueue_workload_spec *spec, struct kueue_workload **ret,
			  struct err *reterr) MUST_CHECK;
/* NULL is accepted; returns NULL. */
struct kueue_workload *kueue_workload_free(struct kueue_shapes *shapes, struct kueue_workload *w);

/* Pods of a set that count: its size less its reclaimable pods; where it holds quota for fewer
 * (partial admission), at most those. Reclaimable pods are counted against the full size, as
 * Kueue's totalRequestsFromAdmission does. */
int32_t kueue_workload_count(const struct kueue_workload *w, size_t set);
/*
 * What `count` pods of a set ask in a queue: as the shape lists them, times count, saturating at
 * QUOTA_UNLIMITED; `pods` last, standing for itself, when the queue covers it (over what a pod says
 * of `pods`). Flavors are KUEUE_NONE. Returns how many; out has room for KUEUE_MAX_REQUESTS + 1.
 */
size_t kueue_workload_requests(const struct kueue_forest *f, const struct kueue_workload *w,
			       uint32_t queue, size_t set, int32_t count, struct kueue_use *out);
void kueue_workload_forget_tried(struct kueue_workload *w);
/* Whether minCount lies below count in some pod set. */
bool kueue_workload_is_partial(const struct kueue_workload *w);

static inline bool kueue_workload_holds_quota(const struct kueue_workload *w)
{
	return w->state >= KUEUE_RESERVING;
}

/* The order of one queue, AdmissionFairSharing apart (reference 2.1): sticky, priority, queue-order
 * timestamp, uid; then name, so that it is total. Negative when a goes first. */
int kueue_workload_cmp(const struct kueue_workload *a, const struct kueue_workload *b);
/* Writes that order into w->turn, as far as three numbers go: two that are equal there may still
 * differ. */
void kueue_workload_set_turn(struct kueue_workload *w);

#endif
