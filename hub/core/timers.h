#ifndef CORE_TIMERS_H
#define CORE_TIMERS_H
/*
 * What waits for time: a heap of jobs by their next time (core_job_timer, state.h), and the
 * members' own deadlines (an unjoin's next step, deletes of orphans).
 */
#include "core/state.h"

/* Does what is due now. */
void timers_run(struct core *c);
/* When timers_run() has something to do; INT64_MAX never. */
usec timers_due(const struct core *c);

#endif
