#ifndef CORE_KUEUE_QUEUE_METER_H
#define CORE_KUEUE_QUEUE_METER_H
/*
 * What has happened in a ClusterQueue since the hub began, as Kueue counts it for its metrics
 * (reference/ux.md, "Names dashboards already use"; pkg/metrics/metrics.go): reservations,
 * admissions, evictions, preemptions, ends, and how long they took. Nothing is decided by it, and
 * it is not kept over a restart, as counters of Prometheus need not be.
 */
#include "base/clock.h"
#include "base/vec.h"
#include "quota-tree/kueue_preempt.h"

struct core;
struct workload;

/* Upper bounds of a wait in seconds: 1, then 2.5 doubled twelve times; the last is beyond. */
#define QUEUE_METER_BOUNDS  14
#define QUEUE_METER_REASONS 4 /* of enum kueue_preempt_reason */

struct wait_histogram {
	uint64_t n[QUEUE_METER_BOUNDS + 1];
	usec sum;
};

struct eviction_count {
	const char *reason, *cause; /* static words */
	uint64_t n;
};

struct queue_meter {
	uint64_t reserved, admitted, finished;
	uint64_t
	    preempted[QUEUE_METER_REASONS]; /* by its workloads; by enum kueue_preempt_reason */
	struct VEC(struct eviction_count) evicted;
	struct wait_histogram quota_wait;     /* queued until quota was reserved */
	struct wait_histogram admission_wait; /* queued until admitted */
	struct wait_histogram checks_wait;    /* reserved until admitted, where there are checks */
	struct wait_histogram ready_wait;     /* queued until its pods were ready */
	struct wait_histogram start_wait;     /* admitted until its pods were ready */
};

/* In microseconds. */
usec queue_meter_bound(size_t i);

/* Each counts for the workload's ClusterQueue, when it has one. `reason` and `cause` are static. */
void queue_meter_reserved(struct core *c, const struct workload *w);
void queue_meter_admitted(struct core *c, const struct workload *w, bool had_checks);
void queue_meter_ready(struct core *c, const struct workload *w);
void queue_meter_evicted(struct core *c, const struct workload *w, const char *reason,
			 const char *cause);
void queue_meter_finished(struct core *c, const struct workload *w);
/* For the queue of the one that others leave for. */
void queue_meter_preempts(struct core *c, const struct workload *preemptor,
			  enum kueue_preempt_reason why);

void queue_meter_done(struct queue_meter *m);

#endif
