#include "core/kueue/evict.h"

#include "base/num.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/pods_ready.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/queue_meter.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/reclaimable.h"
#include "core/kueue/requeue.h"
#include "core/kueue/workload_restore.h"
#include "core/retention.h"
#include "quota-tree/kueue_message.h"

#include <inttypes.h>

/* ---- taking back ---- */

/* The job's copy is suspended where it is; one that is nowhere is free at once. */
static void stop_job(struct core *c, struct workload *w, const char *message)
{
	struct job *j = w->job;

	if (!j)
		return;
	job_queue_event(c, j, "Normal", "Stopped", "%s", message);
	if (!j->holds)
		evict_released(c, w);
	if (!dispatch_is_free(&j->dispatch))
		courier_feed(c, j, &(struct dispatch_event){EVENT_STOP});
}

/* What the rules of kueue_lifecycle.h look at. */
static struct kueue_life life_of(const struct core *c, const struct workload *w)
{
	const struct cluster_queue *q = workload_cluster_queue(c, w);

	return (struct kueue_life){
	    .inactive = w->inactive,
	    .admitted = w->unit && w->unit->state != KUEUE_RESERVING,
	    .evicted = !workload_holds_quota(w) || w->unit->state == KUEUE_EVICTED,
	    .local_stop = w->queue ? w->queue->stop : KUEUE_STOP_NONE,
	    .cluster_stop = q ? q->stop : KUEUE_STOP_NONE,
	    .admitted_at = w->admitted_at,
	    .max_execution = w->max_execution,
	    .past_execution = w->past_execution,
	    .unready_since = w->unready_since,
	    .was_ready = w->was_ready,
	    .requeues = w->requeues,
	    .requeue_at = w->requeue_at,
	};
}

/* With Admitted, which ends when its pods are gone. */
static void add_run(struct core *c, struct workload *w)
{
	if (w->admitted_at)
		w->past_execution =
		    num_add_sat(w->past_execution, (c->now - w->admitted_at) / USEC_PER_SEC);
}

static void reset_checks(struct core *c, struct workload *w)
{
	const struct cluster_queue *q = workload_cluster_queue(c, w);

	if (q && q->checks.len)
		workload_set_checks(c, w, NULL, 0);
}

static const char *const reasons[] = {
    "Preempted",
    "PodsReadyTimeout",
    "AdmissionCheck",
    "ClusterQueueStopped",
    "LocalQueueStopped",
    "NodeFailures",
    "ApplicationFailure",
    "Deactivated",
    "DeactivatedDueToRequeuingLimitExceeded",
    "DeactivatedDueToMaximumExecutionTimeExceeded",
    "DeactivatedDueToAdmissionCheck",
};

const char *evict_reason(struct span text)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (span_is(text, reasons[i]))
			return reasons[i];
	return NULL;
}

/* "DeactivatedDueTo<Cause>", as static text. */
static const char *reason_of(const struct eviction *e)
{
	char text[128];

	if (strcmp(e->reason, "Deactivated") != 0 || !e->cause[0])
		return e->reason;
	(void)snprintf(text, sizeof(text), "DeactivatedDueTo%s", e->cause);
	const char *known = evict_reason(span_of(text));
	return known ? known : e->reason;
}

static void tell_eviction(struct core *c, struct workload *w, const struct eviction *e,
			  const char *message)
{
	char reason[128];

	const char *full = reason_of(e);

	w->evicted_at = c->now;
	workload_set_condition(c, w, "Evicted", true, full, "%s", message);
	reset_checks(c, w);
	workload_count_eviction(c, w, e->reason, e->cause);
	queue_meter_evicted(c, w, e->reason, e->cause);
	(void)snprintf(reason, sizeof(reason), "EvictedDueTo%s", full);
	workload_event_owned(c, w, "Normal", WORKLOAD_CONTROLLER, reason, message);
	w->evicted_as = full;
	free(w->evicted_words);
	w->evicted_words = xstrdup(message);
}

