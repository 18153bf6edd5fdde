#ifndef QUOTA_TREE_KUEUE_WAKE_H
#define QUOTA_TREE_KUEUE_WAKE_H
/*
 * Who is found when quota is given back or charged, or placement has room. Internal to the queues.
 */
#include "quota-tree/kueue_forest.h"

struct kueue_class;
struct kueue_queue;
struct kueue_queues;
struct kueue_tree;
struct kueue_workload;

/* The first class of the queue's open groups that could be helped now, has not had its turn and
 * goes before `head` (NULL: anybody's); NULL: none. Groups that hold no class to be helped are
 * closed; those of lower priority than the one found, or than `head`, are not looked at. */
struct kueue_class *kueue_wake_best(struct kueue_queues *q, struct kueue_queue *queue,
				    const struct kueue_workload *head);
/* Quota was charged by a holder of this priority: some classes may have new victims. */
void kueue_wake_charged(struct kueue_queues *q, struct kueue_queue *queue,
			const struct kueue_use *uses, size_t n, int32_t priority);
/* Quota was given back by one of this priority: what would wake the whole tree in Kueue. */
void kueue_wake_released(struct kueue_queues *q, struct kueue_queue *queue,
			 const struct kueue_use *uses, size_t n, int32_t priority);
/* Those whose only effect would be what they hold back from others. */
void kueue_wake_reserving(struct kueue_queues *q, struct kueue_tree *t);
void kueue_wake_tree(struct kueue_queues *q, struct kueue_tree *t);

/* A class that placement refused waits for its shape too (kueue_queues_wake_shape()). */
void kueue_wake_refused_put(struct kueue_queues *q, struct kueue_class *c);
void kueue_wake_done(struct kueue_queues *q);

#endif
