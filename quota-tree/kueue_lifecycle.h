#ifndef QUOTA_TREE_KUEUE_LIFECYCLE_H
#define QUOTA_TREE_KUEUE_LIFECYCLE_H
/*
 * What ends a workload's hold on its quota, other than a preemption or the end of its job, and when
 * it may come back: the rules of reference/kueue.md section 2.8, as functions from a plain struct
 * and a `now` to a plan.
 *
 * struct kueue_life is what the rules look at; core fills it from its record of the Workload, calls
 * the function of what has just happened, and carries the plan out (core/kueue/evict.h): conditions
 * and events in Kueue's words, a suspended copy, the engine's own books. Nothing here looks at more
 * than one workload.
 *
 * Words are Kueue's (pkg/workload, pkg/workload/evict, pkg/controller/core/workload_controller.go;
 * reasons of apis/kueue/v1beta2/workload_types.go). Times are UTC microseconds, 0 means none.
 */
#include "base/span.h"
#include "quota-tree/kueue_spec.h"

/* config.kueue.x-k8s.io waitForPodsReady. */
struct kueue_wait_for_pods_ready {
	bool enabled;
	int64_t timeout;
	int64_t recovery_timeout; /* -1: as timeout; 0: never */
	int64_t backoff_base, backoff_max;
	int32_t backoff_limit; /* evictions; -1: endless */
	bool from_creation;    /* requeuingStrategy.timestamp: Creation */
};

struct kueue_life {
	bool inactive; /* spec.active: false */
	bool admitted; /* else it only holds quota */
	bool evicted;  /* told already, its pods are on their way out */
	enum kueue_stop local_stop, cluster_stop;
	int64_t admitted_at;	/* when it was admitted the last time */
	int64_t max_execution;	/* s, spec.maximumExecutionTimeSeconds; 0: none */
	int64_t past_execution; /* s, of earlier admissions */
	int64_t unready_since;	/* not all of its pods are ready; 0: they are */
	bool was_ready;		/* they were, once in this admission */
	int32_t requeues;	/* requeueState.count */
	int64_t requeue_at;	/* requeueState.requeueAt */
};

/* A check of status.admissionChecks. */
enum kueue_check_state {
	KUEUE_CHECK_PENDING = 0,
	KUEUE_CHECK_READY,
	KUEUE_CHECK_RETRY,
	KUEUE_CHECK_REJECTED,
};
struct kueue_check {
	struct span name, message; /* the message is told, and decides nothing */
	enum kueue_check_state state;
	int64_t since;	       /* lastTransitionTime; 0: not said */
	int64_t requeue_after; /* s, requeueAfterSeconds; 0: not said */
};

enum kueue_loss {
	KUEUE_KEEPS = 0,
	KUEUE_UNRESERVED,  /* loses a reservation that was no admission yet; no eviction is told */
	KUEUE_EVICTS,	   /* Evicted=True for `reason`; quota is free when its pods are gone */
	KUEUE_DEACTIVATES, /* the same, and spec.active becomes false: DeactivatedDueTo<cause> */
};

struct kueue_loss_plan {
	enum kueue_loss loss;
	/* All static, never NULL. The reason is Evicted's ("Deactivated" when it deactivates), or
	 * that of QuotaReserved=False for KUEUE_UNRESERVED; the cause is schedulingStats', or "".
	 */
	const char *reason, *cause;
	/* What Kueue says; "" where the sentence carries names, which core knows. */
	const char *message;
	bool to_back;	  /* its place in the queue counts from now */
	int32_t requeues; /* the new requeueState */
	int64_t requeue_at;
	int64_t past_execution; /* the new accumulatedPastExecutionTimeSeconds before this run's */
	int64_t again_at; /* KUEUE_KEEPS: look again then; INT64_MAX: when something changes */
};

/* The workload, or a queue of its, was stopped: HoldAndDrain evicts, and takes a reservation off
 * who is not admitted yet, as Hold does (the LocalQueue is looked at first). */
struct kueue_loss_plan kueue_lifecycle_stopped(const struct kueue_life *w);

/* Time passed: the maximum execution time, summed over its admissions, deactivates; pods that are
 * not ready in time evict, with a back-off of base x 2^(n-1) at the n-th time, and deactivate
 * beyond the limit. The time counts from `unready_since`, which is the admission the first time. */
struct kueue_loss_plan kueue_lifecycle_overdue(const struct kueue_life *w,
					       const struct kueue_wait_for_pods_ready *pods,
					       int64_t now);

/* Its checks were written: a rejected one deactivates; one that says Retry evicts until the latest
 * of lastTransitionTime + requeueAfterSeconds, and to the back of the queue. `checks` has n
 * elements. */
struct kueue_loss_plan kueue_lifecycle_checked(const struct kueue_life *w,
					       const struct kueue_check *checks, size_t n,
					       int64_t now);

/* Whether who was evicted as `evicted_as` (the whole reason of Evicted, "DeactivatedDueTo..." too)
 * and holds nothing any more may come back: the reason of Requeued=True, or NULL while it is held
 * back, when Requeued=False says `evicted_as`. Preemption, NodeFailures and the hub's own
 * ApplicationFailure hold nobody back; a timeout or a check does until requeue_at, a deactivation
 * until it is active again, a stopped queue until that queue is open (`local`, `cluster`: it
 * exists). *ret_message is Kueue's sentence, NULL where it repeats the eviction's. */
const char *kueue_lifecycle_back(const struct kueue_life *w, const char *evicted_as, bool local,
				 bool cluster, int64_t now, const char **ret_message);

#endif