static void set_order(struct core *c, struct workload *w, usec order)
{
	if (w->queue_order == order)
		return;
	w->queue_order = order;
	kueue_queues_set_queue_order(c->kueue->queues, w->unit, order);
}

void evict_workload(struct core *c, struct workload *w, const struct eviction *e,
		    const char *message)
{
	if (!workload_holds_quota(w) || w->unit->state == KUEUE_EVICTED)
		return;
	tell_eviction(c, w, e, message);
	/* Whole seconds, as they are stored. */
	set_order(c, w, e->to_back ? c->now / USEC_PER_SEC * USEC_PER_SEC : w->first_order);
	kueue_queues_evicted(c->kueue->queues, w->unit);
	stop_job(c, w, message);
}

static void add_path(const struct core *c, uint32_t node, struct buf *out)
{
	uint32_t parent = kueue_forest_parent(c->kueue->forest, node);

	if (parent != KUEUE_NONE)
		add_path(c, parent, out);
	buf_addf(out, "/%.*s", SPAN_ARGS(kueue_forest_name(c->kueue->forest, node)));
}

/* Kueue's events to both sides (pkg/scheduler/preemption/preemption.go, IssuePreemptions). */
static void tell_preemption(struct core *c, struct workload *w, struct workload *preemptor,
			    const char *message)
{
	struct span queue = kueue_forest_name(c->kueue->forest, w->unit->queue);
	char priorities[256];

	(void)snprintf(priorities, sizeof(priorities),
		       "preemptor effective priority: %d (base: %d, boost: %d); preemptee "
		       "effective priority: %d (base: %d, boost: %d)",
		       workload_priority(preemptor), preemptor->priority, preemptor->boost,
		       workload_priority(w), w->priority, w->boost);
	workload_event(c, w, "Normal", WORKLOAD_ADMISSION, "Preempted", "%s; %s", message,
		       priorities);
	workload_event(c, preemptor, "Normal", WORKLOAD_ADMISSION, "PreemptedWorkload",
		       "Preempted workload %s (UID: %s) in ClusterQueue %.*s; %s", w->key,
		       w->uid_text, SPAN_ARGS(queue), priorities);
}

void evict_preempted(struct core *c, struct workload *w, struct workload *preemptor,
		     enum kueue_preempt_reason why)
{
	static const struct eviction preempted = {.reason = "Preempted", .cause = ""};
	const char *reason = kueue_preempt_reason_to_string(why);
	auto_buf text = BUF_MAX(4096), from = BUF_MAX(1024), to = BUF_MAX(1024);

	/* Its pods are on their way out, or it had none and is back already: it was counted by
	 * several preemptors, and is evicted once. */
	if (w->evicted_at || !w->unit || w->unit->state != KUEUE_EVICTED)
		return;
	add_path(c, preemptor->unit->queue, &from);
	add_path(c, w->unit->queue, &to);
	buf_addf(&text,
		 "Preempted to accommodate a workload (UID: %s, JobUID: %s) due to %s; preemptor "
		 "path: %s; preemptee path: %s",
		 preemptor->uid_text, preemptor->job ? preemptor->job->uid_text : "UNKNOWN",
		 kueue_message_preemption(why), from.ptr, to.ptr);
	tell_eviction(c, w, &preempted, text.ptr);
	workload_set_condition(c, w, "Preempted", true, reason, "%s", text.ptr);
	queue_meter_preempts(c, preemptor, why);
	tell_preemption(c, w, preemptor, text.ptr);
	stop_job(c, w, text.ptr);
}

/* ---- carried out ---- */

static void take_requeue(struct core *c, struct workload *w, const struct kueue_loss_plan *p)
{
	w->past_execution = p->past_execution;
	if (w->requeues == p->requeues && w->requeue_at == p->requeue_at)
		return;
	w->requeues = p->requeues;
	w->requeue_at = p->requeue_at;
	workload_set_requeue(c, w);
}

