#ifndef CORE_RETENTION_H
#define CORE_RETENTION_H
/*
 * Copies of finished jobs: kept on their member for members.keepFinished, then withdrawn; and the
 * hub's own ttlSecondsAfterFinished, which was stripped from the copy.
 *
 * What waits is rows of STORE_AUX_HISTORY, ordered by deadline; nothing is held in memory.
 */
#include "core/state.h"

/* Notes the deadlines of a job that finished now. */
void retention_keep(struct core *c, struct job *j);
/* Writes them: two rows, with the job's flush. */
void retention_write(struct core *c, struct job *j);
/* Acts on deadlines that passed, a few per call. */
void retention_run(struct core *c);
/* Earliest deadline known; INT64_MAX when none. */
usec retention_due(const struct core *c);

#endif
