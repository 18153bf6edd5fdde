#ifndef CORE_KUEUE_WORKLOAD_RESTORE_H
#define CORE_KUEUE_WORKLOAD_RESTORE_H
/*
 * Workloads between their rows and their records: what the files of workload.h share.
 */
#include "core/kueue/workload.h"
#include "core/kueue/workload_status.h"

/* A record in the map, of no queue and not filed. */
struct workload *workload_create(struct core *c, struct span ns, struct span name,
				 const uint8_t uid[STORE_UID_LEN]);
void workload_enter_queue(struct core *c, struct workload *w, struct span name);
void workload_drop_sets(struct workload *w);
void workload_drop_events(struct workload *w);

/* What its job asks now, under the queue that it is in. */
int workload_compose(struct core *c, const struct job *j, struct arena *mem,
		     struct workload_digest *ret, struct err *reterr) MUST_CHECK;
struct kueue_workload_spec workload_engine_spec(const struct core *c, struct workload *w,
						const struct workload_digest *d, struct arena *mem);

/* QuotaReserved=False with a new reason: condition, event, the job's verdict. Once per reason.
 * `reason` is static. */
void workload_tell(struct core *c, struct workload *w, const char *reason, const char *message);
/* One that is parked behind an equal and was never told anything hears that one's reason, without
 * an Event (bypass.h). False: there is nothing to tell. */
bool workload_tell_bypassed(struct core *c, struct workload *w);
/* One that has just come: with the gate UnadmittedWorkloadsExplicitStatus it says so. */
void workload_tell_new(struct core *c, struct workload *w);

/* Sums of its queues: what it reserves counts from the reservation on, what it uses from the
 * admission. Counting twice counts once. */
void workload_count_usage(struct core *c, struct workload *w);
void workload_uncount_usage(struct core *c, struct workload *w);

/* A job's Workload is being deleted by somebody. */
void workload_row_lost(struct core *c, struct workload *w);

/* Lets go of the asks that it waits for. */
void workload_forget_asks(struct core *c, struct workload *w);

#endif
