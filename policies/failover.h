#ifndef POLICIES_FAILOVER_H
#define POLICIES_FAILOVER_H
/*
 * Failover of a job that failed on its cluster (failover.application of a policy): whether it goes
 * to another one, and when. Karmada's fields and defaults (reference federation 2.5); what Fleet
 * says of gangs (reference ack-fleet 1.9 and 5, number 10).
 *
 * A copy that says Failed is unhealthy. While it has said so for less than tolerationSeconds the
 * job waits: it may recover. After that the whole gang leaves the cluster, and does not come back
 * to it: one failure there is enough for the life of the job as its user wrote it. Each cluster
 * that could take the job is so tried once at the most, and no job goes round for ever. A failure
 * stands, and is the job's end, when no other cluster could take it: all that could have failed it
 * already, or can never take it, as fleet and policy are. A cluster that is full, cordoned, not
 * Ready or kept for others may take it later: it counts, and the job waits for it.
 *
 * Nothing is tolerated of a copy that was being stopped when it failed: it cannot be resumed.
 * Whatever purgeMode says, the copy is purged directly: a hub that runs a job on one cluster at a
 * time proves the old copy absent before it places the job anew. The other modes are kept, and
 * policies that ask for them are warned (kinds/propagation_policy.c).
 *
 * Decides only; core/admission/failover.h does it. No clock, no I/O.
 */
#include "policies/verdict.h"

enum failover_purge {
	FAILOVER_DIRECTLY,   /* the old copy is proven gone before the job is placed anew */
	FAILOVER_GRACEFULLY, /* Karmada: once the new one runs, or after the grace */
	FAILOVER_NEVER,	     /* Karmada: by its user's hand */
};

enum {
	FAILOVER_TOLERATION_DEFAULT = 300, /* seconds */
	FAILOVER_GRACE_DEFAULT = 600,
	FAILOVER_MOST = 16, /* clusters that one job may leave; then its failure stands */
};

/* A policy's failover.application. */
struct failover_rule {
	bool enabled;
	enum failover_purge purge;
	int64_t toleration_us;
	int64_t grace_us; /* GRACEFULLY; kept, and not waited for */
};

/* Directly, Gracefully or Never, or an older spelling (Immediately, Graciously); absent:
 * Gracefully. */
enum failover_purge failover_purge_from_string(struct span text);
const char *failover_purge_to_string(enum failover_purge p);

/* A job whose copy says Failed. */
struct failover_case {
	struct failover_rule rule;
	int64_t failed_at; /* since when, as the hub saw it */
	bool stopping;	   /* the copy is on its way out already */
	bool bound;	   /* to nodes that were made for it: no other cluster can take it */
	size_t left;	   /* clusters that have failed it before */
	size_t others;	   /* failover_others() */
};

enum failover_outcome {
	FAILOVER_STANDS, /* the job has failed */
	FAILOVER_WAITS,	 /* until `until` it may recover */
	FAILOVER_MOVES,
};

struct failover_plan {
	enum failover_outcome outcome;
	int64_t until; /* WAITS */
	/* STANDS, with a rule: what ends a sentence about the job, "no other cluster can take it".
	 * Static. */
	const char *why;
};

struct failover_plan failover_decide(const struct failover_case *f, int64_t now);

/* How many clusters but `present` could take it, now or when something changes. */
size_t failover_others(const struct verdict *v, size_t n, uint32_t present);

#endif
