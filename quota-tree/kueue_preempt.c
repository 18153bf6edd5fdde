#include "quota-tree/kueue_preempt.h"

#include "quota-tree/kueue_candidates.h"

void kueue_victims_done(struct kueue_victims *v)
{
	vec_done(&v->items);
}

const char *kueue_preempt_reason_to_string(enum kueue_preempt_reason reason)
{
	static const char *const names[] = {
	    [KUEUE_IN_CLUSTER_QUEUE] = "InClusterQueue",
	    [KUEUE_IN_COHORT_RECLAMATION] = "InCohortReclamation",
	    [KUEUE_IN_COHORT_FAIR_SHARING] = "InCohortFairSharing",
	    [KUEUE_IN_COHORT_RECLAIM_WHILE_BORROWING] = "InCohortReclaimWhileBorrowing",
	};
	return names[reason];
}

/* ---- taking and giving back ---- */

static void release(struct kueue_search *s, const struct kueue_workload *w)
{
	kueue_forest_release(s->f, w->queue, w->uses, w->n_uses);
	if (s->room)
		s->room->take(s->room->context, w);
}

static void give_back(struct kueue_search *s, const struct kueue_workload *w)
{
	kueue_forest_charge(s->f, w->queue, w->uses, w->n_uses);
	if (s->room)
		s->room->give_back(s->room->context, w);
}

void kueue_search_take(struct kueue_search *s, struct kueue_victims *v, struct kueue_workload *w,
		       enum kueue_preempt_reason reason)
{
	release(s, w);
	vec_push(&v->items, (struct kueue_victim){w, reason});
}

static void give_all_back(struct kueue_search *s, const struct kueue_victims *v)
{
	vec_foreach (&v->items, victim)
		give_back(s, victim->workload);
}

bool kueue_search_fits(const struct kueue_search *s, bool borrowing)
{
	if (!borrowing && kueue_forest_borrows_with(s->f, s->queue->number, s->uses, s->n_uses))
		return false;
	if (!kueue_forest_fits(s->f, s->queue->number, s->uses, s->n_uses))
		return false;
	return !s->room || s->room->fits(s->room->context);
}

/* From the last but one to the first: who need not go. Removal swaps the last one in, as Kueue's
 * does, so that the order of the final list is Kueue's too. */
static void fill_back(struct kueue_search *s, struct kueue_victims *v, bool borrowing)
{
	for (size_t i = v->items.len - 1; i-- > 0;) {
		give_back(s, v->items.items[i].workload);
		if (kueue_search_fits(s, borrowing))
			v->items.items[i] = v->items.items[--v->items.len];
		else
			release(s, v->items.items[i].workload);
	}
}

/* ---- classical ---- */

/* Usage strictly below nominal in every cell that needs preemption. */
static bool is_under_nominal(const struct kueue_search *s)
{
	vec_foreach (&s->needed, use) {
		const struct kueue_cell *c = kueue_cell(s->queue, use->flavor, use->resource);
		if (!c || c->usage >= c->nominal)
			return false;
	}
	return true;
}

/* Takes candidates in order until all fits; leaves nothing taken when it never does. */
static bool attempt(struct kueue_search *s, bool borrowing, struct kueue_victims *v)
{
	enum kueue_preempt_reason reason;
	struct kueue_workload *w;

	kueue_search_rewind(s);
	while ((w = kueue_search_next(s, borrowing, &reason))) {
		kueue_search_take(s, v, w, reason);
		if (kueue_search_fits(s, borrowing))
			return true;
	}
	give_all_back(s, v);
	vec_clear(&v->items);
	return false;
}

