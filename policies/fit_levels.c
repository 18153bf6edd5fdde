#include "policies/fit_levels.h"

#include "policies/node_state.h"

/*
 * One set after the other on a copy of what is free, which later sets see. A cluster's nodes are
 * sorted by their values, so that every domain is a run of them and the domains of one level are
 * in order of value.
 */

struct member {
	uint32_t node;
	uint32_t values[POD_SET_MAX_LEVELS]; /* interned */
};

struct area {			    /* a domain */
	uint32_t first, n;	    /* members */
	uint32_t child, n_children; /* areas of the next level */
	int64_t pods, slices;	    /* that fit; once chosen, that go here */
};

struct list VEC(uint32_t);

struct levels {
	struct fleet *f;
	const struct cluster *k;
	const struct shape *shape;
	int64_t *free; /* stride amounts per node */
	/* of the set at hand */
	const struct pod_topology *t;
	const struct row *row;
	bool least_free; /* least room first, instead of most room first and a tight last one */
	uint32_t size, slice_level;
	struct VEC(struct member) members;
	struct VEC(struct area) areas;
	uint32_t level_at[POD_SET_MAX_LEVELS + 1]; /* first area of a level */
	struct list now, next;
};

static void levels_init(struct levels *l, struct fleet *f, uint32_t cluster,
			const struct shape *shape)
{
	*l = (struct levels){.f = f, .k = &f->clusters[cluster], .shape = shape};
	l->free = xcalloc((size_t)l->k->n_nodes * f->stride + 1, sizeof(*l->free));
	for (uint32_t i = 0; i < l->k->n_nodes; i++)
		if (l->k->spots[i].state != STATE_NONE)
			memcpy(l->free + (size_t)i * f->stride,
			       node_state_free(f, l->k->spots[i].state),
			       f->stride * sizeof(*l->free));
	fit_scratch_begin(fit_scratch_of(f), shape);
}

static void levels_done(struct levels *l)
{
	free(l->free);
	vec_done(&l->members);
	vec_done(&l->areas);
	vec_done(&l->now);
	vec_done(&l->next);
}

static uint32_t fill_of(const struct levels *l, uint32_t node)
{
	const struct cluster *k = l->k;
	const int64_t *have = l->free + (size_t)node * l->f->stride;

	if (k->spots[node].state == STATE_NONE ||
	    !row_accepts(l->row, &l->f->classes[l->f->states[k->spots[node].state].node_class]))
		return 0;
	return row_fill(l->row, have, node_state_devices(l->f, have));
}

/* ---- domains ---- */

static uint32_t label_value(const struct node *n, uint32_t key)
{
	for (uint32_t i = 0; i < n->n_labels; i++)
		if (n->labels[i].key == key)
			return n->labels[i].value;
	return 0;
}

static int cmp_member(const void *a, const void *b, void *context)
{
	const struct levels *l = context;
	const struct member *x = a, *y = b;

	for (size_t i = 0; i < l->t->n_levels; i++) {
		if (x->values[i] == y->values[i])
			continue;
		return span_cmp(intern_text(&l->f->names, x->values[i]),
				intern_text(&l->f->names, y->values[i]));
	}
	return (x->node > y->node) - (x->node < y->node);
}

static void collect_members(struct levels *l)
{
	uint32_t keys[POD_SET_MAX_LEVELS];

	vec_clear(&l->members);
	for (size_t i = 0; i < l->t->n_levels; i++) {
		keys[i] = intern_find(&l->f->names, l->t->levels[i]);
		if (!keys[i])
			return;
	}
	for (uint32_t node = 0; node < l->k->n_nodes; node++) {
		struct member m = {.node = node};
		size_t i = 0;
		if (l->k->spots[node].state == STATE_NONE)
			continue;
		for (; i < l->t->n_levels; i++) {
			m.values[i] = label_value(&l->k->nodes[node], keys[i]);
			if (!m.values[i])
				break;
		}
		if (i == l->t->n_levels)
			vec_push(&l->members, m);
	}
	if (l->members.len)
		qsort_r(l->members.items, l->members.len, sizeof(*l->members.items), cmp_member, l);
}

