#ifndef CORE_KUEUE_WORKLOAD_SYNC_H
#define CORE_KUEUE_WORKLOAD_SYNC_H
/*
 * Edits of a job that its queue has admitted, as Kueue takes them: the job no longer is what its
 * Workload was admitted for, or names another queue (pkg/controller/jobframework: reconciler.go's
 * ensureOneWorkload, validation.go).
 *
 * Compared are what Kueue compares (kinds/pod_set_equal.h; counts, least counts and topology
 * requests beside it), and node selectors and affinity, which Kueue leaves out: the hub has chosen
 * the nodes by them. Every other edit goes to the running copy (dispatch/amend.h).
 */
#include "core/kueue/workload.h"
#include "wire/command.h"

/* The job was edited. When its pod sets are not those of its Workload any more, the Workload is
 * deleted: the job stops, and a new one is made of it and queued. True when that was done. */
bool workload_sync(struct core *c, struct job *j);

/* Before an UPDATE of a job is taken: the name of its queue and its most time to run stay while
 * quota is held. A priority class may become another one at any time (workload_sync follows it),
 * but not be added while quota is held, nor taken away. ERR_INVALID into cmd->err. */
int workload_admit_job(struct core *c, struct command *cmd);

#endif
