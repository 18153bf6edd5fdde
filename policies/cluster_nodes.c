#include "policies/cluster_nodes.h"

#include "policies/node_class.h"
#include "policies/node_state.h"

/* ---- groups: a small open-addressing table from state to group, per cluster ---- */

static uint32_t slot_of(const struct cluster *k, uint32_t state)
{
	return (state * 0x9e3779b9U >> 7) & (k->n_slots - 1);
}

static uint32_t find_slot(const struct cluster *k, uint32_t state)
{
	uint32_t i = slot_of(k, state);

	while (k->slots[i] && k->groups[k->slots[i] - 1].state != state)
		i = (i + 1) & (k->n_slots - 1);
	return i;
}

const struct node_group *cluster_nodes_group(const struct cluster *k, uint32_t state)
{
	if (!k->n_slots)
		return NULL;
	uint32_t at = k->slots[find_slot(k, state)];
	return at ? &k->groups[at - 1] : NULL;
}

static void grow_groups(struct cluster *k)
{
	k->cap_groups = k->cap_groups ? k->cap_groups * 2 : 8;
	k->groups = xrealloc(k->groups, k->cap_groups * sizeof(*k->groups));
	k->n_slots = k->cap_groups * 4;
	free(k->slots);
	k->slots = xcalloc(k->n_slots, sizeof(*k->slots));
	for (uint32_t g = 0; g < k->n_groups; g++)
		k->slots[find_slot(k, k->groups[g].state)] = g + 1;
}

/* The group of a state, made when it is not there. Valid until the next call that adds or removes.
 */
static struct node_group *group_for(struct cluster *k, uint32_t state)
{
	if (k->n_groups == k->cap_groups)
		grow_groups(k);
	uint32_t *slot = &k->slots[find_slot(k, state)];
	if (!*slot) {
		k->groups[k->n_groups] = (struct node_group){state, NODE_NONE, 0};
		*slot = ++k->n_groups;
	}
	return &k->groups[*slot - 1];
}

static void group_push(struct cluster *k, struct node_group *g, uint32_t node)
{
	struct node_spot *n = &k->spots[node];

	n->state = g->state;
	n->prev = NODE_NONE;
	n->next = g->head;
	if (g->head != NODE_NONE)
		k->spots[g->head].prev = node;
	g->head = node;
	g->n++;
}

static void group_pop(struct cluster *k, struct node_group *g, uint32_t node)
{
	struct node_spot *n = &k->spots[node];

	if (n->prev != NODE_NONE)
		k->spots[n->prev].next = n->next;
	else
		g->head = n->next;
	if (n->next != NODE_NONE)
		k->spots[n->next].prev = n->prev;
	g->n--;
}

static void unlink_slot(struct cluster *k, uint32_t i)
{
	uint32_t mask = k->n_slots - 1;

	for (uint32_t j = (i + 1) & mask; k->slots[j]; j = (j + 1) & mask) {
		uint32_t home = slot_of(k, k->groups[k->slots[j] - 1].state);
		if (((j - home) & mask) >= ((j - i) & mask)) {
			k->slots[i] = k->slots[j];
			i = j;
		}
	}
	k->slots[i] = 0;
}

/* Removes the group when it is empty: the last one takes its place. Homes are found by state, so
 * slots are put right while both still stand where they were. */
static void group_close(struct cluster *k, uint32_t state)
{
	uint32_t slot = find_slot(k, state);
	uint32_t at = k->slots[slot] - 1, last = k->n_groups - 1;

	if (k->groups[at].n > 0)
		return;
	unlink_slot(k, slot);
	if (at != last)
		k->slots[find_slot(k, k->groups[last].state)] = at + 1;
	k->groups[at] = k->groups[last];
	k->n_groups--;
}

static void group_remove(struct cluster *k, uint32_t node)
{
	uint32_t state = k->spots[node].state;

	group_pop(k, group_for(k, state), node);
	group_close(k, state);
}

/* ---- counts ---- */

/* Holes of all lanes: out of the old fill, into the new one. Four lanes at a time, because most
 * moves leave most lanes as they are. */
static void move_holes(struct fleet *f, uint32_t c, uint32_t from, uint32_t to, uint32_t n)
{
	const uint16_t *a = node_state_fills(f, from), *b = node_state_fills(f, to);
	uint32_t *holes = fleet_holes(f, c, 0);

	for (uint32_t lane = 0; lane < f->n_lanes; lane += 4) {
		uint64_t x, y;
		memcpy(&x, a + lane, sizeof(x));
		memcpy(&y, b + lane, sizeof(y));
		for (uint64_t diff = x ^ y; diff;) {
			uint32_t l = lane + (uint32_t)__builtin_ctzll(diff) / 16;
			uint32_t *h = holes + (size_t)l * LEVELS;
			h[fill_level(a[l])] -= n * fill_pods(a[l]);
			h[fill_level(b[l])] += n * fill_pods(b[l]);
			diff &= ~((uint64_t)0xffff << (l - lane) * 16);
		}
	}
}

