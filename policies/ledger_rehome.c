#include "base/num.h"
#include "policies/cluster_nodes.h"
#include "policies/fleet.h"
#include "policies/ledger_private.h"
#include "policies/node_state.h"

static const struct row *row_of(const struct entry *e, uint32_t set)
{
	return e->shape->parts[e->shape->part_of_set[set]].row;
}

static int64_t asked(const struct row *r, uint32_t resource, int64_t pods)
{
	for (uint32_t k = 0; k < r->n_requests; k++)
		if (r->resource[k] == resource)
			return num_mul_sat(r->amount[k], pods);
	return 0;
}

static bool is_usable(const struct fleet *f, uint32_t cluster, uint32_t node)
{
	uint32_t state = f->clusters[cluster].spots[node].state;

	return f->classes[f->states[state].node_class].usable;
}

int64_t ledger_stranded(const struct ledger *l, uint32_t cluster, uint32_t resource)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < l->entries.len; i++) {
		const struct entry *e = &l->entries.items[i];
		if (!e->job || e->cluster != cluster)
			continue;
		for (uint32_t n = 0; n < e->n_slots; n++) {
			const struct fit_slot *s = &e->slots[n];
			if (s->count && !is_usable(l->f, cluster, s->node))
				sum += asked(row_of(e, s->set), resource, s->count);
		}
	}
	return sum;
}

/* What claims ask of the node. */
static int64_t claimed(const struct ledger *l, const struct crowded_node *at, uint32_t resource)
{
	int64_t sum = 0;

	for (uint32_t i = 0; l->n_claims && i < l->entries.len; i++) {
		const struct entry *e = &l->entries.items[i];
		if (!e->job || !e->claim || e->cluster != at->cluster)
			continue;
		for (uint32_t n = 0; n < e->n_slots; n++)
			if (e->slots[n].node == at->node)
				sum +=
				    asked(row_of(e, e->slots[n].set), resource, e->slots[n].count);
	}
	return sum;
}

/* What is asked for beyond what is there, or everything when the node takes no pods at all. */
static uint64_t short_of(const struct ledger *l, const struct crowded_node *at)
{
	const struct cluster *k = &l->f->clusters[at->cluster];
	uint64_t mask = 0;

	if (!k->used || at->node >= k->n_nodes || k->spots[at->node].state == STATE_NONE)
		return 0;
	const int64_t *free = node_state_free(l->f, k->spots[at->node].state);
	if (!is_usable(l->f, at->cluster, at->node))
		return UINT64_MAX;
	for (uint32_t r = 0; r < l->f->stride; r++)
		if (free[r] < 0 && free[r] + claimed(l, at, r) < 0)
			mask |= (uint64_t)1 << r;
	return mask;
}

void ledger_crowded(struct ledger *l, uint32_t cluster, uint32_t node)
{
	struct crowded_node at = {cluster, node, 0};

	if (!l->n_live || !short_of(l, &at))
		return;
	vec_foreach (&l->crowded, c) {
		if (c->cluster == cluster && c->node == node) {
			c->version = 0;
			return;
		}
	}
	vec_push(&l->crowded, at);
}

/* The youngest job's assumed pods on the node that ask for what it is short of. */
static struct fit_slot *slot_on(struct ledger *l, const struct crowded_node *at, uint64_t mask,
				struct entry **ret)
{
	struct fit_slot *found = NULL;

	for (uint32_t i = 0; i < l->entries.len; i++) {
		struct entry *e = &l->entries.items[i];
		if (!e->job || e->claim || e->cluster != at->cluster || e->shape->exclusive ||
		    e->shape->leveled || (found && (*ret)->job > e->job))
			continue;
		for (uint32_t n = 0; n < e->n_slots; n++) {
			struct fit_slot *s = &e->slots[n];
			if (s->node != at->node || !s->count || !(row_of(e, s->set)->mask & mask))
				continue;
			found = s;
			*ret = e;
		}
	}
	return found;
}

/* Another node that takes a pod of the row, the one with the smallest hole. */
static uint32_t home_for(const struct ledger *l, const struct crowded_node *at, const struct row *r)
{
	const struct cluster *k = &l->f->clusters[at->cluster];
	uint32_t best = NODE_NONE, best_fill = UINT32_MAX;

	for (uint32_t g = 0; g < k->n_groups; g++) {
		uint32_t fill = node_state_fill(l->f, k->groups[g].state, r);
		uint32_t node = k->groups[g].head;
		if (node == at->node)
			node = k->spots[node].next;
		if (node == NODE_NONE || fill_pods(fill) == 0 || fill >= best_fill)
			continue;
		best = node;
		best_fill = fill;
	}
	return best;
}

void ledger_add_slot(struct entry *e, uint32_t node, uint32_t set)
{
	for (uint32_t i = 0; i < e->n_slots; i++) {
		if (e->slots[i].node == node && e->slots[i].set == set) {
			e->slots[i].count++;
			return;
		}
	}
	if (e->n_slots == e->cap_slots) {
		e->cap_slots = e->cap_slots * 2 + 1;
		e->slots = xrealloc(e->slots, e->cap_slots * sizeof(*e->slots));
	}
	e->slots[e->n_slots++] = (struct fit_slot){node, set, 1};
}

/* One pod moves. False when there is none to move, or nowhere to go. */
static bool move_one(struct ledger *l, const struct crowded_node *at, uint64_t mask)
{
	struct entry *e = NULL;
	struct fit_slot *s = slot_on(l, at, mask, &e);

	if (!s)
		return false;
	uint32_t set = s->set, home = home_for(l, at, row_of(e, set));
	if (home == NODE_NONE)
		return false;
	struct fit_slot from = {at->node, set, 1}, to = {home, set, 1};
	s->count--;
	ledger_charge_slots(l, e, &to, 1, 1);
	ledger_charge_slots(l, e, &from, 1, -1);
	ledger_add_slot(e, home, set);
	return true;
}

static bool has_assumed(struct ledger *l, const struct crowded_node *at)
{
	struct entry *e = NULL;

	return slot_on(l, at, UINT64_MAX, &e) != NULL;
}

void ledger_rehome(struct ledger *l)
{
	for (uint32_t i = 0; i < l->crowded.len;) {
		struct crowded_node at = l->crowded.items[i];
		uint64_t mask;
		if (at.version && at.version == l->f->hot[at.cluster].version) {
			i++;
			continue;
		}
		while ((mask = short_of(l, &at)) && move_one(l, &at, mask))
			;
		if (mask && has_assumed(l, &at))
			l->crowded.items[i++].version = l->f->hot[at.cluster].version;
		else
			l->crowded.items[i] = l->crowded.items[--l->crowded.len];
	}
}
