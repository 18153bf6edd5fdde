#ifndef CORE_ADMISSION_STARVING_H
#define CORE_ADMISSION_STARVING_H
/*
 * The list of those that starve for room, their order, and how many of them may have a cluster:
 * what starvation.h decides with. Private to starvation.c.
 *
 * Reservations are few: higher priority first, then who waits for longest.
 */
#include "core/admission/starvation.h"
#include "policies/evict_fit.h"
#include "policies/reservation.h"

struct starving {
	uint64_t job;
	struct reservation held; /* cluster CLUSTER_NONE: no cluster can be promised */
	usec look_at;
	/* of a Kueue queue: tried again in this turn, it may be promised a cluster; holds quota
	 * ahead, and at the last look no cluster could be kept free */
	bool woken, in_doubt;
};

struct starvation {
	struct VEC(struct starving) items;
	struct evict_fit trial;
	usec look_at; /* for new ones; INT64_MAX: nobody waits */
};

struct starving *starving_find(const struct core *c, const struct job *j); /* NULL: not in it */
/* Whether the cluster is kept free for somebody but this one. */
bool starving_holds(const struct core *c, uint32_t cluster, const struct starving *but);
/* How many clusters are kept free, or may be in this turn; and how many may be. */
size_t starving_reserved(const struct core *c);
size_t starving_most_reserved(const struct core *c);
void starving_sort(struct core *c);
/* Whether there is a place in the list for it: the last of those that have nothing makes way for
 * one that goes before it. */
bool starving_has_place(struct core *c, const struct starving *it);

#endif
