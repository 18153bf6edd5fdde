#ifndef QUOTA_TREE_KUEUE_MESSAGE_H
#define QUOTA_TREE_KUEUE_MESSAGE_H
/*
 * Words for Kueue's dialect: the sentences that its users see in conditions and events, number for
 * number (pkg/scheduler/flavorassigner, pkg/scheduler/preemption).
 *
 * Every function writes at most `max` bytes with a terminating NUL, cuts what is longer, and
 * returns the length written.
 */
#include "quota-tree/kueue_preempt.h"

enum { KUEUE_MESSAGE_MAX = 8192 }; /* room for what a condition or an event may hold */

/* "insufficient unused quota for cpu in flavor default, 2 more needed" and its siblings. */
size_t kueue_message_reason(const struct kueue_forest *f, const struct kueue_reason *reason,
			    char *out, size_t max);
/* "couldn't assign flavors to pod set main: REASONS; couldn't assign ...", reasons of a pod set in
 * byte order, joined by ", ". "" when everything fits. */
size_t kueue_message_assignment(const struct kueue_forest *f, const struct kueue_workload *w,
				const struct kueue_assignment *a, char *out, size_t max);
/* "main: spot(NoFit;REASON), reserved(Fit;borrow=1) | ...": the flavors of kueue_assign_attempts(),
 * by name, without those that fit and borrow nothing. "" when there are no others. */
size_t kueue_message_considered(const struct kueue_forest *f, const struct kueue_workload *w,
				const struct kueue_assignment *a, char *out, size_t max);
/* "prioritization in the ClusterQueue", ...: the reason of a preemption in words. */
const char *kueue_message_preemption(enum kueue_preempt_reason reason);

#endif
