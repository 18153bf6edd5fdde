#ifndef POLICIES_WAITING_H
#define POLICIES_WAITING_H
/*
 * Asks that found no cluster, by what they lacked: a job that does not fit costs nothing until a
 * change that could help it.
 *
 * Core parks an ask when a job of it stays without a cluster, and after each batch of facts takes
 * the asks that the changes could have helped; it then tries the jobs of those in queue order, and
 * parks what still does not fit. An ask is woken when on a cluster that is a candidate for it
 *  - the number of its pods that fit rose to what a set needs while it was short of it, or
 *  - several sets compete for one node and something that they ask for became free there, or
 *  - the cluster became a candidate (Ready again, uncordoned, labelled, API installed, new).
 * Waking is a hint: it may come without a fit; a fit that appears by more becoming free never comes
 * without waking. An exclusion that runs out is a timer of core's, not a change.
 */
#include "policies/placement.h"

struct waiting;

struct waiting *waiting_create(struct placer *p); /* one per placer, which must outlive it */
struct waiting *waiting_destroy(struct waiting *w);

/* The ask waits from now on: changes that came before are not looked at, so park right after the
 * decision that failed, in the same batch. Parking twice is the same as once. Holds no reference:
 * unpark before the last unref. */
void waiting_park(struct waiting *w, struct ask *a);
void waiting_unpark(struct waiting *w, struct ask *a);
bool waiting_is_parked(const struct waiting *w, const struct ask *a);

/* Takes the next ask that a change since the last call could have helped, NULL when there is none.
 * It is no longer parked. In order of parking. */
struct ask *waiting_next(struct waiting *w);

size_t waiting_count(const struct waiting *w);

#endif
