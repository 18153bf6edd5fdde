#ifndef CORE_KUEUE_PRIORITY_BOOST_H
#define CORE_KUEUE_PRIORITY_BOOST_H
/*
 * The annotation kueue.x-k8s.io/priority-boost of a Workload (KEP-7990, gate PriorityBoost, off by
 * default): somebody outside adds to the Workload's priority, or takes from it, what orders it in
 * its queue and says whom it may preempt and who may preempt it. spec.priority and what the
 * visibility API tells stay as they are. Without the gate the annotation means nothing.
 */
#include "core/kueue/workload.h"
#include "kube/object.h"

/* What the row asks for; 0 without the gate, or where it cannot be read. */
int32_t priority_boost_read(const struct core *c, const struct store_object *o);
/* Before a Workload is taken: ERR_INVALID where the annotation is no int32. */
int priority_boost_check(const struct object_draft *d, struct err *reterr) MUST_CHECK;

#endif
