/*
 * Lanes and classes: who stands where in a queue, who is first, who is parked.
 */
#include "quota-tree/kueue_class.h"
#include "quota-tree/kueue_shape.h"
#include <assert.h>

/* Classes that are remembered after their last member went, in one tree. */
#define MAX_EMPTY 1024

static struct kueue_class *class_at(struct rank_node *n)
{
	return rank_entry(n, struct kueue_class, by_lane);
}

static bool before_by_queue(const struct rank_node *a, const struct rank_node *b)
{
	return kueue_workload_cmp(rank_entry_const(a, struct kueue_workload, by_queue),
				  rank_entry_const(b, struct kueue_workload, by_queue)) < 0;
}

static bool before_by_local(const struct rank_node *a, const struct rank_node *b)
{
	return kueue_workload_cmp(rank_entry_const(a, struct kueue_workload, by_local),
				  rank_entry_const(b, struct kueue_workload, by_local)) < 0;
}

static bool before_by_class(const struct rank_node *a, const struct rank_node *b)
{
	return kueue_workload_cmp(rank_entry_const(a, struct kueue_workload, by_class),
				  rank_entry_const(b, struct kueue_workload, by_class)) < 0;
}

static bool before_by_lane(const struct rank_node *a, const struct rank_node *b)
{
	return kueue_workload_cmp(rank_entry_const(a, struct kueue_class, by_lane)->head,
				  rank_entry_const(b, struct kueue_class, by_lane)->head) < 0;
}

static void fix_least_wake(struct rank_node *n)
{
	struct kueue_class *c = class_at(n);
	c->least_wake = c->tried_wake;
	if (n->left && class_at(n->left)->least_wake < c->least_wake)
		c->least_wake = class_at(n->left)->least_wake;
	if (n->right && class_at(n->right)->least_wake < c->least_wake)
		c->least_wake = class_at(n->right)->least_wake;
}

static const struct rank_order by_queue_order = {.before = before_by_queue};
static const struct rank_order by_local_order = {.before = before_by_local};
static const struct rank_order by_class_order = {.before = before_by_class};
static const struct rank_order awake_order = {.before = before_by_lane};
static const struct rank_order parked_order = {.before = before_by_lane, .fix = fix_least_wake};

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

void kueue_tree_ask(struct kueue_queues *q, struct kueue_tree *t)
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
	rank_init(&lane->pending, local == KUEUE_NONE ? &by_queue_order : &by_local_order);
	rank_init(&lane->awake, &awake_order);
	rank_init(&lane->parked, &parked_order);
}

