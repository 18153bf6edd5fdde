#ifndef CORE_KUEUE_QUOTA_ORDER_H
#define CORE_KUEUE_QUOTA_ORDER_H
/*
 * Who of two workloads goes first for quota by Kueue's own rules, of one queue or of two of a
 * cohort (reference/kueue.md sections 2.1, 2.2 and 2.7). Reads the engine only.
 */
#include "core/kueue/quota_shadow.h"

/* Whether w, with these flavors, goes before one that starves: in one queue by its order, with
 * AdmissionFairSharing by what their LocalQueues used first; in a cohort by priority and age, with
 * fair sharing by the shares that their sides of the cohort would have first. Whether either
 * borrows is not looked at here. */
bool quota_order_before(const struct core *c, const struct workload *w,
			const struct kueue_use *uses, size_t n, const struct quota_shadow *s);
/* Whether the LocalQueues of a ClusterQueue share it by what they used. */
bool quota_order_is_fair(const struct core *c, uint32_t queue);

#endif
