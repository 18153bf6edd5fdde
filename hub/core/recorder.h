#ifndef CORE_RECORDER_H
#define CORE_RECORDER_H
/*
 * Event objects about jobs, as `kubectl describe` shows them. They live in the mirror store, for
 * one hour. The hub's own come from default-scheduler (DESIGN section 4, item 5).
 */
#include "core/state.h"

void recorder_write(struct core *c, const struct job *j, const struct job_event *e);

#endif
