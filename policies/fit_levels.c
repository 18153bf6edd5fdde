#include "policies/fit_levels.h"

#include "policies/fit_areas.h"

/* ---- choosing ---- */

/* Most slices first (or least), then least pods, then by value. */
static int cmp_area(const void *a, const void *b, void *context)
{
	const struct levels *l = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct area *x = &l->areas.items[i], *y = &l->areas.items[j];

	if (x->slices != y->slices)
		return (x->slices < y->slices) == l->least_free ? -1 : 1;
	if (x->pods != y->pods)
		return x->pods < y->pods ? -1 : 1;
	return (i > j) - (i < j);
}

static void sort_areas(struct levels *l, struct list *areas)
{
	if (areas->len)
		qsort_r(areas->items, areas->len, sizeof(*areas->items), cmp_area, l);
}

static int64_t room_of(const struct levels *l, uint32_t area, bool slices)
{
	return slices ? l->areas.items[area].slices : l->areas.items[area].pods;
}

/* From `from` on the tightest that holds `need`: the first of those. */
static uint32_t tightest(const struct levels *l, const struct list *areas, size_t from,
			 int64_t need, bool slices)
{
	uint32_t best = areas->items[from];

	for (size_t i = from; i < areas->len; i++) {
		int64_t room = room_of(l, areas->items[i], slices);
		if (room >= need && room < room_of(l, best, slices))
			best = areas->items[i];
	}
	return best;
}

/*
 * Gives `count` pods to sorted areas in their order, and of the last one to the tightest. Those
 * that got some are appended to `out`, with what they got. Whole slices of `size`, or pods.
 */
static void spread(struct levels *l, const struct list *areas, int64_t count, uint32_t size,
		   bool slices, struct list *out)
{
	int64_t left = slices ? count / size : count;

	for (size_t i = 0; i < areas->len && left > 0; i++) {
		uint32_t at = areas->items[i];
		if (!l->least_free && room_of(l, at, slices) >= left)
			at = tightest(l, areas, i, left, slices);
		struct area *a = &l->areas.items[at];
		int64_t here = room_of(l, at, slices) < left ? room_of(l, at, slices) : left;
		if (slices)
			a->slices = here;
		a->pods = slices ? here * size : here;
		left -= here;
		if (here)
			vec_push(out, at);
	}
}

/* Areas at `level` that hold all slices, into l->now: one where one does, else several where the
 * set may be spread. False when not; *ret_room is then what was found. */
static bool choose_at(struct levels *l, uint32_t level, int64_t need, bool may_spread,
		      int64_t *ret_room)
{
	struct list *areas = &l->next;
	int64_t total = 0;

	vec_clear(areas);
	vec_clear(&l->now);
	for (uint32_t i = l->level_at[level]; i < l->level_at[level + 1]; i++)
		vec_push(areas, i);
	sort_areas(l, areas);
	*ret_room = 0;
	for (size_t i = 0; i < areas->len; i++) {
		int64_t room = room_of(l, areas->items[i], true);
		*ret_room = room > *ret_room ? room : *ret_room;
		total += room;
		if (room < need)
			continue;
		vec_push(&l->now,
			 l->least_free ? areas->items[i] : tightest(l, areas, i, need, true));
		return true;
	}
	if (!may_spread)
		return false;
	*ret_room = total;
	for (size_t i = 0; i < areas->len && total >= need; i++)
		vec_push(&l->now, areas->items[i]);
	return total >= need;
}

/* Where the search begins. Slices without a level for the whole set may be anywhere. */
static uint32_t first_level(const struct levels *l)
{
	if (l->t->mode == POD_TOPOLOGY_UNCONSTRAINED && l->size == 1)
		return (uint32_t)l->t->n_levels - 1;
	return l->least_free ? 0 : l->t->level;
}

static bool choose_level(struct levels *l, int64_t count, uint32_t *ret_level, int64_t *ret_room)
{
	const struct pod_topology *t = l->t;
	uint32_t level = first_level(l);

	for (;; level--) {
		bool last = level == 0 || l->least_free;
		if (choose_at(l, level, count / l->size, last && t->mode != POD_TOPOLOGY_REQUIRED,
			      ret_room)) {
			*ret_level = level;
			return true;
		}
		if (last || t->mode == POD_TOPOLOGY_REQUIRED)
			return false;
	}
}

