#ifndef QUOTA_TREE_KUEUE_LIFECYCLE_H
#define QUOTA_TREE_KUEUE_LIFECYCLE_H
/*
 * What becomes of a workload between its creation and its end: the rules of reference/kueue.md
 * section 2.8, as functions from plain structs and a `now` to a plan of changes.
 *
 * struct kueue_life is the part of a Workload that the rules look at; core fills it from the object
 * (spans are borrowed) and turns the plan into the object's new status, events and calls of
 * kueue_queues.h. kueue_lifecycle_step() tells the next step that is due, one at a time, as Kueue's
 * reconciler does; the other functions make the plan of a step that somebody else decided
 * (the cycle, a preemption, the end of the job).
 *
 * Words are Kueue's (pkg/workload, pkg/workload/evict, pkg/controller/core/workload_controller.go;
 * condition reasons of apis/kueue/v1beta2/workload_types.go). Times are UTC microseconds.
 *
 * A plan holds its texts itself: pointers in it are good as long as it stays where it is.
 */
#include "base/err.h"
#include "base/span.h"
#include "quota-tree/kueue_spec.h"

enum {
	KUEUE_MAX_CHECKS = 8,	  /* status.admissionChecks (1.4) */
	KUEUE_MAX_CHANGES = 8,	  /* conditions that one step changes */
	KUEUE_CHANGE_TEXT = 1024, /* bytes of a condition's message here */
};

enum kueue_condition_type {
	KUEUE_COND_QUOTA_RESERVED = 0,
	KUEUE_COND_ADMITTED,
	KUEUE_COND_EVICTED,
	KUEUE_COND_PREEMPTED,
	KUEUE_COND_REQUEUED,
	KUEUE_COND_PODS_READY,
	KUEUE_COND_FINISHED,
	KUEUE_COND_DEACTIVATION_TARGET,
	KUEUE_COND_MAX,
};
const char *kueue_condition_to_string(enum kueue_condition_type type); /* "QuotaReserved", ... */

enum kueue_status { KUEUE_ABSENT = 0, KUEUE_TRUE, KUEUE_FALSE };
struct kueue_condition {
	enum kueue_status status;
	struct span reason, message;
	int64_t since; /* lastTransitionTime */
};

enum kueue_check_state {
	KUEUE_CHECK_PENDING = 0,
	KUEUE_CHECK_READY,
	KUEUE_CHECK_RETRY,
	KUEUE_CHECK_REJECTED,
};
const char *kueue_check_state_to_string(enum kueue_check_state state);
struct kueue_check {
	struct span name;
	enum kueue_check_state state;
	struct span message;
	int64_t since;	       /* lastTransitionTime */
	int64_t requeue_after; /* us; -1: not set */
	int32_t retry_count;   /* 0: not set */
};

/* config.kueue.x-k8s.io waitForPodsReady; times in us. */
struct kueue_wait_for_pods_ready {
	bool enabled;
	int64_t timeout;
	int64_t recovery_timeout; /* -1: none */
	int32_t backoff_base;	  /* s */
	int32_t backoff_max;	  /* s */
	int32_t backoff_limit;	  /* -1: endless */
	bool from_creation;	  /* requeuingStrategy.timestamp: Creation */
};
/* 30 min, recovery the same, 60 s x2 up to 3600 s, endless, Eviction. */
struct kueue_wait_for_pods_ready kueue_wait_for_pods_ready_default(void);

struct kueue_life {
	struct span name; /* namespace/name */
	bool active;	  /* spec.active */
	int64_t created;
	int32_t max_execution;	/* spec.maximumExecutionTimeSeconds; -1: none */
	struct span queue_name; /* spec.queueName */
	bool local_exists, local_terminating;
	enum kueue_stop local_stop;
	struct span cluster_queue; /* of the LocalQueue, or of the admission */
	bool cluster_exists, cluster_terminating, cluster_active;
	enum kueue_stop cluster_stop;
	/* status */
	struct kueue_condition conditions[KUEUE_COND_MAX];
	bool has_admission;    /* status.admission is there */
	bool topology_pending; /* delayed topology requests */
	struct kueue_check checks[KUEUE_MAX_CHECKS];
	size_t n_checks;
	bool has_requeue_state;
	int32_t requeue_count;	/* 0: not set */
	int64_t requeue_at;	/* -1: not set */
	int64_t past_execution; /* accumulatedPastExecutionTimeSeconds; -1: not set */
	bool observability;	/* gate UnadmittedWorkloadsObservability */
};

struct kueue_change {
	enum kueue_condition_type type;
	enum kueue_status status; /* ABSENT: removed */
	const char *reason;	  /* static, or in the plan's text */
	const char *message;
};

