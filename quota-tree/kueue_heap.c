#include "quota-tree/kueue_heap.h"
#include "base/num.h"
#include "quota-tree/kueue_engine.h"
#include <assert.h>

int kueue_heap_cmp(const void *a, const void *b)
{
	return kueue_workload_cmp(a, b);
}

/* ---- positions ---- */

static void positions_put(struct kueue_workload *w, struct kueue_queue *queue)
{
	rank_list_insert(&queue->own.pending, w->turn, w, 0);
	rank_list_insert(&w->lane->pending, w->turn, w, 0);
}

static void positions_take(struct kueue_workload *w, struct kueue_queue *queue)
{
	rank_list_remove(&queue->own.pending, w->turn, w);
	rank_list_remove(&w->lane->pending, w->turn, w);
}

void kueue_heap_list(struct kueue_workload *w, struct kueue_queue *queue)
{
	assert(!w->listed);
	w->listed = true;
	kueue_workload_set_turn(w);
	positions_put(w, queue);
}

void kueue_heap_unlist(struct kueue_workload *w, struct kueue_queue *queue)
{
	if (!w->listed)
		return;
	w->listed = false;
	positions_take(w, queue);
}

/* ---- coming and going ---- */

void kueue_heap_enter(struct kueue_queues *q, struct kueue_workload *w)
{
	struct kueue_queue *queue = kueue_lane_queue(q, w->queue);
	w->lane = kueue_lane_local(queue, w->local_queue);
	w->state = KUEUE_PENDING;
	kueue_heap_list(w, queue);
	kueue_class_join(q, queue, w);
	if (!w->class->parked) {
		queue->tree->dirty = true;
		queue->tree->changes++;
		kueue_lane_ask(q, queue->tree);
	}
}

void kueue_heap_leave(struct kueue_queues *q, struct kueue_workload *w)
{
	kueue_heap_unlist(w, q->by_node.items[w->queue]);
	kueue_class_part(q, w);
}

void kueue_heap_lift(struct kueue_queues *q, struct kueue_workload *w)
{
	if (w->listed)
		positions_take(w, q->by_node.items[w->queue]);
	if (w->class)
		kueue_class_lift(w);
}

void kueue_heap_drop(struct kueue_queues *q, struct kueue_workload *w)
{
	kueue_workload_set_turn(w);
	if (w->listed)
		positions_put(w, q->by_node.items[w->queue]);
	if (w->class)
		kueue_class_drop(w);
}

/* ---- heads ---- */

static struct kueue_workload *lane_head(const struct kueue_lane *lane)
{
	const struct kueue_class *first = rank_list_first(&lane->awake);
	return first ? first->head : NULL;
}

struct kueue_workload *kueue_heap_head(const struct kueue_queue *queue)
{
	if (!queue->fair)
		return lane_head(&queue->own);
	const struct kueue_lane *best = NULL;
	for (size_t i = 0; i < queue->locals.len; i++) {
		const struct kueue_lane *lane = queue->locals.items[i];
		if (!rank_list_len(&lane->awake))
			continue;
		if (best && lane->usage > best->usage)
			continue;
		if (!best || lane->usage < best->usage ||
		    kueue_workload_cmp(lane_head(lane), lane_head(best)) < 0)
			best = lane;
	}
	return best ? lane_head(best) : NULL;
}

/* ---- turns ---- */

struct kueue_class *kueue_heap_ghost(const struct kueue_queue *queue,
				     const struct kueue_workload *w)
{
	uint64_t wake = queue->tree->wake;
	if (queue->fair || wake == kueue_lane_settled(queue))
		return NULL;
	struct kueue_class *c = rank_list_first_within(&queue->own.parked, (int64_t)wake - 1);
	return c && kueue_workload_cmp(c->head, w) < 0 ? c : NULL;
}

void kueue_heap_settle_turns(struct kueue_tree *t)
{
	/* Alone in its tree it takes turns from nobody. */
	for (struct kueue_link *l = t->live.next; t->queues.len > 1 && l != &t->live; l = l->next) {
		struct kueue_queue *queue = rank_entry(l, struct kueue_queue, live);
		struct kueue_workload *head = kueue_heap_head(queue);
		struct kueue_class *c;
		while (head && (c = kueue_heap_ghost(queue, head)))
			kueue_class_tried(c, t->wake);
	}
	t->settled = t->wake;
	t->quiets++;
}
