#ifndef CORE_KUEUE_QUEUE_STATUS_H
#define CORE_KUEUE_QUEUE_STATUS_H
/*
 * What ClusterQueues and LocalQueues show: counters, usage by flavor, condition Active
 * (reference/kueue.md 1.2 and 1.4). At most one row per queue every 100 ms, a bounded number for
 * all of them, and none that says nothing new. Here too: a queue that is being deleted goes when
 * nobody holds its quota.
 */
#include "core/kueue/workload.h"

void queue_status_dirty(struct core *c, struct cluster_queue *q);
void queue_status_dirty_local(struct core *c, struct local_queue *q); /* NULL is fine */
/* All LocalQueues of a ClusterQueue. */
void queue_status_dirty_locals(struct core *c, const struct cluster_queue *q);
/* Both queues of a workload. */
void queue_status_touch(struct core *c, const struct workload *w);
void queue_status_forget(struct core *c, const struct cluster_queue *q);
void queue_status_forget_local(struct core *c, const struct local_queue *q);

/* With the room that decisions leave. */
void queue_status_flush(struct core *c);
/* A few of them although there was no such room for a second. */
void queue_status_flush_late(struct core *c);
usec queue_status_due(const struct core *c);

/* AdmissionFairSharing: settles what LocalQueues consumed, and shows it (reference/kueue.md 2.7).
 */
void queue_status_sample_usage(struct core *c);

#endif
