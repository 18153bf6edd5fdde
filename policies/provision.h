#ifndef POLICIES_PROVISION_H
#define POLICIES_PROVISION_H
/*
 * Where a workload's nodes are asked for: one round of ProvisioningRequests over its candidate
 * clusters, and what it means for the admission check.
 *
 * In one cluster Kueue's controller makes one request per attempt (reference/kueue.md section 2.8).
 * In a fleet an attempt is a round: the request goes to at most `parallel` candidates at a time, in
 * their order; to the next one when one fails or has waited past `patience` (past `discovery` when
 * nobody has even accepted it); the first that says
 * Provisioned is the workload's member, the others are cancelled. A round in which every candidate
 * failed, or let its booking expire before the workload was admitted, is a failed attempt: tried
 * again with back-off, or rejected past the limit.
 *
 * Pure: the caller keeps the tries, makes and deletes the objects, and asks again after any change
 * and at plan.again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROVISION_MAX_CLUSTERS 1000 /* the hub's members */

enum provision_phase { /* of one request, from its conditions */
		       PROVISION_PENDING = 0,
		       PROVISION_ACCEPTED,
		       PROVISION_PROVISIONED,
		       /* from here on it is over */
		       PROVISION_FAILED,
		       PROVISION_BOOKING_EXPIRED,
		       PROVISION_CAPACITY_REVOKED,
		       PROVISION_CANCELLED, /* by an earlier plan */
};

/* Of two requests that are good for something only together, on one cluster: over as soon as one of
 * them is, else as far as the one that is less far. */
enum provision_phase provision_phase_join(enum provision_phase a, enum provision_phase b);

struct provision_try {
	uint32_t cluster;
	enum provision_phase phase;
	int64_t since_us; /* when the request was made */
};

struct provision_options {
	uint32_t parallel;	 /* at least 1 */
	int64_t patience_us;	 /* 0: a request is never given up for the next candidate */
	int64_t discovery_us;	 /* so long for one that is still PENDING, where that is less: its
				  * cluster may have no autoscaler for the class. 0: as the others */
	int32_t backoff_limit;	 /* retryStrategy.backoffLimitCount */
	int64_t backoff_base_us; /* backoffBaseSeconds */
	int64_t backoff_max_us;	 /* backoffMaxSeconds */
};
/* 1 cluster at a time, 10 minutes, 1 minute until it is accepted; Kueue's 3 retries, 60 s doubling
 * up to 1,800 s. */
struct provision_options provision_options_default(void);

struct provision_view {
	const struct provision_options *options;
	const uint32_t *candidates; /* by preference */
	size_t n_candidates;
	bool more; /* others could be asked, but not now: without them the round is not over */
	const struct provision_try *tries; /* of this attempt, one per cluster, oldest first */
	size_t n_tries;
	int32_t attempt; /* 1 is the first */
	bool admitted;	 /* the workload runs, or may: its member is fixed */
	int64_t now_us;
};

enum provision_verdict {
	PROVISION_WAIT = 0, /* the check stays Pending */
	PROVISION_READY,    /* on plan.cluster; stays so once admitted */
	PROVISION_RETRY,    /* evict; the next attempt not before plan.retry_after_us from now */
	PROVISION_REJECT,   /* deactivate */
};

struct provision_plan {
	enum provision_verdict verdict;
	uint32_t cluster;	/* READY */
	int64_t retry_after_us; /* RETRY */
	int64_t again_us;	/* look again at this time; INT64_MAX: after a change */
	size_t n_create, n_cancel;
	uint32_t create[PROVISION_MAX_CLUSTERS]; /* make a request there */
	uint32_t cancel[PROVISION_MAX_CLUSTERS]; /* delete the request there */
};

void provision_decide(const struct provision_view *v, struct provision_plan *ret);

/* Back-off before attempt `attempt + 1`: base x 2^(attempt - 1), at most max. */
int64_t provision_backoff(const struct provision_options *o, int32_t attempt);

#endif