static void push_children(struct levels *l, uint32_t area, struct list *out)
{
	const struct area *a = &l->areas.items[area];
	for (uint32_t c = a->child; c < a->child + a->n_children; c++)
		vec_push(out, c);
}

/* From the level that was found down to the leaves, which are then in l->now. */
static void descend(struct levels *l, uint32_t level, int64_t count)
{
	struct list some = {0};
	uint32_t lowest = (uint32_t)l->t->n_levels - 1;

	sort_areas(l, &l->now);
	spread(l, &l->now, count, l->size, true, &some);
	for (; level < lowest; level++) {
		struct list chosen = {0};
		bool inside = level >= l->slice_level;
		vec_clear(&l->next);
		for (size_t i = 0; i < some.len; i++) {
			push_children(l, some.items[i], &l->next);
			if (!inside && i + 1 < some.len)
				continue;
			sort_areas(l, &l->next);
			if (inside)
				spread(l, &l->next, l->areas.items[some.items[i]].pods, 1, false,
				       &chosen);
			else
				spread(l, &l->next, count, l->size, true, &chosen);
			vec_clear(&l->next);
		}
		vec_done(&some);
		some = chosen;
	}
	vec_done(&l->now);
	l->now = some;
}

/* ---- giving pods to nodes ---- */

static void charge(struct levels *l, uint32_t node, uint32_t pods)
{
	int64_t *have = l->free + (size_t)node * l->f->stride;

	for (uint32_t i = 0; i < l->row->n_requests; i++)
		have[l->row->resource[i]] -= l->row->amount[i] * pods;
}

/* Nodes in scratch.choices take `need` pods, the smallest holes first; returns what is left. */
static int64_t fill_choices(struct levels *l, uint32_t set, int64_t need)
{
	struct fit_scratch *s = l->f->scratch;

	fit_scratch_sort(s);
	for (size_t i = 0; i < s->choices.len && need > 0; i++) {
		uint32_t pods = fill_pods(s->choices.items[i].fill);
		uint32_t n = need < pods ? (uint32_t)need : pods;
		vec_push(&s->slots, (struct fit_slot){s->choices.items[i].index, set, n});
		charge(l, s->choices.items[i].index, n);
		need -= n;
	}
	return need;
}

static void fill_area(struct levels *l, const struct area *a, uint32_t set)
{
	struct fit_scratch *s = l->f->scratch;

	vec_clear(&s->choices);
	for (uint32_t m = a->first; m < a->first + a->n; m++) {
		uint32_t node = l->members.items[m].node;
		fit_scratch_add(s, fit_areas_fill(l, node), node, false);
	}
	fill_choices(l, set, a->pods);
}

static bool pack_anywhere(struct levels *l, uint32_t set, int64_t count, int64_t *ret_room)
{
	struct fit_scratch *s = l->f->scratch;

	vec_clear(&s->choices);
	for (uint32_t node = 0; node < l->k->n_nodes; node++)
		fit_scratch_add(s, fit_areas_fill(l, node), node, false);
	*ret_room = count - fill_choices(l, set, count);
	return *ret_room == count;
}

static bool pack_set(struct levels *l, uint32_t set, int64_t *ret_room)
{
	const struct pod_set *p = &l->shape->spec.sets[set];
	uint32_t level;

	fit_areas_take_set(l, set);
	if (l->t->mode == POD_TOPOLOGY_NONE)
		return pack_anywhere(l, set, p->count, ret_room);
	fit_areas_measure(l);
	bool found = choose_level(l, p->count, &level, ret_room);
	*ret_room *= l->size;
	if (!found)
		return false;
	descend(l, level, p->count);
	vec_foreach (&l->now, area)
		fill_area(l, &l->areas.items[*area], set);
	return true;
}

/* ---- sets that go together ---- */

/* Gives back what was placed since the slots were `from` long. */
static void undo(struct levels *l, size_t from)
{
	struct fit_scratch *s = l->f->scratch;

	while (s->slots.len > from) {
		const struct fit_slot *at = &s->slots.items[--s->slots.len];
		const struct row *row = l->shape->parts[l->shape->part_of_set[at->set]].row;
		int64_t *have = l->free + (size_t)at->node * l->f->stride;
		for (uint32_t i = 0; i < row->n_requests; i++)
			have[row->resource[i]] += row->amount[i] * at->count;
	}
}

