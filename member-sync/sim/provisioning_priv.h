#ifndef MEMBER_SYNC_SIM_PROVISIONING_PRIV_H
#define MEMBER_SYNC_SIM_PROVISIONING_PRIV_H
/*
 * What the parts of the simulated autoscaler share: cluster_provisioning.c keeps the requests and
 * decides, provisioning_pools.c knows the pools and which of them a request takes,
 * provisioning_nodes.c makes, empties and removes nodes. All of it on the cluster's thread.
 */
#include "member-sync/sim/cluster_provisioning.h"
#include "member-sync/sim/node_pool.h"
#include "member-sync/sim/provisioning.h"

struct request_node {
	char *name;
	const struct node_pool *pool;
	usec idle_since; /* 0: has pods, or was not looked at */
	bool cordoned;
};

struct request_set {
	char *pod_template;
	int32_t count;
};

struct provisioning_request {
	char *ns, *name, *class; /* owned; NULL while only its nodes are known */
	uint8_t uid[STORE_UID_LEN];
	char uid_text[OBJECT_UID_TEXT];
	uint64_t revision;
	usec max_run;
	struct VEC(struct request_set) sets;
	struct provisioning_state state;
	bool gone, ours;
	/* for which pool, once that is known */
	bool resolved;
	const struct node_pool *pool;
	int32_t need;
	char refusal[160];
	struct VEC(struct request_node) nodes;
};

struct provisioning {
	struct cluster *c;
	struct VEC(struct node_pool *) pools;
	struct map requests; /* uid -> struct provisioning_request */
	usec due;
};

/* The record of a request; one of which only nodes are known is made, gone. */
struct provisioning_request *provisioning_record(struct provisioning *p,
						 const uint8_t uid[STORE_UID_LEN]);

static inline usec provisioning_scaled(const struct provisioning *p, usec d)
{
	return d / p->c->options.time_scale;
}

/* Whether the cluster's batch takes another object or two. */
static inline bool provisioning_batch_has_room(const struct provisioning *p)
{
	return registry_batch_room(p->c->batch) >= 2 * REGISTRY_RESERVE &&
	       !registry_batch_full(p->c->batch);
}

/* NULL: none of that name (which may be NULL). */
const struct node_pool *provisioning_pool_named(const struct provisioning *p, const char *name);
/* Whether any pool is of this class: requests of others are somebody else's. */
bool provisioning_serves(const struct provisioning *p, const char *class);
/* Sets pool and need of the request, or its refusal. False while it cannot be known, since a
 * PodTemplate is not there yet. */
bool provisioning_resolve(struct provisioning *p, struct provisioning_request *r);

/* How many of its nodes have been without pods for PROVISIONING_BOOKING; begins to count for those
 * that have just become so. */
int32_t provisioning_count_idle(struct provisioning *p, struct provisioning_request *r);
/* Each adds to the batch; false when that is full before it was through, and goes on then. */
bool provisioning_create_nodes(struct provisioning *p, struct provisioning_request *r);
bool provisioning_remove_nodes(struct provisioning *p, struct provisioning_request *r, bool all);
/* Nobody may take the nodes of a request that is gone: not even one of the same name. */
bool provisioning_cordon(struct provisioning *p, struct provisioning_request *r);

#endif