static void add_holes(struct fleet *f, uint32_t c, uint32_t state, uint32_t sign)
{
	const uint16_t *a = node_state_fills(f, state);
	uint32_t *holes = fleet_holes(f, c, 0);

	for (uint32_t l = 0; l < f->n_lanes; l++)
		holes[(size_t)l * LEVELS + fill_level(a[l])] += sign * fill_pods(a[l]);
}

static bool is_usable(const struct fleet *f, uint32_t state)
{
	return f->classes[f->states[state].node_class].usable;
}

static void move_sums(struct fleet *f, struct cluster *k, uint32_t from, uint32_t to, uint32_t n)
{
	const int64_t *a = node_state_free(f, from), *b = node_state_free(f, to);

	if (!is_usable(f, from))
		return;
	for (uint32_t i = 0; i < f->stride; i++) {
		if (a[i] == b[i])
			continue;
		k->free_sum[i] += (cluster_nodes_positive(b[i]) - cluster_nodes_positive(a[i])) * n;
		k->used_sum[i] =
		    (int64_t)((uint64_t)k->used_sum[i] + ((uint64_t)a[i] - (uint64_t)b[i]) * n);
		if (b[i] > a[i])
			k->freed |= (uint64_t)1 << i;
	}
	if (f->states[from].node_class != f->states[to].node_class)
		k->freed = ~(uint64_t)0;
}

/* All that a node adds to its cluster (sign 1) or takes away (-1). */
static void add_sums(struct fleet *f, struct cluster *k, uint32_t node, int sign)
{
	const int64_t *alloc = k->allocatable + (size_t)node * f->stride;
	const int64_t *free = node_state_free(f, k->spots[node].state);

	if (!is_usable(f, k->spots[node].state))
		return;
	k->n_usable += (uint32_t)sign;
	for (uint32_t i = 0; i < f->stride; i++) {
		int64_t used = (int64_t)((uint64_t)alloc[i] - (uint64_t)free[i]);
		k->allocatable_sum[i] += sign * alloc[i];
		k->free_sum[i] += sign * cluster_nodes_positive(free[i]);
		k->used_sum[i] =
		    (int64_t)((uint64_t)k->used_sum[i] + (uint64_t)sign * (uint64_t)used);
		uint64_t all = (uint64_t)k->allocatable_sum[i];
		/* fleet_load() multiplies by 1000. */
		k->load_shift[i] = all >> 53 ? (uint8_t)(11 - __builtin_clzll(all)) : 0;
	}
	if (sign > 0)
		k->freed = ~(uint64_t)0;
}

/* ---- moves ---- */

void cluster_nodes_move(struct fleet *f, uint32_t cluster, uint32_t node, uint32_t take_state)
{
	struct cluster *k = &f->clusters[cluster];
	uint32_t old = k->spots[node].state;

	if (old != take_state) {
		group_remove(k, node);
		group_push(k, group_for(k, take_state), node);
		move_holes(f, cluster, old, take_state, 1);
		move_sums(f, k, old, take_state, 1);
		fleet_touch(f, cluster, false);
	}
	node_state_unref(f, old);
}

static void take_out(struct fleet *f, uint32_t cluster, uint32_t node)
{
	struct cluster *k = &f->clusters[cluster];
	uint32_t state = k->spots[node].state;

	if (state == STATE_NONE)
		return;
	group_remove(k, node);
	add_holes(f, cluster, state, UINT32_MAX); /* minus one */
	add_sums(f, k, node, -1);
	k->spots[node].state = STATE_NONE;
	node_state_unref(f, state);
	fleet_touch(f, cluster, false);
}

void cluster_nodes_replace(struct fleet *f, uint32_t cluster, uint32_t node, uint32_t take_state,
			   const int64_t *allocatable)
{
	struct cluster *k = &f->clusters[cluster];

	take_out(f, cluster, node);
	memcpy(k->allocatable + (size_t)node * f->stride, allocatable,
	       f->stride * sizeof(*allocatable));
	group_push(k, group_for(k, take_state), node);
	add_holes(f, cluster, take_state, 1);
	add_sums(f, k, node, 1);
	fleet_touch(f, cluster, false);
}

