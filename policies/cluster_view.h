#ifndef POLICIES_CLUSTER_VIEW_H
#define POLICIES_CLUSTER_VIEW_H
/*
 * The fleet as placement sees it: members, their nodes, and what is free on each.
 *
 * struct fleet owns all of it, with the interned strings, the resource names, the canonical
 * shapes, and the incremental counts that make decisions cheap (capacity.h). Core feeds it facts:
 * members, nodes, pods that come and go. Every call updates the counts at once, at a cost that
 * depends on what was said, not on the size of the fleet.
 *
 *   free on a node = allocatable - what every pod on it requests - what the ledger assumes
 *
 * A node takes gangs only when it is known, ready and schedulable; else its free is kept but not
 * counted. What is unknown is zero. Pods may arrive before their node: they wait on a placeholder
 * node without capacity, and a node that is deleted under its pods becomes one.
 *
 * Clusters and nodes are dense small numbers that are reused after removal. Their number is no
 * identity: core keeps it beside the member's own, and drops it on removal. One thread; not here:
 * clock, JSON, sockets, the store.
 */
#include "policies/intern.h"
#include "policies/job_shape.h"
#include "policies/resource.h"
#include <stdint.h>

struct fleet;
struct shape; /* a canonical shape, shared by all jobs that have it */

#define CLUSTER_NONE UINT32_MAX
#define NODE_NONE    UINT32_MAX

enum {
	CLUSTER_VIEW_MAX_CLUSTERS = 4096,
	CLUSTER_VIEW_MAX_NODES = 1 << 16, /* of one cluster */
	CLUSTER_VIEW_MAX_LABELS = 256,	  /* of one node or cluster; more are refused */
	CLUSTER_VIEW_MAX_TAINTS = 64,
	CLUSTER_VIEW_MAX_KINDS = 4096,
};

/* What a member serves: one entry per (apiVersion, kind), as in Cluster.status.apiEnablements. */
struct api_kind {
	struct span api_version, kind;
};

/* Everything placement must know of a member besides its nodes. Borrowed during the call. */
struct cluster_spec {
	struct span name; /* unique; the last tie-break of a decision */
	const struct label *labels;
	size_t n_labels;
	struct span provider, region;
	const struct span *zones;
	size_t n_zones;
	const struct taint *taints;
	size_t n_taints;
	const struct api_kind *kinds;
	size_t n_kinds;
	bool ready, fresh;	/* Ready condition; and the view of nodes and pods is current */
	int64_t ready_since_us; /* since when `ready` is as it is; 0 unknown. For verdicts only */
	int64_t fresh_since_us; /* since when `fresh` is as it is; 0 unknown. For verdicts only */
	bool cordoned;
	bool sum_of_free; /* this member asks for totals instead of node by node (V26) */
};

struct amount {
	uint32_t resource;
	int64_t value;
};

struct node_spec {
	struct span name;
	const struct label *labels; /* kubernetes.io/hostname is one of them, as on the node */
	size_t n_labels;
	const struct taint *taints;
	size_t n_taints;
	const struct amount
	    *allocatable; /* with `pods`, of which 4095 count; what is missing is zero */
	size_t n_allocatable;
	bool unschedulable, ready;
};

/* What a pod takes from its node. The same value must be given at release. */
struct pod_usage {
	const struct amount *requests; /* effective pod requests; `pods` is added by itself */
	size_t n_requests;
	/* The pod belongs to a JobSet job (label jobset.sigs.k8s.io/job-key): no exclusive group
	 * may share its topology domain. */
	bool exclusive;
};

struct fleet *fleet_create(void);
struct fleet *fleet_destroy(struct fleet *f); /* NULL is fine; returns NULL */

/* Borrowed tables of the fleet, for building amounts and texts. */
struct intern *fleet_intern(struct fleet *f);
struct resource_table *fleet_resources(struct fleet *f);
const struct resource_table *fleet_resource_names(const struct fleet *f);

/* The one copy of a shape, with one more reference. Fails as job_shape_check() does. */
int fleet_shape_ref(struct fleet *f, const struct job_shape *shape, struct shape **ret,
		    struct err *reterr) MUST_CHECK;
struct shape *shape_dup_ref(struct shape *s);
void fleet_shape_unref(struct fleet *f, struct shape *s); /* NULL is fine */
/* The canonical form of a shape, borrowed as long as the reference. */
const struct job_shape *shape_spec(const struct shape *s);
/* Same for equal shapes while one of them is alive; small, for use as an index. */
uint32_t shape_id(const struct shape *s);

