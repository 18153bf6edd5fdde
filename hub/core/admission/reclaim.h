#ifndef CORE_ADMISSION_RECLAIM_H
#define CORE_ADMISSION_RECLAIM_H
/*
 * The elastic tree's reclaim: an owner whose queued gang fits its min takes it back from those who
 * borrowed it, in whole jobs (quota-tree/elastic_reclaim.h says who and in which order; the
 * vectors V3, V4, V23 to V25 and V28 of reference/ack-fleet.md). Off unless the tree's root says
 * reclaim-policy: ReclaimMin; jobs admitted less than reclaim-protect-time ago (2 minutes where
 * nothing is stated) are spared.
 *
 * Victims serve two wants, quota and nodes: the search runs for each member that could take the
 * gang, and the one with the fewest victims is taken, then the least work lost, then the best
 * place (policies/evict_fit.h). Nobody is stopped for a gang that then cannot start.
 *
 * One round at a time, a claim: its victims are withdrawn from their member and keep their place
 * in the queue; their quota counts as free when their pods are gone. Until then, and until the
 * owner was tried, nobody else of the tree is admitted who would take what the owner needs, and the
 * chosen cluster takes no other job. A claim has a row, written with its victims' and deleted when
 * the owner was tried: a restart in between takes it up again, and keeps it until the chosen member
 * has been seen again, a minute at most.
 *
 * Costs a walk over the jobs of the tree for each of the first few waiting heads, at most every
 * 100 ms.
 */
#include "core/admission/reclaim_search.h"

/* Looks for an owner to serve, and after the one being served; before others are decided. */
void reclaim_run(struct core *c);
usec reclaim_due(const struct core *c);
/* Gives up the claim: the tree is another one now. */
void reclaim_drop(struct core *c);
/* Takes it up again from its row, once the jobs are known; and frees it, its row stays. */
void reclaim_restore(struct core *c);
void reclaim_done(struct core *c);

/* Whether a unit that quota and order allow may be tried: not while it would take what a claim
 * needs. */
bool reclaim_lets(struct core *c, const struct elastic_unit *unit);
/* The cluster that is kept for a claim of another job; CLUSTER_NONE. */
uint32_t reclaim_cluster(const struct core *c, const struct job *j);
/* The jobs that stop for this one, and the job that this one stops for: of the claim, until the
 * owner was tried. The number of the first, of which `max` go into out; NULL: for none. */
size_t reclaim_victims(const struct core *c, const struct job *owner, const struct job **out,
		       size_t max);
const struct job *reclaim_owner(const struct core *c, const struct job *victim);
/* What the job that takes back its min is told, or one that waits for it; false when neither. */
bool reclaim_tell(const struct core *c, const struct job *j, char *out, size_t size);

#endif
