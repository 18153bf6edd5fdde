#ifndef QUOTA_TREE_KUEUE_QUEUES_H
#define QUOTA_TREE_KUEUE_QUEUES_H
/*
 * Who waits in which ClusterQueue, in which order, and who is next: reference/kueue.md sections 2.1
 * to 2.3, and the cycle that asks one head of every queue in turn (2.2, 2.7).
 *
 * It decides quota only. A cycle is an iterator:
 *
 *	kueue_cycle_begin(q, now);
 *	while ((e = kueue_cycle_next(q))) {
 *		switch (e->kind) {
 *		case KUEUE_ENTRY_FITS:	   placement fits ? kueue_cycle_admit(q, e, checks)
 *					 : kueue_cycle_refuse(q, e);   the next flavors, or NoFit
 *		case KUEUE_ENTRY_PREEMPTS: kueue_cycle_preempt(q, e);  victims are EVICTED, it waits
 *					 (or kueue_cycle_refuse: no member gains by it)
 *		case KUEUE_ENTRY_WAITS:	   tell why; nothing to answer
 *		}
 *	}
 *	more = kueue_cycle_end(q);
 *
 * Heads are nominated together, ordered (2.2 classical, 2.7 fair sharing; but who was preempted
 * goes behind all others while its preemptor waits there, kueue_order.c), then processed one after
 * the other on a forest that the earlier ones have charged: one round. With
 * options.one_head_per_cycle a cycle is one round, as in Kueue. Without it rounds follow one
 * another until one changes nothing; what comes out is what as many cycles of Kueue would give.
 *
 * What is parked wakes when quota is given back, a queue is edited, or placement has room again.
 * Kueue then tries everything in the cohort tree; here a class is tried only when what it lacked
 * could be there now: it is filed under one cell that was short for each of its flavors, by the
 * amount that it needs there beside what it could preempt. The others of the tree only take the
 * turn that they would take in Kueue, so that the order of events is the same.
 *
 * Between kueue_cycle_begin() and kueue_cycle_end() only the functions of the cycle are called, and
 * those that read.
 *
 * Invariants: a pending workload is in exactly one class; what the forest holds is the sum of the
 * workloads in states RESERVING, ADMITTED and EVICTED; nobody is admitted whose uses did not fit
 * beside what the round has promised.
 *
 * Cost: add, remove, position O(log n); a release looks at its own queue and at those that wait for
 * the cells released; a round costs one nomination for each queue that has something to try.
 *
 * Pure; one thread; `now` in UTC microseconds comes in with the calls.
 */
#include "quota-tree/kueue_preempt.h"

struct kueue_queues;

/* The forest stays the caller's, holds nobody yet, and must outlive the queues. */
struct kueue_queues *kueue_queues_create(struct kueue_forest *f,
					 const struct kueue_options *options);
/* Frees all workloads too. NULL is accepted; returns NULL. */
struct kueue_queues *kueue_queues_destroy(struct kueue_queues *q);

/* After an edit of flavors, cohorts or queues: everything that waits in the trees of which `node`
 * is or was a part is tried again (KUEUE_NONE: in all). Call it for a node's old tree and its new
 * one. */
void kueue_queues_edited(struct kueue_queues *q, uint32_t node);

/* A pending workload in ClusterQueue `queue` (KUEUE_NONE: held until kueue_queues_move()). The spec
 * is copied. ERR_INVALID: beyond limits, or sums overflow. */
int kueue_queues_add(struct kueue_queues *q, uint32_t queue, const struct kueue_workload_spec *spec,
		     struct kueue_workload **ret, struct err *reterr) MUST_CHECK;
/* One that holds quota already (restart): holdings and counts by pod set (NULL: those of the spec)
 * as status.admission records them, of all admitted pods (reclaimable ones are taken off by
 * kueue_queues_reclaim()). `state` is RESERVING, ADMITTED or EVICTED. Nobody is asked. ERR_INVALID
 * as above, or a holding of no pod set, or negative. */
