#ifndef CORE_ADMISSION_AWAITED_H
#define CORE_ADMISSION_AWAITED_H
/*
 * Who waits for whom to stop: a job for which others were stopped, and the others' own side. One
 * answer for all who take back jobs for another: preemption in Kueue's queues (kueue/preempted.h),
 * the elastic tree's reclaim (reclaim.h) and hot-swap (swap/swap.h).
 *
 * For `why` and for lists, computed when asked; what is stored at a preemption names the victims
 * and is not written again when their pods end. Core's thread.
 */
#include "core/state.h"

#define AWAITED_MOST 20 /* that are named in JSON */

/* "Waits for 2 preempted jobs to stop: Job default/low on gpu-a (3 pods left), ..."; false when it
 * waits for nobody. */
bool awaited_tell(struct core *c, const struct job *j, char *out, size_t size);
/* The same of a job that stops itself: "Gives way to Job default/high: 3 pods left on gpu-a"; false
 * when it does not stop. *ret_code: why, as its queue calls it, or "". */
bool awaited_tell_stop(struct core *c, const struct job *j, char *out, size_t size,
		       const char **ret_code);

/* ,"waitsFor":{"count":N,"message":...,"jobs":[...]} of those that it waits for,
 * ,"stops":{...} of its own pods (stopping_add()), and
 * ,"preemptedBy":{"reason":...,"at":...,"message":...,"kind":...,"namespace":...,"name":...}, until
 * it is admitted again; each only where there is something to say. */
void awaited_add(struct core *c, const struct job *j, struct buf *b);

#endif
