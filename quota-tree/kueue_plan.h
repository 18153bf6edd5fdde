#ifndef QUOTA_TREE_KUEUE_PLAN_H
#define QUOTA_TREE_KUEUE_PLAN_H
/*
 * Writing a struct kueue_plan: internal to kueue_lifecycle.c.
 */
#include "base/compat.h"
#include "quota-tree/kueue_lifecycle.h"

void kueue_plan_init(const struct kueue_life *w, struct kueue_plan *plan);
/* A text in the plan's own memory; "" when that is full. */
const char *kueue_plan_text(struct kueue_plan *plan, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Nothing when the condition says so already. True when it changes. */
bool kueue_plan_set(const struct kueue_life *w, struct kueue_plan *plan,
		    enum kueue_condition_type type, enum kueue_status status, const char *reason,
		    const char *message);
void kueue_plan_event(struct kueue_plan *plan, bool warning, const char *reason,
		      const char *message);
/* Evicted=True, checks reset to Pending, the event. `cause` may be NULL; it joins the reason only
 * of a deactivation. */
void kueue_plan_evict(const struct kueue_life *w, int64_t now, const char *reason,
		      const char *cause, const char *message, struct kueue_plan *plan);
/* Admitted follows from reservation, checks and topology (SyncAdmittedCondition). */
bool kueue_plan_sync_admitted(const struct kueue_life *w, bool reserved, int64_t now,
			      struct kueue_plan *plan);

#endif
