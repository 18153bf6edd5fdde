#ifndef QUOTA_TREE_KUEUE_LANE_H
#define QUOTA_TREE_KUEUE_LANE_H
/*
 * The trees of cohorts, the queues in them, and the lanes of a queue, as the cycle sees them.
 * Internal to the queues.
 *
 * A queue has one lane of classes; with AdmissionFairSharing it has one for each LocalQueue, and
 * the lane of least usage goes first. A LocalQueue always has a lane, for positions and counts.
 */
#include "quota-tree/kueue_link.h"
#include "quota-tree/kueue_wait.h"
#include "quota-tree/kueue_workload.h"

struct kueue_consumed {
	uint32_t resource;
	double value;
};
struct kueue_held {
	uint32_t resource;
	int64_t value;
};

struct kueue_lane {
	struct kueue_queue *queue;
	uint32_t local;		  /* KUEUE_NONE: the queue's own lane */
	struct rank_list pending; /* its listed workloads; in the queue's own lane all of them */
	struct rank_list awake;	  /* classes */
	struct rank_list parked;  /* classes; the mark is the wake of their last try */
	size_t reserving, admitted;
	/* AdmissionFairSharing */
	double weight;
	double usage; /* what orders it */
	int64_t last_sample;
	struct VEC(struct kueue_consumed) consumed; /* decayed */
	struct VEC(struct kueue_consumed) penalty;  /* of entry, until the next sample */
	struct VEC(struct kueue_held) held;	    /* by its admitted workloads */
};

/* What the holders of one queue hold, by cell and priority: sorted. */
struct kueue_prio_use {
	uint32_t flavor, resource;
	int32_t priority;
	int64_t value;
};

struct kueue_queue {
	uint32_t node;
	struct kueue_tree *tree;
	struct kueue_lane own;
	struct VEC(struct kueue_lane *) locals;
	struct kueue_workload *preemptor; /* at most one; sticky under BestEffortFIFO */
	size_t in_tree;			  /* its place in tree->queues */
	bool strict, fair, always_reclaims;
	bool removed;	 /* the forest has no such queue (any more) */
	size_t n_awake;	 /* classes */
	size_t n_active; /* workloads of theirs */
	/* While a class is awake, and until nobody moves after that: up to this wake all parked
	 * ones had their turn. What stands behind a head that stays has not. */
	uint64_t settled;
	uint64_t slept; /* tree->quiets when the last class fell asleep */
	/* its head that goes through its flavors, while the tree stands so */
	const struct kueue_workload *trying;
	uint64_t trying_changes;
	uint32_t tries;		/* UINT32_MAX: through all of them */
	uint64_t turns_changes; /* how often its preemptor changed while the tree stood so */
	uint32_t turns;
	struct kueue_link live; /* in tree->live while a class is awake or a group open */
	struct VEC(struct kueue_prio_use) prio_uses;
	struct VEC(struct kueue_wait_group *) groups, open; /* highest priority first */
};

struct kueue_tree {
	uint32_t root;
	struct VEC(struct kueue_queue *) queues;
	struct kueue_link live; /* queues with awake classes */
	struct kueue_link restless, reserving, due, empty;
	size_t n_empty;
	struct VEC(struct kueue_wait_cell *) cells;
	uint64_t wake;	  /* counts what would wake the whole tree in Kueue */
	uint64_t settled; /* up to here every class of a queue that sleeps has had its turn */
	uint64_t quiets;  /* counts how often nobody moved any more */
	bool dirty;	  /* a round may change something */
	bool moved;	  /* this round changed something */
	bool again;	  /* an entry was left without an answer */
	bool reshaped;	  /* a queue came or went since the last edit was told */
	bool asked;	  /* in q->asked: a release since the last cycle, or dirty */
	uint64_t changes; /* counts whatever could change an answer */
};

struct kueue_queue *kueue_lane_queue(struct kueue_queues *q, uint32_t node);	/* makes it */
struct kueue_lane *kueue_lane_local(struct kueue_queue *queue, uint32_t local); /* makes it */
struct kueue_lane *kueue_lane_find_local(const struct kueue_queue *queue, uint32_t local);
void kueue_lane_all_done(struct kueue_queues *q);
/* Which tree the queue stands in and what its spec says, anew; true when either changed. */
bool kueue_lane_sync(struct kueue_queues *q, struct kueue_queue *queue);
/* After a class woke or slept, or a group opened or closed: in tree->live or out of it. */
void kueue_lane_sync_live(struct kueue_queue *queue);
/* The next cycle looks at the tree. */
void kueue_lane_ask(struct kueue_queues *q, struct kueue_tree *t);
/* Up to which of the tree's wakes every parked class of the queue had its turn. */
uint64_t kueue_lane_settled(const struct kueue_queue *queue);

#endif