static void unref_facts(struct fleet *f, struct node *n)
{
	for (uint32_t i = 0; i < n->n_labels; i++) {
		intern_unref(&f->names, n->labels[i].key);
		intern_unref(&f->names, n->labels[i].value);
	}
	for (uint32_t i = 0; i < n->n_taints; i++) {
		intern_unref(&f->names, n->taints[i].key);
		intern_unref(&f->names, n->taints[i].value);
	}
	free(n->labels);
	free(n->taints);
}

void cluster_nodes_drop(struct fleet *f, uint32_t cluster, uint32_t node)
{
	struct cluster *k = &f->clusters[cluster];
	struct node *n = &k->nodes[node];

	take_out(f, cluster, node);
	map_remove(&k->by_name, intern_text(&f->names, n->name));
	intern_unref(&f->names, n->name);
	unref_facts(f, n);
	if (n->known)
		k->n_known--;
	*n = (struct node){0};
	k->spots[node] = (struct node_spot){.state = STATE_NONE, .next = k->free_node};
	k->free_node = node;
}

void cluster_nodes_release_slot(struct fleet *f, uint32_t cluster, uint32_t node)
{
	const struct cluster *k = &f->clusters[cluster];

	if (!f->trial && k->spots[node].state != STATE_NONE && !k->spots[node].charges)
		cluster_nodes_drop(f, cluster, node);
}

/*
 * Nodes at the head of `slots` that are in the same state and get the same move together: one look
 * for the new state, one change of the counts. Returns how many slots that were. A node that
 * stands there twice ends the run, since its state is not the same any more.
 */
static uint32_t take_run(struct fleet *f, uint32_t cluster, const struct fit_slot *slots,
			 uint32_t n_slots, const struct row *r, int64_t sign, bool exclusive)
{
	struct cluster *k = &f->clusters[cluster];
	uint32_t from = k->spots[slots[0].node].state;
	int64_t pods = sign * (int64_t)slots[0].count;
	uint32_t to = node_state_step(f, from, r, pods);
	struct node_group *target = group_for(k, to); /* may move groups, the next line does not */
	struct node_group *source = &k->groups[k->slots[find_slot(k, from)] - 1];
	uint32_t n = 0;

	for (; n < n_slots && slots[n].count == slots[0].count && slots[n].set == slots[0].set;
	     n++) {
		struct node_spot *spot = &k->spots[slots[n].node];
		if (spot->state != from)
			break;
		spot->charges += (uint32_t)pods;
		if (exclusive)
			k->nodes[slots[n].node].exclusive += (uint32_t)pods;
		group_pop(k, source, slots[n].node);
		group_push(k, target, slots[n].node);
	}
	group_close(k, from);
	move_holes(f, cluster, from, to, n);
	move_sums(f, k, from, to, n);
	node_state_shift(f, from, to, n);
	return n;
}

void cluster_nodes_take(struct fleet *f, uint32_t cluster, const struct fit_slot *slots,
			uint32_t n_slots, const struct shape *shape, int sign)
{
	/* Nodes of a gang lie apart in memory: ask for all of them at once. */
	for (uint32_t i = 0; i < n_slots; i++)
		__builtin_prefetch(&f->clusters[cluster].spots[slots[i].node], 1);
	for (uint32_t i = 0; i < n_slots;) {
		const struct row *r = shape->parts[shape->part_of_set[slots[i].set]].row;
		i += slots[i].count
			 ? take_run(f, cluster, slots + i, n_slots - i, r, sign, shape->exclusive)
			 : 1;
	}
	if (n_slots)
		fleet_touch(f, cluster, false);
	for (uint32_t i = 0; sign < 0 && i < n_slots; i++)
		cluster_nodes_release_slot(f, cluster, slots[i].node);
}

void cluster_nodes_reclass(struct fleet *f)
{
	for (uint32_t c = 0; c < f->n_clusters; c++) {
		struct cluster *k = &f->clusters[c];
		for (uint32_t i = 0; i < k->n_nodes; i++) {
			if (k->spots[i].state == STATE_NONE)
				continue;
			uint32_t class_id = node_class_of(f, &k->nodes[i]);
			memcpy(f->vector, node_state_free(f, k->spots[i].state),
			       f->stride * sizeof(*f->vector));
			cluster_nodes_move(f, c, i, node_state_ref(f, class_id, f->vector));
		}
	}
}

void cluster_nodes_fill_lane(struct fleet *f, uint32_t lane)
{
	for (uint32_t c = 0; c < f->n_clusters; c++) {
		const struct cluster *k = &f->clusters[c];
		uint32_t *h = fleet_holes(f, c, lane);

		memset(h, 0, LEVELS * sizeof(*h));
		for (uint32_t g = 0; g < k->n_groups; g++) {
			uint32_t fill = node_state_fills(f, k->groups[g].state)[lane];
			h[fill_level(fill)] += k->groups[g].n * fill_pods(fill);
		}
	}
}