struct kueue_queue *kueue_heap_queue(struct kueue_queues *q, uint32_t node)
{
	while (q->by_node.len <= node)
		vec_push(&q->by_node, NULL);
	if (q->by_node.items[node])
		return q->by_node.items[node];
	struct kueue_queue *queue = xcalloc(1, sizeof(*queue));
	queue->node = node;
	lane_init(&queue->own, queue, KUEUE_NONE);
	q->by_node.items[node] = queue;
	kueue_heap_sync(q, queue);
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

struct kueue_lane *kueue_heap_find_local(const struct kueue_queue *queue, uint32_t local)
{
	size_t k = local_place(queue, local);
	if (k == queue->locals.len || queue->locals.items[k]->local != local)
		return NULL;
	return queue->locals.items[k];
}

struct kueue_lane *kueue_heap_local(struct kueue_queue *queue, uint32_t local)
{
	struct kueue_lane *lane = kueue_heap_find_local(queue, local);
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

/* ---- classes ---- */

struct class_key { /* bytes of a map key */
	const struct kueue_lane *lane;
	const struct kueue_workload *alone;
	uint32_t shape;
	int32_t priority;
};

static struct span key_span(const struct class_key *key)
{
	return span_make((const char *)key, sizeof(*key));
}

void kueue_queue_sync_live(struct kueue_queue *queue)
{
	bool live = queue->n_awake || queue->open.len;
	if (live && !kueue_link_is_in(&queue->live))
		kueue_link_put(&queue->tree->live, &queue->live);
	else if (!live)
		kueue_link_take(&queue->live);
}

static void lane_put(struct kueue_class *c)
{
	struct kueue_queue *queue = c->lane->queue;
	if (c->parked) {
		rank_insert(&c->lane->parked, &c->by_lane);
		return;
	}
	rank_insert(&c->lane->awake, &c->by_lane);
	if (queue->n_awake == 0)
		queue->settled = kueue_heap_settled(queue);
	if (queue->n_awake++ == 0)
		kueue_queue_sync_live(queue);
}

static void lane_take(struct kueue_class *c)
{
	struct kueue_queue *queue = c->lane->queue;
	if (!rank_has(&c->by_lane))
		return;
	if (c->parked) {
		rank_remove(&c->lane->parked, &c->by_lane);
		return;
	}
	rank_remove(&c->lane->awake, &c->by_lane);
	if (--queue->n_awake == 0) {
		queue->slept = queue->tree->quiets;
		kueue_queue_sync_live(queue);
	}
}

void kueue_class_refile(struct kueue_class *c)
{
	if (!rank_has(&c->by_lane))
		return;
	lane_take(c);
	lane_put(c);
}

static void class_free(struct kueue_queues *q, struct kueue_class *c)
{
	struct class_key key = {c->lane, c->alone, c->shape->number, c->priority};
	assert(!rank_len(&c->members));
	lane_take(c);
	kueue_parked_clear(q, c);
	kueue_link_take(&c->refused);
	if (kueue_link_is_in(&c->empty)) {
		kueue_link_take(&c->empty);
		c->lane->queue->tree->n_empty--;
	}
	map_remove(&q->classes, key_span(&key));
	kueue_shape_put(&q->shapes, c->shape);
	vec_done(&c->waits);
	vec_done(&c->demand);
	free(c);
}

/* The class lost its last member. A parked one is remembered until what would wake it: an equal
 * newcomer is bypassed until then (Kueue's hashToBulkMoveReason). */
static void class_emptied(struct kueue_queues *q, struct kueue_class *c)
{
	struct kueue_tree *t = c->lane->queue->tree;
	lane_take(c);
	c->head = NULL;
	if (!c->parked || c->alone) {
		class_free(q, c);
		return;
	}
	kueue_parked_clear(q, c);
	kueue_link_put(&t->empty, &c->empty);
	if (++t->n_empty > MAX_EMPTY)
		class_free(q, rank_entry(t->empty.next, struct kueue_class, empty));
}

static struct kueue_class *class_get(struct kueue_queues *q, struct kueue_queue *queue,
				     struct kueue_workload *w)
{
	bool alone = !q->options.equivalence_hashing || w->reclaimable;
	struct class_key key = {.lane = queue->fair ? w->lane : &queue->own,
				.alone = alone ? w : NULL,
				.shape = w->shape->number,
				.priority = w->priority};
	struct kueue_class *c = map_get(&q->classes, key_span(&key));
	if (c)
		return c;
	c = xcalloc(1, sizeof(*c));
	c->lane = queue->fair ? w->lane : &queue->own;
	c->shape = w->shape;
	c->shape->refs++;
	c->priority = w->priority;
	c->alone = key.alone;
	rank_init(&c->members, &by_class_order);
	map_put(&q->classes, key_span(&key), c);
	return c;
}

/* Its first member may be another one now. */
static void class_rehead(struct kueue_class *c)
{
	struct rank_node *first = rank_first(&c->members);
	struct kueue_workload *head =
	    first ? rank_entry(first, struct kueue_workload, by_class) : NULL;
	if (head == c->head && rank_has(&c->by_lane))
		return;
	lane_take(c);
	kueue_parked_lift(c);
	c->head = head;
	kueue_parked_drop(c);
	if (head)
		lane_put(c);
}

void kueue_class_wake(struct kueue_queues *q, struct kueue_class *c)
{
	struct kueue_tree *t = c->lane->queue->tree;
	if (!c->parked)
		return;
	kueue_parked_clear(q, c);
	kueue_link_take(&c->refused);
	if (!c->head) {
		class_free(q, c);
		return;
	}
	lane_take(c);
	c->parked = false;
	c->reason = NULL;
	lane_put(c);
	t->dirty = true;
	t->changes++;
	kueue_tree_ask(q, t);
}

void kueue_class_park(struct kueue_queues *q, struct kueue_class *c, const char *reason)
{
	(void)q;
	assert(!c->parked && c->head);
	lane_take(c);
	c->parked = true;
	c->reason = reason;
	c->tried_wake = c->lane->queue->tree->wake;
	c->lane->queue->tree->changes++;
	lane_put(c);
}

/* ---- workloads ---- */

void kueue_heap_list(struct kueue_workload *w, struct kueue_queue *queue)
{
	assert(!w->listed);
	w->listed = true;
	rank_insert(&queue->own.pending, &w->by_queue);
	rank_insert(&w->lane->pending, &w->by_local);
}

void kueue_heap_unlist(struct kueue_workload *w, struct kueue_queue *queue)
{
	if (!w->listed)
		return;
	w->listed = false;
	rank_remove(&queue->own.pending, &w->by_queue);
	rank_remove(&w->lane->pending, &w->by_local);
}

void kueue_heap_enter(struct kueue_queues *q, struct kueue_workload *w)
{
	struct kueue_queue *queue = kueue_heap_queue(q, w->queue);
	w->lane = kueue_heap_local(queue, w->local_queue);
	w->state = KUEUE_PENDING;
	kueue_heap_list(w, queue);
	struct kueue_class *c = class_get(q, queue, w);
	w->class = c;
	rank_insert(&c->members, &w->by_class);
	if (kueue_link_is_in(&c->empty)) {
		kueue_link_take(&c->empty);
		queue->tree->n_empty--;
		class_rehead(c);
		kueue_parked_make_restless(c);
		if (c->tried_wake < queue->tree->wake)
			kueue_class_wake(q, c);
	} else {
		class_rehead(c);
	}
	if (!c->parked) {
		queue->tree->dirty = true;
		queue->tree->changes++;
		kueue_tree_ask(q, queue->tree);
	}
}

void kueue_heap_leave(struct kueue_queues *q, struct kueue_workload *w)
{
	struct kueue_queue *queue = q->by_node.items[w->queue];
	struct kueue_class *c = w->class;
	kueue_heap_unlist(w, queue);
	rank_remove(&c->members, &w->by_class);
	w->class = NULL;
	if (rank_len(&c->members))
		class_rehead(c);
	else
		class_emptied(q, c);
}

void kueue_heap_lift(struct kueue_queues *q, struct kueue_workload *w)
{
	struct kueue_queue *queue = q->by_node.items[w->queue];
	if (w->listed) {
		rank_remove(&queue->own.pending, &w->by_queue);
		rank_remove(&w->lane->pending, &w->by_local);
	}
	if (!w->class)
		return;
	lane_take(w->class);
	kueue_parked_lift(w->class);
	rank_remove(&w->class->members, &w->by_class);
}

void kueue_heap_drop(struct kueue_queues *q, struct kueue_workload *w)
{
	struct kueue_queue *queue = q->by_node.items[w->queue];
	if (w->listed) {
		rank_insert(&queue->own.pending, &w->by_queue);
		rank_insert(&w->lane->pending, &w->by_local);
	}
	if (!w->class)
		return;
	rank_insert(&w->class->members, &w->by_class);
	w->class->head =
	    rank_entry(rank_first(&w->class->members), struct kueue_workload, by_class);
	kueue_parked_drop(w->class);
	lane_put(w->class);
}

/* ---- heads ---- */

static struct kueue_workload *lane_head(const struct kueue_lane *lane)
{
	struct rank_node *first = rank_first(&lane->awake);
	return first ? class_at(first)->head : NULL;
}

struct kueue_workload *kueue_heap_head(const struct kueue_queue *queue)
{
	if (!queue->fair)
		return lane_head(&queue->own);
	const struct kueue_lane *best = NULL;
	for (size_t i = 0; i < queue->locals.len; i++) {
		const struct kueue_lane *lane = queue->locals.items[i];
		if (!rank_len(&lane->awake))
			continue;
		if (best && lane->usage > best->usage)
			continue;
		if (!best || lane->usage < best->usage ||
		    kueue_workload_cmp(lane_head(lane), lane_head(best)) < 0)
			best = lane;
	}
	return best ? lane_head(best) : NULL;
}

uint64_t kueue_heap_settled(const struct kueue_queue *queue)
{
	return queue->n_awake || queue->slept == queue->tree->quiets ? queue->settled
								     : queue->tree->settled;
}

struct kueue_class *kueue_heap_ghost(const struct kueue_queue *queue,
				     const struct kueue_workload *w)
{
	uint64_t wake = queue->tree->wake;
	struct rank_node *n = queue->own.parked.root;
	if (queue->fair || wake == kueue_heap_settled(queue))
		return NULL;
	while (n) {
		struct kueue_class *c = class_at(n);
		if (n->left && class_at(n->left)->least_wake < wake) {
			n = n->left;
			continue;
		}
		if (c->tried_wake < wake)
			return kueue_workload_cmp(c->head, w) < 0 ? c : NULL;
		n = n->right && class_at(n->right)->least_wake < wake ? n->right : NULL;
	}
	return NULL;
}

void kueue_tree_settle_turns(struct kueue_tree *t)
{
	/* Alone in its tree it takes turns from nobody. */
	for (struct kueue_link *l = t->live.next; t->queues.len > 1 && l != &t->live; l = l->next) {
		struct kueue_queue *queue = rank_entry(l, struct kueue_queue, live);
		struct kueue_workload *head = kueue_heap_head(queue);
		struct kueue_class *c;
		while (head && (c = kueue_heap_ghost(queue, head))) {
			c->tried_wake = t->wake;
			kueue_class_refile(c);
		}
	}
	t->settled = t->wake;
	t->quiets++;
}

struct kueue_class *kueue_heap_sibling(const struct kueue_queues *q, const struct kueue_class *c,
				       struct kueue_lane *lane)
{
	struct class_key key = {lane, NULL, c->shape->number, c->priority};
	return c->alone || lane == c->lane ? NULL : map_get(&q->classes, key_span(&key));
}

/* ---- edits ---- */

static void wake_lane(struct kueue_queues *q, struct kueue_lane *lane)
{
	while (rank_len(&lane->parked))
		kueue_class_wake(q, class_at(rank_first(&lane->parked)));
}

void kueue_heap_wake(struct kueue_queues *q, struct kueue_queue *queue)
{
	wake_lane(q, &queue->own);
	for (size_t i = 0; i < queue->locals.len; i++)
		wake_lane(q, queue->locals.items[i]);
}

void kueue_heap_forget_empty(struct kueue_queues *q, struct kueue_tree *t)
{
	while (t->empty.next != &t->empty)
		class_free(q, rank_entry(t->empty.next, struct kueue_class, empty));
}

/* Takes the queue out of its tree: nothing of it may be filed there. */
static void leave_tree(struct kueue_queues *q, struct kueue_queue *queue)
{
	struct kueue_tree *t = queue->tree;
	if (!t)
		return;
	kueue_heap_wake(q, queue);
	kueue_heap_forget_empty(q, t);
	kueue_parked_queue_done(queue);
	kueue_link_take(&queue->live);
	queue->slept = 0;
	t->reshaped = true;
	t->queues.items[queue->in_tree] = t->queues.items[--t->queues.len];
	t->queues.items[queue->in_tree]->in_tree = queue->in_tree;
	t->dirty = true;
	kueue_tree_ask(q, t);
	queue->tree = NULL;
}

/* Classes change lanes when fair sharing among LocalQueues goes on or off. */
static void relane(struct kueue_queues *q, struct kueue_queue *queue, bool fair)
{
	size_t n = rank_len(&queue->own.pending), k = 0;
	struct kueue_workload **all = xcalloc(n, sizeof(struct kueue_workload *));
	for (size_t i = 0; i < n; i++) {
		struct kueue_workload *w =
		    rank_entry(rank_at(&queue->own.pending, i), struct kueue_workload, by_queue);
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

bool kueue_heap_sync(struct kueue_queues *q, struct kueue_queue *queue)
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
		kueue_queue_sync_live(queue);
	}
	bool fair = spec && spec->admission_fair_sharing;
	if (fair != queue->fair)
		relane(q, queue, fair);
	return moved;
}

static void lane_done(struct kueue_lane *lane)
{
	kueue_usage_done(lane);
}

void kueue_heap_done(struct kueue_queues *q)
{
	for (size_t i = 0; i < q->trees.len; i++) {
		if (q->trees.items[i])
			kueue_heap_forget_empty(q, q->trees.items[i]);
	}
	for (size_t i = 0; i < q->by_node.len; i++) {
		struct kueue_queue *queue = q->by_node.items[i];
		if (!queue)
			continue;
		kueue_parked_queue_done(queue);
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
		kueue_parked_tree_done(q->trees.items[i]);
		vec_done(&q->trees.items[i]->queues);
		free(q->trees.items[i]);
	}
	vec_done(&q->by_node);
	vec_done(&q->trees);
	map_done(&q->classes);
}
