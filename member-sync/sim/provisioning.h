#ifndef MEMBER_SYNC_SIM_PROVISIONING_H
#define MEMBER_SYNC_SIM_PROVISIONING_H
/*
 * What the simulated autoscaler does with one ProvisioningRequest: when it accepts it, when its
 * nodes come, all at once, and when they go again.
 *
 * The states are those of autoscaling.x-k8s.io/v1 as users of queued provisioning know them: no
 * condition (pending), Accepted, Provisioned=False with NotProvisioned or QuotaExceeded,
 * Provisioned, Failed, BookingExpired, CapacityRevoked. Accepted and Provisioned do not go back;
 * Failed and CapacityRevoked are the end. Nodes belong to one request for ever and are never given
 * to another.
 *
 * Pure: plain structs and `now` in, a new state and a plan out. What is counted, and where nodes
 * come from, is cluster_provisioning.c's.
 */
#include "member-sync/sim/conditions.h"
#include <stdint.h>

#define PROVISIONING_MAX_NODES	  1000 /* of one request */
#define PROVISIONING_MAX_ACCEPTED 100  /* requests that wait for nodes at a time */
/* Nodes of a request that nobody uses are kept so long; the time in which pods must come. */
#define PROVISIONING_BOOKING (600 * USEC_PER_SEC)
#define PROVISIONING_MAX_RUN ((usec)7 * 86400 * USEC_PER_SEC)
#define PROVISIONING_SCAN    (10 * USEC_PER_SEC) /* how often nodes are looked at */

struct provisioning_view {
	usec now;
	bool gone;	     /* the request was deleted; its nodes are what is left of it */
	const char *refusal; /* why no pool can ever serve it; NULL when one can */
	const char *pool;
	int32_t need;	    /* nodes */
	int32_t nodes;	    /* that it has */
	int32_t idle;	    /* of these: without pods for the booking time */
	int32_t pool_room;  /* nodes that the pool may still grow by, others' promises taken off */
	int32_t quota_room; /* the same by its quota */
	int32_t quota;
	size_t accepted; /* other requests that are Accepted and wait for nodes */
	usec delay, booking, max_run, scan; /* scaled */
};

struct provisioning_state {
	struct conditions conditions;
	usec started; /* its nodes are on their way since; 0: not */
};

enum provisioning_action {
	PROVISIONING_KEEP = 0,
	PROVISIONING_CREATE,	  /* the nodes that it lacks */
	PROVISIONING_REMOVE_IDLE, /* those that idle for the booking time */
	PROVISIONING_REMOVE_ALL,  /* with their pods */
};

struct provisioning_plan {
	enum provisioning_action action;
	usec again; /* decide again at this time, INT64_MAX: only after a change */
};

/* Whether nodes are promised to it that do not stand yet. */
bool provisioning_holds_room(const struct provisioning_state *s);
/* Accepted, and neither provisioned nor over. */
bool provisioning_waits(const struct provisioning_state *s);

/* True when the state changed. */
bool provisioning_decide(const struct provisioning_view *v, struct provisioning_state *s,
			 struct provisioning_plan *ret);

#endif
