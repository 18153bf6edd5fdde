#include "core/kueue/evict.h"

#include "base/num.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/ready.h"
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

static void note_run(struct core *c, struct workload *w)
{
	if (w->admitted_at)
		w->past_execution =
		    num_add_sat(w->past_execution, (c->now - w->admitted_at) / USEC_PER_SEC);
	w->evicted_at = c->now;
}

static void tell_eviction(struct core *c, struct workload *w, const struct eviction *e,
			  const char *message)
{
	char reason[128];

	workload_set_condition(c, w, "Evicted", true, e->reason, "%s", message);
	workload_count_eviction(c, w, e->reason, e->cause);
	(void)snprintf(reason, sizeof(reason), "EvictedDueTo%s", e->reason);
	workload_event_owned(c, w, "Normal", WORKLOAD_CONTROLLER, reason, message);
}

void evict_workload(struct core *c, struct workload *w, const struct eviction *e,
		    const char *message)
{
	if (!workload_holds_quota(w) || w->unit->state == KUEUE_EVICTED)
		return;
	note_run(c, w);
	tell_eviction(c, w, e, message);
	w->requeued_as = e->requeued ? e->requeued : e->reason;
	w->requeued_false = e->holds_back;
	workload_set_condition(c, w, "Requeued", !e->holds_back, w->requeued_as, "%s", message);
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

void evict_preempted(struct core *c, struct workload *w, const struct workload *preemptor,
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
	note_run(c, w);
	tell_eviction(c, w, &preempted, text.ptr);
	workload_set_condition(c, w, "Preempted", true, reason, "%s", text.ptr);
	workload_event(c, w, "Normal", WORKLOAD_ADMISSION, "Preempted", "%s", text.ptr);
	w->requeued_as = "Preempted";
	stop_job(c, w, text.ptr);
}

void evict_if_stopped(struct core *c, struct workload *w)
{
	const struct cluster_queue *q = workload_cluster_queue(c, w);
	static const struct eviction inactive = {.reason = "Deactivated", .cause = ""};
	static const struct eviction cluster = {
	    .reason = "ClusterQueueStopped", .cause = "", .holds_back = true};
	static const struct eviction local = {
	    .reason = "LocalQueueStopped", .cause = "", .holds_back = true};
	enum kueue_stop local_stop = w->queue ? w->queue->stop : KUEUE_STOP_NONE;
	bool reserving = w->unit->state == KUEUE_RESERVING;

	if (w->inactive)
		evict_workload(c, w, &inactive, "The workload is deactivated");
	else if (q && (q->stop == KUEUE_STOP_HOLD_AND_DRAIN ||
		       (q->stop == KUEUE_STOP_HOLD && reserving)))
		evict_workload(c, w, &cluster, "The ClusterQueue is stopped");
	else if (local_stop == KUEUE_STOP_HOLD_AND_DRAIN ||
		 (local_stop == KUEUE_STOP_HOLD && reserving))
		evict_workload(c, w, &local, "The LocalQueue is stopped");
}

void evict_deactivate(struct core *c, struct workload *w, const char *cause, const char *message)
{
	static const struct {
		const char *cause, *reason;
	} reasons[] = {
	    {"RequeuingLimitExceeded", "DeactivatedDueToRequeuingLimitExceeded"},
	    {"MaximumExecutionTimeExceeded", "DeactivatedDueToMaximumExecutionTimeExceeded"},
	    {"AdmissionCheck", "DeactivatedDueToAdmissionCheck"},
	};
	struct eviction e = {.reason = "Deactivated", .cause = cause};

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (strcmp(reasons[i].cause, cause) == 0)
			e.reason = reasons[i].reason;
	w->inactive = true;
	workload_deactivate(c, w);
	evict_workload(c, w, &e, message);
	if (w->job)
		retention_deactivated(c, w->job);
	workload_review(c, w);
}

void evict_back_off(struct core *c, struct workload *w, const struct eviction *e, usec at_least,
		    const char *message)
{
	const struct kueue_settings *s = &c->kueue->settings;
	usec wait = s->backoff_base;

	if (s->backoff_limit >= 0 && w->requeues >= s->backoff_limit) {
		evict_deactivate(c, w, "RequeuingLimitExceeded",
				 "exceeding the maximum number of re-queuing retries");
		return;
	}
	for (int32_t i = 0; i < w->requeues && wait < s->backoff_max; i++)
		wait *= 2;
	w->requeues++;
	/* Several components share it: it only ever moves later. */
	w->requeue_at =
	    num_max(w->requeue_at, c->now + num_max(at_least, num_min(wait, s->backoff_max)));
	workload_set_requeue(c, w);
	if (!s->requeue_by_creation) {
		w->queue_order = c->now;
		kueue_queues_set_queue_order(c->kueue->queues, w->unit, c->now);
	}
	evict_workload(c, w, e, message);
	workload_review(c, w);
}

/* ---- given back ---- */

static void reset_checks(struct core *c, struct workload *w)
{
	const struct cluster_queue *q = workload_cluster_queue(c, w);

	if (q && q->checks.len)
		workload_set_checks(c, w, NULL, 0);
}

void evict_released(struct core *c, struct workload *w)
{
	struct kueue_queues *queues = c->kueue->queues;

	if (!workload_holds_quota(w))
		return;
	workload_uncount_usage(c, w);
	workload_set_condition(c, w, "QuotaReserved", false, "Pending", "%s",
			       w->evicted_at ? "The workload was evicted"
					     : "The job was taken back from its member");
	workload_set_condition(c, w, "Admitted", false, "NoReservation",
			       "The workload has no reservation");
	workload_set_admission(c, w, NULL);
	reset_checks(c, w);
	if (w->requeued_as && !w->requeued_false && !w->inactive)
		workload_set_condition(c, w, "Requeued", true, w->requeued_as, "%s",
				       "The workload is requeued");
	provisioning_check_drop(c, w);
	w->reserved_at = w->admitted_at = w->evicted_at = 0;
	if (!w->requeued_false)
		w->requeued_as = NULL;
	w->told = NULL;
	workload_drop_sets(w);
	if (w->unit->state != KUEUE_EVICTED)
		kueue_queues_evicted(queues, w->unit);
	kueue_queues_released(queues, w->unit);
	workload_freed(c, w);
	c->pump_wanted = true;
	workload_review(c, w);
}

void evict_finished(struct core *c, struct workload *w, bool succeeded)
{
	workload_set_condition(c, w, "Finished", true, succeeded ? "Succeeded" : "Failed", "%s",
			       succeeded ? "Job finished successfully" : "Job failed");
	if (w->job)
		job_queue_event(c, w->job, "Normal", "FinishedWorkload",
				"Workload '%s' is declared finished", w->key);
	workload_timer_remove(c, w);
	provisioning_check_drop(c, w);
	workload_freed(c, w);
	if (!w->unit)
		return;
	workload_uncount_usage(c, w);
	kueue_queues_remove(c->kueue->queues, w->unit);
	w->unit = NULL;
	c->pump_wanted = true;
}

/* ---- time ---- */

static void check_execution(struct core *c, struct workload *w)
{
	usec until;

	if (!w->admitted_at || !w->max_execution || w->evicted_at)
		return;
	until = w->admitted_at + (w->max_execution - w->past_execution) * USEC_PER_SEC;
	if (until > c->now) {
		workload_timer(c, w, until);
		return;
	}
	workload_event(c, w, "Warning", WORKLOAD_CONTROLLER, "MaximumExecutionTimeExceeded",
		       "The maximum execution time (%" PRId64 "s) exceeded", w->max_execution);
	evict_deactivate(c, w, "MaximumExecutionTimeExceeded",
			 "exceeding the maximum execution time");
}

static void check_ready(struct core *c, struct workload *w)
{
	static const struct eviction timeout = {.reason = "PodsReadyTimeout", .cause = ""};
	const struct kueue_settings *s = &c->kueue->settings;
	char message[256];
	bool recovers = w->was_ready && s->recovery_timeout >= 0;
	usec limit = recovers ? s->recovery_timeout : s->pods_ready_timeout;
	usec until = w->unready_since + limit;

	if (!s->wait_for_pods_ready || !w->unready_since || w->evicted_at ||
	    (recovers && limit == 0))
		return;
	if (until > c->now) {
		workload_timer(c, w, until);
		return;
	}
	(void)snprintf(message, sizeof(message), "Exceeded the PodsReady timeout %s", w->key);
	evict_back_off(c, w, &timeout, 0, message);
}

void evict_timer(struct core *c, struct workload *w)
{
	if (w->wait == WORKLOAD_BACKOFF) {
		if (w->requeue_at > c->now) {
			workload_timer(c, w, w->requeue_at);
			return;
		}
		workload_set_condition(c, w, "Requeued", true, "BackoffFinished",
				       "The workload backoff was finished");
		workload_review(c, w);
		return;
	}
	if (workload_holds_quota(w))
		check_execution(c, w);
	if (workload_holds_quota(w))
		check_ready(c, w);
}

void evict_pods_ready(struct core *c, struct workload *w, bool ready)
{
	if (!c->kueue->settings.wait_for_pods_ready || !w->admitted_at || w->evicted_at ||
	    ready == !w->unready_since)
		return;
	w->unready_since = ready ? 0 : c->now;
	if (ready)
		workload_set_condition(c, w, "PodsReady", true,
				       w->was_ready ? "Recovered" : "Started",
				       "All pods were ready or succeeded since the workload "
				       "admission");
	else
		workload_set_condition(c, w, "PodsReady", false,
				       w->was_ready ? "WaitForRecovery" : "WaitForStart",
				       "Not all pods are ready or succeeded");
	w->was_ready = w->was_ready || ready;
	ready_review(c, w);
	check_ready(c, w);
}

void evict_count_pods(struct core *c, struct workload *w)
{
	int64_t need = 0;

	for (size_t i = 0; i < w->n_sets; i++)
		need += w->sets[i].count;
	if (w->job && need > 0)
		evict_pods_ready(c, w, w->job->ready_pods >= need);
}
