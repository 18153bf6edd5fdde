/*
 * Fair sharing's choice of victims (reference/kueue.md section 2.7, fair_strategy.go and
 * fairsharing/ordering.go): from the root down into the child with the highest share, until the
 * preemptor fits.
 *
 * While victims are chosen the preemptor's uses are charged to its queue, since shares are compared
 * as they would be with it.
 */
#include "quota-tree/kueue_candidates.h"

struct fair_run {
	struct kueue_search *s;
	bool again; /* the second run: candidates that the first rejected */
};

static struct kueue_fair_entry *entry_of(struct fair_run *r, const struct kueue_node *n)
{
	return n->mark == r->s->id ? &r->s->entries.items[n->index] : NULL;
}

/* Entries for a node and all above it. */
static void enter(struct fair_run *r, struct kueue_node *n, uint32_t line)
{
	for (; n && n->mark != r->s->id; n = kueue_node_parent(r->s->f, n)) {
		n->mark = r->s->id;
		n->index = (uint32_t)r->s->entries.len;
		vec_push(&r->s->entries, (struct kueue_fair_entry){.line = line});
		line = KUEUE_NONE;
	}
}

static struct kueue_workload *head_of(const struct fair_run *r, const struct kueue_line *line)
{
	if (!r->again)
		return line->head;
	return line->first_retry == KUEUE_NONE ? NULL
					       : r->s->retries.items[line->first_retry].workload;
}

static struct kueue_workload *pop(struct fair_run *r, struct kueue_line *line)
{
	struct kueue_workload *w = head_of(r, line);

	if (r->again)
		line->first_retry = r->s->retries.items[line->first_retry].next;
	else
		kueue_line_advance(r->s, line);
	return w;
}

static void begin(struct fair_run *r, bool again)
{
	struct kueue_search *s = r->s;

	s->id = ++s->f->marks;
	r->again = again;
	vec_clear(&s->entries);
	for (uint32_t i = 0; i < s->lines.len; i++)
		if (head_of(r, &s->lines.items[i]))
			enter(r, s->lines.items[i].queue, i);
	for (struct kueue_node *n = s->queue; n; n = kueue_node_parent(s->f, n))
		if (entry_of(r, n))
			entry_of(r, n)->on_path = true;
}

/* ---- the order of queues ---- */

/* CandidatesOrdering across queues, AdmissionFairSharing apart. */
static int cmp_candidates(const struct fair_run *r, const struct kueue_workload *a,
			  const struct kueue_workload *b)
{
	bool a_evicted = a->state == KUEUE_EVICTED, b_evicted = b->state == KUEUE_EVICTED;
	uint32_t own = r->s->queue->number;

	if (a_evicted == b_evicted && (a->queue == own) != (b->queue == own))
		return b->queue == own ? -1 : 1;
	return kueue_holders_cmp(a, b);
}

struct pick {
	struct kueue_node *node;
	struct kueue_share share;
};

static void consider_queue(struct fair_run *r, struct kueue_node *n, struct pick *best)
{
	struct kueue_fair_entry *e = entry_of(r, n);
	struct kueue_line *line = &r->s->lines.items[e->line];
	struct kueue_share share = kueue_forest_share(r->s->f, n->number);
	int c = kueue_share_cmp(share, best->share);

	if (!head_of(r, line) || (!share.borrows && n != r->s->queue))
		e->pruned = true;
	else if (c > 0 ||
		 (c == 0 && cmp_candidates(
				r, head_of(r, line),
				head_of(r, &r->s->lines.items[entry_of(r, best->node)->line])) < 0))
		*best = (struct pick){n, share};
}

static void consider_cohort(struct fair_run *r, struct kueue_node *n, struct pick *best)
{
	struct kueue_fair_entry *e = entry_of(r, n);
	struct kueue_share share = kueue_forest_share(r->s->f, n->number);

	if (!share.borrows && !e->on_path)
		e->pruned = true;
	else if (kueue_share_cmp(share, best->share) >= 0)
		*best = (struct pick){n, share};
}