/* `message`: the plan's own, where it has no names in it. */
static void carry_out(struct core *c, struct workload *w, const struct kueue_loss_plan *p,
		      const char *message)
{
	struct eviction e = {.reason = p->reason, .cause = p->cause, .to_back = p->to_back};

	if (p->loss == KUEUE_KEEPS)
		return;
	if (p->loss == KUEUE_UNRESERVED) {
		evict_released(c, w);
		return;
	}
	take_requeue(c, w, p);
	if (p->loss == KUEUE_DEACTIVATES) {
		w->inactive = true;
		workload_deactivate(c, w);
	}
	evict_workload(c, w, &e, message);
	if (p->loss == KUEUE_DEACTIVATES && w->job)
		retention_deactivated(c, w->job);
	workload_review(c, w);
}

void evict_deactivated(struct core *c, struct workload *w)
{
	static const char words[] = "The workload is deactivated";

	workload_set_condition(c, w, "Evicted", true, "Deactivated", "%s", words);
	workload_count_eviction(c, w, "Deactivated", "");
}

void evict_if_stopped(struct core *c, struct workload *w)
{
	struct kueue_life life = life_of(c, w);
	struct kueue_loss_plan p = kueue_lifecycle_stopped(&life);

	carry_out(c, w, &p, p.message);
}

/* The state in which the next check by name after `last` stands, or n. */
static size_t next_check(const struct kueue_check *checks, size_t n, enum kueue_check_state state,
			 struct span last)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (checks[i].state == state && (!last.len || span_cmp(last, checks[i].name) < 0) &&
		    (best == n || span_cmp(checks[i].name, checks[best].name) < 0))
			best = i;
	return best;
}

/* Kueue's list of them (buildAdmissionChecksMessage): by name, with what each said. */
static void add_checks(const struct kueue_check *checks, size_t n, enum kueue_check_state state,
		       struct buf *out)
{
	auto_buf list = BUF_MAX(STORE_MAX_OBJECT);
	struct span last = SPAN_NONE;
	size_t found = 0, i;

	while ((i = next_check(checks, n, state, last)) < n) {
		last = checks[i].name;
		buf_addf(&list, "%s\"%.*s\"", found++ ? "; " : "", SPAN_ARGS(last));
		if (checks[i].message.len)
			buf_addf(&list, " (%.*s)", SPAN_ARGS(checks[i].message));
	}
	buf_addf(out, "AdmissionCheck%s in %s state: %s", found > 1 ? "s" : "",
		 state == KUEUE_CHECK_REJECTED ? "Rejected" : "Retry", list.ptr ? list.ptr : "");
}

bool evict_by_checks(struct core *c, struct workload *w, const struct kueue_check *checks, size_t n)
{
	struct kueue_life life = life_of(c, w);
	struct kueue_loss_plan p = kueue_lifecycle_checked(&life, checks, n, c->now);
	auto_buf list = BUF_MAX(STORE_MAX_OBJECT), message = BUF_MAX(STORE_MAX_OBJECT);
	bool rejected = p.loss == KUEUE_DEACTIVATES;

	if (p.loss == KUEUE_KEEPS)
		return false;
	add_checks(checks, n, rejected ? KUEUE_CHECK_REJECTED : KUEUE_CHECK_RETRY, &list);
	buf_addf(&message, "%s%s",
		 rejected ? "The workload is deactivated due to " : "Evicted due to ",
		 list.ptr ? list.ptr : "");
	if (rejected)
		workload_event(c, w, "Warning", WORKLOAD_CONTROLLER, "AdmissionCheckRejected",
			       "Deactivated due to %s", list.ptr ? list.ptr : "");
	carry_out(c, w, &p, message.ptr ? message.ptr : p.message);
	return true;
}

void evict_by_conflict(struct core *c, struct workload *w, const char *words)
{
	const struct kueue_check rejected = {.state = KUEUE_CHECK_REJECTED};
	struct kueue_life life = life_of(c, w);
	struct kueue_loss_plan p = kueue_lifecycle_checked(&life, &rejected, 1, c->now);

	carry_out(c, w, &p, words);
}

/* ---- given back ---- */

