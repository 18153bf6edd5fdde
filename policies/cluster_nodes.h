#ifndef POLICIES_CLUSTER_NODES_H
#define POLICIES_CLUSTER_NODES_H
/*
 * Moving nodes between states, and what a cluster counts of that. Private to this folder; see
 * fleet.h. cluster_view_node.c is the outside.
 */
#include "policies/fit.h"
#include "policies/fleet.h"

/* The node goes to another state of the same usability; consumes one reference on it. */
void cluster_nodes_move(struct fleet *f, uint32_t cluster, uint32_t node, uint32_t take_state);
/* The node goes to any state, with other allocatable amounts (stride of them). */
void cluster_nodes_replace(struct fleet *f, uint32_t cluster, uint32_t node, uint32_t take_state,
			   const int64_t *allocatable);
/* Takes a node out of everything; its slot is free afterwards. */
void cluster_nodes_drop(struct fleet *f, uint32_t cluster, uint32_t node);
/* The pods of slots come to their nodes (sign 1) or go (-1). Slots of no pods are passed over. */
void cluster_nodes_take(struct fleet *f, uint32_t cluster, const struct fit_slot *slots,
			uint32_t n_slots, const struct shape *shape, int sign);
/* A placeholder without charges is of no use: frees its slot. */
void cluster_nodes_release_slot(struct fleet *f, uint32_t cluster, uint32_t node);
/* Looks at the labels of all nodes again: rows ask for others now. */
void cluster_nodes_reclass(struct fleet *f);
/* Counts a lane that is new, in all clusters. */
void cluster_nodes_fill_lane(struct fleet *f, uint32_t lane);
/* The group of a state, NULL when no node is in it. */
const struct node_group *cluster_nodes_group(const struct cluster *k, uint32_t state);

static inline int64_t cluster_nodes_positive(int64_t free)
{
	return free < 0 ? 0 : free > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : free;
}

#endif
