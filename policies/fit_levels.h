#ifndef POLICIES_FIT_LEVELS_H
#define POLICIES_FIT_LEVELS_H
/*
 * Topology by levels (Kueue's podset-required, -preferred and -unconstrained-topology, and slices;
 * reference/kueue.md section 2.10). Private to this folder; struct pod_topology says what a set
 * may ask.
 *
 * Levels are node labels, the widest first; a domain is all nodes with the same values down to a
 * level, and nodes that lack one of the labels are in none. For each set in turn:
 *   1. what fits is counted: pods on every node, slices at their level (whole ones, inside one
 *      domain), sums above;
 *   2. the narrowest domain from the asked level that holds all is found: at that level only
 *      (required), else climbing, else spread over several at the top (preferred), or spread at the
 *      lowest level at once (unconstrained, and slices without a level for the whole set);
 *   3. from there down domains are chosen level by level: those with most room first and of the
 *      last one the tightest that is enough (BestFit), or those with least room first
 *      (unconstrained). Down to the slices' level over all that were chosen, below it inside each.
 * Smaller slices inside slices (layers) come to the domains of their level whole, too. Sets of one
 * group are placed together: in the tightest domain that holds them all, from the asked level
 * upwards.
 * Ties are decided by the labels' values. Sets of the same gang that ask for no topology take
 * what is left, smallest holes first.
 *
 * Beyond Kueue's rule, pods are counted node by node where the lowest level is not the host, since
 * a gang must really fit.
 */
#include "policies/fit_scratch.h"

/* Packs the gang, slots in scratch. */
bool fit_levels_pack(struct fleet *f, uint32_t cluster, const struct shape *shape);
/* The first set that finds no room, with the pods that it asks and those that its domains would
 * hold; FIT_WHOLE_GANG when all do. */
uint32_t fit_levels_misfit(struct fleet *f, uint32_t cluster, const struct shape *shape,
			   int64_t *ret_need, int64_t *ret_room);

#endif
