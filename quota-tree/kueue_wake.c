/*
 * A release opens the groups that it might help (kueue_wait.h); which of their classes goes first,
 * and whether it could be helped, is looked at when the queue's turn comes.
 */
#include "quota-tree/kueue_wake.h"
#include "base/num.h"
#include "quota-tree/kueue_engine.h"
#include <assert.h>

/* ---- opening groups ---- */

/* Highest priority first, as they are looked at. */
static void open_group(struct kueue_wait_group *g)
{
	struct kueue_queue *queue = g->queue;
	size_t k = queue->open.len;
	if (g->open)
		return;
	g->open = true;
	vec_push(&queue->open, g);
	for (; k > 0 && queue->open.items[k - 1]->priority < g->priority; k--)
		queue->open.items[k] = queue->open.items[k - 1];
	queue->open.items[k] = g;
	kueue_lane_sync_live(queue);
}

/* The groups of a cell whose least need the root could meet now, or nobody knows. */
static void open_cell(struct kueue_queues *q, struct kueue_tree *t, struct kueue_wait_cell *cell)
{
	int64_t room = kueue_bound_free(q, t->root, cell->flavor, cell->resource);
	struct rank_node *n;
	for (size_t i = 0; (n = rank_at(&cell->groups, i)); i++) {
		struct kueue_wait_group *g = rank_entry(n, struct kueue_wait_group, by_cell);
		if (g->threshold > room)
			break;
		open_group(g);
	}
}

static bool touches(const struct kueue_wait_group *g, const struct kueue_use *u)
{
	return g->cell->flavor == u->flavor && g->cell->resource == u->resource;
}

static int64_t bound_of(const struct kueue_queues *q, const struct kueue_wait_group *g)
{
	return kueue_bound_of(q, g->queue, g->cell->flavor, g->cell->resource, g->priority);
}

/* Who could not take from it has only less room now, and is found in time where it stands. */
void kueue_wake_charged(struct kueue_queues *q, struct kueue_queue *queue,
			const struct kueue_use *uses, size_t n, int32_t priority)
{
	const struct kueue_queue_spec *spec = kueue_forest_queue_spec(q->forest, queue->node);
	for (size_t i = 0; spec && i < n; i++) {
		int64_t above = INT64_MAX; /* the bound of a higher priority */
		vec_foreach (&queue->groups, it) {
			struct kueue_wait_group *g = *it;
			if (!kueue_bound_counts(spec, priority, g->priority))
				break;
			if (!touches(g, &uses[i]))
				continue;
			kueue_wait_rethreshold(q, g);
			if (g->least > above || g->least == INT64_MAX)
				continue;
			above = bound_of(q, g);
			if (g->least <= above)
				open_group(g);
		}
	}
}

/* ---- the first that could be helped ---- */

/* Whether its flavor lacks nothing; else it waits under what it lacks now. */
static bool wait_is_over(struct kueue_queues *q, struct kueue_wait *w)
{
	struct kueue_class *c = w->class;
	bool lacks = false;
	vec_foreach (&c->demand, d)
		lacks |= d->value >
			 kueue_bound_of(q, c->lane->queue, w->flavor, d->resource, c->priority);
	if (!lacks)
		return true;
	kueue_wait_take(w);
	kueue_wait_rethreshold(q, w->group);
	(void)kueue_parked_refile(q, w);
	return false;
}

/* It could be helped, but Kueue would try it only after the next release in the tree. */
static void make_due(struct kueue_queues *q, struct kueue_wait *w)
{
	struct kueue_class *c = w->class;
	kueue_wait_take(w);
	kueue_wait_rethreshold(q, w->group);
	w->group = NULL;
	if (c->restless)
		return;
	c->due = true;
	kueue_class_put_ring(c, &c->lane->queue->tree->due);
}

/* The class of the group that goes first and could be helped by so much, if its turn is still to
 * come. */
static struct kueue_class *best_of(struct kueue_queues *q, struct kueue_wait_group *g,
				   int64_t bound)
{
	const struct kueue_tree *t = g->queue->tree;
	struct kueue_wait *w;
	while (g->least <= bound && (w = rank_list_first_within(&g->waits, bound))) {
		if (!wait_is_over(q, w))
			continue;
		if (t->wake > kueue_lane_settled(g->queue) && w->class->tried_wake < t->wake)
			return w->class;
		make_due(q, w);
	}
	return NULL;
}

