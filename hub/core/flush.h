#ifndef CORE_FLUSH_H
#define CORE_FLUSH_H
/*
 * Writes what jobs changed into the batch: status, binding, QueueUnit, live row, events. One row
 * per object, however often it changed since the last flush.
 */
#include "core/state.h"

/* As many dirty jobs as the batch has room for. True when some are left. */
bool flush_jobs(struct core *c);
/* Whether jobs were admitted whose units do not say so yet. O(dirty jobs). */
bool flush_owes_admissions(const struct core *c);
/* After the commit: sends what waited for it and lets go of records that are done. */
void flush_committed(struct core *c);

#endif