/* The queue to take from next; NULL when something was only pruned. */
static struct kueue_line *next_below(struct fair_run *r, struct kueue_node *cohort)
{
	struct pick queue = {.share = {.value = -1, .ratio = -1}}, inner = queue;

	vec_foreach (&cohort->children, it) {
		struct kueue_node *n = kueue_node(r->s->f, *it);
		const struct kueue_fair_entry *e = entry_of(r, n);

		if (!e || e->pruned)
			continue;
		if (n->queue)
			consider_queue(r, n, &queue);
		else
			consider_cohort(r, n, &inner);
	}
	if (!queue.node && !inner.node) {
		entry_of(r, cohort)->pruned = true;
		return NULL;
	}
	if (inner.node && kueue_share_cmp(inner.share, queue.share) >= 0)
		return next_below(r, inner.node);
	return &r->s->lines.items[entry_of(r, queue.node)->line];
}

static struct kueue_line *next_line(struct fair_run *r)
{
	struct kueue_search *s = r->s;
	struct kueue_node *root = kueue_node(s->f, s->queue->tree->members.items[0]);
	struct kueue_line *line = NULL;

	if (root == s->queue) {
		line = s->lines.len ? &s->lines.items[0] : NULL;
		return line && head_of(r, line) ? line : NULL;
	}
	while (entry_of(r, root) && !entry_of(r, root)->pruned && !line)
		line = next_below(r, root);
	return line;
}

/* ---- shares just below the lowest common ancestor ---- */

struct shares {
	uint32_t preemptor, target; /* nodes */
};

static bool is_above(const struct kueue_forest *f, const struct kueue_node *ancestor,
		     const struct kueue_node *n)
{
	while (n && n != ancestor)
		n = kueue_node_parent(f, n);
	return n != NULL;
}

static struct shares below_ancestor(const struct fair_run *r, const struct kueue_line *line)
{
	const struct kueue_forest *f = r->s->f;
	const struct kueue_node *target = line->queue, *own = r->s->queue;

	while (!is_above(f, kueue_node_parent(f, target), own))
		target = kueue_node_parent(f, target);
	while (own->parent != target->parent)
		own = kueue_node_parent(f, own);
	return (struct shares){own->number, target->number};
}

static struct kueue_share share_without(const struct fair_run *r, uint32_t node,
					const struct kueue_workload *w)
{
	struct kueue_forest *f = r->s->f;
	size_t mark = kueue_forest_mark(f);
	struct kueue_share share;

	kueue_forest_release(f, w->queue, w->uses, w->n_uses);
	share = kueue_forest_share(f, node);
	kueue_forest_rollback(f, mark);
	return share;
}

static bool passes(enum kueue_fair_strategy strategy, struct kueue_share preemptor,
		   struct kueue_share before, struct kueue_share after)
{
	if (strategy == KUEUE_LESS_THAN_INITIAL_SHARE)
		return kueue_share_cmp(preemptor, before) < 0;
	return kueue_share_cmp(preemptor, after) <= 0;
}

/* ---- the two runs ---- */

/* The preemptor's uses are out of the way while it is asked whether it fits. */
static bool take_and_test(struct fair_run *r, struct kueue_victims *v, struct kueue_workload *w,
			  enum kueue_preempt_reason reason)
{
	struct kueue_search *s = r->s;
	size_t mark;
	bool fits;

	kueue_search_take(s, v, w, reason);
	mark = kueue_forest_mark(s->f);
	kueue_forest_release(s->f, s->queue->number, s->uses, s->n_uses);
	fits = kueue_search_fits(s, true);
	kueue_forest_rollback(s->f, mark);
	return fits;
}

static void keep_for_later(struct fair_run *r, struct kueue_line *line, struct kueue_workload *w)
{
	uint32_t at = (uint32_t)r->s->retries.len;

	vec_push(&r->s->retries, (struct kueue_retry){w, KUEUE_NONE});
	if (line->last_retry == KUEUE_NONE)
		line->first_retry = at;
	else
		r->s->retries.items[line->last_retry].next = at;
	line->last_retry = at;
}

