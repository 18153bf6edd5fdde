#ifndef QUOTA_TREE_KUEUE_QUEUES_H
#define QUOTA_TREE_KUEUE_QUEUES_H
/*
 * Who waits in which ClusterQueue, in which order, and who is next: reference/kueue.md sections 2.1
 * to 2.3, and the cycle that asks one head of every queue in turn.
 *
 * It decides quota only. A cycle is an iterator:
 *
 *	kueue_cycle_begin(q, now);
 *	while ((e = kueue_cycle_next(q))) {
 *		switch (e->kind) {
 *		case KUEUE_ENTRY_FITS:    placement fits ? kueue_cycle_admit(q, e, reserve)
 *					 : kueue_cycle_refuse(q, e);   the next flavors, or NoFit
 *		case KUEUE_ENTRY_PREEMPTS: kueue_cycle_preempt(q, e);  victims are EVICTED, it waits
 *		case KUEUE_ENTRY_WAITS:   tell why; nothing to answer
 *		}
 *	}
 *	more = kueue_cycle_end(q);
 *
 * Heads are nominated together, ordered (2.2 classical, 2.7 fair sharing), then processed one after
 * the other on a forest that the earlier ones have charged. Cost follows what changed: a queue
 * whose head was refused costs nothing until something that could help it changes, and is found by
 * what it lacked, not by walking the cohort.
 *
 * Pure; one thread; `now` in UTC microseconds comes in with the calls.
 */
#include "quota-tree/kueue_preempt.h"

struct kueue_queues;

/* The forest stays the caller's and must outlive the queues. */
struct kueue_queues *kueue_queues_create(struct kueue_forest *f,
					 const struct kueue_options *options);
struct kueue_queues *kueue_queues_destroy(struct kueue_queues *q);

/* After any edit of flavors, cohorts or queues: files what it could help. */
void kueue_queues_edited(struct kueue_queues *q, uint32_t node);

/* A pending workload in ClusterQueue `queue` (KUEUE_NONE: held until kueue_queues_move()). Spec is
 * copied. ERR_INVALID: beyond limits, or sums overflow. */
int kueue_queues_add(struct kueue_queues *q, uint32_t queue, const struct kueue_workload_spec *spec,
		     struct kueue_workload **ret, struct err *reterr) MUST_CHECK;
/* One that holds quota already (restart): flavors by pod set and request as recorded. */
int kueue_queues_restore(struct kueue_queues *q, uint32_t queue,
			 const struct kueue_workload_spec *spec, enum kueue_state state,
			 int64_t reserved_at, const struct kueue_use *uses, size_t n_uses,
			 const int32_t *counts, struct kueue_workload **ret,
			 struct err *reterr) MUST_CHECK;
/* In any state; what it held is released. */
void kueue_queues_remove(struct kueue_queues *q, struct kueue_workload *w);
void kueue_queues_move(struct kueue_queues *q, struct kueue_workload *w, uint32_t queue);
/* Held: out of the heap until released (requeueAt, Requeued=False, active=false, LQ stopped). */
void kueue_queues_hold(struct kueue_queues *q, struct kueue_workload *w);
void kueue_queues_unhold(struct kueue_queues *q, struct kueue_workload *w);
void kueue_queues_set_priority(struct kueue_queues *q, struct kueue_workload *w, int32_t priority);
void kueue_queues_set_queue_order(struct kueue_queues *q, struct kueue_workload *w, int64_t at);
/* Fewer pods are counted from now on (reclaimablePods), by pod set. */
void kueue_queues_reclaim(struct kueue_queues *q, struct kueue_workload *w, const int32_t *pods);

/* RESERVING -> ADMITTED when its checks are Ready. */
void kueue_queues_admitted(struct kueue_queues *q, struct kueue_workload *w);
/* Holds its quota until kueue_queues_released(). */
void kueue_queues_evicted(struct kueue_queues *q, struct kueue_workload *w);
/* Its pods are gone: quota is free; back to its place, or HELD when `hold`. */
void kueue_queues_released(struct kueue_queues *q, struct kueue_workload *w, bool hold);
/* Placement has room that could help workloads of this shape again; UINT32_MAX: all. */
void kueue_queues_wake_shape(struct kueue_queues *q, uint32_t shape);

enum kueue_entry_kind { KUEUE_ENTRY_FITS, KUEUE_ENTRY_PREEMPTS, KUEUE_ENTRY_WAITS };
struct kueue_entry {
	enum kueue_entry_kind kind;
	struct kueue_workload *workload;
	struct kueue_assignment assignment;
	struct kueue_victims victims;
	/* WAITS: why, as the QuotaReserved=False reason (1.4) and its sentence */
	const char *reason;
	const char *message;
};
void kueue_cycle_begin(struct kueue_queues *q, int64_t now);
/* NULL when the cycle's entries are through. Borrowed until the next call. */
struct kueue_entry *kueue_cycle_next(struct kueue_queues *q);
/* Charges it: RESERVING, or ADMITTED when `checks` is false. */
void kueue_cycle_admit(struct kueue_queues *q, struct kueue_entry *e, bool checks);
/* No member takes it with these flavors: true when the entry now holds the next combination to
 * ask, false when it is through (NoFit, TopologyPlacementFailed; it parks until its shape is woken
 * or quota changes; under StrictFIFO it blocks its queue). */
bool kueue_cycle_refuse(struct kueue_queues *q, struct kueue_entry *e);
void kueue_cycle_preempt(struct kueue_queues *q, struct kueue_entry *e);
/* Requeues; true when another cycle has something to do now. */
bool kueue_cycle_end(struct kueue_queues *q);

struct kueue_counts {
	size_t pending, reserving,
	    admitted; /* reserving counts those that hold quota, admitted too */
};
struct kueue_counts kueue_queues_count(const struct kueue_queues *q, uint32_t queue);
/* 0-based place among the pending of its queue, heap first, then parked (visibility API). */
size_t kueue_queues_position(const struct kueue_queues *q, const struct kueue_workload *w);
struct kueue_workload *kueue_queues_at(const struct kueue_queues *q, uint32_t queue, size_t place);

int kueue_queues_check(const struct kueue_queues *q, struct err *reterr) MUST_CHECK;

#endif
