#include "policies/holes.h"

#include "policies/row.h"

void holes_count(const struct fleet *f, uint32_t cluster, const struct row *r, uint32_t ret[LEVELS])
{
	const struct cluster *k = &f->clusters[cluster];

	memset(ret, 0, LEVELS * sizeof(*ret));
	for (uint32_t g = 0; g < k->n_groups; g++) {
		const struct node_state *s = &f->states[k->groups[g].state];
		if (!row_accepts(r, &f->classes[s->node_class]))
			continue;
		uint32_t fill = row_fill(r, node_state_free(f, k->groups[g].state), s->devices);
		ret[fill_level(fill)] += k->groups[g].n * fill_pods(fill);
	}
}

const uint32_t *holes_of(const struct fleet *f, uint32_t cluster, const struct row *r,
			 uint32_t tmp[LEVELS])
{
	if (r->lane != LANE_NONE)
		return fleet_holes(f, cluster, r->lane);
	holes_count(f, cluster, r, tmp);
	return tmp;
}
