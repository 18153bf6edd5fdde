#ifndef MEMBER_SYNC_SIM_CLUSTER_PROVISIONING_H
#define MEMBER_SYNC_SIM_CLUSTER_PROVISIONING_H
/*
 * The simulated autoscaler: ProvisioningRequests and the nodes that are made for them.
 *
 * Pools come from FILE when the cluster is born, and are kept in an auxiliary row each. Every
 * request has a record; so has one that was deleted, until its last node is gone. Nodes are looked
 * at every PROVISIONING_SCAN (scaled) while there are any, as the real autoscaler does; everything
 * else is decided when something changed. What a request is given is decided by provisioning.h.
 */
#include "member-sync/sim/cluster_priv.h"

struct provisioning;

struct provisioning *cluster_provisioning_create(struct cluster *c);
struct provisioning *cluster_provisioning_destroy(struct provisioning *p); /* returns NULL */

/* A Node of FILE: keeps it when it is a pool (*ret_pool), in the batch. */
int cluster_provisioning_add_pool(struct registry_batch *b, const struct cJSON *node,
				  bool *ret_pool, struct err *reterr) MUST_CHECK;
/* At start, before nodes and requests: the pools. */
int cluster_provisioning_load(struct provisioning *p, struct store_reader *r,
			      struct err *reterr) MUST_CHECK;
void cluster_provisioning_add(struct cluster *c, const struct store_object *request);
void cluster_provisioning_observe(struct provisioning *p, const struct registry_change *ch);
/* A node that was made for a request came or went; any other is ignored. */
void cluster_provisioning_node(struct provisioning *p, const struct store_object *node, bool gone);

/* Decides what is due. False when the batch is full before it was through. */
bool cluster_provisioning_step(struct provisioning *p);
/* When it wants to decide again; INT64_MAX: after a change. */
usec cluster_provisioning_due(const struct provisioning *p);

#endif