/* The areas of one level inside one run of members. */
static void split(struct levels *l, uint32_t level, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++) {
		const struct member *m = &l->members.items[i];
		if (i == first || m->values[level] != m[-1].values[level])
			vec_push(&l->areas, (struct area){.first = i});
		l->areas.items[l->areas.len - 1].n++;
	}
}

static void build_areas(struct levels *l)
{
	vec_clear(&l->areas);
	l->level_at[0] = 0;
	split(l, 0, 0, (uint32_t)l->members.len);
	for (uint32_t level = 1; level <= l->t->n_levels; level++) {
		l->level_at[level] = (uint32_t)l->areas.len;
		for (uint32_t a = l->level_at[level - 1];
		     level < l->t->n_levels && a < l->level_at[level]; a++) {
			uint32_t child = (uint32_t)l->areas.len;
			split(l, level, l->areas.items[a].first, l->areas.items[a].n);
			l->areas.items[a].child = child;
			l->areas.items[a].n_children = (uint32_t)l->areas.len - child;
		}
	}
}

static void count_areas(struct levels *l)
{
	uint32_t lowest = (uint32_t)l->t->n_levels - 1;

	for (uint32_t level = lowest; level != UINT32_MAX; level--)
		for (uint32_t i = l->level_at[level]; i < l->level_at[level + 1]; i++) {
			struct area *a = &l->areas.items[i];
			a->pods = a->slices = 0;
			for (uint32_t m = 0; level == lowest && m < a->n; m++)
				a->pods +=
				    fill_pods(fill_of(l, l->members.items[a->first + m].node));
			for (uint32_t c = a->child; c < a->child + a->n_children; c++) {
				a->pods += l->areas.items[c].pods;
				a->slices += l->areas.items[c].slices;
			}
			if (level == l->slice_level)
				a->slices = a->pods / l->size;
		}
}

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
		fit_scratch_add(s, fill_of(l, node), node, false);
	}
	fill_choices(l, set, a->pods);
}

static bool pack_anywhere(struct levels *l, uint32_t set, int64_t count, int64_t *ret_room)
{
	struct fit_scratch *s = l->f->scratch;

	vec_clear(&s->choices);
	for (uint32_t node = 0; node < l->k->n_nodes; node++)
		fit_scratch_add(s, fill_of(l, node), node, false);
	*ret_room = count - fill_choices(l, set, count);
	return *ret_room == count;
}

static bool pack_set(struct levels *l, uint32_t set, int64_t *ret_room)
{
	const struct pod_set *p = &l->shape->spec.sets[set];
	uint32_t level;

	l->row = l->shape->parts[l->shape->part_of_set[set]].row;
	l->t = &p->topology;
	if (l->t->mode == POD_TOPOLOGY_NONE)
		return pack_anywhere(l, set, p->count, ret_room);
	l->least_free =
	    l->t->mode == POD_TOPOLOGY_UNCONSTRAINED || l->t->mode == POD_TOPOLOGY_SLICES;
	l->size = l->t->slice_size ? l->t->slice_size : 1;
	l->slice_level = l->size > 1 ? l->t->slice_level : (uint32_t)l->t->n_levels - 1;
	collect_members(l);
	build_areas(l);
	count_areas(l);
	bool found = choose_level(l, p->count, &level, ret_room);
	*ret_room *= l->size;
	if (!found)
		return false;
	descend(l, level, p->count);
	vec_foreach (&l->now, area)
		fill_area(l, &l->areas.items[*area], set);
	return true;
}

uint32_t fit_levels_misfit(struct fleet *f, uint32_t cluster, const struct shape *shape,
			   int64_t *ret_need, int64_t *ret_room)
{
	struct levels l;
	uint32_t misfit = FIT_WHOLE_GANG;

	levels_init(&l, f, cluster, shape);
	*ret_need = *ret_room = 0;
	for (uint32_t set = 0; set < shape->spec.n_sets && misfit == FIT_WHOLE_GANG; set++) {
		*ret_need = shape->spec.sets[set].count;
		if (*ret_need && !pack_set(&l, set, ret_room))
			misfit = set;
	}
	levels_done(&l);
	return misfit;
}

bool fit_levels_pack(struct fleet *f, uint32_t cluster, const struct shape *shape)
{
	int64_t need, room;

	return fit_levels_misfit(f, cluster, shape, &need, &room) == FIT_WHOLE_GANG;
}
