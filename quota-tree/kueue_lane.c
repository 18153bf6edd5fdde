#include "quota-tree/kueue_lane.h"
#include "quota-tree/kueue_engine.h"
#include <assert.h>

/* ---- trees, queues, lanes ---- */

static struct kueue_tree *tree_get(struct kueue_queues *q, uint32_t root)
{
	while (q->trees.len <= root)
		vec_push(&q->trees, NULL);
	if (q->trees.items[root])
		return q->trees.items[root];
	struct kueue_tree *t = xcalloc(1, sizeof(*t));
	t->root = root;
	t->wake = 1;
	t->settled = 1;
	t->quiets = 1;
	kueue_link_init(&t->live);
	kueue_link_init(&t->restless);
	kueue_link_init(&t->reserving);
	kueue_link_init(&t->due);
	kueue_link_init(&t->empty);
	q->trees.items[root] = t;
	return t;
}

void kueue_lane_ask(struct kueue_queues *q, struct kueue_tree *t)
{
	if (t->asked)
		return;
	t->asked = true;
	vec_push(&q->asked, t);
}

static void lane_init(struct kueue_lane *lane, struct kueue_queue *queue, uint32_t local)
{
	lane->queue = queue;
	lane->local = local;
	lane->weight = 1;
	rank_list_init(&lane->pending, kueue_heap_cmp);
	rank_list_init(&lane->awake, kueue_class_cmp);
	rank_list_init(&lane->parked, kueue_class_cmp);
}

struct kueue_queue *kueue_lane_queue(struct kueue_queues *q, uint32_t node)
{
	while (q->by_node.len <= node)
		vec_push(&q->by_node, NULL);
	if (q->by_node.items[node])
		return q->by_node.items[node];
	struct kueue_queue *queue = xcalloc(1, sizeof(*queue));
	queue->node = node;
	lane_init(&queue->own, queue, KUEUE_NONE);
	q->by_node.items[node] = queue;
	kueue_lane_sync(q, queue);
	return queue;
}

/* The place of the first LocalQueue not before this number. */
static size_t local_place(const struct kueue_queue *queue, uint32_t local)
{
	size_t lo = 0, hi = queue->locals.len;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (queue->locals.items[mid]->local < local)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct kueue_lane *kueue_lane_find_local(const struct kueue_queue *queue, uint32_t local)
{
	size_t k = local_place(queue, local);
	if (k == queue->locals.len || queue->locals.items[k]->local != local)
		return NULL;
	return queue->locals.items[k];
}

struct kueue_lane *kueue_lane_local(struct kueue_queue *queue, uint32_t local)
{
	struct kueue_lane *lane = kueue_lane_find_local(queue, local);
	if (lane)
		return lane;
	size_t k = local_place(queue, local);
	lane = xcalloc(1, sizeof(*lane));
	lane_init(lane, queue, local);
	vec_push(&queue->locals, NULL);
	memmove(&queue->locals.items[k + 1], &queue->locals.items[k],
		(queue->locals.len - 1 - k) * sizeof(lane));
	queue->locals.items[k] = lane;
	return lane;
}

void kueue_lane_sync_live(struct kueue_queue *queue)
{
	bool live = queue->n_awake || queue->open.len;
	if (live && !kueue_link_is_in(&queue->live))
		kueue_link_put(&queue->tree->live, &queue->live);
	else if (!live)
		kueue_link_take(&queue->live);
}

uint64_t kueue_lane_settled(const struct kueue_queue *queue)
{
	return queue->n_awake || queue->slept == queue->tree->quiets ? queue->settled
								     : queue->tree->settled;
}

/* ---- edits ---- */

/* Takes the queue out of its tree: nothing of it may be filed there. */
static void leave_tree(struct kueue_queues *q, struct kueue_queue *queue)
{
	struct kueue_tree *t = queue->tree;
	if (!t)
		return;
	kueue_class_wake_queue(q, queue);
	kueue_class_forget_empty(q, t);
	kueue_wait_queue_done(queue);
	kueue_link_take(&queue->live);
	queue->slept = 0;
	t->reshaped = true;
	t->queues.items[queue->in_tree] = t->queues.items[--t->queues.len];
	t->queues.items[queue->in_tree]->in_tree = queue->in_tree;
	t->dirty = true;
	kueue_lane_ask(q, t);
	queue->tree = NULL;
}

/* Classes change lanes when fair sharing among LocalQueues goes on or off. */
static void relane(struct kueue_queues *q, struct kueue_queue *queue, bool fair)
{
	size_t n = rank_list_len(&queue->own.pending), k = 0;
	struct kueue_workload **all = xcalloc(n, sizeof(struct kueue_workload *));
	for (size_t i = 0; i < n; i++) {
		struct kueue_workload *w = rank_list_at(&queue->own.pending, i);
		if (w->class)
			all[k++] = w;
	}
	for (size_t i = 0; i < k; i++)
		kueue_heap_leave(q, all[i]);
	queue->fair = fair;
	for (size_t i = 0; i < k; i++)
		kueue_heap_enter(q, all[i]);
	free(all);
}

bool kueue_lane_sync(struct kueue_queues *q, struct kueue_queue *queue)
{
	const struct kueue_queue_spec *spec = kueue_forest_queue_spec(q->forest, queue->node);
	uint32_t root = kueue_forest_root(q->forest, queue->node);
	bool moved = !queue->tree || queue->tree->root != root;
	queue->removed = !spec;
	queue->strict = spec && spec->strategy == KUEUE_STRICT_FIFO;
	queue->always_reclaims =
	    spec && spec->preemption.reclaim_within_cohort == KUEUE_PREEMPT_ANY;
	if (moved) {
		leave_tree(q, queue);
		queue->tree = tree_get(q, root);
		queue->tree->reshaped = true;
		queue->in_tree = queue->tree->queues.len;
		vec_push(&queue->tree->queues, queue);
		kueue_lane_sync_live(queue);
	}
	bool fair = spec && spec->admission_fair_sharing;
	if (fair != queue->fair)
		relane(q, queue, fair);
	return moved;
}

static void lane_done(struct kueue_lane *lane)
{
	rank_list_clear(&lane->pending);
	rank_list_clear(&lane->awake);
	rank_list_clear(&lane->parked);
	kueue_usage_done(lane);
}

void kueue_lane_all_done(struct kueue_queues *q)
{
	for (size_t i = 0; i < q->trees.len; i++) {
		if (q->trees.items[i])
			kueue_class_forget_empty(q, q->trees.items[i]);
	}
	for (size_t i = 0; i < q->by_node.len; i++) {
		struct kueue_queue *queue = q->by_node.items[i];
		if (!queue)
			continue;
		kueue_wait_queue_done(queue);
		for (size_t k = 0; k < queue->locals.len; k++) {
			lane_done(queue->locals.items[k]);
			free(queue->locals.items[k]);
		}
		lane_done(&queue->own);
		vec_done(&queue->locals);
		vec_done(&queue->prio_uses);
		vec_done(&queue->groups);
		vec_done(&queue->open);
		free(queue);
	}
	for (size_t i = 0; i < q->trees.len; i++) {
		if (!q->trees.items[i])
			continue;
		kueue_wait_tree_done(q->trees.items[i]);
		vec_done(&q->trees.items[i]->queues);
		free(q->trees.items[i]);
	}
	vec_done(&q->by_node);
	vec_done(&q->trees);
	map_done(&q->classes);
}
