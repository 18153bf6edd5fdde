#ifndef CORE_SWAP_NODE_JOBS_H
#define CORE_SWAP_NODE_JOBS_H
/*
 * Which of the hub's jobs have pods on a node: so that a node's change costs what stands there.
 *
 * Nodes and pods come on streams of their own, and a member may be quicker to take the pods off a
 * node than to say that it is not ready. A job whose last pod went without having succeeded is
 * remembered for half a minute.
 */
#include "core/state.h"

/* A pod of the job is bound there, or not any more; `failed`: without having succeeded. O(jobs on
 * the node). */
void node_jobs_add(struct member *m, uint32_t node, uint64_t job, usec now);
void node_jobs_remove(struct member *m, uint32_t node, uint64_t job, bool failed, usec now);
/* The node is another one now: who was remembered is forgotten. */
void node_jobs_reset(struct member *m, uint32_t node);
/* Those who are there or were just now, borrowed until the next call. */
size_t node_jobs_get(struct member *m, uint32_t node, usec now, const struct node_job **ret);
void node_jobs_done(struct member *m);

#endif