int kueue_queues_restore(struct kueue_queues *q, uint32_t queue,
			 const struct kueue_workload_spec *spec, enum kueue_state state,
			 int64_t reserved_at, const struct kueue_holding *holdings,
			 size_t n_holdings, const int32_t *counts, struct kueue_workload **ret,
			 struct err *reterr) MUST_CHECK;
/* In any state; what it held is released. */
void kueue_queues_remove(struct kueue_queues *q, struct kueue_workload *w);
/* A pending, parked or held workload to another queue; KUEUE_NONE: held. */
void kueue_queues_move(struct kueue_queues *q, struct kueue_workload *w, uint32_t queue);
/* Out of the heap until unheld. `listed`: it goes on counting as pending and keeps a position, as
 * one whose requeueAt lies ahead or whose Requeued is False does; one that is inactive or whose
 * LocalQueue is stopped does not. For one that holds quota it tells how it is put back. */
void kueue_queues_hold(struct kueue_queues *q, struct kueue_workload *w, bool listed);
void kueue_queues_unhold(struct kueue_queues *q, struct kueue_workload *w);
void kueue_queues_set_priority(struct kueue_queues *q, struct kueue_workload *w, int32_t priority);
/* Of one that holds quota also within a cycle. */
void kueue_queues_set_queue_order(struct kueue_queues *q, struct kueue_workload *w, int64_t at);
/* reclaimablePods by pod set, from now on; NULL: none. One that holds quota gives back their part.
 */
void kueue_queues_reclaim(struct kueue_queues *q, struct kueue_workload *w, const int32_t *pods);

/* RESERVING -> ADMITTED when its checks are Ready. */
void kueue_queues_admitted(struct kueue_queues *q, struct kueue_workload *w);
/* ADMITTED -> RESERVING: what was admitted by quota alone waits for more than that now. */
void kueue_queues_unadmitted(struct kueue_queues *q, struct kueue_workload *w);
/* Holds its quota until kueue_queues_released(). */
void kueue_queues_evicted(struct kueue_queues *q, struct kueue_workload *w);
/* Its pods are gone: quota is free; back to its place, or HELD (and listed or not) when it was held
 * meanwhile. */
void kueue_queues_released(struct kueue_queues *q, struct kueue_workload *w);
/* Placement has room that could help workloads of this shape again; KUEUE_NONE: all. */
void kueue_queues_wake_shape(struct kueue_queues *q, uint32_t shape);

/* ---- the cycle ---- */

enum kueue_entry_kind { KUEUE_ENTRY_FITS, KUEUE_ENTRY_PREEMPTS, KUEUE_ENTRY_WAITS };
struct kueue_entry {
	enum kueue_entry_kind kind;
	struct kueue_workload *workload;
	struct kueue_assignment assignment;
	/* PREEMPTS: in Kueue's order; none when quota fits and only nodes lack. The caller may put
	 * others here, found with a room. */
	struct kueue_victims victims;
	/* The reason of QuotaReserved=False (1.4) and its sentence; for FITS empty. PREEMPTS gets
	 * them from kueue_cycle_preempt(). */
	const char *reason;
	const char *message;
};
void kueue_cycle_begin(struct kueue_queues *q, int64_t now);
/* NULL when the cycle's entries are through. Borrowed until the next call. An entry that was not
 * answered is tried again in the next cycle. */
struct kueue_entry *kueue_cycle_next(struct kueue_queues *q);
/* Charges it: RESERVING, or ADMITTED when `checks` is false. */
void kueue_cycle_admit(struct kueue_queues *q, struct kueue_entry *e, bool checks);
/* No member takes it with these flavors (or gains by these victims): true when the entry now holds
 * the next combination to ask: those that fit, then PREEMPTS for nodes alone (mode FIT, no victims
 * yet), then PREEMPTS for quota. False when it is through (NoFit, TopologyPlacementFailed, with
 * reason and message; it parks until its shape is woken or quota changes; under StrictFIFO it
 * blocks its queue). */
