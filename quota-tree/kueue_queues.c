/*
 * The public face of the queues: workloads come, go, hold, give back.
 */
#include "quota-tree/kueue_queues.h"
#include "base/num.h"
#include "quota-tree/kueue_engine.h"
#include "quota-tree/kueue_message.h"
#include <assert.h>

struct kueue_queues *kueue_queues_create(struct kueue_forest *f,
					 const struct kueue_options *options)
{
	struct kueue_queues *q = xcalloc(1, sizeof(*q));
	q->forest = f;
	q->options = *options;
	q->text = xcalloc(1, KUEUE_MESSAGE_MAX);
	return q;
}

static void free_all(struct kueue_queues *q, struct kueue_queue *queue)
{
	while (kueue_holders_count(q->forest, queue->node))
		kueue_queues_remove(q, kueue_holders_at(q->forest, queue->node, 0));
	struct kueue_workload *w;
	while ((w = rank_list_first(&queue->own.pending)))
		kueue_queues_remove(q, w);
}

struct kueue_queues *kueue_queues_destroy(struct kueue_queues *q)
{
	if (!q)
		return NULL;
	for (size_t i = 0; i < q->by_node.len; i++) {
		if (q->by_node.items[i])
			free_all(q, q->by_node.items[i]);
	}
	while (q->unlisted.next != &q->unlisted && q->unlisted.next)
		kueue_queues_remove(q,
				    rank_entry(q->unlisted.next, struct kueue_workload, unlisted));
	kueue_lane_all_done(q);
	kueue_shapes_done(&q->shapes);
	kueue_wake_done(q);
	kueue_round_done(q);
	vec_done(&q->asked);
	vec_done(&q->usage_weights);
	vec_done(&q->local_usage);
	kueue_forest_set_local_usage(q->forest, NULL, 0);
	free(q->text);
	free(q);
	return NULL;
}

void kueue_queues_edited(struct kueue_queues *q, uint32_t node)
{
	assert(!q->in_cycle);
	uint32_t root = node == KUEUE_NONE ? KUEUE_NONE : kueue_forest_root(q->forest, node);
	struct kueue_tree *was = NULL;
	if (node < q->by_node.len && q->by_node.items[node])
		was = q->by_node.items[node]->tree;
	for (size_t i = 0; i < q->by_node.len; i++) {
		if (q->by_node.items[i])
			kueue_lane_sync(q, q->by_node.items[i]);
	}
	for (size_t i = 0; i < q->trees.len; i++) {
		struct kueue_tree *t = q->trees.items[i];
		if (!t || (node != KUEUE_NONE && t->root != root && t != was && !t->reshaped))
			continue;
		t->reshaped = false;
		kueue_wake_tree(q, t);
		/* Groups know the quota of their queue. */
		vec_foreach (&t->queues, it)
			kueue_wait_queue_done(*it);
		t->dirty = true;
		t->changes++;
		kueue_lane_ask(q, t);
	}
}

/* ---- held workloads ---- */

static void put_unlisted(struct kueue_queues *q, struct kueue_workload *w)
{
	if (!q->unlisted.next)
		kueue_link_init(&q->unlisted);
	kueue_link_put(&q->unlisted, &w->unlisted);
}

static void become_held(struct kueue_queues *q, struct kueue_workload *w)
{
	w->state = KUEUE_HELD;
	if (w->queue != KUEUE_NONE && w->held_listed) {
		struct kueue_queue *queue = kueue_lane_queue(q, w->queue);
		w->lane = kueue_lane_local(queue, w->local_queue);
		kueue_heap_list(w, queue);
	} else {
		put_unlisted(q, w);
	}
}

static void cease_held(struct kueue_queues *q, struct kueue_workload *w)
{
	kueue_link_take(&w->unlisted);
	if (w->listed)
		kueue_heap_unlist(w, q->by_node.items[w->queue]);
}

void kueue_queue_settle(struct kueue_queues *q, struct kueue_workload *w)
{
	if (w->held || w->queue == KUEUE_NONE)
		become_held(q, w);
	else
		kueue_heap_enter(q, w);
}

