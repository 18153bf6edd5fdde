#ifndef CORE_RETENTION_H
#define CORE_RETENTION_H
/*
 * Copies of finished jobs: kept on their member for members.keepFinished, then withdrawn; and the
 * hub's own ttlSecondsAfterFinished, which was stripped from the copy. Kueue's retention beside
 * them (objectRetentionPolicies): finished Workloads go after a while, and so do jobs whose
 * Workload the hub itself deactivated, unless a user activated it again.
 *
 * The time to live counts from the end of the job, by the hub's clock, and is what the object says
 * when it is over: users may change it before. A row that stands for an older one does nothing.
 *
 * What waits is rows of STORE_AUX_HISTORY, ordered by deadline; nothing is held in memory.
 */
#include "core/state.h"

/* Notes the deadlines of a job that finished now. */
void retention_keep(struct core *c, struct job *j);
/* A Workload that no record stands for any more has finished. One row. */
void retention_workload(struct core *c, struct span ns, struct span name, const uint8_t *uid);
/* The hub deactivated the job's Workload. One row. */
void retention_deactivated(struct core *c, const struct job *j);
/* The same, with the time at which it goes. */
void retention_workload_at(struct core *c, struct span ns, struct span name, const uint8_t *uid,
			   usec deadline);
void retention_deactivated_at(struct core *c, const struct job *j, usec deadline);
/* Writes a job's: three rows, with the job's flush. */
void retention_write(struct core *c, struct job *j);
/* An object of a finished job was written: its time to live may be another one. */
void retention_changed(struct core *c, const struct kind *kind, const struct store_object *o);
/* Acts on deadlines that passed, a few per call. Kueue's event Deleted tells what went. */
void retention_run(struct core *c);
/* Earliest deadline known; INT64_MAX when none. */
usec retention_due(const struct core *c);

#endif
