#ifndef QUOTA_TREE_KUEUE_ENGINE_H
#define QUOTA_TREE_KUEUE_ENGINE_H
/*
 * The record behind struct kueue_queues, and what its files share. Internal.
 *
 *	kueue_queues.c	workloads come, go, hold		kueue_hold.c	quota held and given
 *back kueue_cycle.c	the iterator and its answers		kueue_round.c	nominate, charge,
 *requeue kueue_entry.c	one entry beside the others		kueue_order.c	which goes first
 *	kueue_heap.c	where who waits, heads			kueue_class.c	awake and parked
 *classes kueue_lane.c	trees, queues, lanes			kueue_usage.c	AdmissionFairSharing
 *	kueue_parked.c	what a class lacks			kueue_wait.c	the index of that
 *	kueue_wake.c	who is helped by a change		kueue_bound.c	what a try could be
 *given
 */
#include "quota-tree/kueue_bound.h"
#include "quota-tree/kueue_heap.h"
#include "quota-tree/kueue_holders.h"
#include "quota-tree/kueue_parked.h"
#include "quota-tree/kueue_round.h"
#include "quota-tree/kueue_wake.h"

struct kueue_queues {
	struct kueue_forest *forest;
	struct kueue_options options;
	struct kueue_shapes shapes;
	struct VEC(struct kueue_queue *) by_node; /* NULL: nobody was ever there */
	struct VEC(struct kueue_tree *) trees;	  /* by root node; NULL: none */
	struct map classes;
	struct VEC(
	    struct kueue_link *) refused; /* by shape number: classes that placement refused */
	struct VEC(struct kueue_tree *) asked;
	struct kueue_link unlisted; /* held workloads that no lane knows */
	uint64_t cycle;
	uint64_t n_preemptors; /* numbers given to workloads that preempted */
	uint32_t groups;
	/* the round */
	bool in_cycle, in_round;
	int64_t now;
	size_t mark;
	struct VEC(struct kueue_heat *) heats; /* entries; memory is kept */
	size_t n_heats, n_popped;
	struct kueue_heat *current;
	struct VEC(struct kueue_tree *) round_trees;
	struct VEC(struct kueue_workload *) preempted;	 /* by this round */
	struct VEC(struct kueue_workload *) admitted;	 /* by this round */
	struct VEC(struct kueue_consumed) usage_weights; /* by resource */
	struct VEC(double) local_usage;			 /* by local number, for the forest */
	char *text;					 /* the sentence of the current entry */
};

/* ---- kueue_hold.c ---- */

/* Charges what w->uses says and files it; it stands in no class. */
void kueue_hold_quota(struct kueue_queues *q, struct kueue_queue *queue, struct kueue_workload *w,
		      enum kueue_state state);
/* Gives back its quota; it stands nowhere then. */
void kueue_hold_give_back(struct kueue_queues *q, struct kueue_workload *w);

/* ---- kueue_queues.c ---- */

/* At most one waits for its victims; NULL: nobody. */
void kueue_queue_set_preemptor(struct kueue_queues *q, struct kueue_queue *queue,
			       struct kueue_workload *w);
/* One that stands nowhere: to its class, or aside when it is held or has no queue; and one that
 * holds no quota out of wherever it stands. */
void kueue_queue_settle(struct kueue_queues *q, struct kueue_workload *w);
void kueue_queue_unsettle(struct kueue_queues *q, struct kueue_workload *w);

/* ---- kueue_usage.c ---- */

void kueue_usage_changed(struct kueue_queues *q, struct kueue_lane *lane);
/* The workload was admitted (sign 1) or its quota released (-1). */
void kueue_usage_count(struct kueue_queues *q, const struct kueue_workload *w, int sign);
void kueue_usage_penalize(struct kueue_queues *q, const struct kueue_workload *w);
void kueue_usage_done(struct kueue_lane *lane);

#endif
