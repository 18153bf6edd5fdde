/*
 * A round nominates one head of every queue on the forest as it stands, and processes the entries
 * one after the other on a trial that holds what the earlier ones promised. Its admissions are
 * charged for good once the trial is over.
 */
#include "quota-tree/kueue_round.h"
#include "quota-tree/kueue_engine.h"

/* ---- the entries of a round ---- */

static struct kueue_heat *heat_new(struct kueue_queues *q)
{
	if (q->n_heats == q->heats.len)
		vec_push(&q->heats, xcalloc(1, sizeof(struct kueue_heat)));
	struct kueue_heat *h = q->heats.items[q->n_heats++];
	h->outcome = KUEUE_OUT_NONE;
	h->popped = h->out = h->refused = h->deferred = h->behind = false;
	h->levels_known = false;
	vec_clear(&h->promised);
	return h;
}

/* What the last attempt tried stays good until the queue could take more; while it stays in the
 * heap for longer (FlavorFungibilityPreserveScanProgress: Kueue tries it in every cycle). */
static void drop_stale_tried(struct kueue_queues *q, struct kueue_workload *w)
{
	if (!w->tried || (q->options.flavor_fungibility && q->options.preserve_scan_progress))
		return;
	if (w->tried_generation != kueue_forest_generation(q->forest, w->queue) ||
	    !q->options.flavor_fungibility)
		kueue_workload_forget_tried(w);
}

static void nominate(struct kueue_queues *q, struct kueue_queue *queue, struct kueue_workload *w)
{
	struct kueue_heat *h = heat_new(q);
	h->queue = queue;
	h->pub.workload = w;
	h->pub.reason = h->pub.message = "";
	drop_stale_tried(q, w);
	kueue_nominate(q->forest, w, &h->pub.assignment, &h->pub.victims);
}

static struct kueue_workload *slot_of(struct kueue_queues *q, struct kueue_queue *queue)
{
	if (kueue_forest_active(q->forest, queue->node) != KUEUE_ACTIVE)
		return NULL;
	struct kueue_workload *w = kueue_heap_head(queue);
	struct kueue_class *c = queue->open.len ? kueue_wake_best(q, queue, w) : NULL;
	if (!c)
		return w;
	kueue_class_wake(q, c);
	return kueue_heap_head(queue);
}

/* The heads of one tree. A class that Kueue would try again first, in vain, takes the queue's turn
 * in its place; where nobody else has a head that changes nothing. */
static void nominate_tree(struct kueue_queues *q, struct kueue_tree *t)
{
	size_t heads = 0;
	if (t->wake > t->settled && t->live.next != &t->live)
		kueue_wake_reserving(q, t);
	for (struct kueue_link *l = t->live.next, *next;
	     t->queues.len > 1 && l != &t->live && heads < 2; l = next) {
		next = l->next; /* a queue that turns out to have nobody leaves the ring */
		heads += slot_of(q, rank_entry(l, struct kueue_queue, live)) != NULL;
	}
	for (struct kueue_link *l = t->live.next, *next; l != &t->live; l = next) {
		struct kueue_queue *queue = rank_entry(l, struct kueue_queue, live);
		next = l->next;
		struct kueue_workload *w = slot_of(q, queue);
		if (!w)
			continue;
		struct kueue_class *ghost = heads > 1 ? kueue_heap_ghost(queue, w) : NULL;
		if (ghost) {
			kueue_class_tried(ghost, t->wake);
			t->moved = true;
			continue;
		}
		nominate(q, queue, w);
	}
}

static int cmp_trees(const void *a, const void *b)
{
	const struct kueue_tree *x = *(struct kueue_tree *const *)a;
	const struct kueue_tree *y = *(struct kueue_tree *const *)b;
	return x->root < y->root ? -1 : x->root > y->root;
}

void kueue_round_begin(struct kueue_queues *q)
{
	q->cycle++;
	q->n_heats = 0;
	vec_clear(&q->round_trees);
	vec_clear(&q->preempted);
	vec_clear(&q->admitted);
	for (size_t i = 0; i < q->asked.len; i++) {
		struct kueue_tree *t = q->asked.items[i];
		if (t->dirty)
			vec_push(&q->round_trees, t);
		else if (!t->again)
			kueue_heap_settle_turns(t);
	}
	if (q->round_trees.len > 1)
		qsort(q->round_trees.items, q->round_trees.len, sizeof(struct kueue_tree *),
		      cmp_trees);
	for (size_t i = 0; i < q->round_trees.len; i++) {
		struct kueue_tree *t = q->round_trees.items[i];
		t->dirty = t->moved = false;
		nominate_tree(q, t);
	}
	kueue_order_begin(q);
	q->mark = kueue_forest_mark(q->forest);
	q->in_round = true;
}

void kueue_round_end(struct kueue_queues *q)
{
	kueue_forest_rollback(q->forest, q->mark);
	q->in_round = false;
	q->current = NULL;
	for (size_t i = 0; i < q->admitted.len; i++) {
		struct kueue_workload *w = q->admitted.items[i];
		kueue_forest_charge(q->forest, w->queue, w->uses, w->n_uses);
	}
	for (size_t i = 0; i < q->admitted.len; i++) {
		struct kueue_workload *w = q->admitted.items[i];
		struct kueue_queue *queue = q->by_node.items[w->queue];
		kueue_wake_charged(q, queue, w->uses, w->n_uses, w->priority);
	}
	for (size_t i = 0; i < q->n_heats; i++)
		kueue_requeue(q, q->heats.items[i]);
	for (size_t i = 0; i < q->round_trees.len; i++) {
		struct kueue_tree *t = q->round_trees.items[i];
		if (t->moved)
			t->dirty = true;
		else if (!t->again)
			kueue_heap_settle_turns(t);
	}
	/* Where nobody moved the next change finds them at their first flavor again. */
	for (size_t i = 0; i < q->n_heats; i++) {
		struct kueue_heat *h = q->heats.items[i];
		if (h->outcome != KUEUE_OUT_ADMITTED && !h->queue->tree->moved)
			kueue_workload_forget_tried(h->pub.workload);
	}
}

void kueue_round_done(struct kueue_queues *q)
{
	vec_foreach (&q->heats, it) {
		kueue_assignment_done(&(*it)->pub.assignment);
		kueue_victims_done(&(*it)->pub.victims);
		vec_done(&(*it)->promised);
		free(*it);
	}
	vec_done(&q->heats);
	vec_done(&q->round_trees);
	vec_done(&q->preempted);
	vec_done(&q->admitted);
}
