#ifndef CORE_ADMISSION_STARVATION_H
#define CORE_ADMISSION_STARVATION_H
/*
 * Gangs that have waited too long for room get a cluster of their own to wait for: jobs of the
 * elastic tree, jobs outside any queue, and heads of Kueue's queues whose quota fits.
 *
 * A job whose quota fits and that no cluster takes is parked; small jobs that fit pass it, for ever
 * if they keep coming. Once starvation.after has passed since its first attempt, it gets a
 * reservation (policies/reservation.h): the cluster that can be free for it first takes no other
 * job, but those that are sure to end before; its quota is charged ahead, so that both are there at
 * the same time. It starts where it first fits, there or elsewhere. A job for which no cluster has
 * a shadow time, since jobs without a limit stand in the way everywhere, gets none, and says so.
 *
 * Of a Kueue queue's head quota comes first, in the engine's order: when it starves, it is tried
 * again, and with the first flavors for which a cluster can be promised its quota is reserved ahead
 * (kueue/admission.h), as for one whose checks are pending; both are given back together. One that
 * holds quota already since its checks are Ready keeps it. One that lacks quota alone is looked
 * after by kueue/quota_wait.h.
 *
 * One reservation per cluster and at most a quarter of the clusters, so that little stands empty;
 * one per ask, for the job that is first among its like: a job that could be backfilled but stands
 * behind one of the same ask waits with it. Reservations are derived: after a restart they are made
 * again, as soon as the members' nodes and pods are known.
 */
#include "core/state.h"

#define STARVATION_MOST	      32 /* looked after at a time */
#define STARVATION_EXCLUSIONS 64 /* what placement looks at */

struct starvation *starvation_create(void);
struct starvation *starvation_destroy(struct starvation *s); /* NULL is fine; returns NULL */

/* The job's ask was just parked. */
void starvation_parked(struct core *c, const struct job *j);
/* A head of a Kueue queue whose ask no member takes now: whether it starves and nothing is kept for
 * it yet; and the cluster for its ask, kept free from now on: false when there is none. */
bool starvation_wants(const struct core *c, const struct job *j);
bool starvation_promise(struct core *c, struct job *j);
/* The time by which the cluster kept for it is free; RESERVATION_NEVER: none is. */
usec starvation_shadow(const struct core *c, const struct job *j);
/* Lately no cluster could be promised to it: nothing else is to be kept for it either. j NULL: it
 * needs none. */
bool starvation_is_hopeless(const struct core *c, const struct job *j);
/* One that waits for nodes: whether it is about to be promised a cluster, or waits for its turn. */
bool starvation_may_promise(const struct core *c, const struct job *j);

/* Starts those that fit now, gives up reservations that nobody needs, and once in a while makes
 * and moves some. Before others are decided. */
void starvation_run(struct core *c);
usec starvation_due(const struct core *c);

/* Fills out[STARVATION_EXCLUSIONS] with the clusters that this job must not go to now:
 * those kept free for others (reclaim.h's too). j NULL: for any job without a
 * limit. */
size_t starvation_exclude(const struct core *c, const struct job *j,
			  struct placement_exclusion *out);

/* Whether a cluster is kept free for the job, and its quota charged ahead. */
bool starvation_holds(const struct core *c, const struct job *j);
/* Those that are looked after; writes them to out[STARVATION_MOST]. */
size_t starvation_jobs(const struct core *c, struct job **out);
/* What a job that starves is told: one sentence; false when it does not. */
bool starvation_tell(const struct core *c, const struct job *j, char *out, size_t size);

#endif
