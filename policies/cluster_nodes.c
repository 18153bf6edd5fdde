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

static void group_add(struct cluster *k, uint32_t node)
{
	struct node *n = &k->nodes[node];

	if (k->n_groups == k->cap_groups)
		grow_groups(k);
	uint32_t *slot = &k->slots[find_slot(k, n->state)];
	if (!*slot) {
		k->groups[k->n_groups] = (struct node_group){n->state, NODE_NONE, 0};
		*slot = ++k->n_groups;
	}
	struct node_group *g = &k->groups[*slot - 1];
	n->prev = NODE_NONE;
	n->next = g->head;
	if (g->head != NODE_NONE)
		k->nodes[g->head].prev = node;
	g->head = node;
	g->n++;
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

static void group_remove(struct cluster *k, uint32_t node)
{
	struct node *n = &k->nodes[node];
	uint32_t slot = find_slot(k, n->state);
	uint32_t at = k->slots[slot] - 1;
	struct node_group *g = &k->groups[at];

	if (n->prev != NODE_NONE)
		k->nodes[n->prev].next = n->next;
	else
		g->head = n->next;
	if (n->next != NODE_NONE)
		k->nodes[n->next].prev = n->prev;
	if (--g->n > 0)
		return;
	/* The last group takes the place of the empty one. */
	uint32_t last = k->n_groups - 1;
	if (at != last)
		k->slots[find_slot(k, k->groups[last].state)] = at + 1;
	unlink_slot(k, slot);
	k->groups[at] = k->groups[last];
	k->n_groups--;
}

/* ---- counts ---- */

/* Holes of all lanes: out of the old fill, into the new one. Four lanes at a time, because most
 * moves leave most lanes as they are. */
static void move_holes(struct fleet *f, uint32_t c, uint32_t from, uint32_t to)
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
			h[fill_level(a[l])] -= fill_pods(a[l]);
			h[fill_level(b[l])] += fill_pods(b[l]);
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

static void move_sums(struct fleet *f, struct cluster *k, uint32_t from, uint32_t to)
{
	const int64_t *a = node_state_free(f, from), *b = node_state_free(f, to);

	if (!is_usable(f, from))
		return;
	for (uint32_t i = 0; i < f->stride; i++) {
		if (a[i] == b[i])
			continue;
		k->free_sum[i] += cluster_nodes_positive(b[i]) - cluster_nodes_positive(a[i]);
		k->used_sum[i] =
		    (int64_t)((uint64_t)k->used_sum[i] + (uint64_t)a[i] - (uint64_t)b[i]);
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
	const int64_t *free = node_state_free(f, k->nodes[node].state);

	if (!is_usable(f, k->nodes[node].state))
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
	uint32_t old = k->nodes[node].state;

	if (old != take_state) {
		group_remove(k, node);
		k->nodes[node].state = take_state;
		group_add(k, node);
		move_holes(f, cluster, old, take_state);
		move_sums(f, k, old, take_state);
		fleet_touch(f, cluster, false);
	}
	node_state_unref(f, old);
}

static void take_out(struct fleet *f, uint32_t cluster, uint32_t node)
{
	struct cluster *k = &f->clusters[cluster];
	uint32_t state = k->nodes[node].state;

	if (state == STATE_NONE)
		return;
	group_remove(k, node);
	add_holes(f, cluster, state, UINT32_MAX); /* minus one */
	add_sums(f, k, node, -1);
	k->nodes[node].state = STATE_NONE;
	node_state_unref(f, state);
	fleet_touch(f, cluster, false);
}

void cluster_nodes_replace(struct fleet *f, uint32_t cluster, uint32_t node, uint32_t take_state,
			   const int64_t *allocatable)
{
	struct cluster *k = &f->clusters[cluster];

	take_out(f, cluster, node);
	k->nodes[node].state = take_state;
	memcpy(k->allocatable + (size_t)node * f->stride, allocatable,
	       f->stride * sizeof(*allocatable));
	group_add(k, node);
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
	*n = (struct node){.state = STATE_NONE, .next = k->free_node};
	k->free_node = node;
}

void cluster_nodes_release_slot(struct fleet *f, uint32_t cluster, uint32_t node)
{
	const struct node *n = &f->clusters[cluster].nodes[node];

	if (!n->known && !n->charges)
		cluster_nodes_drop(f, cluster, node);
}

void cluster_nodes_take(struct fleet *f, uint32_t cluster, uint32_t node, const struct row *r,
			int64_t times, bool exclusive)
{
	struct node *n = &f->clusters[cluster].nodes[node];

	n->charges += (uint32_t)times;
	if (exclusive)
		n->exclusive += (uint32_t)times;
	cluster_nodes_move(f, cluster, node, node_state_step(f, n->state, r, times));
	if (times < 0)
		cluster_nodes_release_slot(f, cluster, node);
}

void cluster_nodes_reclass(struct fleet *f)
{
	for (uint32_t c = 0; c < f->n_clusters; c++) {
		struct cluster *k = &f->clusters[c];
		for (uint32_t i = 0; i < k->n_nodes; i++) {
			struct node *n = &k->nodes[i];
			if (n->state == STATE_NONE)
				continue;
			uint32_t class_id = node_class_of(f, n);
			memcpy(f->vector, node_state_free(f, n->state),
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