static void tell_released(struct core *c, struct workload *w)
{
	const struct cluster_queue *q = workload_cluster_queue(c, w);
	/* Without the gate the checks, which begin again, are told of too. */
	bool checks = q && q->checks.len && !c->kueue->settings.observability;
	const char *words =
	    w->evicted_words ? w->evicted_words : "The job was taken back from its member";

	workload_set_condition(c, w, "QuotaReserved", false, workload_pending_reason(c), "%s",
			       words);
	workload_set_condition(c, w, "Admitted", false,
			       checks ? "NoReservationUnsatisfiedChecks" : "NoReservation", "%s",
			       checks ? "The workload has no reservation and not all checks ready"
				      : "The workload has no reservation");
	requeue_tell(c, w, words);
	free(w->evicted_words);
	w->evicted_words = NULL;
}

void evict_released(struct core *c, struct workload *w)
{
	struct kueue_queues *queues = c->kueue->queues;

	if (!workload_holds_quota(w))
		return;
	workload_uncount_usage(c, w);
	add_run(c, w);
	tell_released(c, w);
	pods_ready_begin(c, w);
	workload_set_admission(c, w, NULL);
	reset_checks(c, w);
	provisioning_check_drop(c, w);
	w->reserved_at = w->admitted_at = w->evicted_at = 0;
	w->told = NULL;
	w->answered = false;
	workload_drop_sets(w);
	if (w->unit->state != KUEUE_EVICTED)
		kueue_queues_evicted(queues, w->unit);
	kueue_queues_released(queues, w->unit);
	reclaimable_forget(c, w);
	w->released = w->prebuilt;
	workload_freed(c, w);
	c->pump_wanted = true;
	workload_review(c, w);
}

/* ---- time ---- */

static struct kueue_loss_plan overdue(const struct core *c, const struct workload *w)
{
	const struct kueue_settings *s = &c->kueue->settings;
	struct kueue_wait_for_pods_ready pods = {.enabled = s->wait_for_pods_ready,
						 .timeout = s->pods_ready_timeout,
						 .recovery_timeout = s->recovery_timeout,
						 .backoff_base = s->backoff_base,
						 .backoff_max = s->backoff_max,
						 .backoff_limit = s->backoff_limit,
						 .from_creation = s->requeue_by_creation};
	struct kueue_life life = life_of(c, w);

	return kueue_lifecycle_overdue(&life, &pods, c->now);
}

/* The timer is set to the next time that counts, which may be now. */
static bool is_overdue(struct core *c, struct workload *w, struct kueue_loss_plan *ret)
{
	*ret = overdue(c, w);
	if (ret->loss == KUEUE_KEEPS && ret->again_at != INT64_MAX)
		workload_timer(c, w, ret->again_at);
	return ret->loss != KUEUE_KEEPS;
}

/* Execution time, and pods that are not ready. */
static void check_time(struct core *c, struct workload *w)
{
	struct kueue_loss_plan p;
	auto_buf message = BUF_MAX(1024);

	if (!is_overdue(c, w, &p))
		return;
	if (strcmp(p.cause, "MaximumExecutionTimeExceeded") == 0)
		workload_event(c, w, "Warning", WORKLOAD_CONTROLLER, "MaximumExecutionTimeExceeded",
			       "The maximum execution time (%" PRId64 "s) exceeded",
			       w->max_execution);
	buf_addf(&message, p.message[0] ? "%s" : "Exceeded the PodsReady timeout %s",
		 p.message[0] ? p.message : w->key);
	carry_out(c, w, &p, message.ptr);
}

void evict_timer(struct core *c, struct workload *w)
{
	if (w->wait == WORKLOAD_BACKOFF) {
		if (w->requeue_at > c->now)
			workload_timer(c, w, w->requeue_at);
		else
			workload_review(c, w);
		return;
	}
	check_time(c, w);
}

void evict_expect(struct core *c, struct workload *w)
{
	struct kueue_loss_plan p;

	if (is_overdue(c, w, &p))
		workload_timer(c, w, c->now);
}