struct kueue_class *kueue_wake_best(struct kueue_queues *q, struct kueue_queue *queue,
				    const struct kueue_workload *head)
{
	/* Who waits for its victims goes before higher priorities: then all are looked at. */
	bool sticky = queue->preemptor && queue->preemptor->sticky;
	const struct kueue_wait_cell *cell = NULL;
	struct kueue_class *best = NULL;
	int64_t bound = 0;
	size_t i = 0, kept = 0;
	for (; i < queue->open.len; i++) {
		struct kueue_wait_group *g = queue->open.items[i];
		struct kueue_class *c = NULL;
		if (head && !sticky && g->priority < head->priority)
			break;
		/* Where a higher priority's bound does not reach its own does not. */
		if (g->cell != cell || g->least <= bound) {
			cell = g->cell;
			bound = bound_of(q, g);
			c = best_of(q, g, bound);
		}
		if (!c) {
			g->open = false;
			continue;
		}
		queue->open.items[kept++] = g;
		if (!head || kueue_workload_cmp(c->head, head) < 0) {
			best = c;
			head = c->head;
		}
	}
	for (; i < queue->open.len; i++)
		queue->open.items[kept++] = queue->open.items[i];
	queue->open.len = kept;
	kueue_lane_sync_live(queue);
	return best;
}

/* ---- releases and edits ---- */

static void wake_ring(struct kueue_queues *q, struct kueue_link *ring)
{
	while (ring->next != ring)
		kueue_class_wake(q, rank_entry(ring->next, struct kueue_class, woken));
}

void kueue_wake_tree(struct kueue_queues *q, struct kueue_tree *t)
{
	kueue_class_forget_empty(q, t);
	vec_foreach (&t->queues, it)
		kueue_class_wake_queue(q, *it);
	if (t->live.next != &t->live) {
		t->dirty = true;
		kueue_lane_ask(q, t);
	}
}

void kueue_wake_reserving(struct kueue_queues *q, struct kueue_tree *t)
{
	for (struct kueue_link *l = t->reserving.next, *next; l != &t->reserving; l = next) {
		struct kueue_class *c = rank_entry(l, struct kueue_class, woken);
		next = l->next;
		if (c->tried_wake < t->wake)
			kueue_class_wake(q, c);
	}
}

/* After a release within its queue: what the queue keeps for itself moves every threshold. In one
 * that stands alone only those move that counted on the holder. */
static void rethreshold_all(struct kueue_queues *q, struct kueue_queue *queue,
			    const struct kueue_use *use, int32_t priority)
{
	const struct kueue_queue_spec *spec = kueue_forest_queue_spec(q->forest, queue->node);
	bool alone = kueue_forest_parent(q->forest, queue->node) == KUEUE_NONE;
	vec_foreach (&queue->groups, it) {
		if (spec && alone && !kueue_bound_counts(spec, priority, (*it)->priority))
			break;
		if (touches(*it, use))
			kueue_wait_rethreshold(q, *it);
	}
}

void kueue_wake_released(struct kueue_queues *q, struct kueue_queue *queue,
			 const struct kueue_use *uses, size_t n, int32_t priority)
{
	struct kueue_tree *t = queue->tree;
	t->wake++;
	kueue_lane_ask(q, t);
	kueue_class_forget_empty(q, t);
	if (q->options.one_head_per_cycle) {
		kueue_wake_tree(q, t);
		return;
	}
	wake_ring(q, &t->restless);
	wake_ring(q, &t->due);
	for (size_t i = 0; i < n; i++) {
		rethreshold_all(q, queue, &uses[i], priority);
		struct kueue_wait_cell *cell = kueue_wait_cell(t, uses[i].flavor, uses[i].resource);
		if (cell)
			open_cell(q, t, cell);
	}
	if (t->live.next != &t->live)
		t->dirty = true;
}

/* ---- placement ---- */

void kueue_wake_refused_put(struct kueue_queues *q, struct kueue_class *c)
{
	while (q->refused.len <= c->shape->number) {
		struct kueue_link *ring = xcalloc(1, sizeof(*ring));
		kueue_link_init(ring);
		vec_push(&q->refused, ring);
	}
	kueue_link_put(q->refused.items[c->shape->number], &c->refused);
}

static void wake_refused(struct kueue_queues *q, struct kueue_link *ring)
{
	while (ring->next != ring) {
		struct kueue_class *c = rank_entry(ring->next, struct kueue_class, refused);
		struct kueue_tree *t = c->lane->queue->tree;
		kueue_link_take(&c->refused);
		t->dirty = true;
		t->changes++;
		kueue_lane_ask(q, t);
		kueue_class_wake(q, c);
	}
}

void kueue_queues_wake_shape(struct kueue_queues *q, uint32_t shape)
{
	assert(!q->in_cycle);
	if (shape != KUEUE_NONE) {
		if (shape < q->refused.len)
			wake_refused(q, q->refused.items[shape]);
		return;
	}
	for (size_t i = 0; i < q->refused.len; i++)
		wake_refused(q, q->refused.items[i]);
}

void kueue_wake_done(struct kueue_queues *q)
{
	vec_foreach (&q->refused, it)
		free(*it);
	vec_done(&q->refused);
}