bool kueue_cycle_refuse(struct kueue_queues *q, struct kueue_entry *e);
/* Victims that are not EVICTED yet become so. It stays first of a BestEffortFIFO queue until it is
 * admitted or hopeless. */
void kueue_cycle_preempt(struct kueue_queues *q, struct kueue_entry *e);
/* Requeues; true when another cycle has something to do now. May come before next() said NULL: the
 * others are tried in the next cycle. */
bool kueue_cycle_end(struct kueue_queues *q);
/* Whether a cycle would have anything to try. */
bool kueue_queues_is_due(const struct kueue_queues *q);

/* As the record says, but INADMISSIBLE for a parked one. */
enum kueue_state kueue_queues_state(const struct kueue_workload *w);
/* The sentence of a parked workload whose class was tried with another one's head. */
#define KUEUE_BYPASSED_MESSAGE                                                                     \
	"Bypassed scheduling evaluation because an equivalent workload recently failed"
/* INADMISSIBLE: the reason its class was parked with ("WaitingForQuota", ...); else "". */
const char *kueue_queues_parked_reason(const struct kueue_workload *w);

/* ---- reading ---- */

struct kueue_counts {
	size_t pending;	  /* listed: in the heap, parked, backing off */
	size_t active;	  /* of them in the heap; of a LocalQueue 0 */
	size_t reserving; /* hold quota, admitted ones too */
	size_t admitted;
};
struct kueue_counts kueue_queues_count(const struct kueue_queues *q, uint32_t queue);
struct kueue_counts kueue_queues_count_local(const struct kueue_queues *q, uint32_t queue,
					     uint32_t local_queue);
/* 0-based place among the pending of its queue, and of its LocalQueue, in the order of 2.1 whether
 * parked or not (visibility API); SIZE_MAX for one that is not listed. O(log n); with
 * AdmissionFairSharing O(LocalQueues x log n). */
size_t kueue_queues_position(const struct kueue_queues *q, const struct kueue_workload *w);
size_t kueue_queues_position_local(const struct kueue_queues *q, const struct kueue_workload *w);
/* The workload at a place; NULL beyond. */
struct kueue_workload *kueue_queues_at(const struct kueue_queues *q, uint32_t queue, size_t place);
struct kueue_workload *kueue_queues_at_local(const struct kueue_queues *q, uint32_t queue,
					     uint32_t local_queue, size_t place);

/* ---- AdmissionFairSharing (2.1, 2.7) ---- */

/* fairSharing.weight of a LocalQueue (1 unless set), and of a resource in its usage (1 unless set).
 */
void kueue_queues_set_local_weight(struct kueue_queues *q, uint32_t queue, uint32_t local_queue,
				   double weight);
void kueue_queues_set_usage_weight(struct kueue_queues *q, struct span resource, double weight);
/* What status.fairSharing.admissionFairSharingStatus says of a LocalQueue (restart). */
void kueue_queues_restore_usage(struct kueue_queues *q, uint32_t queue, uint32_t local_queue,
				struct span resource, double consumed, int64_t last_update);
/* Settles every LocalQueue whose last sample is options.usage_sampling_interval old: what it
 * consumed decays by half in usage_half_life towards what it holds now, and penalties of entry are
 * folded in. Returns when to call again (INT64_MAX: never). */
int64_t kueue_queues_sample_usage(struct kueue_queues *q, int64_t now);
/* The usage that orders its workloads: (consumed + penalties) by resource weights, over its weight.
 */
double kueue_queues_local_usage(const struct kueue_queues *q, uint32_t queue, uint32_t local_queue);
/* One resource of what it consumed, without penalties, cpu in cores. */
double kueue_queues_local_consumed(const struct kueue_queues *q, uint32_t queue,
				   uint32_t local_queue, struct span resource,
				   int64_t *ret_last_update);

/* Recomputes what can be recomputed and compares (the invariants above, orders, counts, filing).
 * ERR_INTERNAL with the first difference. */
int kueue_queues_check(const struct kueue_queues *q, struct err *reterr) MUST_CHECK;

#endif
