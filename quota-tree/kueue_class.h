#ifndef QUOTA_TREE_KUEUE_CLASS_H
#define QUOTA_TREE_KUEUE_CLASS_H
/*
 * Equivalence classes (reference/kueue.md section 2.3): the workloads of one lane that get one
 * answer, of the same shape and priority. Internal to the queues.
 *
 * A class is awake or parked as a whole, and ordered in its lane by its first member. A parked
 * class is filed so that what could help it finds it:
 *	waits		one for each flavor that could serve it: a cell that is short, and how much
 *			of it is needed there
 *	restless	nothing it lacks could be named: tried at every release in the tree
 *	due		could be helped, but had its turn: tried after the next release
 *	reserving	hopeless, but a try would hold capacity for the round: tried when others are
 *	refused		by placement: woken with its shape
 */
#include "quota-tree/kueue_lane.h"

struct kueue_class {
	struct kueue_lane *lane;
	struct kueue_shape *shape;
	int32_t priority;
	const struct kueue_workload *alone; /* a class of its own, or NULL */
	struct rank_tree members;	    /* by_class */
	struct kueue_workload *head;	    /* its first member, by which it is filed in the lane */
	struct rank_key turn;		    /* of the head, or of the last that was */
	bool filed;			    /* in lane->awake or lane->parked */
	size_t counted;			    /* of its members, in queue->n_active */
	bool parked;
	bool restless, reserving, due;
	uint64_t tried_wake;	   /* the tree's wake number when it was tried last */
	const char *reason;	   /* why it is parked */
	struct kueue_link woken;   /* in tree->restless, ->reserving or ->due */
	struct kueue_link refused; /* in q->refused[shape] */
	struct kueue_link empty;   /* in tree->empty: parked, and its last member went */
	struct VEC(struct kueue_wait *) waits;
	/* what one flavor must have for the pod set that found none, by resource */
	struct VEC(struct kueue_held) demand;
};

static inline void kueue_class_put_ring(struct kueue_class *c, struct kueue_link *ring)
{
	kueue_link_take(&c->woken);
	kueue_link_put(ring, &c->woken);
}

/* The order of a lane's classes, as rank_list.h asks. */
int kueue_class_cmp(const void *a, const void *b);

/* A pending workload to its class, and out of it. */
void kueue_class_join(struct kueue_queues *q, struct kueue_queue *queue, struct kueue_workload *w);
void kueue_class_part(struct kueue_queues *q, struct kueue_workload *w);
/* Between them the member's turn may change. */
void kueue_class_lift(struct kueue_workload *w);
void kueue_class_drop(struct kueue_workload *w);

void kueue_class_wake(struct kueue_queues *q, struct kueue_class *c);
void kueue_class_park(struct kueue_queues *q, struct kueue_class *c, const char *reason);
/* It had its turn at this wake of the tree. */
void kueue_class_tried(struct kueue_class *c, uint64_t wake);
/* Every parked class of the queue. */
void kueue_class_wake_queue(struct kueue_queues *q, struct kueue_queue *queue);
/* Classes of the tree whose members went. */
void kueue_class_forget_empty(struct kueue_queues *q, struct kueue_tree *t);
/* With fair sharing among LocalQueues: the class of equal workloads in another lane, or NULL. */
struct kueue_class *kueue_class_sibling(const struct kueue_queues *q, const struct kueue_class *c,
					struct kueue_lane *lane);

#endif
