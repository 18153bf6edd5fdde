#ifndef QUOTA_TREE_KUEUE_SHAPE_H
#define QUOTA_TREE_KUEUE_SHAPE_H
/*
 * Shapes of workloads, shared and counted: internal to kueue_workload.c and kueue_queues.c.
 */
#include "quota-tree/kueue_workload.h"

/* The shape of the spec's pod sets, counted once more. Errors as kueue_workload_create(). */
int kueue_shape_get(struct kueue_shapes *s, struct kueue_forest *f,
		    const struct kueue_workload_spec *spec, struct kueue_shape **ret,
		    struct err *reterr) MUST_CHECK;
void kueue_shape_put(struct kueue_shapes *s, struct kueue_shape *shape);

#endif
