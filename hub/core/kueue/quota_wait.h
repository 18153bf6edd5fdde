#ifndef CORE_KUEUE_QUOTA_WAIT_H
#define CORE_KUEUE_QUOTA_WAIT_H
/*
 * Nobody starves for quota in a queue: under BestEffortFIFO a large gang could be passed for ever
 * by small jobs that take what comes free (reference/reliability-performance.md section E). One
 * that was told WaitingForQuota, and has waited for starvation.after since it was created, is not
 * passed any more: those behind it in its ClusterQueue are refused as if no member took them, until
 * it has its quota or leaves, as under StrictFIFO. So it starts once what its queue runs has ended,
 * at the latest, where its queue has the quota itself; what it would have to borrow is its cohort's
 * to give, and no bound on that exists.
 *
 * Asked when somebody is about to be admitted, so it costs nothing while nobody is. Derived: after
 * a restart the first refusal tells it again.
 */
#include "core/kueue/workload.h"

/* The workload was tried and not admitted: `waits` for quota that others hold, or not. */
void quota_wait_note(struct core *c, struct workload *w, bool waits);
/* Forgets it; fine when it is not known here. */
void quota_wait_forget(struct core *c, struct workload *w);
/* Who is before it in its queue and starves; NULL. */
const struct workload *quota_wait_first(struct core *c, const struct workload *w);
/* The workload was refused for the one that starves. */
void quota_wait_refused(struct core *c, struct workload *w, const struct workload *first);
/* Those who were refused for one that does not starve any more are offered again. */
void quota_wait_sweep(struct core *c);

/* One more sentence, for one that starves or waits behind it; false when neither. */
bool quota_wait_tell(struct core *c, const struct workload *w, char *out, size_t size);

#endif
