#include "quota-tree/kueue_candidates.h"

struct kueue_search *kueue_search_of(struct kueue_forest *f)
{
	if (!f->search) {
		f->search = xcalloc(1, sizeof(*f->search));
		f->search->f = f;
	}
	return f->search;
}

void kueue_search_free(struct kueue_search *s)
{
	if (!s)
		return;
	vec_done(&s->needed);
	vec_done(&s->lines);
	vec_done(&s->sorted);
	vec_done(&s->heap);
	vec_done(&s->retries);
	vec_done(&s->entries);
	vec_done(&s->all);
	kueue_victims_done(&s->victims);
	free(s);
}

bool kueue_candidate_allowed(enum kueue_preempt_policy policy, const struct kueue_workload *w,
			     const struct kueue_workload *candidate)
{
	switch (policy) {
	case KUEUE_PREEMPT_ANY:
		return true;
	case KUEUE_PREEMPT_LOWER_PRIORITY:
		return candidate->priority < w->priority;
	case KUEUE_PREEMPT_LOWER_OR_NEWER_EQUAL:
		return candidate->priority < w->priority ||
		       (candidate->priority == w->priority &&
			w->queue_order < candidate->queue_order);
	default:
		return false;
	}
}

/* ---- lines ---- */

static enum kueue_preempt_policy policy_of(const struct kueue_search *s,
					   const struct kueue_line *line)
{
	const struct kueue_preemption *p = &s->queue->spec.preemption;

	return line->queue == s->queue ? p->within_cluster_queue : p->reclaim_within_cohort;
}

static bool uses_any(const struct kueue_workload *w, const struct kueue_use *cells, size_t n)
{
	for (size_t i = 0; i < w->n_uses; i++)
		for (size_t k = 0; k < n; k++)
			if (w->uses[i].resource == cells[k].resource &&
			    w->uses[i].flavor == cells[k].flavor)
				return true;
	return false;
}

/* Whether taking it could help: it holds quota that is short, or nodes that are useful. */
static bool helps(const struct kueue_search *s, const struct kueue_workload *w)
{
	if (!s->room)
		return uses_any(w, s->needed.items, s->needed.len);
	return uses_any(w, s->needed.items, s->needed.len) &&
	       (uses_any(w, s->needed.items, s->n_short) || s->room->useful(s->room->context, w));
}

static struct kueue_workload *holder(const struct kueue_search *s, const struct kueue_line *line)
{
	if (line->n_sorted)
		return line->place < line->n_sorted ? s->sorted.items[line->sorted + line->place]
						    : NULL;
	return kueue_holders_at(s->f, line->queue->number, line->place);
}

/* Whether neither this holder nor a later one is allowed: they come by priority. */
static bool is_beyond(const struct kueue_search *s, const struct kueue_line *line,
		      enum kueue_preempt_policy policy, const struct kueue_workload *w)
{
	if (policy == KUEUE_PREEMPT_ANY || line->n_sorted || w->state == KUEUE_EVICTED)
		return false;
	return policy == KUEUE_PREEMPT_LOWER_PRIORITY ? w->priority >= s->w->priority
						      : w->priority > s->w->priority;
}

void kueue_line_advance(struct kueue_search *s, struct kueue_line *line)
{
	enum kueue_preempt_policy policy = policy_of(s, line);
	struct kueue_workload *w;

	for (line->head = NULL; (w = holder(s, line)); line->place++) {
		if (is_beyond(s, line, policy, w))
			return;
		if (!w->taken && kueue_candidate_allowed(policy, s->w, w) && helps(s, w)) {
			line->head = w;
			line->place++;
			return;
		}
	}
}

void kueue_line_restart(struct kueue_search *s, struct kueue_line *line)
{
	line->place = 0;
	kueue_line_advance(s, line);
}

static double local_usage(const struct kueue_forest *f, const struct kueue_workload *w)
{
	return w->local_queue < f->n_local_usage ? f->local_usage[w->local_queue] : 0;
}

/* Victim order where LocalQueues share fairly: the heavier one's first (2.6, AFS). */
static int cmp_shared(const void *a, const void *b, void *forest)
{
	const struct kueue_workload *x = *(struct kueue_workload *const *)a,
				    *y = *(struct kueue_workload *const *)b;
	bool x_evicted = x->state == KUEUE_EVICTED, y_evicted = y->state == KUEUE_EVICTED;
	double x_usage = local_usage(forest, x), y_usage = local_usage(forest, y);

	if (x_evicted != y_evicted)
		return x_evicted ? -1 : 1;
	if (x_usage > y_usage || x_usage < y_usage)
		return x_usage > y_usage ? -1 : 1;
	return kueue_holders_cmp(x, y);
}

