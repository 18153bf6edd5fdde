#ifndef CORE_KUEUE_PRIORITY_CLASS_H
#define CORE_KUEUE_PRIORITY_CLASS_H
/*
 * WorkloadPriorityClasses. Unlike a PriorityClass's, their value may change, and then changes for
 * the workloads that wait or run under it (reference/kueue.md 2.11). Pods keep their own.
 */
#include "core/kueue/workload.h"

void priority_class_observe(struct core *c, const struct store_object *o);
void priority_class_forget(struct core *c, struct span name);
const int32_t *priority_class_find(const struct core *c, struct span name); /* or NULL */

/* The number behind the class that a job's Workload names, into the record and the engine's. A
 * class that does not exist is told, and counts 0 until it does. */
void workload_take_priority(struct core *c, struct workload *w, const struct workload_digest *d);

#endif
