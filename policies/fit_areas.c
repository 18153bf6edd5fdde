#include "policies/fit_areas.h"

#include "policies/node_state.h"

void fit_areas_init(struct levels *l, struct fleet *f, uint32_t cluster, const struct shape *shape)
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

void fit_areas_done(struct levels *l)
{
	free(l->free);
	vec_done(&l->members);
	vec_done(&l->areas);
	vec_done(&l->now);
	vec_done(&l->next);
}

uint32_t fit_areas_fill(const struct levels *l, uint32_t node)
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

/* Those of one domain alone: levels and so members are the same for all sets of a group. */
static void keep_only(struct levels *l)
{
	if (!l->only.n)
		return;
	memmove(l->members.items, l->members.items + l->only.first,
		l->only.n * sizeof(*l->members.items));
	l->members.len = l->only.n;
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
				a->pods += fill_pods(
				    fit_areas_fill(l, l->members.items[a->first + m].node));
			for (uint32_t c = a->child; c < a->child + a->n_children; c++) {
				a->pods += l->areas.items[c].pods;
				a->slices += l->areas.items[c].slices;
			}
			a->pods -= a->pods % l->unit[level];
			if (level == l->slice_level)
				a->slices = a->pods / l->size;
		}
}

/* ---- a set ---- */

/* In what portions pods come to a level's areas: whole slices of the layer at or above it, so that
 * none is torn; below the last layer single pods. Above the first layer slices are counted. */
static void set_units(struct levels *l)
{
	uint32_t unit = 1, layer = l->t->n_inner;

	for (uint32_t level = (uint32_t)l->t->n_levels; level-- > 0;) {
		if (layer > 0 && level == l->t->inner[layer - 1].level)
			unit = l->t->inner[--layer].size;
		l->unit[level] = l->size > 1 && level > l->slice_level ? unit : 1;
	}
}

void fit_areas_take_set(struct levels *l, uint32_t set)
{
	l->row = l->shape->parts[l->shape->part_of_set[set]].row;
	l->t = &l->shape->spec.sets[set].topology;
	if (l->t->mode == POD_TOPOLOGY_NONE)
		return;
	l->least_free =
	    l->t->mode == POD_TOPOLOGY_UNCONSTRAINED || l->t->mode == POD_TOPOLOGY_SLICES;
	l->size = l->t->slice_size ? l->t->slice_size : 1;
	l->slice_level = l->size > 1 ? l->t->slice_level : (uint32_t)l->t->n_levels - 1;
	set_units(l);
}

void fit_areas_measure(struct levels *l)
{
	collect_members(l);
	keep_only(l);
	build_areas(l);
	count_areas(l);
}