static void sort_shared(struct kueue_search *s, struct kueue_line *line)
{
	struct kueue_workload *w;

	line->sorted = s->sorted.len;
	for (size_t i = 0; (w = kueue_holders_at(s->f, line->queue->number, i)); i++)
		vec_push(&s->sorted, w);
	line->n_sorted = s->sorted.len - line->sorted;
	if (line->n_sorted)
		qsort_r(s->sorted.items + line->sorted, line->n_sorted, sizeof(*s->sorted.items),
			cmp_shared, s->f);
}

void kueue_line_add(struct kueue_search *s, struct kueue_node *queue, enum kueue_list list,
		    uint32_t ancestor)
{
	struct kueue_line line = {
	    .queue = queue,
	    .ancestor = ancestor,
	    .list = list,
	    .first_retry = KUEUE_NONE,
	    .last_retry = KUEUE_NONE,
	};

	if (s->f->local_usage && queue->spec.admission_fair_sharing)
		sort_shared(s, &line);
	kueue_line_advance(s, &line);
	if (line.head)
		vec_push(&s->lines, line);
}

bool kueue_search_borrows(const struct kueue_search *s, const struct kueue_node *n)
{
	vec_foreach (&s->needed, use) {
		const struct kueue_cell *c = kueue_cell(n, use->flavor, use->resource);
		if (c && c->usage > c->subtree)
			return true;
	}
	return false;
}

bool kueue_search_may_ask(const struct kueue_search *s, const struct kueue_node *queue)
{
	return kueue_forest_active(s->f, queue->number) == KUEUE_ACTIVE;
}

/* ---- classical ---- */

/* Cohorts that keep within their quota give nobody up. */
static void collect_below(struct kueue_search *s, const struct kueue_node *cohort,
			  uint32_t ancestor, uint32_t skip, enum kueue_list list)
{
	vec_foreach (&cohort->children, it) {
		struct kueue_node *child = kueue_node(s->f, *it);

		if (child->number == skip || child == s->queue || !kueue_search_borrows(s, child))
			continue;
		if (!child->queue)
			collect_below(s, child, ancestor, skip, list);
		else if (kueue_search_may_ask(s, child))
			kueue_line_add(s, child, list, ancestor);
	}
}

/* Whether the node's quota holds what is asked; `rest` becomes what is asked of its parent. */
static bool holds(const struct kueue_node *n, struct kueue_use *rest, size_t n_rest)
{
	bool fits = true;

	for (size_t i = 0; i < n_rest; i++) {
		const struct kueue_cell *c = kueue_cell(n, rest[i].flavor, rest[i].resource);
		if (c ? kueue_cell_above(c, rest[i].value) : rest[i].value > 0)
			fits = false;
		if (c)
			rest[i].value = kueue_amount_above(rest[i].value, kueue_cell_local_room(c));
	}
	return fits;
}

void kueue_search_collect(struct kueue_search *s)
{
	const struct kueue_preemption *p = &s->queue->spec.preemption;
	const struct kueue_node *at = kueue_node_parent(s->f, s->queue);
	uint32_t previous = s->queue->number;
	bool advantage;

	vec_clear(&s->lines);
	vec_clear(&s->sorted);
	if (p->within_cluster_queue != KUEUE_PREEMPT_NEVER)
		kueue_line_add(s, s->queue, KUEUE_LIST_SAME_QUEUE, KUEUE_NONE);
	if (p->reclaim_within_cohort == KUEUE_PREEMPT_NEVER)
		return;
	vec_clear(&s->all);
	for (size_t i = 0; i < s->n_uses; i++)
		vec_push(&s->all, s->uses[i]);
	advantage = holds(s->queue, s->all.items, s->all.len);
	for (; at; at = kueue_node_parent(s->f, at)) {
		collect_below(s, at, at->number, previous,
			      advantage ? KUEUE_LIST_HIERARCHICAL : KUEUE_LIST_PRIORITY);
		if (holds(at, s->all.items, s->all.len))
			advantage = true;
		previous = at->number;
	}
}

