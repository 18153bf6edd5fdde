/*
 * Bins are groups of alike nodes. Packing a part takes bins in ascending order of fill (see
 * fleet.h) and splits the last one it needs in up to three: nodes filled up, one node filled in
 * part, nodes untouched. So the number of bins grows by few per part, and the cost depends on kinds
 * of nodes, not on nodes times pods.
 *
 * One order after the other is a heuristic for several parts (the exact problem is bin packing):
 * largest pods first into the smallest holes; then the part with the least room to spare first;
 * then largest first onto the fewest nodes; then the parts with few pods (a master, a launcher) one
 * by one where the others lose least. For one part every order is exact, because pods that
 * are alike do not compete with others.
 */
#include "policies/fit_sets.h"

#include "policies/node_state.h"
#include "policies/row.h"

#define NO_USE UINT32_MAX
/* Pods that are placed one by one at most, per part: each costs a look at all bins. */
#define SPREAD_MAX 16

static void begin_bins(struct fleet *f, uint32_t cluster, const struct shape *shape)
{
	struct fit_scratch *s = f->scratch;
	const struct cluster *k = &f->clusters[cluster];
	size_t max = k->n_groups + (2 + SPREAD_MAX) * (size_t)shape->n_parts;

	vec_clear(&s->bins);
	vec_clear(&s->uses);
	vec_clear(&s->amounts);
	vec_reserve(&s->bins, max);
	vec_reserve(&s->amounts, max * f->stride); /* so that vectors never move */
	for (uint32_t g = 0; g < k->n_groups; g++)
		vec_push(&s->bins, (struct fit_bin){
				       .free = node_state_free(f, k->groups[g].state),
				       .state = k->groups[g].state,
				       .group = g,
				       .n = k->groups[g].n,
				       .uses = NO_USE,
				   });
}

static uint32_t bin_fill(const struct fleet *f, const struct fit_bin *b, const struct row *r)
{
	const struct node_state *state = &f->states[b->state];
	const struct node_class *c = &f->classes[state->node_class];

	if (!b->own)
		return node_state_fill(f, b->state, r);
	if (!row_accepts(r, c))
		return 0;
	return row_fill(r, b->free, node_state_devices(f, b->free));
}

/* Every node of the bin takes `pods` pods of the part. */
static void use_bin(struct fleet *f, struct fit_bin *b, const struct row *r, uint32_t part,
		    uint32_t pods)
{
	struct fit_scratch *s = f->scratch;

	if (!b->own) {
		b->own = s->amounts.items + s->amounts.len;
		s->amounts.len += f->stride;
		memcpy(b->own, b->free, f->stride * sizeof(*b->own));
		b->free = b->own;
	}
	for (uint32_t i = 0; i < r->n_requests; i++)
		b->own[r->resource[i]] -= pods * r->amount[i];
	vec_push(&s->uses, (struct fit_use){part, pods, b->uses});
	b->uses = (uint32_t)s->uses.len - 1;
}

/* Splits `n` nodes off a bin that has more, and returns the index of the new bin. */
static uint32_t split_bin(struct fleet *f, uint32_t at, uint32_t n)
{
	struct fit_scratch *s = f->scratch;
	struct fit_bin part = s->bins.items[at];

	if (part.n == n)
		return at;
	s->bins.items[at].n -= n;
	part.n = n;
	if (part.own) {
		int64_t *own = s->amounts.items + s->amounts.len;
		s->amounts.len += f->stride;
		memcpy(own, part.own, f->stride * sizeof(*own));
		part.own = own;
		part.free = own;
	}
	vec_push(&s->bins, part);
	return (uint32_t)s->bins.len - 1;
}

/* Packs `need` pods of one part; returns how many found no place. */
static int64_t pack_part(struct fleet *f, const struct shape *shape, uint32_t part, int64_t need,
			 bool fewest)
{
	struct fit_scratch *s = f->scratch;
	const struct row *r = shape->parts[part].row;

	vec_clear(&s->choices);
	for (uint32_t i = 0; i < s->bins.len; i++)
		fit_scratch_add(s, bin_fill(f, &s->bins.items[i], r), i, fewest);
	fit_scratch_sort(s);
	for (size_t i = 0; i < s->choices.len && need > 0; i++) {
		uint32_t at = s->choices.items[i].index;
		uint32_t pods = fill_pods(s->choices.items[i].fill);
		int64_t full = need / pods;

		if (full >= s->bins.items[at].n) {
			need -= (int64_t)pods * s->bins.items[at].n;
			use_bin(f, &s->bins.items[at], r, part, pods);
			continue;
		}
		if (full > 0) {
			uint32_t filled = split_bin(f, at, (uint32_t)full);
			use_bin(f, &s->bins.items[filled], r, part, pods);
		}
		need -= full * pods;
		if (need > 0) {
			uint32_t last = split_bin(f, at, 1);
			use_bin(f, &s->bins.items[last], r, part, (uint32_t)need);
		}
		need = 0;
	}
	return need;
}

/* Pods of the parts in `later` that a node would lose, were one pod of `r` put on it. */
static int64_t loss(const struct fleet *f, const struct shape *shape, const struct fit_bin *b,
		    const struct row *r, const uint32_t *later, uint32_t n_later)
{
	int64_t after[RESOURCE_MAX], lost = 0;

	memcpy(after, b->free, f->stride * sizeof(*after));
	for (uint32_t i = 0; i < r->n_requests; i++)
		after[r->resource[i]] -= r->amount[i];
	for (uint32_t i = 0; i < n_later; i++) {
		const struct row *other = shape->parts[later[i]].row;
		uint32_t before = fill_pods(bin_fill(f, b, other));
		if (before)
			lost += before - row_pods(other, after);
	}
	return lost;
}