void kueue_queue_unsettle(struct kueue_queues *q, struct kueue_workload *w)
{
	if (w->state == KUEUE_HELD) {
		cease_held(q, w);
		return;
	}
	struct kueue_queue *queue = q->by_node.items[w->queue];
	if (queue->preemptor == w)
		kueue_queue_set_preemptor(q, queue, NULL);
	if (queue->trying == w)
		queue->trying = NULL;
	kueue_heap_leave(q, w);
	queue->tree->changes++;
	if (queue->tree->live.next != &queue->tree->live) {
		/* What it held back from others it holds back no more. */
		queue->tree->dirty = true;
		kueue_lane_ask(q, queue->tree);
	}
}

void kueue_queues_hold(struct kueue_queues *q, struct kueue_workload *w, bool listed)
{
	assert(!q->in_cycle);
	if (!kueue_workload_holds_quota(w)) {
		kueue_queue_unsettle(q, w);
		w->held = true;
		w->held_listed = listed;
		kueue_queue_settle(q, w);
		return;
	}
	w->held = true;
	w->held_listed = listed;
}

void kueue_queues_unhold(struct kueue_queues *q, struct kueue_workload *w)
{
	assert(!q->in_cycle);
	if (!w->held)
		return;
	if (kueue_workload_holds_quota(w)) {
		w->held = false;
		return;
	}
	kueue_queue_unsettle(q, w);
	w->held = false;
	kueue_queue_settle(q, w);
}

void kueue_queues_move(struct kueue_queues *q, struct kueue_workload *w, uint32_t queue)
{
	assert(!q->in_cycle && !kueue_workload_holds_quota(w));
	kueue_queue_unsettle(q, w);
	kueue_workload_forget_tried(w);
	w->queue = queue;
	kueue_queue_settle(q, w);
}

/* ---- come and go ---- */

int kueue_queues_add(struct kueue_queues *q, uint32_t queue, const struct kueue_workload_spec *spec,
		     struct kueue_workload **ret, struct err *reterr)
{
	assert(!q->in_cycle);
	struct kueue_workload *w;
	int r = kueue_workload_create(&q->shapes, q->forest, queue, spec, &w, reterr);
	if (r < 0)
		return r;
	kueue_queue_settle(q, w);
	*ret = w;
	return 0;
}

void kueue_queues_remove(struct kueue_queues *q, struct kueue_workload *w)
{
	assert(!q->in_cycle);
	if (kueue_workload_holds_quota(w))
		kueue_hold_give_back(q, w);
	else
		kueue_queue_unsettle(q, w);
	kueue_workload_free(&q->shapes, w);
}

/* ---- changes of one ---- */

void kueue_queues_set_priority(struct kueue_queues *q, struct kueue_workload *w, int32_t priority)
{
	assert(!q->in_cycle);
	if (w->priority == priority)
		return;
	if (!kueue_workload_holds_quota(w)) {
		/* Who waits for its victims goes on doing so. */
		bool waits = w->state != KUEUE_HELD && q->by_node.items[w->queue]->preemptor == w;
		kueue_queue_unsettle(q, w);
		w->priority = priority;
		kueue_queue_settle(q, w);
		if (waits)
			kueue_queue_set_preemptor(q, q->by_node.items[w->queue], w);
		return;
	}
	struct kueue_queue *queue = q->by_node.items[w->queue];
	kueue_holders_unfile(q->forest, w);
	kueue_bound_count(queue, w, -1);
	w->priority = priority;
	kueue_bound_count(queue, w, 1);
	kueue_holders_file(q->forest, w);
	kueue_wake_charged(q, queue, w->uses, w->n_uses, w->priority);
	queue->tree->changes++;
	/* Others may preempt it now (Kueue: PriorityChanged of an admitted workload). */
	kueue_wake_tree(q, queue->tree);
}

void kueue_queues_set_queue_order(struct kueue_queues *q, struct kueue_workload *w, int64_t at)
{
	bool stands = !kueue_workload_holds_quota(w);
	assert(!q->in_cycle || !stands);
	if (stands)
		kueue_heap_lift(q, w);
	w->queue_order = at;
	if (stands)
		kueue_heap_drop(q, w);
}

void kueue_queue_set_preemptor(struct kueue_queues *q, struct kueue_queue *queue,
			       struct kueue_workload *w)
{
	struct kueue_workload *was = queue->preemptor;
	if (was == w)
		return;
	queue->preemptor = w;
	if (was) {
		kueue_heap_lift(q, was);
		was->preemptor = was->sticky = false;
		kueue_heap_drop(q, was);
	}
	if (w) {
		kueue_heap_lift(q, w);
		w->preemptor = true;
		w->sticky = !queue->strict;
		kueue_heap_drop(q, w);
	}
}
