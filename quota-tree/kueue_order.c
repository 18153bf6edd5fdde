/*
 * The order in which the entries of a round are processed: reference/kueue.md section 2.2
 * (classical) and 2.7 (fair sharing's tournament).
 *
 * Apart from Kueue's order, a victim goes behind all others while whom it went for waits beside it.
 * Victims leave one by one, and what the first ones free is enough for one of them before it is for
 * the preemptor, or is so for both: the order, of shares that others' leaving will lower, may give
 * it to the victim, which is then preempted again, and so on. Kueue lets them take turns (its
 * issues 13662 and 14543), unless PrioritizePreemptorWorkloads puts every preemptor before
 * everybody.
 */
#include "quota-tree/kueue_engine.h"

static int cmp_i64(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int cmp_age(const struct kueue_queues *q, const struct kueue_workload *a,
		   const struct kueue_workload *b)
{
	if (q->options.priority_sorting_within_cohort && a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	int c = cmp_i64(a->queue_order, b->queue_order);
	if (c == 0)
		c = span_cmp(a->uid, b->uid);
	return c ? c : span_cmp(a->name, b->name);
}

/* A victim whose preemptor is there: negative when a goes first. */
static int cmp_behind(const struct kueue_heat *a, const struct kueue_heat *b)
{
	return a->behind - b->behind;
}

/* Preemptors first when the gate says so, then those that borrow least far, then 2.1. */
static int cmp_classical(const struct kueue_queues *q, const struct kueue_heat *a,
			 const struct kueue_heat *b)
{
	const struct kueue_workload *x = a->pub.workload, *y = b->pub.workload;
	if (q->options.prioritize_preemptors && x->preemptor != y->preemptor)
		return x->preemptor ? -1 : 1;
	int c = cmp_behind(a, b);
	if (c == 0)
		c = cmp_i64(a->pub.assignment.borrow_level, b->pub.assignment.borrow_level);
	return c ? c : cmp_age(q, x, y);
}

/* ---- the tournament ---- */

/* The shares on the way from the queue to the child of the root, with the entry charged. */
static void learn_levels(struct kueue_queues *q, struct kueue_heat *h)
{
	const struct kueue_assignment *a = &h->pub.assignment;
	size_t mark = kueue_forest_mark(q->forest);
	kueue_forest_charge(q->forest, h->queue->node, a->uses.items, a->uses.len);
	h->n_levels = 0;
	uint32_t n = h->queue->node, parent = kueue_forest_parent(q->forest, n);
	for (; parent != KUEUE_NONE && h->n_levels < ARRAY_LEN(h->levels);
	     n = parent, parent = kueue_forest_parent(q->forest, n)) {
		h->levels[h->n_levels++] = (struct kueue_level){
		    .node = parent,
		    .borrows = kueue_forest_borrows_on(q->forest, n, a->uses.items, a->uses.len),
		    .share = kueue_forest_share(q->forest, n),
		};
	}
	kueue_forest_rollback(q->forest, mark);
	h->levels_known = true;
}

/* Which of two entries the cohort takes; each stands for the child of the cohort it comes from, at
 * that level of its path. */
static int cmp_fair(const struct kueue_queues *q, const struct kueue_heat *a, size_t level_a,
		    const struct kueue_heat *b, size_t level_b)
{
	const struct kueue_level *x = &a->levels[level_a], *y = &b->levels[level_b];
	if (q->options.prioritize_preemptors &&
	    a->pub.workload->preemptor != b->pub.workload->preemptor)
		return a->pub.workload->preemptor ? -1 : 1;
	if (a->behind != b->behind)
		return cmp_behind(a, b);
	if (q->options.prioritize_non_borrowing && x->borrows != y->borrows)
		return x->borrows ? 1 : -1;
	int c = kueue_share_cmp(x->share, y->share);
	return c ? c : cmp_age(q, a->pub.workload, b->pub.workload);
}

/* The level of the path on which `cohort` stands, or n_levels. */
static size_t level_of(const struct kueue_heat *h, uint32_t cohort)
{
	size_t k = 0;
	while (k < h->n_levels && h->levels[k].node != cohort)
		k++;
	return k;
}

/* Removes from the candidates all but the winners of every cohort on their paths, from the deepest
 * up: a candidate goes on as long as nobody who meets it beats it. */
static struct kueue_heat *tournament(struct kueue_queues *q, const struct kueue_tree *t)
{
	size_t deepest = 0;
	for (size_t i = 0; i < q->n_heats; i++) {
		struct kueue_heat *h = q->heats.items[i];
		h->out = h->popped || h->queue->tree != t;
		if (h->out)
			continue;
		if (!h->levels_known)
			learn_levels(q, h);
		if (h->n_levels > deepest)
			deepest = h->n_levels;
	}
	/* A cohort's height above its root, counted from there: n_levels - its level. */
	for (size_t height = deepest; height > 0; height--) {
		for (size_t i = 0; i < q->n_heats; i++) {
			struct kueue_heat *a = q->heats.items[i];
			if (a->out || a->n_levels < height)
				continue;
			size_t level_a = a->n_levels - height;
			uint32_t cohort = a->levels[level_a].node;
			for (size_t k = i + 1; k < q->n_heats; k++) {
				struct kueue_heat *b = q->heats.items[k];
				if (b->out || b->n_levels < height)
					continue;
				size_t level_b = level_of(b, cohort);
				if (level_b == b->n_levels)
					continue;
				if (cmp_fair(q, a, level_a, b, level_b) <= 0) {
					b->out = true;
				} else {
					a->out = true;
					break;
				}
			}
		}
	}
	for (size_t i = 0; i < q->n_heats; i++) {
		if (!q->heats.items[i]->out)
			return q->heats.items[i];
	}
	return NULL;
}

/* ---- */

static int cmp_heats(const void *a, const void *b, void *q)
{
	return cmp_classical(q, *(struct kueue_heat *const *)a, *(struct kueue_heat *const *)b);
}

static bool waits_here(const struct kueue_queues *q, uint64_t preemptor)
{
	for (size_t i = 0; i < q->n_heats; i++) {
		const struct kueue_workload *w = q->heats.items[i]->pub.workload;
		if (w->preemptor && w->number == preemptor)
			return true;
	}
	return false;
}

void kueue_order_begin(struct kueue_queues *q)
{
	q->n_popped = 0;
	for (size_t i = 0; i < q->n_heats; i++) {
		struct kueue_heat *h = q->heats.items[i];
		h->behind = h->pub.workload->gone_for && waits_here(q, h->pub.workload->gone_for);
	}
	if (q->n_heats > 1)
		qsort_r(q->heats.items, q->n_heats, sizeof(struct kueue_heat *), cmp_heats, q);
}

struct kueue_heat *kueue_order_pop(struct kueue_queues *q)
{
	while (q->n_popped < q->n_heats && q->heats.items[q->n_popped]->popped)
		q->n_popped++;
	if (q->n_popped == q->n_heats)
		return NULL;
	struct kueue_heat *h = q->heats.items[q->n_popped];
	if (q->options.fair_sharing && kueue_forest_parent(q->forest, h->queue->node) != KUEUE_NONE)
		h = tournament(q, h->queue->tree);
	h->popped = true;
	return h;
}

void kueue_order_charged(struct kueue_queues *q, const struct kueue_queue *queue)
{
	if (!q->options.fair_sharing)
		return;
	uint32_t root = queue->tree->root;
	uint32_t parent = kueue_forest_parent(q->forest, queue->node);
	for (size_t i = 0; i < q->n_heats; i++) {
		struct kueue_heat *h = q->heats.items[i];
		/* Beside the root only what stands on both paths changed; in a flat cohort that is
		 * nothing, since the queue's own entry is gone. */
		if (h->queue->tree == queue->tree &&
		    (parent != root || kueue_forest_parent(q->forest, h->queue->node) != root))
			h->levels_known = false;
	}
}
