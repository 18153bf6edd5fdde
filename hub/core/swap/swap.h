#ifndef CORE_SWAP_SWAP_H
#define CORE_SWAP_SWAP_H
/*
 * Hot-swap: a running gang that lost a node gets room at once (policies/hot_swap.h decides where).
 *
 * A node is lost when it is gone, NotReady for longer than hotSwap.notReadyAfter, or tainted
 * NoExecute: at once, or when the tolerationSeconds of the gang's pods have passed since the hub
 * saw the taint (a restart counts anew, as Kubernetes' own taint eviction does). Whoever has pods
 * there is suspected (swap_node_changed), and decided about when the time has come: its copy stays,
 * the room for the pods that its own controller makes anew is assumed in the ledger, and jobs that
 * must go for it are taken back, all in one commit. When the member cannot hold it, it is taken
 * back to be placed elsewhere; when nobody can, it waits where it is, and is looked at again as
 * things change. It is over when all its pods stand on nodes that are well; what was assumed and
 * not needed is given back then. What moves to another member finds its room there kept
 * (swap_hold.h).
 *
 * A pod that is deleted on a node whose kubelet is silent never ends: most controllers wait for it
 * before they make another one, and a gang may not start elsewhere while it may still run. It
 * counts as lost, and not as back when the node is; who is held up by such a pod is told so after a
 * minute, with what its cluster's admin can do. The hub deletes no pod by force.
 *
 * From the suspicion on, room that the gang's pods leave is kept for those that replace them
 * (swap_pod_lost), since a controller that restarts a whole gang empties good nodes too.
 *
 * Truth: the binding has the new assignment and the step; lost nodes and missing pods are in the
 * mirror. A restart finds the gang on its assignment's and its pods' nodes, and decides the same.
 * Core thread only.
 */
#include "core/state.h"

enum swap_step {
	SWAP_NONE = 0,
	SWAP_SUSPECTED = 1, /* not durable: nothing was decided yet */
	SWAP_RESERVED = 2,  /* room is assumed for it */
	SWAP_WAITING = 3,   /* nobody has room */
	SWAP_MOVING = 4,    /* taken back; room is kept for it elsewhere: swap_hold.h */
};

/* The node became known, changed, or is gone (`name` is its last): who is there is looked at. */
void swap_node_changed(struct core *c, struct member *m, uint32_t node, struct span name);
/* The job's pod was bound there, or is about to count on it at a restart: lost already? */
void swap_check_node(struct core *c, struct member *m, struct job *j, uint32_t node);
/* A pod of its present placement that stood on the node is no more, and did not succeed. True when
 * its room is kept for another one. */
bool swap_pod_lost(struct core *c, struct member *m, struct job *j, uint32_t set, uint32_t node);
/* Whether a pod that a restart finds on the node takes part in what is assumed now; the others are
 * on their way out. */
bool swap_counts(const struct job *j, struct member *m, uint32_t set, uint32_t node,
		 const struct core *c);

/* Whether the domain, an object of node labels, is no place to send pods of the job to now: it
 * lost a node that was not decided about, or the job waits for room. */
bool swap_shuns(const struct core *c, const struct member *m, const struct job *j,
		struct span labels);

/* Whether the node is gone, not ready, or tainted for the job's pods. */
bool swap_is_lost(const struct core *c, const struct member *m, const struct job *j, uint32_t node);

/* Decides whatever is due: before others are offered room. */
void swap_run(struct core *c);
usec swap_due(const struct core *c);

enum swap_step swap_step(const struct job *j);
/* Of a job that was read from the store. */
void swap_restore(struct core *c, struct job *j, enum swap_step step);
/* One sentence on what became of it, and the reason code; NULL when nothing was decided. */
const char *swap_words(const struct job *j, const char **ret_reason);
/* Jobs that were stopped for it and hold what they had: their number, the first `max` into out. */
size_t swap_victims(const struct core *c, const struct job *j, const struct job **out, size_t max);
/* For whom this one was stopped, while that recovers; NULL. */
const struct job *swap_stopped_for(const struct core *c, const struct job *victim);
usec swap_since(const struct job *j); /* when that was decided; 0: it was not */
/* Drops its record; fine without one. */
void swap_forget(struct core *c, struct job *j);
/* The job holds nothing any more: what it was about is over, unless it moves. */
void swap_released(struct core *c, struct job *j);
/* The job was placed: wherever that is, nothing is kept for it any more. */
void swap_placed(struct core *c, struct job *j);

#endif
