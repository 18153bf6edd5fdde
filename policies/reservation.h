#ifndef POLICIES_RESERVATION_H
#define POLICIES_RESERVATION_H
/*
 * No gang starves: one that has waited too long gets a cluster and a shadow time, and only what
 * ends before that time may still start there (EASY backfill, for the one head that starves;
 * reference/reliability-performance.md section E.1).
 *
 * The shadow time of a cluster is the earliest time at which the gang fits there if every running
 * job stays until its limit and nothing new starts: jobs are taken away in the order of their ends
 * until it fits. A job without a limit never ends, so a cluster may have no shadow time; a fleet
 * where no cluster has one can promise nothing, and the verdict says so.
 *
 * A reservation freezes its whole cluster, not some of its nodes: the member's own scheduler binds
 * pods, and would not know of nodes that are kept free. Once chosen, a cluster is left for another
 * one only when that is much earlier, lest two clusters are drained in turn and neither is ever
 * empty.
 *
 * Pure; one thread. Who starves, and since when, is core's to know.
 */
#include "policies/evict_fit.h"

#define RESERVATION_NEVER INT64_MAX

/* A running job of the hub on the cluster. */
struct reservation_job {
	struct evict_job pods;
	int64_t ends_us; /* by its limit; RESERVATION_NEVER: it has none */
};

struct reservation_cluster {
	uint32_t cluster;
	/* In order of ends_us; reservation_sort() makes it so. */
	const struct reservation_job *jobs;
	size_t n_jobs;
};

struct reservation {
	uint32_t cluster; /* CLUSTER_NONE: no cluster has a shadow time */
	int64_t shadow_us;
};

/* By end, then number. */
void reservation_sort(struct reservation_job *jobs, size_t n);

/* The shadow time of one cluster for the ask's gang: now_us when it fits at once,
 * RESERVATION_NEVER when it fits at no time that is known, or the cluster is no candidate. Limits
 * that have passed count as now. `trial` is reused memory. */
int64_t reservation_shadow(struct evict_fit *trial, struct fleet *f, struct ledger *l,
			   struct ask *ask, const struct reservation_cluster *c, int64_t now_us);

/*
 * The cluster with the earliest shadow time, the first in `clusters` on a tie. `held` is what the
 * gang has already (cluster CLUSTER_NONE: nothing): its cluster stays, with its shadow time as of
 * now, unless another's wait from now is less than three quarters of it.
 */
struct reservation reservation_choose(struct evict_fit *trial, struct fleet *f, struct ledger *l,
				      struct ask *ask, const struct reservation_cluster *clusters,
				      size_t n_clusters, const struct reservation *held,
				      int64_t now_us);

/* Whether a job with this limit (RESERVATION_NEVER: none) may start on the reserved cluster now. */
bool reservation_allows(const struct reservation *r, int64_t now_us, int64_t limit_us);

#endif
