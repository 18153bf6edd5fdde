#ifndef CORE_RETENTION_SWEEP_H
#define CORE_RETENTION_SWEEP_H
/*
 * Deadlines for Workloads that finished, or were deactivated, before objectRetentionPolicies said
 * what it says now (Kueue looks at each Workload again when its controller starts).
 *
 * Which setting the rows of retention.h were made for is a row of its own. At a start with another
 * one all Workloads are walked, some in each batch, and those that are over get a deadline counted
 * from their end. A walk that a kill cut off begins anew; the rows that it wrote are the same.
 */
#include "core/state.h"

/* The store was read: begins a walk when the setting is another one. */
void retention_sweep_open(struct core *c);
/* Goes on with it. True when there is more to do at once. */
bool retention_sweep_run(struct core *c);
void retention_sweep_close(struct core *c);

#endif
