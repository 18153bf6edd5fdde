#ifndef CORE_KUEUE_READY_H
#define CORE_KUEUE_READY_H
/*
 * waitForPodsReady.blockAdmission (reference/kueue.md 2.8): nobody new is given quota while
 * somebody who holds it does not have all its pods ready.
 *
 * Kueue's scheduler itself waits then: neither admissions nor preemptions go on, in any queue. What
 * holds quota and waits for its checks counts as not ready, as there. Off unless it is configured.
 */
#include "core/kueue/workload.h"

/* What it holds, or whether its pods are ready, has changed. */
void ready_review(struct core *c, struct workload *w);
/* It holds nothing any more. */
void ready_forget(struct core *c, struct workload *w);
/* Admission stands still. */
bool ready_blocks(const struct core *c);

#endif
