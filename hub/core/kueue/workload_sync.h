#ifndef CORE_KUEUE_WORKLOAD_SYNC_H
#define CORE_KUEUE_WORKLOAD_SYNC_H
/*
 * Edits of a job that its queue has admitted, as Kueue takes them: the job no longer is what its
 * Workload was admitted for, or names another queue (pkg/controller/jobframework: reconciler.go's
 * ensureOneWorkload, validation.go).
 */
#include "core/kueue/workload.h"
#include "wire/command.h"

/* The job was edited. When its pod sets are not those of its Workload any more, the Workload is
 * deleted: the job stops, and a new one is made of it and queued. True when that was done. */
bool workload_sync(struct core *c, struct job *j);

/* Before an UPDATE of a job is taken: the queue's name stays while quota is held. ERR_INVALID into
 * cmd->err. */
int workload_admit_job(struct core *c, struct command *cmd);

#endif