static bool choose_classical(struct kueue_search *s, struct kueue_victims *v, bool *ret_borrowing)
{
	bool forbidden = s->queue->spec.preemption.borrow_within_cohort == KUEUE_PREEMPT_NEVER;
	bool hierarchical, foreign;

	kueue_search_collect(s);
	if (s->lines.len == 0)
		return false;
	hierarchical = kueue_search_has(s, KUEUE_LIST_HIERARCHICAL);
	foreign = hierarchical || kueue_search_has(s, KUEUE_LIST_PRIORITY);
	*ret_borrowing = true;
	if (!foreign || (forbidden && !is_under_nominal(s)))
		return attempt(s, true, v);
	*ret_borrowing = !(forbidden && !hierarchical);
	if (attempt(s, *ret_borrowing, v))
		return true;
	*ret_borrowing = !*ret_borrowing;
	return attempt(s, *ret_borrowing, v);
}

/* ---- one search ---- */

/* Finds the victims of s; true when there are some. The forest stands as before. */
static bool search(struct kueue_search *s, struct kueue_victims *v)
{
	size_t mark = kueue_forest_mark(s->f);
	bool found, borrowing = true;

	vec_clear(&v->items);
	v->borrows = false;
	found = s->f->options.fair_sharing ? kueue_fair_choose(s, v)
					   : choose_classical(s, v, &borrowing);
	if (found) {
		fill_back(s, v, borrowing);
		v->borrows = kueue_forest_borrows_with(s->f, s->queue->number, s->uses, s->n_uses);
	}
	if (s->room)
		vec_foreach (&v->items, victim)
			s->room->give_back(s->room->context, victim->workload);
	kueue_forest_rollback(s->f, mark);
	if (!found)
		vec_clear(&v->items);
	return found;
}

static struct kueue_search *search_for(struct kueue_forest *f, const struct kueue_workload *w,
				       const struct kueue_use *uses, size_t n,
				       const struct kueue_room *room)
{
	kueue_tree_settle(f);
	struct kueue_search *s = kueue_search_of(f);

	s->w = w;
	s->queue = kueue_node(f, w->queue);
	s->room = room;
	s->uses = uses;
	s->n_uses = n;
	s->n_short = 0;
	vec_clear(&s->needed);
	return s;
}

static void need(struct kueue_search *s, uint32_t flavor, uint32_t resource)
{
	vec_foreach (&s->needed, use)
		if (use->flavor == flavor && use->resource == resource)
			return;
	vec_push(&s->needed, (struct kueue_use){.flavor = flavor, .resource = resource});
}

void kueue_preempt(struct kueue_forest *f, const struct kueue_workload *w,
		   const struct kueue_assignment *a, const struct kueue_room *room,
		   struct kueue_victims *ret)
{
	struct kueue_search *s = search_for(f, w, a->uses.items, a->uses.len, room);

	vec_foreach (&a->choices, c)
		if (c->flavor != KUEUE_NONE && c->mode != KUEUE_FIT)
			need(s, c->flavor, c->resource);
	s->n_short = s->needed.len;
	if (room)
		vec_foreach (&a->uses, use)
			need(s, use->flavor, use->resource);
	(void)search(s, ret);
}

static bool is_any_useful(void *context, const struct kueue_workload *w)
{
	(void)context;
	(void)w;
	return true;
}

void kueue_preempt_visit(struct kueue_forest *f, const struct kueue_workload *w,
			 const struct kueue_assignment *a,
			 void (*visit)(void *context, const struct kueue_workload *w),
			 void *context)
{
	const struct kueue_room anywhere = {.useful = is_any_useful};
	struct kueue_search *s = search_for(f, w, a->uses.items, a->uses.len, &anywhere);

	vec_foreach (&a->uses, use)
		need(s, use->flavor, use->resource);
	if (f->options.fair_sharing)
		kueue_fair_collect(s);
	else
		kueue_search_collect(s);
	vec_foreach (&s->lines, line)
		for (; line->head; kueue_line_advance(s, line))
			visit(context, line->head);
	s->room = NULL;
}

/* ---- the oracle ---- */

