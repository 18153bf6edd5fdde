#ifndef CORE_KUEUE_WORKLOAD_H
#define CORE_KUEUE_WORKLOAD_H
/*
 * The core's record of a Workload: a queued job's, or one that a user created without a job.
 *
 * A job's Workload is made for it under compose_name(), or is the one that it names (prebuilt.h),
 * belongs to it, and goes with it; the record hangs on the job's. A user's own takes quota alone,
 * never nodes, and ends when its creator writes Finished. Records exist until then; where a
 * workload waits, and what it holds, is the engine's record (`unit`), which lives as long.
 *
 * What is to be written is collected in `edit` and goes into one row with the next flush: a job's
 * with the rows of its job, in one commit (workload_row.h).
 */
#include "core/kueue/kueue.h"
#include "kinds/workload_digest.h"

/* Why it is kept out of its queue's heap. */
enum workload_wait {
	WORKLOAD_READY = 0,
	WORKLOAD_UNCOUNTABLE, /* beyond the engine's limits */
	WORKLOAD_NO_QUEUE,    /* its LocalQueue does not exist, or it names none */
	WORKLOAD_NO_CLUSTER_QUEUE,
	WORKLOAD_WRONG_NAMESPACE, /* namespaceSelector */
	WORKLOAD_INACTIVE,	  /* spec.active: false */
	WORKLOAD_QUEUE_STOPPED,	  /* its LocalQueue is */
	WORKLOAD_BACKOFF,	  /* requeueAt lies ahead */
	WORKLOAD_NOT_REQUEUED,	  /* Requeued=False */
	WORKLOAD_JOB_HELD, /* its job has no policy, is suspended by it, or is being withdrawn */
	WORKLOAD_WAIT_MAX,
};

struct workload_edit; /* workload_status.h */

struct workload_event {
	const char *type, *component; /* static */
	char *reason, *message;
};

/* What one pod set got. */
struct workload_set {
	int32_t count;
	uint32_t n_flavors;
	uint32_t *flavors; /* distinct, the forest's numbers */
};

/* Whom it preempts: kueue/preempted.h. */
struct workload_victim {
	char *key;
	uint8_t uid[STORE_UID_LEN];
};

struct workload {
	char *key;	      /* "namespace/name" */
	struct span ns, name; /* in it */
	uint8_t uid[STORE_UID_LEN];
	char uid_text[OBJECT_UID_TEXT];
	usec created;
	usec first_order, queue_order; /* its place in the queue: by its creation, and now */
	struct job *job;	       /* whose it is; NULL: a user's own */
	struct local_queue *queue;     /* what it names, there or not; NULL: names none */
	struct workload *queue_prev, *queue_next;
	struct kueue_workload *unit; /* NULL: the engine cannot count it */
	enum workload_wait wait;

	/* of its spec */
	bool inactive;
	int32_t priority; /* spec.priority */
	int32_t boost;	  /* annotation priority-boost; 0 without the gate PriorityBoost */
	enum workload_priority_source priority_source;
	char *priority_class; /* or NULL */
	int64_t max_execution;

	/* of its status; what the engine knows (reserving, admitted, evicted) is read there */
	bool requeued_false;
	usec reserved_at, admitted_at;
	usec admitted_before; /* by quota alone, when it got its job in this batch; else 0 */
	usec evicted_at;      /* told, and its quota not given back yet; 0: not */
	usec unready_since;   /* waitForPodsReady: since when not all pods run; 0: they do */
	bool was_ready;
	/* Reason of Evicted until it is requeued, which is that of Requeued=False too (static), and
	 * the sentence until its quota is given back; or NULL. */
	const char *evicted_as;
	char *evicted_words;
	usec requeued_at; /* transition of Requeued; 0: it has none */
	usec requeue_at;
	int32_t requeues;
	int64_t past_execution;			 /* seconds, before the last eviction */
	bool counted_reserved, counted_admitted; /* in the sums of its queues */
	bool counted_unready;			 /* in kueue->n_unready */
	struct workload_set *sets;
	size_t n_sets;
	const char *told; /* reason of QuotaReserved=False as last written; static or NULL */
	usec told_at;
	uint64_t told_wait; /* of the sentence that told what keeps it out of its heap */
	bool answered;	    /* its row has said why it waits, or that it does not, at some time */

	struct VEC(struct workload_victim) victims; /* it waits for them */

