#include "policies/fit.h"

#include "policies/fit_levels.h"
#include "policies/fit_scratch.h"
#include "policies/fit_sets.h"
#include "policies/fit_topology.h"
#include "policies/holes.h"
#include "policies/node_state.h"
#include "policies/row.h"

/* Fills nodes of one group with `pods` each until `need` is met; returns what is still needed. */
static int64_t fill_group(struct fleet *f, const struct cluster *k, const struct node_group *g,
			  const struct shape *shape, uint32_t pods, int64_t need)
{
	struct fit_scratch *s = f->scratch;
	bool one_set = shape->spec.n_sets == 1;

	for (uint32_t i = g->head; i != NODE_NONE && need > 0; i = k->spots[i].next) {
		uint32_t n = need < pods ? (uint32_t)need : pods;
		if (one_set)
			vec_push(&s->slots, (struct fit_slot){i, 0, n});
		else
			fit_scratch_give(s, shape, 0, i, n);
		need -= n;
	}
	return need;
}

/*
 * One kind of pod. Holes on levels below the last one are all filled up, in any order; only those
 * on the last level are sorted. Exact: it fits when the sum of what fits on each node is enough.
 */
static bool pack_one_part(struct fleet *f, uint32_t cluster, const struct shape *shape)
{
	struct fit_scratch *s = f->scratch;
	const struct cluster *k = &f->clusters[cluster];
	const struct shape_part *p = &shape->parts[0];
	uint32_t tmp[LEVELS];
	int64_t below, need = p->count;
	uint32_t last = holes_level(holes_of(f, cluster, p->row, tmp), need, &below);

	if (last == LEVELS)
		return false;
	const uint16_t *fills = p->row->lane == LANE_NONE ? NULL : f->state_fill + p->row->lane;
	vec_clear(&s->choices);
	for (uint32_t g = 0; g < k->n_groups; g++) {
		uint32_t state = k->groups[g].state;
		uint32_t fill =
		    fills ? fills[(size_t)state * f->cap_lanes] : node_state_fill(f, state, p->row);
		if (fill_pods(fill) == 0 || fill_level(fill) > last)
			continue;
		if (fill_level(fill) < last)
			need = fill_group(f, k, &k->groups[g], shape, fill_pods(fill), need);
		else
			fit_scratch_add(s, fill, g, false);
	}
	fit_scratch_sort(s);
	for (size_t i = 0; i < s->choices.len && need > 0; i++)
		need = fill_group(f, k, &k->groups[s->choices.items[i].index], shape,
				  fill_pods(s->choices.items[i].fill), need);
	return need == 0;
}

bool fit_could(struct fleet *f, uint32_t cluster, const struct shape *shape, enum fit_mode mode)
{
	const struct cluster *k = &f->clusters[cluster];
	uint32_t tmp[LEVELS];

	if (mode == FIT_SUM) {
		for (uint32_t i = 0; i < shape->n_need; i++) {
			uint32_t r = shape->need[i].resource;
			if (shape->need[i].value > k->free_sum[r] - k->unplaced_sum[r])
				return false;
		}
		return true;
	}
	/* The sums rule out most of what each kind alone would find room for. */
	for (uint32_t i = 0; shape->n_parts > 1 && i < shape->n_need; i++)
		if (shape->need[i].value > k->free_sum[shape->need[i].resource])
			return false;
	for (uint32_t p = 0; p < shape->n_parts; p++)
		if (shape->parts[p].count >
		    holes_sum(holes_of(f, cluster, shape->parts[p].row, tmp)))
			return false;
	return true;
}

static bool pack(struct fleet *f, uint32_t cluster, const struct shape *shape, enum fit_mode mode)
{
	if (mode == FIT_SUM) {
		if (!fit_sets_pack(f, cluster, shape))
			fit_sets_pack_some(f, cluster, shape);
		return true;
	}
	if (shape->exclusive)
		return fit_topology_pack(f, cluster, shape);
	if (shape->leveled)
		return fit_levels_pack(f, cluster, shape);
	if (shape->n_parts == 1)
		return pack_one_part(f, cluster, shape);
	return fit_sets_pack(f, cluster, shape);
}

bool fit_gang(struct fleet *f, uint32_t cluster, const struct shape *shape, enum fit_mode mode,
	      struct fit_result *ret)
{
	struct fit_scratch *s = fit_scratch_of(f);

	*ret = (struct fit_result){0};
	fit_scratch_begin(s, shape);
	bool exact =
	    mode == FIT_NODES && shape->n_parts == 1 && !shape->exclusive && !shape->leveled;
	if (shape->n_parts > 0 &&
	    ((!exact && !fit_could(f, cluster, shape, mode)) || !pack(f, cluster, shape, mode)))
		return false;
	*ret = (struct fit_result){true, s->slots.items, s->slots.len};
	return true;
}
