#ifndef QUOTA_TREE_KUEUE_WORKLOAD_H
#define QUOTA_TREE_KUEUE_WORKLOAD_H
/*
 * The engine's record of a workload: what it asks, what it holds, where it stands.
 *
 * Made by kueue_queues_add() (kueue_queues.h) and freed by kueue_queues_remove(). Fields are read
 * by the engine's files and by core; only the engine's functions write them.
 *
 * What workloads of one shape share (requests, constraints, priority apart) is kept once and
 * counted: struct kueue_shape. Eligibility of flavors is worked out once per shape and edit.
 */
#include "base/arena.h"
#include "base/vec.h"
#include "quota-tree/kueue_forest.h"
#include "quota-tree/rank_tree.h"

enum kueue_state {
	KUEUE_PENDING = 0,  /* in its queue's heap */
	KUEUE_INADMISSIBLE, /* parked until something that could help it changes */
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
	struct constraint constraint;
};

struct kueue_shape {
	struct arena mem;
	struct span key; /* bytes that are equal for equal shapes */
	uint32_t refs, number;
	const struct kueue_shape_set *sets;
	size_t n_sets;
};

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
	struct rank_node by_queue;
	/* standing */
	enum kueue_state state;
	struct kueue_use *uses; /* charged while RESERVING, ADMITTED or EVICTED */
	size_t n_uses;
	int32_t *counts; /* by pod set: admitted counts, else NULL (those of the shape) */
	/* reclaimablePods by pod set, or NULL */
	int32_t *reclaimable;
	/* what the last attempt tried (2.5, resume): by pod set x request, or NULL */
	int32_t *tried;
	uint64_t tried_generation;
	/* among those that hold quota in its queue: kueue_holders.h */
	struct rank_node by_victim;
	bool taken;
};

#endif
