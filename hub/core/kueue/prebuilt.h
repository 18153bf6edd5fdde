#ifndef CORE_KUEUE_PREBUILT_H
#define CORE_KUEUE_PREBUILT_H
/*
 * Workloads that a user made for a job: the job names one by kueue.x-k8s.io/prebuilt-workload-name,
 * and none is made for it (Kueue: pkg/controller/jobframework/reconciler.go, ensureOneWorkload and
 * the functions that it calls).
 *
 * Either may come first. The job waits while there is no Workload of the name, while that belongs
 * to another controller, and for ever when it has finished. Else the job becomes its controller: it
 * follows the job's queue and, where the job names one, its class of priority; its pod sets,
 * priority, limit of time and place in the queue stay its own. When the pod sets are not those of
 * the job the Workload ends as OutOfSync, after the job has stopped, and the job waits.
 *
 * A Workload that came first may have been given quota already, by quota alone. What it holds it
 * keeps, and waits for nodes as one whose checks are Ready: the engine has it as RESERVING, and its
 * row says Admitted=False with reason WORKLOAD_PENDING_PLACEMENT unless a member takes it in the
 * same commit.
 *
 * The row is its user's: the hub edits it and never writes it anew. Deleted, it is not made again.
 */
#include "core/kueue/workload.h"

/* Reason of Admitted=False of one that has quota, a job, and no nodes. */
#define WORKLOAD_PENDING_PLACEMENT "PendingPlacement"

#define PREBUILT_OUT_OF_SYNC "The prebuilt workload is out of sync with its user job"

/* A job that names a Workload, and that nothing else keeps from being offered, is offered to
 * `queue` with that one, or held: HOLD_PREBUILT says why. */
void prebuilt_offer(struct core *c, struct job *j, struct span queue);
/* The job waits, though its last copy is yet to go (restart): its Workload is filed as pending. */
void prebuilt_refile(struct core *c, struct job *j);
/* Whether the job's pod sets are those of the row of its Workload, as Kueue compares them
 * (kinds/pod_set_equal.h), and by name. */
bool prebuilt_is_in_sync(struct core *c, const struct job *j, const struct workload *w,
			 const struct store_object *o);
/* The job was edited: its Workload takes the class of priority that it names, if any. */
void prebuilt_follow_class(struct core *c, struct job *j);

/* A Workload of this name was written, or went: jobs that wait for one of the name are offered. */
void prebuilt_look(struct core *c, struct span ns, struct span name);
/* The row is gone, whose job runs or waits. */
void prebuilt_gone(struct core *c, struct workload *w);
/* Its job is none of Kueue's business any more: it is of no job, as before it had one. */
void prebuilt_leave(struct core *c, struct workload *w);
/* Its end as OutOfSync is written: the record goes, and its job waits. One row. */
void prebuilt_ended(struct core *c, struct workload *w);

/* Whether the row is the one that the job names, and belongs to it. */
bool prebuilt_belongs(const struct job *j, const struct store_object *o);
/* metadata of a Workload's tree: owner, label and finalizer of one that belongs to the job. */
void prebuilt_own(struct cJSON *tree, const struct job *j);

void prebuilt_forget(struct core *c, struct job *j); /* the job goes */
void prebuilt_done(struct kueue *k);

#endif