static uint32_t level_without(struct kueue_forest *f, const struct kueue_workload *w,
			      const struct kueue_use *use, const struct kueue_victims *v)
{
	size_t mark = kueue_forest_mark(f);
	uint32_t level;

	vec_foreach (&v->items, it)
		kueue_forest_release(f, it->workload->queue, it->workload->uses,
				     it->workload->n_uses);
	level =
	    kueue_forest_borrow_level(f, w->queue, use->flavor, use->resource, use->value, NULL);
	kueue_forest_rollback(f, mark);
	return level;
}

enum kueue_mode kueue_preempt_possible(struct kueue_forest *f, const struct kueue_workload *w,
				       uint32_t flavor, uint32_t resource, int64_t value,
				       uint32_t *ret_borrow_level)
{
	const struct kueue_use use = {flavor, resource, value};
	struct kueue_search *s = search_for(f, w, &use, 1, NULL);
	enum kueue_mode mode = KUEUE_NO_CANDIDATES;

	need(s, flavor, resource);
	s->n_short = 1;
	if (search(s, &s->victims)) {
		mode = KUEUE_RECLAIM;
		vec_foreach (&s->victims.items, it)
			if (it->workload->queue == w->queue)
				mode = KUEUE_PREEMPT;
	}
	*ret_borrow_level = level_without(f, w, &use, &s->victims);
	return mode;
}

/* ---- nomination ---- */

static bool is_good(struct kueue_forest *f, const struct kueue_workload *w,
		    const struct kueue_assignment *a, struct kueue_victims *v)
{
	vec_clear(&v->items);
	v->borrows = false;
	if (a->mode == KUEUE_FIT)
		return true;
	if (a->mode == KUEUE_NO_FIT)
		return false;
	kueue_preempt(f, w, a, NULL, v);
	return v->items.len > 0;
}

/* Pods are cut from the last pod set on, each down to its minCount (podset_reducer.go). */
static void reduce(const struct kueue_workload *w, int64_t cut, int32_t *counts)
{
	for (size_t i = w->shape->n_sets; i-- > 0;) {
		int32_t full = kueue_workload_count(w, i), least = w->shape->sets[i].min_count;
		int64_t delta = least > 0 && least < full ? full - least : 0;
		int64_t here = num_min(delta, cut);

		counts[i] = (int32_t)(full - here);
		cut -= here;
	}
}

static int64_t most_cut(const struct kueue_workload *w)
{
	int64_t total = 0;

	for (size_t i = 0; i < w->shape->n_sets; i++) {
		int32_t full = kueue_workload_count(w, i), least = w->shape->sets[i].min_count;
		total += least > 0 && least < full ? full - least : 0;
	}
	return total;
}

bool kueue_nominate_partial(struct kueue_forest *f, const struct kueue_workload *w,
			    struct kueue_assignment *ret, struct kueue_victims *ret_victims)
{
	int32_t counts[KUEUE_MAX_POD_SETS];
	int64_t from = 0, to = most_cut(w) + 1;
	int64_t last = -1;
	bool good = false;

	if (to == 1)
		return false;
	/* The least cut that is good, as sort.Search finds it. */
	while (from < to) {
		int64_t mid = from + (to - from) / 2;

		reduce(w, mid, counts);
		kueue_assign(f, w, counts, ret);
		good = is_good(f, w, ret, ret_victims);
		last = mid;
		if (good)
			to = mid;
		else
			from = mid + 1;
	}
	if (from > most_cut(w))
		return false;
	if (last != from) {
		reduce(w, from, counts);
		kueue_assign(f, w, counts, ret);
		good = is_good(f, w, ret, ret_victims);
	}
	return good;
}

void kueue_nominate(struct kueue_forest *f, const struct kueue_workload *w,
		    struct kueue_assignment *ret, struct kueue_victims *ret_victims)
{
	kueue_assign(f, w, NULL, ret);
	if (is_good(f, w, ret, ret_victims))
		return;
	if (!f->options.partial_admission || !kueue_workload_is_partial(w))
		return;
	if (kueue_nominate_partial(f, w, ret, ret_victims))
		return;
	kueue_assign(f, w, NULL, ret);
	vec_clear(&ret_victims->items);
}