/* The sets one after the other, or the other way round. */
static bool pack_all(struct levels *l, const uint32_t *sets, size_t n, bool backwards)
{
	size_t from = l->f->scratch->slots.len;
	int64_t room;

	for (size_t i = 0; i < n; i++) {
		if (pack_set(l, sets[backwards ? n - 1 - i : i], &room))
			continue;
		undo(l, from);
		return false;
	}
	return true;
}

struct candidate {
	struct run run;
	int64_t room;
};

static int cmp_candidate(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->room != y->room)
		return x->room < y->room ? -1 : 1;
	return (x->run.first > y->run.first) - (x->run.first < y->run.first);
}

/* All in one domain of the level: the tightest for the largest set that holds the others too. */
static bool pack_group_at(struct levels *l, const uint32_t *sets, size_t n, uint32_t level,
			  int64_t *ret_room)
{
	struct VEC(struct candidate) found = {0};
	bool packed = false;
	int64_t need = 0;

	*ret_room = 0;
	for (size_t i = 0; i < n; i++)
		if (l->shape->spec.sets[sets[i]].count > need) {
			need = l->shape->spec.sets[sets[i]].count;
			fit_areas_take_set(l, sets[i]);
		}
	fit_areas_measure(l);
	for (uint32_t i = l->level_at[level]; i < l->level_at[level + 1]; i++) {
		const struct area *a = &l->areas.items[i];
		*ret_room = a->pods > *ret_room ? a->pods : *ret_room;
		if (a->pods >= need)
			vec_push(&found, (struct candidate){{a->first, a->n}, a->pods});
	}
	if (found.len)
		qsort(found.items, found.len, sizeof(*found.items), cmp_candidate);
	for (size_t i = 0; i < found.len && !packed; i++) {
		l->only = found.items[i].run;
		packed = pack_all(l, sets, n, false) || pack_all(l, sets, n, true);
		l->only = (struct run){0};
	}
	vec_done(&found);
	return packed;
}

/* The sets of one group: the narrowest domain from the asked level that holds them all; where only
 * preferred and none does, each by itself. */
static bool pack_group(struct levels *l, uint32_t first, int64_t *ret_room)
{
	const struct job_shape *spec = &l->shape->spec;
	const struct pod_topology *t = &spec->sets[first].topology;
	uint32_t sets[POD_SET_MAX_SETS];
	size_t n = 0;

	for (uint32_t set = first; set < spec->n_sets; set++)
		if (spec->sets[set].count > 0 && spec->sets[set].topology.group == t->group)
			sets[n++] = set;
	for (uint32_t level = t->level; level != UINT32_MAX; level--) {
		if (pack_group_at(l, sets, n, level, ret_room))
			return true;
		if (t->mode == POD_TOPOLOGY_REQUIRED)
			return false;
	}
	return pack_all(l, sets, n, false);
}

/* Whether the set was placed with an earlier one of its group. */
static bool is_placed(const struct job_shape *spec, uint32_t set)
{
	uint32_t group = spec->sets[set].topology.group;

	for (uint32_t i = 0; group && i < set; i++)
		if (spec->sets[i].count > 0 && spec->sets[i].topology.group == group)
			return true;
	return false;
}

uint32_t fit_levels_misfit(struct fleet *f, uint32_t cluster, const struct shape *shape,
			   int64_t *ret_need, int64_t *ret_room)
{
	struct levels l;
	uint32_t misfit = FIT_WHOLE_GANG;

	fit_areas_init(&l, f, cluster, shape);
	*ret_need = *ret_room = 0;
	for (uint32_t set = 0; set < shape->spec.n_sets && misfit == FIT_WHOLE_GANG; set++) {
		const struct pod_set *p = &shape->spec.sets[set];
		*ret_need = p->count;
		if (*ret_need == 0 || is_placed(&shape->spec, set))
			continue;
		if (!(p->topology.group ? pack_group(&l, set, ret_room)
					: pack_set(&l, set, ret_room)))
			misfit = set;
	}
	fit_areas_done(&l);
	return misfit;
}

bool fit_levels_pack(struct fleet *f, uint32_t cluster, const struct shape *shape)
{
	int64_t need, room;

	return fit_levels_misfit(f, cluster, shape, &need, &room) == FIT_WHOLE_GANG;
}
