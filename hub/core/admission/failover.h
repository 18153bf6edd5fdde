#ifndef CORE_ADMISSION_FAILOVER_H
#define CORE_ADMISSION_FAILOVER_H
/*
 * A job whose copy failed is taken back and placed on another cluster, when its policy says
 * failover.application (ack-fleet.md 1.9; policies/failover.h decides).
 *
 * - The copy says Failed. The status is held back: the hub's object does not show it, is not
 *   finished, and none of what follows an end happens (time to live, retention, Finished of its
 *   Workload). For tolerationSeconds from when the hub first saw it, the job holds what it holds;
 *   a copy that says something else by then has recovered. Event ApplicationFailure.
 * - After that the whole gang leaves: the cluster is noted as one that failed the job, the copy is
 *   withdrawn (in every purgeMode), and quota and nodes (max-jobs too) are given back once, in the
 *   commit that records its absence. A Workload of Kueue's is evicted with the reason
 *   ApplicationFailure, is requeued at once and keeps its place; so does a QueueUnit.
 * - The job waits where any new job would, for its queue and a cluster. Clusters that failed it are
 *   refused (verdict ApplicationFailure), as part of what it asks, so that others of its kind do
 *   not wait behind it. That lasts until its user edits its spec, its policy says no failover any
 *   more, or the cluster is unjoined.
 * - When no other cluster could take it, the failure stands: it is finished, with its last status.
 *   So every cluster is tried once at the most. Once it was taken back it waits, however long.
 *
 * At most one cluster, ever (DESIGN section 7) stays dispatch.h's: nothing is placed before absence
 * is proven. So a member that cannot be reached keeps the job until it can be, or is declared dead.
 * What the policy says is looked at when it is needed: an edit counts at once. A job that is
 * deleted meanwhile is deleted. One that is stopped for another reason while its copy is Failed
 * leaves, too: a failed copy cannot be resumed.
 *
 * All of it is in the binding's digest, committed with the dispatch state: after a restart the
 * clock of the toleration goes on, and a status that was held back is read again where it is
 * needed. Thread: core.
 */
#include "core/state.h"

/* The copy says `phase`, of the run that the hub wants or of its end. True: its status is not to be
 * shown, and the job not to end with it. */
bool failover_withholds(struct core *c, struct job *j, enum copy_phase phase);
/* Its policy may be another one: a copy that is Failed is judged anew. */
void failover_review(struct core *c, struct job *j);
/* A timer of the job's is due. */
void failover_timer(struct core *c, struct job *j);

/* The copy is gone from member `was`. */
void failover_idle(struct core *c, struct job *j, uint32_t was);
/* The copy of one that is neither finished nor deleted is parked. True: it failed, and leaves (one
 * that leaves already is withdrawn, not parked). */
bool failover_parked(struct core *c, struct job *j);

/* Adds the clusters that failed the job to the refusals of what it asks, in `mem`. */
void failover_refuse(const struct core *c, const struct job *j,
		     const struct propagation_policy *policy, struct arena *mem,
		     struct placement_spec *placement);

/* What is stored of it; and back: -EINVAL when malformed. */
void failover_pack(const struct job *j, struct buf *out);
int failover_unpack(struct job *j, struct span packed) MUST_CHECK;
/* After a restart. */
void failover_restore(struct core *c, struct job *j);
void failover_free(struct job *j);

/* Its copy is Failed, and that is not the end: one sentence; false when it is not so. */
bool failover_tell(const struct core *c, const struct job *j, char *out, size_t size);
/* ,"failover":{...}: which clusters failed it; nothing when none did. */
void failover_add(const struct core *c, const struct job *j, struct buf *b);
/* ,"gracefulEvictionTasks":[...] of the binding's spec, while it is being taken back. */
void failover_add_tasks(const struct core *c, const struct job *j, struct buf *b);

#endif