/* Takes the first candidate of the line that the strategy allows; the others are kept for later. */
static bool take_fairly(struct fair_run *r, struct kueue_line *line, struct kueue_victims *v,
			enum kueue_fair_strategy strategy)
{
	struct shares at = below_ancestor(r, line);
	struct kueue_share mine = kueue_forest_share(r->s->f, at.preemptor);
	struct kueue_share before = kueue_forest_share(r->s->f, at.target);

	while (head_of(r, line)) {
		struct kueue_workload *w = pop(r, line);

		if (passes(strategy, mine, before, share_without(r, at.target, w)))
			return take_and_test(r, v, w, KUEUE_IN_COHORT_FAIR_SHARING);
		keep_for_later(r, line, w);
	}
	return false;
}

static bool run_first(struct fair_run *r, struct kueue_victims *v,
		      enum kueue_fair_strategy strategy)
{
	struct kueue_search *s = r->s;
	bool entitled = s->f->options.preempt_within_nominal && !kueue_search_borrows(s, s->queue);
	struct kueue_line *line;
	bool fits = false;

	begin(r, false);
	while (!fits && (line = next_line(r))) {
		if (line->queue == s->queue)
			fits = take_and_test(r, v, pop(r, line), KUEUE_IN_CLUSTER_QUEUE);
		else if (entitled)
			fits = take_and_test(r, v, pop(r, line), KUEUE_IN_COHORT_RECLAMATION);
		else
			fits = take_fairly(r, line, v, strategy);
	}
	return fits;
}

/* Rule S2-b on what the first run rejected, at most one of each queue. */
static bool run_second(struct fair_run *r, struct kueue_victims *v)
{
	struct kueue_line *line;
	bool fits = false;

	begin(r, true);
	while (!fits && (line = next_line(r))) {
		struct shares at = below_ancestor(r, line);

		if (passes(KUEUE_LESS_THAN_INITIAL_SHARE, kueue_forest_share(r->s->f, at.preemptor),
			   kueue_forest_share(r->s->f, at.target), (struct kueue_share){0}))
			fits = take_and_test(r, v, pop(r, line), KUEUE_IN_COHORT_FAIR_SHARING);
		entry_of(r, line->queue)->pruned = true;
	}
	return fits;
}

/* findCandidates: the own queue's, and those of every queue of the tree that uses more than its
 * nominal in a needed cell. */
void kueue_fair_collect(struct kueue_search *s)
{
	const struct kueue_preemption *p = &s->queue->spec.preemption;

	vec_clear(&s->lines);
	vec_clear(&s->sorted);
	vec_clear(&s->retries);
	if (p->within_cluster_queue != KUEUE_PREEMPT_NEVER)
		kueue_line_add(s, s->queue, KUEUE_LIST_SAME_QUEUE, KUEUE_NONE);
	if (p->reclaim_within_cohort == KUEUE_PREEMPT_NEVER)
		return;
	vec_foreach (&s->queue->tree->members, it) {
		struct kueue_node *n = kueue_node(s->f, *it);
		if (n->queue && n != s->queue && kueue_search_borrows(s, n) &&
		    kueue_search_may_ask(s, n))
			kueue_line_add(s, n, KUEUE_LIST_PRIORITY, KUEUE_NONE);
	}
}

bool kueue_fair_choose(struct kueue_search *s, struct kueue_victims *v)
{
	static const enum kueue_fair_strategy both[] = {KUEUE_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,
							KUEUE_LESS_THAN_INITIAL_SHARE};
	const struct kueue_options *o = &s->f->options;
	const enum kueue_fair_strategy *strategies =
	    o->n_fair_strategies ? o->fair_strategies : both;
	size_t n = o->n_fair_strategies ? o->n_fair_strategies : ARRAY_LEN(both);
	struct fair_run r = {.s = s};
	bool fits;

	kueue_fair_collect(s);
	if (s->lines.len == 0)
		return false;
	kueue_forest_charge(s->f, s->queue->number, s->uses, s->n_uses);
	fits = run_first(&r, v, strategies[0]) || (n > 1 && run_second(&r, v));
	kueue_forest_release(s->f, s->queue->number, s->uses, s->n_uses);
	return fits;
}
