#ifndef POLICIES_FIT_H
#define POLICIES_FIT_H
/*
 * Whether one cluster takes one gang now, node by node, and on which nodes.
 *
 * Nodes with equal labels in question, taints and free amounts are one group; pods of one set are
 * one count: the cost depends on how many kinds of nodes there are, not on nodes times pods.
 * A gang of one kind of pod is decided exactly: it is refused only when no packing exists. Several
 * kinds are packed largest first; before "does not fit" three other orders are tried, which is a
 * heuristic: it may refuse what an exhaustive search would place, never the other way round.
 *
 * Which nodes: those whose hole is smallest, measured in pods of the set, and those without free
 * devices the pod does not ask for: so large holes and devices are left for whom they suit.
 *
 * Reads the fleet, changes nothing in it but scratch memory.
 */
#include "policies/cluster_view.h"

/* `count` pods of set `set` go to node `node`. */
struct fit_slot {
	uint32_t node;
	uint32_t set; /* index into the shape's sets */
	uint32_t count;
};

enum fit_mode {
	FIT_NODES, /* a node for every pod */
	FIT_SUM,   /* totals over all nodes; slots name nodes as far as pods really fit */
};

enum fit_reason {
	FIT_OK,
	FIT_INSUFFICIENT_FREE, /* the nodes that match have too little of `resource` in sum */
	FIT_FRAGMENTED,	       /* enough in sum, but not in the right places */
	FIT_TOO_SMALL,	       /* would not fit even if the nodes were empty */
	FIT_AFFINITY_MISMATCH, /* no node has the labels that a set requires */
	FIT_TAINTED,	       /* all nodes with the right labels have an untolerated taint */
	FIT_UNSCHEDULABLE,     /* all that is left is cordoned or not ready */
	FIT_NO_NODES,	       /* the cluster reports no nodes */
	FIT_REASON_MAX,
};

#define FIT_WHOLE_GANG UINT32_MAX

/* Why not. The numbers are about all pods of set `set` (and the sets that ask the same), or about
 * the whole gang when it is FIT_WHOLE_GANG: several sets compete, or sums are compared. */
struct fit_misfit {
	enum fit_reason reason;
	uint32_t set;
	/* The resource that is short; where `in_pods`, the one that keeps most pods off a single
	 * node; RESOURCE_MAX when none can be named. */
	uint32_t resource;
	/* need, free, total and largest count pods (or groups that need a domain each, where
	 * `topology`), else amounts of `resource`. */
	bool in_pods, topology;
	int64_t need;
	int64_t free;		/* on nodes that match */
	int64_t total;		/* on nodes that match, if they were empty */
	int64_t largest;	/* pods (or groups) that could be placed now */
	int64_t per_pod;	/* amount of `resource` that one pod asks */
	int64_t largest_node;	/* most of `resource` on one matching node: free, or all of it when
				   TOO_SMALL */
	uint32_t nodes_match;	/* nodes whose labels match */
	uint32_t nodes_tainted; /* of those, with an untolerated taint */
	uint32_t nodes_off;	/* of the others, cordoned or not ready */
	struct taint taint;	/* TAINTED: one of the taints, borrowed from the fleet */
};

struct fit_result {
	bool fits;
	const struct fit_slot
	    *slots; /* borrowed until the next fit on this fleet; in no promised order */
	size_t n_slots;
};

/* The decision alone. False when the gang does not fit. */
bool fit_gang(struct fleet *f, uint32_t cluster, const struct shape *shape, enum fit_mode mode,
	      struct fit_result *ret);

/* What every packing needs first: each kind of pod fits, the others aside. Cheap; true does not
 * mean that the gang fits, unless it has one kind of pod and no topology, or `mode` is
 * FIT_SUM. */
bool fit_could(struct fleet *f, uint32_t cluster, const struct shape *shape, enum fit_mode mode);

/* Why a gang that fit_gang() refused does not fit, with numbers. Looks at every node of the
 * cluster: for people, not for the hot path. */
void fit_explain(struct fleet *f, uint32_t cluster, const struct shape *shape, enum fit_mode mode,
		 struct fit_misfit *ret);

#endif
