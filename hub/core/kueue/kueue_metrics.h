#ifndef CORE_KUEUE_KUEUE_METRICS_H
#define CORE_KUEUE_KUEUE_METRICS_H
/*
 * ClusterQueues and cohorts in /metrics under the names, labels and meanings of Kueue's own
 * (reference/ux.md; https://kueue.sigs.k8s.io/docs/reference/metrics/), so that dashboards and
 * alerts made for it go on working: pending, reserving and admitted workloads, attempts, waits,
 * evictions, quota and usage. Quota that is not limited is +Inf, as Kueue has it since 0.17.
 *
 * Bound: KUEUE_METRICS_QUEUES ClusterQueues, the older ones, since the answer is printed on
 * the core's thread; muster_cluster_queues says how many there are.
 */
#include "base/buf.h"

#define KUEUE_METRICS_QUEUES 500

struct core;

void kueue_metrics_add(const struct core *c, struct buf *out);

#endif