bool kueue_search_has(const struct kueue_search *s, enum kueue_list list)
{
	vec_foreach (&s->lines, line)
		if (line->list == list)
			return true;
	return false;
}

/* ---- a heap of lines by their heads ---- */

static bool goes_before(const struct kueue_search *s, uint32_t a, uint32_t b)
{
	return kueue_holders_cmp(s->lines.items[a].head, s->lines.items[b].head) < 0;
}

static void sift_down(struct kueue_search *s, size_t at)
{
	uint32_t *heap = s->heap.items;

	for (;;) {
		size_t least = at, left = 2 * at + 1;

		for (size_t child = left; child < left + 2 && child < s->heap.len; child++)
			if (goes_before(s, heap[child], heap[least]))
				least = child;
		if (least == at)
			return;
		uint32_t swap = heap[at];
		heap[at] = heap[least];
		heap[least] = swap;
		at = least;
	}
}

/* The top line has another head, or none for this segment. */
static void top_changed(struct kueue_search *s)
{
	const struct kueue_line *line = &s->lines.items[s->heap.items[0]];

	if (!line->head || (line->head->state == KUEUE_EVICTED) != s->evicted)
		s->heap.items[0] = s->heap.items[--s->heap.len];
	sift_down(s, 0);
}

static void fill_heap(struct kueue_search *s)
{
	vec_clear(&s->heap);
	for (uint32_t i = 0; i < s->lines.len; i++) {
		const struct kueue_line *line = &s->lines.items[i];
		if (line->list == s->list && line->head &&
		    (line->head->state == KUEUE_EVICTED) == s->evicted)
			vec_push(&s->heap, i);
	}
	for (size_t i = s->heap.len / 2; i-- > 0;)
		sift_down(s, i);
}

void kueue_search_rewind(struct kueue_search *s)
{
	vec_foreach (&s->lines, line)
		kueue_line_restart(s, line);
	s->list = KUEUE_LIST_HIERARCHICAL;
	s->evicted = true;
	fill_heap(s);
}

/* False when all six segments are through. */
static bool next_segment(struct kueue_search *s)
{
	if (s->list + 1 < KUEUE_LISTS) {
		s->list++;
	} else if (s->evicted) {
		s->list = KUEUE_LIST_HIERARCHICAL;
		s->evicted = false;
	} else {
		return false;
	}
	fill_heap(s);
	return true;
}

/* Whether the line's queue, and every cohort up to where it was found, still use more than their
 * quota. They never will again in this attempt once they do not. */
static bool still_borrows(const struct kueue_search *s, const struct kueue_line *line)
{
	const struct kueue_node *n = line->queue;

	if (n == s->queue)
		return true;
	for (; n->number != line->ancestor; n = kueue_node_parent(s->f, n))
		if (!kueue_search_borrows(s, n))
			return false;
	return true;
}

/* borrowWithinCohort: whether a candidate without hierarchical disadvantage may be taken while the
 * preemptor ends up borrowing. */
static bool is_below_threshold(const struct kueue_search *s, const struct kueue_workload *w)
{
	const struct kueue_preemption *p = &s->queue->spec.preemption;

	return p->borrow_within_cohort != KUEUE_PREEMPT_NEVER && w->priority < s->w->priority &&
	       (!p->has_max_priority_threshold || w->priority <= p->max_priority_threshold);
}

struct kueue_workload *kueue_search_next(struct kueue_search *s, bool borrowing,
					 enum kueue_preempt_reason *ret_reason)
{
	do {
		while (s->heap.len) {
			struct kueue_line *line = &s->lines.items[s->heap.items[0]];
			struct kueue_workload *w = line->head;
			bool below;

			if (!still_borrows(s, line)) {
				line->head = NULL;
				top_changed(s);
				continue;
			}
			kueue_line_advance(s, line);
			top_changed(s);
			below = is_below_threshold(s, w);
			if (s->list == KUEUE_LIST_PRIORITY && borrowing && !below)
				continue;
			*ret_reason = KUEUE_IN_COHORT_RECLAMATION;
			if (s->list == KUEUE_LIST_SAME_QUEUE)
				*ret_reason = KUEUE_IN_CLUSTER_QUEUE;
			else if (s->list == KUEUE_LIST_PRIORITY && below)
				*ret_reason = KUEUE_IN_COHORT_RECLAIM_WHILE_BORROWING;
			return w;
		}
	} while (next_segment(s));
	return NULL;
}
