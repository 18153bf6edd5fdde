#ifndef QUOTA_TREE_KUEUE_HEAP_H
#define QUOTA_TREE_KUEUE_HEAP_H
/*
 * Where a waiting workload stands (class, lane, positions), and who is first. Internal to the
 * queues.
 */
#include "quota-tree/kueue_class.h"

/* The order of a lane's workloads, as rank_list.h asks. */
int kueue_heap_cmp(const void *a, const void *b);

/* Puts a pending workload where it belongs and takes it out. */
void kueue_heap_enter(struct kueue_queues *q, struct kueue_workload *w);
void kueue_heap_leave(struct kueue_queues *q, struct kueue_workload *w);
/* Positions only: of a held workload that is listed. */
void kueue_heap_list(struct kueue_workload *w, struct kueue_queue *queue);
void kueue_heap_unlist(struct kueue_workload *w, struct kueue_queue *queue);
/* Between them the members' order may change. */
void kueue_heap_lift(struct kueue_queues *q, struct kueue_workload *w);
void kueue_heap_drop(struct kueue_queues *q, struct kueue_workload *w);

/* The first workload of the awake classes, or NULL. */
struct kueue_workload *kueue_heap_head(const struct kueue_queue *queue);
/* The first class of the queue, before `w` in order, that has not had its turn since the tree's
 * last wake; NULL: none. */
struct kueue_class *kueue_heap_ghost(const struct kueue_queue *queue,
				     const struct kueue_workload *w);
/* Nobody moves any more: every parked class has had its turn, but those behind heads that stay. */
void kueue_heap_settle_turns(struct kueue_tree *t);

#endif