/* Puts pods of one part one by one where the parts that come later lose least. */
static bool spread_part(struct fleet *f, const struct shape *shape, uint32_t part,
			const uint32_t *later, uint32_t n_later)
{
	struct fit_scratch *s = f->scratch;
	const struct row *r = shape->parts[part].row;

	for (int64_t need = shape->parts[part].count; need > 0; need--) {
		uint32_t best = UINT32_MAX, best_fill = 0;
		int64_t best_loss = INT64_MAX;

		for (uint32_t i = 0; i < s->bins.len; i++) {
			uint32_t fill = bin_fill(f, &s->bins.items[i], r);
			if (fill_pods(fill) == 0)
				continue;
			int64_t lost = loss(f, shape, &s->bins.items[i], r, later, n_later);
			if (lost < best_loss || (lost == best_loss && fill < best_fill)) {
				best = i;
				best_fill = fill;
				best_loss = lost;
			}
		}
		if (best == UINT32_MAX)
			return false;
		best = split_bin(f, best, 1);
		use_bin(f, &s->bins.items[best], r, part, 1);
	}
	return true;
}

/* Names nodes for the bins: a group's nodes in their order. */
static void emit(struct fleet *f, uint32_t cluster, const struct shape *shape)
{
	struct fit_scratch *s = f->scratch;
	const struct cluster *k = &f->clusters[cluster];

	fit_scratch_begin(s, shape);
	vec_clear(&s->cursors);
	for (uint32_t g = 0; g < k->n_groups; g++)
		vec_push(&s->cursors, k->groups[g].head);
	for (size_t i = 0; i < s->bins.len; i++) {
		const struct fit_bin *b = &s->bins.items[i];
		uint32_t *node = &s->cursors.items[b->group];
		for (uint32_t n = 0; b->uses != NO_USE && n < b->n; n++) {
			for (uint32_t u = b->uses; u != NO_USE; u = s->uses.items[u].next)
				fit_scratch_give(s, shape, s->uses.items[u].part, *node,
						 s->uses.items[u].pods);
			*node = k->spots[*node].next;
		}
	}
}

/* Parts by number of pods, fewest first. */
static void order_by_count(struct fleet *f, const struct shape *shape)
{
	struct fit_scratch *s = f->scratch;

	for (uint32_t i = 0; i < shape->n_parts; i++) {
		uint32_t at = i;
		for (; at > 0 && shape->parts[s->order.items[at - 1]].count > shape->parts[i].count;
		     at--)
			s->order.items[at] = s->order.items[at - 1];
		s->order.items[at] = i;
	}
}

/* Parts by room to spare (what fits alone minus what is needed), least first. */
static void order_by_room(struct fleet *f, const struct shape *shape)
{
	struct fit_scratch *s = f->scratch;
	int64_t room[POD_SET_MAX_SETS];

	for (uint32_t p = 0; p < shape->n_parts; p++) {
		room[p] = -shape->parts[p].count;
		for (size_t i = 0; i < s->bins.len; i++)
			room[p] += (int64_t)s->bins.items[i].n *
				   fill_pods(bin_fill(f, &s->bins.items[i], shape->parts[p].row));
	}
	for (uint32_t i = 0; i < shape->n_parts; i++) {
		uint32_t at = i;
		for (; at > 0 && room[s->order.items[at - 1]] > room[i]; at--)
			s->order.items[at] = s->order.items[at - 1];
		s->order.items[at] = i;
	}
}

enum pack_order { LARGEST_FIRST, LEAST_ROOM_FIRST, FEWEST_NODES, LEAST_LOSS, PACK_ORDERS };

static bool pack_in_order(struct fleet *f, const struct shape *shape, enum pack_order how)
{
	struct fit_scratch *s = f->scratch;

	vec_clear(&s->order);
	for (uint32_t p = 0; p < shape->n_parts; p++)
		vec_push(&s->order, p);
	if (how == LEAST_ROOM_FIRST)
		order_by_room(f, shape);
	if (how == LEAST_LOSS)
		order_by_count(f, shape);
	for (uint32_t i = 0; i < shape->n_parts; i++) {
		uint32_t p = s->order.items[i], n_later = shape->n_parts - i - 1;
		if (how == LEAST_LOSS && n_later > 0 && shape->parts[p].count <= SPREAD_MAX) {
			if (!spread_part(f, shape, p, s->order.items + i + 1, n_later))
				return false;
			continue;
		}
		if (pack_part(f, shape, p, shape->parts[p].count, how == FEWEST_NODES) > 0)
			return false;
	}
	return true;
}

bool fit_sets_pack(struct fleet *f, uint32_t cluster, const struct shape *shape)
{
	int orders = shape->n_parts > 1 ? PACK_ORDERS : 1;

	fit_scratch_of(f);
	for (int how = 0; how < orders; how++) {
		begin_bins(f, cluster, shape);
		if (pack_in_order(f, shape, (enum pack_order)how)) {
			emit(f, cluster, shape);
			return true;
		}
	}
	return false;
}

int64_t fit_sets_pack_some(struct fleet *f, uint32_t cluster, const struct shape *shape)
{
	int64_t placed = 0;

	fit_scratch_of(f);
	begin_bins(f, cluster, shape);
	for (uint32_t p = 0; p < shape->n_parts; p++)
		placed +=
		    shape->parts[p].count - pack_part(f, shape, p, shape->parts[p].count, false);
	emit(f, cluster, shape);
	return placed;
}
