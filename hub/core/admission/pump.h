#ifndef CORE_ADMISSION_PUMP_H
#define CORE_ADMISSION_PUMP_H
/*
 * Admission: who goes next, from the quota tree's queues and from the jobs that need no queue,
 * each with the cluster that placement finds for the whole gang.
 *
 * Cost follows what changed: a queue offers only what quota allows, a job whose ask found no
 * cluster is parked with its ask, and woken by policies/waiting.h when something that it lacked
 * came free. Quota and capacity are taken in the same commit.
 */
#include "core/state.h"

/* A job has this ask from now on, or not any more: what is kept of an ask goes with its last. Both
 * borrow the job's reference. */
void pump_enter_ask(struct core *c, const struct ask *ask);
void pump_leave_ask(struct core *c, struct ask *ask);

/* No cluster takes this ask now: it is parked, and shape `shape` of Kueue's engine is woken with
 * it.
 */
void pump_park(struct core *c, struct ask *ask, uint32_t shape);

/* Files a job that waits outside any queue; removes it. Removing one that is not there is fine. */
void pump_add(struct core *c, struct job *j);
void pump_remove(struct core *c, struct job *j);

/* Why no cluster takes this ask, in one line; looked for at most once a second. Borrowed until the
 * next run. */
const char *pump_summary(struct core *c, struct ask *ask);
/* Why no cluster takes the job, as it was last told; borrowed until the next turn. */
const char *pump_why(const struct core *c, const struct job *j);

/* Offers everybody again: room was kept from them that is not kept any more. */
void pump_wake_all(struct core *c);

/* Asks by number, from 0 to below pump_asks(): of those that are parked, the job that would go
 * first if there were room for it, queued or not; NULL. Its quota fits now. */
size_t pump_asks(const struct core *c);
struct job *pump_parked_first(const struct core *c, size_t ask);

/* Tries a unit of the elastic tree out of its turn, if quota allows it. */
void pump_try_first(struct core *c, struct job *j);

/* Tries a job that waits, in the tree or outside any queue, before anybody else: room is kept for
 * it. Kueue's queues keep their order. */
void pump_try_now(struct core *c, struct job *j);

/* Admits while something can start and the batch has room. True when it stopped for lack of room.
 */
bool pump_run(struct core *c);

#endif
