#include "policies/cluster_nodes.h"
#include "policies/fleet.h"
#include "policies/node_class.h"
#include "policies/node_state.h"
#include "policies/row.h"

static const char *verify_states(struct fleet *f)
{
	for (uint32_t id = 0; id < f->n_states; id++) {
		const struct node_state *s = &f->states[id];
		if (!s->refs && !s->cached)
			continue;
		if (s->hash != node_state_hash(f, s->node_class, node_state_free(f, id)))
			return "the hash of a state is not that of its amounts";
		for (uint32_t lane = 0; lane < f->n_lanes; lane++) {
			const struct row *r = f->lanes[lane];
			uint16_t want = 0;
			if (r && row_accepts(r, &f->classes[s->node_class]))
				want = row_fill(r, node_state_free(f, id), s->devices);
			if (node_state_fills(f, id)[lane] != want)
				return "the fill of a state differs from its row";
		}
	}
	return NULL;
}

static const char *verify_groups(struct fleet *f, const struct cluster *k)
{
	uint32_t in_groups = 0, in_slots = 0;

	for (uint32_t g = 0; g < k->n_groups; g++) {
		uint32_t n = 0;
		if (cluster_nodes_group(k, k->groups[g].state) != &k->groups[g])
			return "a group is not found by its state";
		for (uint32_t i = k->groups[g].head; i != NODE_NONE; i = k->spots[i].next, n++)
			if (k->spots[i].state != k->groups[g].state)
				return "a node is in the group of another state";
		if (n == 0 || n != k->groups[g].n)
			return "the count of a group is wrong";
		in_groups += n;
	}
	for (uint32_t i = 0; i < k->n_nodes; i++)
		in_slots += k->spots[i].state != STATE_NONE;
	return in_slots == in_groups ? NULL : "a node is in no group";
}

static const char *verify_sums(struct fleet *f, const struct cluster *k)
{
	int64_t alloc[RESOURCE_MAX] = {0}, free[RESOURCE_MAX] = {0}, used[RESOURCE_MAX] = {0};
	uint32_t usable = 0;

	for (uint32_t i = 0; i < k->n_nodes; i++) {
		const struct node_spot *n = &k->spots[i];
		if (n->state == STATE_NONE)
			continue;
		if (!f->classes[f->states[n->state].node_class].usable)
			continue;
		usable++;
		for (uint32_t r = 0; r < f->stride; r++) {
			int64_t a = k->allocatable[(size_t)i * f->stride + r];
			int64_t v = node_state_free(f, n->state)[r];
			alloc[r] += a;
			free[r] += cluster_nodes_positive(v);
			used[r] += a - v;
		}
	}
	if (usable != k->n_usable)
		return "the count of usable nodes is wrong";
	for (uint32_t r = 0; r < f->stride; r++)
		if (alloc[r] != k->allocatable_sum[r] || free[r] != k->free_sum[r] ||
		    used[r] != k->used_sum[r])
			return "a sum over nodes is wrong";
	return NULL;
}

static const char *verify_holes(struct fleet *f, uint32_t c)
{
	const struct cluster *k = &f->clusters[c];

	for (uint32_t lane = 0; lane < f->n_lanes; lane++) {
		uint32_t want[LEVELS] = {0};
		if (!f->lanes[lane])
			continue;
		for (uint32_t i = 0; i < k->n_nodes; i++) {
			if (k->spots[i].state == STATE_NONE)
				continue;
			uint32_t fill = node_state_fills(f, k->spots[i].state)[lane];
			want[fill_level(fill)] += fill_pods(fill);
		}
		if (memcmp(want, fleet_holes(f, c, lane), sizeof(want)) != 0)
			return "the holes of a cluster are wrong";
	}
	return NULL;
}

const char *fleet_verify(struct fleet *f)
{
	const char *wrong = verify_states(f);

	for (uint32_t c = 0; c < f->n_clusters && !wrong; c++) {
		if (!f->clusters[c].used)
			continue;
		wrong = verify_groups(f, &f->clusters[c]);
		if (!wrong)
			wrong = verify_sums(f, &f->clusters[c]);
		if (!wrong)
			wrong = verify_holes(f, c);
	}
	return wrong;
}