enum kueue_plan_flags {
	KUEUE_PLAN_CLEAR_ADMISSION = 1 << 0, /* status.admission goes: quota was given back */
	KUEUE_PLAN_EVICT = 1 << 1,	     /* its job must stop (kueue_queues_evicted()) */
	KUEUE_PLAN_DEACTIVATE = 1 << 2,	     /* spec.active = false */
	KUEUE_PLAN_CHECKS = 1 << 3,	     /* status.admissionChecks := checks */
	KUEUE_PLAN_REQUEUE = 1 << 4,	     /* status.requeueState := the three fields */
	KUEUE_PLAN_EXECUTION = 1 << 5,	     /* status.accumulatedPastExecutionTimeSeconds */
	KUEUE_PLAN_HOLD = 1 << 6,	     /* out of the heap (kueue_queues_hold(), listed) */
	KUEUE_PLAN_UNHOLD = 1 << 7,
	KUEUE_PLAN_COUNT_EVICTION = 1 << 8, /* status.schedulingStats.evictions of reason, cause */
};

struct kueue_event { /* of the Workload */
	bool warning;
	const char *reason, *message;
};

struct kueue_plan {
	uint32_t flags;
	struct kueue_change changes[KUEUE_MAX_CHANGES];
	size_t n_changes;
	struct kueue_check checks[KUEUE_MAX_CHECKS];
	size_t n_checks;
	bool has_requeue_state;
	int32_t requeue_count;
	int64_t requeue_at;			    /* -1: not set */
	int64_t past_execution;			    /* -1: not set */
	const char *evicted_reason, *evicted_cause; /* of COUNT_EVICTION; cause may be "" */
	struct kueue_event events[2];
	size_t n_events;
	int64_t again_at; /* look again then; INT64_MAX: when something changes */
	char text[8192];  /* of reasons and messages; what does not fit is cut */
	size_t n_text;
};

/*
 * The next step that is due of a workload that is not finished: deactivation and reactivation,
 * backoff that is over, restarted queues, Admitted, checks that ask for eviction, stopped queues,
 * pods that are not ready in time, execution time that is used up, the reason of a queue that
 * cannot take it. True when the plan changes something: apply it and step again. False: nothing
 * now; plan->again_at tells when.
 */
bool kueue_lifecycle_step(const struct kueue_life *w, const struct kueue_wait_for_pods_ready *pods,
			  uint64_t jitter_seed, int64_t now, struct kueue_plan *plan);

/* Quota was reserved in w->cluster_queue (SetQuotaReservation), Admitted too when no check waits.
 */
void kueue_lifecycle_reserved(const struct kueue_life *w, int64_t now, struct kueue_plan *plan);
/* An attempt failed: QuotaReserved=False with the reason and sentence of the entry. */
void kueue_lifecycle_unreserved(const struct kueue_life *w, const char *reason, const char *message,
				int64_t now, struct kueue_plan *plan);
/* It gives way: Evicted (Preempted) and Preempted with this reason and message. */
void kueue_lifecycle_preempted(const struct kueue_life *w, const char *reason, const char *message,
			       int64_t now, struct kueue_plan *plan);
/* Evicted for another reason that core found (NodeFailures, ...). */
void kueue_lifecycle_evict(const struct kueue_life *w, const char *reason, const char *message,
			   int64_t now, struct kueue_plan *plan);
/* Its pods are gone: the reservation is cleared and Requeued tells whether it may go back at once
 * (jobframework's reconciler: True for Preempted and NodeFailures, False with the eviction's reason
 * otherwise, so that it waits for what kueue_lifecycle_step() finds). */
void kueue_lifecycle_released(const struct kueue_life *w, int64_t now, struct kueue_plan *plan);
/* Finished=True with "Succeeded", "Failed", ... */
void kueue_lifecycle_finished(const struct kueue_life *w, const char *reason, const char *message,
			      int64_t now, struct kueue_plan *plan);

/* 2.1: creation, except the time of an eviction by pods that were not ready (unless counted from
 * creation) or by an admission check. */
int64_t kueue_lifecycle_queue_order(const struct kueue_life *w, bool from_creation);
/* Whether it stays out of the heap now (backoffWaitingTimeExpired and IsAdmissible):
 * Requeued=False, or requeueAt ahead. */
bool kueue_lifecycle_backs_off(const struct kueue_life *w, int64_t now);
bool kueue_lifecycle_all_ready(const struct kueue_life *w);
/* The n-th wait of base x 2^(n-1), at most `max`, in us, lengthened by at most 1/10000 (seed): what
 * a check's Retry and waitForPodsReady wait. */
int64_t kueue_lifecycle_backoff(int32_t base_seconds, int32_t max_seconds, int32_t n,
				uint64_t seed);

#endif
