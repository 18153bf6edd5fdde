#include "quota-tree/kueue_shadow.h"

#include "base/num.h"
#include "quota-tree/kueue_assign.h"
#include "quota-tree/kueue_holders.h"
#include "quota-tree/kueue_node.h"
#include <stdlib.h>

void kueue_shadow_done(struct kueue_shadow *s)
{
	vec_done(&s->slack);
	vec_done(&s->rooms);
	vec_done(&s->found);
}

static int cmp_ending(const void *a, const void *b)
{
	const struct kueue_ending *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

void kueue_ending_sort(struct kueue_ending *endings, size_t n)
{
	if (n > 1)
		qsort(endings, n, sizeof(*endings), cmp_ending);
}

/* ---- paths ---- */

static size_t path_of(const struct kueue_forest *f, uint32_t queue,
		      uint32_t path[KUEUE_MAX_DEPTH + 1])
{
	size_t n = 0;
	for (uint32_t at = queue; at != KUEUE_NONE && n <= KUEUE_MAX_DEPTH;
	     at = kueue_forest_parent(f, at))
		path[n++] = at;
	return n;
}

/* Where the paths of a and b meet, as places in them; false when they do not. */
static bool meet(const struct kueue_forest *f, uint32_t a, uint32_t b, size_t *ret_a, size_t *ret_b)
{
	uint32_t x[KUEUE_MAX_DEPTH + 1], y[KUEUE_MAX_DEPTH + 1];
	size_t i = path_of(f, a, x), k = path_of(f, b, y);
	if (x[i - 1] != y[k - 1])
		return false;
	while (i > 1 && k > 1 && x[i - 2] == y[k - 2]) {
		i--;
		k--;
	}
	*ret_a = i - 1;
	*ret_b = k - 1;
	return true;
}

bool kueue_shadow_sides(const struct kueue_forest *f, uint32_t a, uint32_t b, uint32_t *ret_a,
			uint32_t *ret_b)
{
	uint32_t path[KUEUE_MAX_DEPTH + 1] = {0};
	size_t i, k;
	if (!meet(f, a, b, &i, &k) || i == 0 || k == 0)
		return false;
	(void)path_of(f, a, path);
	*ret_a = path[i - 1];
	(void)path_of(f, b, path);
	*ret_b = path[k - 1];
	return true;
}

/* ---- the slack ---- */

/* Adding d to a node's usage takes d from what is available there, whatever limits stand above. So
 * what may be added is what is available less what is needed, at each node of the path; what is
 * needed there is what the local quota below does not give. */
static void measure(const struct kueue_forest *f, struct kueue_shadow *s, const uint32_t *path,
		    size_t n_path)
{
	vec_clear(&s->slack);
	for (size_t k = 0; k < n_path * s->n_uses; k++)
		vec_push(&s->slack, INT64_MAX);
	for (size_t u = 0; u < s->n_uses; u++) {
		int64_t need = s->uses[u].value;
		uint64_t key = kueue_key(s->uses[u].flavor, s->uses[u].resource);
		for (size_t k = 0; k < n_path; k++) {
			const struct kueue_node *n = kueue_node(f, path[k]);
			uint32_t at = kueue_row_find(n, key);
			if (at == KUEUE_NONE)
				break;
			const struct kueue_cell *c = &n->tree->cells.items[at];
			s->slack.items[k * s->n_uses + u] =
			    num_sub_sat(kueue_cell_available(n, at), need);
			need = num_sub_sat(need, kueue_cell_local_room(c));
		}
	}
}

/* ---- lenders ---- */

/* Charges what is left of the child's own quota in these cells; returns how much that is. Where
 * that has no end the child takes from nobody: what it lends has none either. */
static int64_t fill_up(struct kueue_forest *f, struct kueue_shadow *s, uint32_t child)
{
	int64_t sum = 0;
	for (uint32_t u = 0; u < s->n_uses; u++) {
		struct kueue_use use = s->uses[u];
		int64_t own = kueue_forest_subtree(f, child, use.flavor, use.resource);
		use.value =
		    num_sub_sat(own, kueue_forest_usage(f, child, use.flavor, use.resource));
		if (s->uses[u].value == 0 || use.value <= 0 || own == QUOTA_UNLIMITED)
			continue;
		kueue_forest_charge(f, child, &use, 1);
		vec_push(&s->rooms, (struct kueue_side_room){child, u, use.value});
		sum = num_add_sat(sum, use.value);
	}
	return sum;
}

/* Every lender uses what is his: if it fits no more, the one that takes most. Else what can be had
 * beside it is what lenders leave even then: they are charged still. */
static uint32_t find_lender(struct kueue_forest *f, struct kueue_shadow *s, const uint32_t *path,
			    size_t n_path)
{
	size_t mark = kueue_forest_mark(f);
	uint32_t most = KUEUE_NONE, child;
	int64_t best = 0;
	vec_clear(&s->rooms);
	for (size_t k = 1; k < n_path; k++) {
		for (size_t i = 0; (child = kueue_forest_child(f, path[k], i)) != KUEUE_NONE; i++) {
			int64_t sum = child == path[k - 1] ? 0 : fill_up(f, s, child);
			if (sum > best) {
				best = sum;
				most = child;
			}
		}
	}
	if (kueue_forest_fits(f, s->queue, s->uses, s->n_uses)) {
		most = KUEUE_NONE;
		measure(f, s, path, n_path);
	}
	kueue_forest_rollback(f, mark);
	return most;
}

/* ---- the shadow time ---- */

#define MOST_STEPS 64 /* of a search by halves */

struct cast {
	struct kueue_forest *f;
	struct kueue_assignment a; /* reused */
	/* All ends, those too of who was cast before and holds his quota ahead; sorted. */
	struct VEC(struct kueue_ending) ends;
};

/* Whether it would be admitted as things stand on trial. */
static bool fits(struct cast *c, struct kueue_shadow *s)
{
	if (!s->workload)
		return s->n_uses && kueue_forest_fits(c->f, s->queue, s->uses, s->n_uses);
	struct kueue_workload probe = *s->workload; /* as if it had tried nothing */
	probe.tried = NULL;
	probe.n_tried = 0;
	probe.pinned = NULL;
	kueue_assign(c->f, &probe, NULL, &c->a);
	if (c->a.mode != KUEUE_FIT)
		return false;
	vec_clear(&s->found);
	vec_foreach (&c->a.uses, u)
		vec_push(&s->found, *u);
	s->uses = s->found.items;
	s->n_uses = s->found.len;
	return true;
}

/* A search for victims must not find those who have left. */
static void set_taken(struct cast *c, size_t from, size_t to, bool taken)
{
	for (size_t i = from; i < to; i++)
		if (c->ends.items[i].holder)
			kueue_holders_set_taken(c->ends.items[i].holder, taken);
}

static size_t let_end(struct cast *c, size_t from, size_t to)
{
	size_t mark = kueue_forest_mark(c->f);
	for (size_t i = from; i < to; i++) {
		const struct kueue_ending *e = &c->ends.items[i];
		kueue_forest_release(c->f, e->queue, e->uses, e->n_uses);
	}
	set_taken(c, from, to, true);
	return mark;
}

static void undo(struct cast *c, size_t from, size_t to, size_t mark)
{
	kueue_forest_rollback(c->f, mark);
	set_taken(c, from, to, false);
}

static void judge(struct cast *c, struct kueue_shadow *s, int64_t at)
{
	uint32_t path[KUEUE_MAX_DEPTH + 1] = {0};
	size_t n_path = path_of(c->f, s->queue, path);
	s->at = at;
	measure(c->f, s, path, n_path);
	s->lender = find_lender(c->f, s, path, n_path);
}

struct bounds VEC(size_t);

/* How many have ended now, and after each later end. */
static void find_bounds(const struct cast *c, int64_t now, struct bounds *out)
{
	size_t n = 0;
	while (n < c->ends.len && c->ends.items[n].at <= now)
		n++;
	vec_push(out, n);
	while (n < c->ends.len) {
		int64_t at = c->ends.items[n].at;
		while (n < c->ends.len && c->ends.items[n].at == at)
			n++;
		vec_push(out, n);
	}
}

/* The first end after which it fits, by halves: what did not help stays ended, so that all steps
 * together end everybody twice at most. */
static void search(struct cast *c, struct kueue_shadow *s, const struct bounds *bounds, int64_t now)
{
	size_t marks[MOST_STEPS], steps[MOST_STEPS], n = 0, lo = 0, hi = bounds->len;

	steps[n] = 0;
	marks[n++] = let_end(c, 0, bounds->items[0]);
	if (fits(c, s)) {
		judge(c, s, now);
		hi = 0;
	}
	while (lo + 1 < hi && n < MOST_STEPS) {
		size_t mid = lo + (hi - lo) / 2, to = bounds->items[mid];
		size_t mark = let_end(c, bounds->items[lo], to);
		if (fits(c, s)) {
			judge(c, s, c->ends.items[to - 1].at);
			undo(c, bounds->items[lo], to, mark);
			hi = mid;
			continue;
		}
		steps[n] = bounds->items[lo];
		marks[n++] = mark;
		lo = mid;
	}
	for (size_t to = bounds->items[lo]; n-- > 0; to = steps[n])
		undo(c, steps[n], to, marks[n]);
}

static void cast_one(struct cast *c, struct kueue_shadow *s, int64_t now)
{
	struct bounds bounds = {0};

	s->at = KUEUE_SHADOW_NEVER;
	s->lender = KUEUE_NONE;
	s->borrows = false;
	vec_clear(&s->slack);
	vec_clear(&s->rooms);
	find_bounds(c, now, &bounds);
	search(c, s, &bounds, now);
	vec_done(&bounds);
	if (s->at != KUEUE_SHADOW_NEVER)
		s->borrows = kueue_forest_borrows_with(c->f, s->queue, s->uses, s->n_uses);
}

/* It holds its quota from now on for those after it. */
static void hold_ahead(struct cast *c, const struct kueue_shadow *s)
{
	struct kueue_ending e = {num_add_sat(s->at, s->limit), s->queue, s->uses, s->n_uses, NULL};
	size_t at = c->ends.len;

	kueue_forest_charge(c->f, s->queue, s->uses, s->n_uses);
	if (e.at == KUEUE_SHADOW_NEVER)
		return;
	vec_push(&c->ends, e);
	for (; at > 0 && c->ends.items[at - 1].at > e.at; at--)
		c->ends.items[at] = c->ends.items[at - 1];
	c->ends.items[at] = e;
}

void kueue_shadow_cast(struct kueue_forest *f, struct kueue_shadow *const *shadows,
		       size_t n_shadows, const struct kueue_ending *endings, size_t n, int64_t now)
{
	struct cast c = {.f = f};
	size_t mark = kueue_forest_mark(f);

	for (size_t i = 0; i < n && endings[i].at != KUEUE_SHADOW_NEVER; i++)
		vec_push(&c.ends, endings[i]);
	for (size_t i = 0; i < n_shadows; i++) {
		cast_one(&c, shadows[i], now);
		if (shadows[i]->at != KUEUE_SHADOW_NEVER)
			hold_ahead(&c, shadows[i]);
	}
	kueue_forest_rollback(f, mark);
	vec_done(&c.ends);
	kueue_assignment_done(&c.a);
}

/* ---- who may pass ---- */

static const struct kueue_use *use_of(const struct kueue_use *uses, size_t n,
				      const struct kueue_use *like)
{
	for (size_t i = 0; i < n; i++)
		if (uses[i].flavor == like->flavor && uses[i].resource == like->resource &&
		    uses[i].value > 0)
			return &uses[i];
	return NULL;
}

/* Whether the side stays within its own quota with it charged at the queue below. */
static bool stays_within(const struct kueue_forest *f, uint32_t queue, uint32_t side,
			 const struct kueue_use *use)
{
	uint64_t key = kueue_key(use->flavor, use->resource);
	int64_t value = use->value;
	for (uint32_t at = queue;; at = kueue_forest_parent(f, at)) {
		const struct kueue_node *n = kueue_node(f, at);
		uint32_t cell = kueue_row_find(n, key);
		if (cell == KUEUE_NONE)
			return value <= 0;
		const struct kueue_cell *c = &n->tree->cells.items[cell];
		if (at == side)
			return !kueue_cell_above(c, value);
		value = num_max(0, num_sub_sat(value, kueue_cell_local_room(c)));
	}
}

static int64_t *room_of(const struct kueue_shadow *s, uint32_t side, size_t use)
{
	vec_foreach (&s->rooms, r)
		if (s->lender == KUEUE_NONE && r->side == side && r->use == use)
			return &r->room;
	return NULL;
}

bool kueue_shadow_lets(const struct kueue_forest *f, const struct kueue_shadow *s, uint32_t queue,
		       const struct kueue_use *uses, size_t n, int64_t ends_at)
{
	uint32_t ours = KUEUE_NONE, theirs = KUEUE_NONE;
	size_t i, k;

	if (s->at == KUEUE_SHADOW_NEVER)
		return queue != s->queue;
	if ((ends_at != KUEUE_SHADOW_NEVER && ends_at <= s->at) ||
	    !meet(f, s->queue, queue, &i, &k))
		return true;
	(void)kueue_shadow_sides(f, s->queue, queue, &ours, &theirs);
	for (size_t u = 0; u < s->n_uses; u++) {
		const struct kueue_use *use = use_of(uses, n, &s->uses[u]);
		if (!use || s->uses[u].value == 0)
			continue;
		if (theirs != KUEUE_NONE && stays_within(f, queue, theirs, use))
			continue;
		int64_t *room = room_of(s, theirs, u);
		int64_t above = room ? num_max(0, use->value - *room) : use->value;
		if (above > s->slack.items[i * s->n_uses + u])
			return false;
	}
	return true;
}

void kueue_shadow_took(const struct kueue_forest *f, struct kueue_shadow *s, uint32_t queue,
		       const struct kueue_use *uses, size_t n, int64_t ends_at)
{
	uint32_t ours = KUEUE_NONE, theirs = KUEUE_NONE;
	size_t i, k;

	if (s->at == KUEUE_SHADOW_NEVER || (ends_at != KUEUE_SHADOW_NEVER && ends_at <= s->at) ||
	    !meet(f, s->queue, queue, &i, &k))
		return;
	(void)kueue_shadow_sides(f, s->queue, queue, &ours, &theirs);
	for (size_t u = 0; u < s->n_uses; u++) {
		const struct kueue_use *use = use_of(uses, n, &s->uses[u]);
		int64_t *room = use ? room_of(s, theirs, u) : NULL;
		int64_t own = room ? num_min(*room, use->value) : 0;
		if (room)
			*room -= own;
		/* What is taken at one node may be missed at any other. */
		for (size_t at = 0; use && at * s->n_uses < s->slack.len; at++) {
			int64_t *slack = &s->slack.items[at * s->n_uses + u];
			*slack = num_sub_sat(*slack, use->value - own);
		}
	}
}
