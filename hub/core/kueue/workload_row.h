#ifndef CORE_KUEUE_WORKLOAD_ROW_H
#define CORE_KUEUE_WORKLOAD_ROW_H
/*
 * The Workload object in the store. All that a batch changes of it is one row.
 */
#include "core/kueue/workload.h"

/* Writes what is to be written: one row, and the events. */
void workload_flush(struct core *c, struct workload *w);
/* Rows that this may take; the events find their own room. */
#define WORKLOAD_ROWS 2
/* Its job is gone: the row goes with it, whatever its finalizers. */
void workload_drop_row(struct core *c, const struct workload *w);

#endif