/* Adds a member, or replaces all that is known of it but its nodes; the same again is no change.
 * ERR_INVALID without a name, ERR_TOO_LARGE beyond a limit. */
int cluster_view_upsert(struct fleet *f, const struct cluster_spec *spec, uint32_t *ret_cluster,
			struct err *reterr) MUST_CHECK;
/* Forgets a member, its nodes and pods. Its ledger entries must be dropped before. */
void cluster_view_remove(struct fleet *f, uint32_t cluster);
/* CLUSTER_NONE when there is no such member. */
uint32_t cluster_view_find(const struct fleet *f, struct span name);
/* The usual change: health comes and goes, the rest stays. `now_us` is stored as since-when. */
void cluster_view_set_health(struct fleet *f, uint32_t cluster, bool ready, bool fresh,
			     int64_t now_us);
void cluster_view_set_cordoned(struct fleet *f, uint32_t cluster, bool cordoned);
/* The member as it was given, borrowed until the next call that changes it. NULL when absent. */
const struct cluster_spec *cluster_view_spec(const struct fleet *f, uint32_t cluster);
/* Walks the members in order of name: `i` from 0; CLUSTER_NONE behind the last. */
uint32_t cluster_view_by_name(const struct fleet *f, uint32_t i);
uint32_t cluster_view_count(const struct fleet *f);
/* Grows with every change that could alter a decision about this member. */
uint64_t cluster_view_version(const struct fleet *f, uint32_t cluster);
/* The same about any member. */
uint64_t fleet_version(const struct fleet *f);

/* Adds a node or replaces what is known of it; pods charged to it stay. */
int cluster_view_node_upsert(struct fleet *f, uint32_t cluster, const struct node_spec *spec,
			     uint32_t *ret_node, struct err *reterr) MUST_CHECK;
/* The node called `name`, a placeholder without capacity when it is not known yet. */
int cluster_view_node_ref(struct fleet *f, uint32_t cluster, struct span name, uint32_t *ret_node,
			  struct err *reterr) MUST_CHECK;
uint32_t cluster_view_node_find(const struct fleet *f, uint32_t cluster, struct span name);
/* The node is gone. Its number is reused when no pod and no assumption is charged to it. */
void cluster_view_node_remove(struct fleet *f, uint32_t cluster, uint32_t node);
struct span cluster_view_node_name(const struct fleet *f, uint32_t cluster, uint32_t node);
/* The value of a label of a node, absent when it has none. */
struct span cluster_view_node_label(const struct fleet *f, uint32_t cluster, uint32_t node,
				    struct span key);

/* A pod that is bound and not terminal takes its share of the node; when it ends it gives it
 * back. Never fails: a node may be charged beyond what it has, and then has nothing free. A release
 * where nothing is charged does nothing. */
void cluster_view_pod_charge(struct fleet *f, uint32_t cluster, uint32_t node,
			     const struct pod_usage *usage);
void cluster_view_pod_release(struct fleet *f, uint32_t cluster, uint32_t node,
			      const struct pod_usage *usage);

/* Free of one resource on one node now, negative when it is overcommitted; 0 when unknown. */
int64_t cluster_view_node_free(const struct fleet *f, uint32_t cluster, uint32_t node,
			       uint32_t resource);

/* What the node has of one resource when it is empty; 0 when unknown. */
int64_t cluster_view_node_allocatable(const struct fleet *f, uint32_t cluster, uint32_t node,
				      uint32_t resource);

/* Sums of one resource, cut at the ends of int64. */
struct cluster_totals {
	int64_t allocatable; /* of known nodes that are ready and schedulable */
	int64_t requested;   /* by pods, all namespaces, those nodes */
	int64_t assumed;     /* decided, not yet seen as pods */
	int64_t free;	     /* sum over nodes of what is free there, negatives as zero */
	int64_t largest;     /* most that is free on one node */
};
void cluster_view_totals(const struct fleet *f, uint32_t cluster, uint32_t resource,
			 struct cluster_totals *ret);
/* Known nodes, and those of them that take pods. */
void cluster_view_node_counts(const struct fleet *f, uint32_t cluster, uint32_t *ret_total,
			      uint32_t *ret_usable);

#endif
