#ifndef POLICIES_HOLES_H
#define POLICIES_HOLES_H
/*
 * The holes of one cluster for one row: pods that fit, by level (see fleet.h). Private to this
 * folder.
 */
#include "policies/node_state.h"

/* LEVELS sums: the cluster's own where the row has a lane, else counted into `tmp` from the groups.
 */
const uint32_t *holes_of(const struct fleet *f, uint32_t cluster, const struct row *r,
			 uint32_t tmp[LEVELS]);

/* As holes_of(), always counted, from the nodes' amounts: what tests compare the lanes with. */
void holes_count(const struct fleet *f, uint32_t cluster, const struct row *r,
		 uint32_t ret[LEVELS]);

/* Pods that fit in all. */
static inline uint32_t holes_sum(const uint32_t *h)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < LEVELS; i++)
		sum += h[i];
	return sum;
}

/* The level up to which holes are taken when `pods` pods come (fewest levels, smallest holes
 * first); LEVELS when they do not fit. `ret_below`: pods on the levels before it. */
static inline uint32_t holes_level(const uint32_t *h, int64_t pods, int64_t *ret_below)
{
	int64_t below = 0;

	for (uint32_t i = 0; i < LEVELS; i++) {
		if (below + h[i] >= pods) {
			*ret_below = below;
			return i;
		}
		below += h[i];
	}
	*ret_below = below;
	return LEVELS;
}

#endif
