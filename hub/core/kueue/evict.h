#ifndef CORE_KUEUE_EVICT_H
#define CORE_KUEUE_EVICT_H
/*
 * A workload loses what it holds: evicted, and released when its pods are gone. How it ends for
 * good is finish.h's.
 *
 * Two steps, as in Kueue (reference/kueue.md section 5, number 5): the eviction is told at once and
 * the job's copy is suspended on its member; its quota is free only when its pods are gone, in the
 * commit that gives back the nodes too (core/admission/settle.c). A workload without a job keeps
 * its quota until its creator takes the reservation off its status. What evicts, and when who was
 * evicted may come back, is decided by quota-tree/kueue_lifecycle.h, and whom a preemption hits by
 * the engine; here it is carried out.
 */
#include "core/kueue/workload.h"
#include "quota-tree/kueue_lifecycle.h"

struct eviction {
	const char *reason; /* of the condition Evicted: "Preempted", "ClusterQueueStopped", ... */
	const char *cause;  /* of schedulingStats; "" for none. "Deactivated" is told with it */
	bool to_back;	    /* its place in the queue counts from now, else from its creation */
};

/* Takes it back. Nothing happens to one that holds nothing, or is evicted already. */
void evict_workload(struct core *c, struct workload *w, const struct eviction *e,
		    const char *message);
/* As a preemption that the engine has already begun (kueue_cycle_preempt). */
void evict_preempted(struct core *c, struct workload *w, struct workload *preemptor,
		     enum kueue_preempt_reason reason);
/* spec.active=false, or a stopped queue: takes back what may not stay; who only reserves loses its
 * reservation and is not told an eviction. */
void evict_if_stopped(struct core *c, struct workload *w);
/* spec.active became false while it holds nothing, and Evicted is not told yet: it is, without an
 * event, as Kueue does. */
void evict_deactivated(struct core *c, struct workload *w);
/* Its checks were written (n of them): one that is rejected deactivates it, one that says Retry
 * takes it back. False: nothing happened. */
bool evict_by_checks(struct core *c, struct workload *w, const struct kueue_check *checks,
		     size_t n);

/* What its checks say of its pods cannot be (check_updates.h): it is deactivated with the words. */
void evict_by_conflict(struct core *c, struct workload *w, const char *words);

/* Its pods are gone: quota is free, and it waits again: requeue.h says whether it is held back. */
void evict_released(struct core *c, struct workload *w);
/* A reason of Evicted, or of Requeued=False, as static text; NULL: not one of Kueue's. */
const char *evict_reason(struct span text);
/* What waits for time: back-off, maximum execution time, pods that are not ready. */
void evict_timer(struct core *c, struct workload *w);
/* Its timer is set to when such a time is over next, which may be now. */
void evict_expect(struct core *c, struct workload *w);

#endif
