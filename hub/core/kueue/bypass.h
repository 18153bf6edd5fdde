#ifndef CORE_KUEUE_BYPASS_H
#define CORE_KUEUE_BYPASS_H
/*
 * Who waits behind an equal that was tried without success is not tried itself (equivalence
 * hashing, reference/kueue.md 2.3), and still says why it waits: QuotaReserved=False with the
 * reason of the one that was tried, and that its own evaluation was bypassed.
 *
 * There may be a hundred thousand of them, so that they are told in the order of their queues, some
 * a second, and once each: an attempt of its own, or anything else it was ever told, stands. No
 * Event is made of it.
 */
#include "core/kueue/workload.h"

/* Somebody may wait now whom nobody has told why. */
void bypass_wanted(struct core *c);
/* Tells some, when it is time to. */
void bypass_run(struct core *c);

#endif
