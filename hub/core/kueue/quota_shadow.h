#ifndef CORE_KUEUE_QUOTA_SHADOW_H
#define CORE_KUEUE_QUOTA_SHADOW_H
/*
 * The workloads that starve for quota, in their order, and their shadow times: the list behind
 * quota_wait.h, which says who belongs in it and what follows. Here is what the engine's pure part
 * (quota-tree/kueue_shadow.h) cannot know: who runs until when.
 *
 * The order is by priority, then age, over all queues: total, so that no two wait for each other.
 */
#include "core/kueue/workload.h"
#include "quota-tree/kueue_shadow.h"

struct quota_shadow {
	struct workload *workload;
	struct kueue_shadow of;
	uint64_t generation; /* of its tree when it was cast */
};

/* Known from now on; its shadow time is not, until the next refresh. Fine when it is known. */
void quota_shadow_add(struct core *c, struct workload *w);
void quota_shadow_drop(struct core *c, const struct workload *w);
struct quota_shadow *quota_shadow_find(const struct core *c, const struct workload *w);
void quota_shadow_drop_all(struct core *c);

/* Whether anybody is kept from quota for it now: it waits, its queue is active, and under
 * StrictFIFO it is the head. */
bool quota_shadow_holds(const struct core *c, const struct quota_shadow *s);

/* Drops those that wait no more, and casts the others anew where something has changed and the last
 * time was a second ago. True when somebody who was refused should be asked again. Between cycles
 * only: the forest must hold what is charged and nothing else. */
bool quota_shadow_refresh(struct core *c);
usec quota_shadow_due(const struct core *c);

/* How long the workload would hold quota from its start; KUEUE_SHADOW_NEVER: no limit. */
int64_t quota_shadow_limit(const struct core *c, const struct workload *w);

#endif
