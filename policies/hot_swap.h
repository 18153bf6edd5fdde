#ifndef POLICIES_HOT_SWAP_H
#define POLICIES_HOT_SWAP_H
/*
 * Hot-swap: a running gang has lost nodes; where does it go on?
 *
 * The copy stays on its member while that can hold it, and its own controller makes the pods anew.
 * What is decided here is the room for them, in this order:
 *  1. spare nodes of the member, with what jobs that are leaving already give back;
 *  2. jobs of lower priority there, of which the fewest go: one alone if that is enough (lowest
 *     priority first, then the least work lost), else as many as it takes in that order, and who
 *     turns out not to be needed stays;
 *  3. another member, where the whole gang fits without anybody's leaving;
 *  4. nothing: it waits. Nobody is evicted for a gang that then cannot start.
 *
 * Controllers differ in what they make anew. Of most the pods that are left stay where they are,
 * and only the missing ones are placed. A JobSet restarts all of its pods: when the missing ones
 * find no room beside the others, the whole gang is placed as if it were gone. So is one with a
 * topology, which may not mix its old domains with new ones; with an exclusive topology its groups
 * that are whole keep their domains, and each broken one is placed whole, in its own domain where
 * that is still large enough, else in another (hot_swap_groups.h).
 *
 * Pure: plain structs and now in, a plan out; nothing changes in fleet or ledger. One thread.
 */
#include "policies/evict_fit.h"
#include "policies/hot_swap_groups.h"

/* What became of a node, as the pods of one set see it. */
enum hot_swap_node {
	HOT_SWAP_NODE_OK,
	HOT_SWAP_NODE_GONE,
	HOT_SWAP_NODE_NOT_READY,
	HOT_SWAP_NODE_TAINTED, /* NoExecute, not tolerated, or not for ever */
};
/* NODE_NONE is gone; so is a node that is a placeholder. A node that is only cordoned is fine. The
 * taints by which Kubernetes itself marks nodes that are not ready are no taints here: their time
 * is that of NOT_READY. `set` of the shape; UINT32_MAX: any set. */
enum hot_swap_node hot_swap_node(const struct fleet *f, uint32_t cluster, uint32_t node,
				 const struct shape *shape, uint32_t set);
/* Of a node that is there: for how many seconds from the taint on its pods tolerate what it is
 * tainted with (tolerationSeconds), the least of them; 0: not at all, INT64_MAX: without end. A
 * node that is tolerated only for a time is no place for new pods. */
int64_t hot_swap_time(const struct fleet *f, uint32_t cluster, uint32_t node,
		      const struct shape *shape, uint32_t set);
const char *hot_swap_node_to_string(enum hot_swap_node s); /* "is not ready" */

/* The ask for the pods that are missing, counts[set] of them, placed beside the others: with one
 * more reference. NULL where that cannot be asked: for a gang with a topology, or none is missing.
 */
struct ask *hot_swap_missing(struct placer *p, struct ask *whole, const int64_t *counts);
/* Whether what is assumed for the job is on nodes that are well. */
bool hot_swap_holds(const struct fleet *f, const struct ledger *l, uint64_t job);

struct hot_swap_gang {
	uint32_t cluster; /* where it runs */
	int32_t priority;
	struct ask *ask; /* of the whole gang */
	/* Of the pods that are missing, where the others stay; NULL: they do not, or none is. */
	struct ask *missing;
	/* Of one with an exclusive topology, which has nothing `missing`; NULL: of another. */
	const struct hot_swap_groups *groups;
	bool restarts_whole;  /* all pods are made anew */
	struct evict_job own; /* its pods that are bound; what the ledger holds goes with them */
};

/* Another job on the member. */
struct hot_swap_job {
	struct evict_job pods;
	int32_t priority;
	int64_t lost_us; /* evict_lost_work() */
	bool leaving;	 /* it is being taken back already */
};

enum hot_swap_action {
	HOT_SWAP_WAIT,
	HOT_SWAP_SPARE,	  /* room without evicting anybody */
	HOT_SWAP_PREEMPT, /* room once `victims` are gone */
	HOT_SWAP_MOVE,	  /* `cluster` takes it */
};

/* Zero it before the first use; memory is reused. */
struct hot_swap_plan {
	enum hot_swap_action action;
	bool whole; /* SPARE, PREEMPT: the slots are for the whole gang, else for what is missing,
		     * or for the broken groups. MOVE: always for the whole gang, on `cluster` */
	uint32_t cluster;
	struct VEC(struct fit_slot) slots;
	struct VEC(size_t) victims; /* indexes into the jobs, in the order in which they go */
	size_t n_lower;		    /* jobs of lower priority that hold anything of use there */
};

struct hot_swap_fleet {
	struct fleet *f;
	struct ledger *l;
	struct placer *p;
	struct evict_fit *trial; /* reused memory; none may be running */
};

/* Clusters that the gang may not be moved to now; its own is added. At most 63. */
void hot_swap_decide(const struct hot_swap_fleet *fleet, const struct hot_swap_gang *gang,
		     const struct hot_swap_job *jobs, size_t n_jobs,
		     const struct placement_exclusion *excluded, size_t n_excluded, int64_t now_us,
		     struct hot_swap_plan *ret);
void hot_swap_plan_done(struct hot_swap_plan *p);

#endif
