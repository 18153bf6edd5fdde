#ifndef POLICIES_HOT_SWAP_GROUPS_H
#define POLICIES_HOT_SWAP_GROUPS_H
/*
 * A gang with an exclusive topology that lost nodes, group by group (the child Jobs of a JobSet,
 * the slices of a multislice job): a group of which every pod still has its place stays in its
 * domain, which is then nobody else's, and of a broken one every pod needs a place in one domain.
 *
 * Whether the gang's controller makes all pods anew, or those of the broken group alone, makes no
 * difference here: what stays is room.
 *
 * Pure: reads fleet and ledger. One thread.
 */
#include "base/vec.h"
#include "policies/ledger.h"
#include "policies/placement.h"

struct hot_swap_groups {
	struct VEC(struct fit_slot) kept; /* of the groups that are whole */
	struct ask *missing; /* of the broken ones; NULL: every group is broken, or none */
	/* The same, held to the domain where it is, when one is broken: a controller that makes
	 * a single pod anew can only add it to those that are left there. Else NULL. */
	struct ask *home;
};

/* Of the gang of `whole`, number `job` in the ledger, on this cluster: its pods stand on
 * `standing`; others are awaited on the nodes that the ledger has for them. Zeroes *ret first; its
 * asks are references. Fills in nothing for a gang of another kind. */
void hot_swap_groups_find(struct placer *p, const struct fleet *f, const struct ledger *l,
			  struct ask *whole, uint32_t cluster, uint64_t job,
			  const struct fit_slot *standing, size_t n, struct hot_swap_groups *ret);
void hot_swap_groups_done(struct placer *p, struct hot_swap_groups *g);

#endif
