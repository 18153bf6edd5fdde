#ifndef CORE_KUEUE_QUOTA_WAIT_H
#define CORE_KUEUE_QUOTA_WAIT_H
/*
 * Nobody starves for quota of a queue or of its cohort: under BestEffortFIFO a large gang could be
 * passed for ever by small jobs that take what comes free, those of its own queue and those that
 * other queues borrow (reference/reliability-performance.md section E). One that waits for quota
 * for longer than starvation.after since it was created is not passed any more, until it has its
 * quota or leaves, unless it costs it nothing.
 *
 * It has a shadow time (quota-tree/kueue_shadow.h): when enough of those that hold quota of its
 * cohort have reached their limits. Who comes after it, in its queue or among those that borrow
 * from its cohort, is refused as if no member took him, but where he ends before that time or fits
 * beside it then. Kueue's own rules stay: whoever goes first in its queue's order goes first
 * (higher priority; with AdmissionFairSharing a LocalQueue that used less); with fair sharing a
 * queue of a smaller share goes before it; and a queue that uses its own quota is never kept from
 * it. So a gang that must borrow has no bound where a lender could take back what it needs, and is
 * told so, and who could. Where it is known of no time (somebody has no limit) only those behind
 * it in its own queue are refused, as under StrictFIFO.
 *
 * Several that starve are looked at by priority, then age, whatever their queues: each waits for
 * those before it alone, so that they never wait for one another. Once its quota is free, it is
 * kept for it until a cluster is promised (core/admission/starvation.h) or none can be.
 *
 * Derived: after a restart the first refusal tells it again. Shadow times are worked out anew when
 * what is held in the tree has changed, at most once a second, and only while somebody starves;
 * that walks over those that hold quota there.
 */
#include "core/kueue/workload.h"

/* The workload was tried and not admitted: `waits` for quota that others hold, or not. */
void quota_wait_note(struct core *c, struct workload *w, bool waits);
/* Forgets it; fine when it is not known here. */
void quota_wait_forget(struct core *c, struct workload *w);
/* Who starves and must not be passed by this one with these flavors; NULL. */
const struct workload *quota_wait_first(struct core *c, const struct workload *w,
					const struct kueue_use *uses, size_t n);
/* The workload was refused for the one that starves, with these flavors: they are copied. */
void quota_wait_refused(struct core *c, struct workload *w, const struct workload *first,
			const struct kueue_use *uses, size_t n);
/* The workload was charged these. */
void quota_wait_took(struct core *c, const struct workload *w, const struct kueue_use *uses,
		     size_t n);
/* Before a cycle: shadow times as of now; those who were refused for one that does not starve any
 * more, or is early now, are offered again. */
void quota_wait_sweep(struct core *c);
/* When quota_wait_sweep() has something to do though nobody calls. */
usec quota_wait_due(const struct core *c);

/* One more sentence, for one that starves or waits behind it; false when neither. */
bool quota_wait_tell(struct core *c, const struct workload *w, char *out, size_t size);

#endif