	/* placement: what its job asks by itself, and the asks with flavors that no member took,
	 * which it waits for; as references */
	struct ask *base;
	struct VEC(struct ask *) asks;
	size_t lacking_at;	 /* place in kueue->lacking + 1; 0: has none */
	bool short_of_quota;	 /* in its queue's list: quota_wait.h */
	struct kueue_use *lacks; /* what it would have been charged when it was tried; or NULL */
	size_t n_lacks;
	bool ahead;	      /* its quota is reserved ahead of nodes: it starved (admission.h) */
	uint64_t spec_hash;   /* of what the engine was told */
	uint64_t sets_hash;   /* of what of that the job's own pod sets say */
	uint64_t checks_told; /* of the words of UpdatedAdmissionCheck; 0: none */
	bool ready_to_place;  /* in kueue->placing: its checks are Ready */
	bool delayed;	      /* its topology waits for nodes: delayedTopologyRequest */
	bool delay_told;      /* its checks are Ready, and Admitted says what it waits for */
	struct provisioning_check *provisioning; /* provisioning_check.h; or NULL */
	bool checking;				 /* in kueue->checking */
	char *misasked; /* why what it asks of a member cannot be, or NULL */
	bool claims;	/* in kueue->claims: nodes are kept for it (claim.h) */

	/* rows */
	bool exists, deleting;
	bool prebuilt; /* its row is its user's: edited, never made (prebuilt.h) */
	bool released; /* prebuilt, and without quota again: its job is looked at */
	bool over;     /* its end is to be written, and it goes then, before its job does */
	bool respec;   /* its spec is to be written anew from its job */
	bool dirty;    /* in kueue->dirty, or its job is dirty */
	bool own;      /* the change of its row in the batch under way is ours */
	uint64_t revision;
	int64_t generation; /* of the row that is being written */
	struct workload_edit *edit;
	struct VEC(struct workload_event) events;
	size_t timer_at;
	usec timer; /* INT64_MAX: none */
};

/* What orders it and says whom it may preempt: its priority with the boost, within int32. */
static inline int32_t workload_priority(const struct workload *w)
{
	int64_t sum = (int64_t)w->priority + w->boost;

	return (int32_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
}

/* ---- records ---- */

struct workload *workload_find(const struct core *c, struct span ns, struct span name);
/* The job's record, made (with a row to be written) when it has none; NULL when it cannot be
 * composed: the words are in reterr. `queue` is the LocalQueue's name. */
struct workload *workload_of_job(struct core *c, struct job *j, struct span queue,
				 struct err *reterr);
/* A job was read from the store: its Workload with it, in the state that its row says. */
void workload_restore_job(struct core *c, struct job *j);
/* One of no job becomes the job's, or is of no job again; its record, and what it holds, stay. */
void workload_take_job(struct core *c, struct workload *w, struct job *j);
void workload_lose_job(struct core *c, struct workload *w);
/* Out of everything, what it holds is given back. The row is left as it is. */
void workload_destroy(struct core *c, struct workload *w);

/* A Workload row was committed by somebody else, or read at start. */
void workload_observe(struct core *c, const struct store_object *o);
void workload_gone(struct core *c, struct span ns, struct span name);
/* Whether this change is one that the core itself made; remembers its revision. */
bool workload_is_own_change(struct core *c, const struct store_object *o);

/* Out of the engine, with what it holds: its job is being deleted. */
void workload_withdraw(struct core *c, struct workload *w);
/* Its job names no queue any more: record and row go. Only while it holds nothing. */
void workload_leave(struct core *c, struct workload *w);

/* ---- where it waits ---- */

/* Looks anew at whether anything keeps it out of the heap, and files it there or holds it; a job
 * hears of it. A stop policy, or spec.active, may take back what it holds. */
void workload_review(struct core *c, struct workload *w);
/* What it asks has changed: filed with the engine anew. Only while it holds nothing. */
void workload_recount(struct core *c, struct workload *w, const struct workload_digest *d);
/* Reason of QuotaReserved=False of one that waits to be tried: PendingEvaluation, and Pending
 * without the gate UnadmittedWorkloadsObservability. */
const char *workload_pending_reason(const struct core *c);
/* One sentence on why it is held; "" when it is not. */
void workload_wait_text(const struct core *c, const struct workload *w, struct buf *out);

static inline bool workload_holds_quota(const struct workload *w)
{
	return w->unit && kueue_workload_holds_quota(w->unit);
}
struct cluster_queue *workload_cluster_queue(const struct core *c, const struct workload *w);

/* Since when it waits, as Kueue counts it (QueuedWaitTime): since its creation, or since Requeued
 * became what it is. */
static inline usec workload_queued_since(const struct workload *w)
{
	return w->requeued_at ? w->requeued_at : w->created;
}

/* ---- time ---- */

void workload_timer(struct core *c, struct workload *w, usec when); /* keeps the earlier one */
void workload_timer_remove(struct core *c, struct workload *w);

/* ---- to be written ---- */

void workload_dirty(struct core *c, struct workload *w);
/* The same for one that gave quota back. */
void workload_freed(struct core *c, struct workload *w);
#define WORKLOAD_ADMISSION  "kueue-admission"
#define WORKLOAD_CONTROLLER "kueue-workload-controller"
void workload_event(struct core *c, struct workload *w, const char *type, const char *component,
		    const char *reason, const char *fmt, ...) PRINTF_LIKE(6, 7);
/* The same; nothing needs to be static but type and component. */
void workload_event_owned(struct core *c, struct workload *w, const char *type,
			  const char *component, const char *reason, const char *message);

#endif
