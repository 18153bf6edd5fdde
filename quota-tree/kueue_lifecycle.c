/*
 * The rules of reference/kueue.md section 2.8, one due step at a time, in the order of Kueue's
 * workload reconciler.
 */
#include "quota-tree/kueue_lifecycle.h"
#include "base/num.h"
#include "quota-tree/kueue_plan.h"

#define SECOND ((int64_t)1000000)

struct kueue_wait_for_pods_ready kueue_wait_for_pods_ready_default(void)
{
	return (struct kueue_wait_for_pods_ready){
	    .enabled = true,
	    .timeout = 1800 * SECOND,
	    .recovery_timeout = 1800 * SECOND,
	    .backoff_base = 60,
	    .backoff_max = 3600,
	    .backoff_limit = -1,
	};
}

static bool is_true(const struct kueue_life *w, enum kueue_condition_type type)
{
	return w->conditions[type].status == KUEUE_TRUE;
}

static bool has_reservation(const struct kueue_life *w)
{
	return is_true(w, KUEUE_COND_QUOTA_RESERVED);
}

bool kueue_lifecycle_all_ready(const struct kueue_life *w)
{
	for (size_t i = 0; i < w->n_checks; i++) {
		if (w->checks[i].state != KUEUE_CHECK_READY)
			return false;
	}
	return true;
}

static const struct kueue_check *find_check(const struct kueue_life *w,
					    enum kueue_check_state state)
{
	for (size_t i = 0; i < w->n_checks; i++) {
		if (w->checks[i].state == state)
			return &w->checks[i];
	}
	return NULL;
}

int64_t kueue_lifecycle_backoff(int32_t base_seconds, int32_t max_seconds, int32_t n, uint64_t seed)
{
	int64_t wait = base_seconds * SECOND, most = max_seconds * SECOND;
	for (int32_t i = 1; i < n && wait < most; i++)
		wait = num_mul_sat(wait, 2);
	wait = num_min(wait, most);
	/* Up to 1/10000 more, so that what failed together does not come back together. */
	return wait + (int64_t)(seed % 1000) * (wait / 10000) / 1000;
}

int64_t kueue_lifecycle_queue_order(const struct kueue_life *w, bool from_creation)
{
	const struct kueue_condition *evicted = &w->conditions[KUEUE_COND_EVICTED];
	if (evicted->status != KUEUE_TRUE)
		return w->created;
	if (span_is(evicted->reason, "PodsReadyTimeout") && !from_creation)
		return evicted->since;
	return span_is(evicted->reason, "AdmissionCheck") ? evicted->since : w->created;
}

bool kueue_lifecycle_backs_off(const struct kueue_life *w, int64_t now)
{
	return w->conditions[KUEUE_COND_REQUEUED].status == KUEUE_FALSE ||
	       (w->requeue_at >= 0 && w->requeue_at > now);
}

/* The earliest wins: the plan is looked at again then. */
static void look_again(struct kueue_plan *plan, int64_t at)
{
	plan->again_at = num_min(plan->again_at, at);
}

/* ---- active and not ---- */

/* requeueAt only ever moves later: several components share it. */
static bool move_requeue_at(struct kueue_plan *plan, int64_t at)
{
	if (plan->requeue_at >= at)
		return false;
	plan->has_requeue_state = true;
	plan->requeue_at = at;
	plan->flags |= KUEUE_PLAN_REQUEUE;
	return true;
}

static void deactivated(const struct kueue_life *w, int64_t now, struct kueue_plan *plan)
{
	const struct kueue_condition *target = &w->conditions[KUEUE_COND_DEACTIVATION_TARGET];
	bool has_target = target->status == KUEUE_TRUE;
	const char *message = "The workload is deactivated", *cause = NULL;
	bool evicted = is_true(w, KUEUE_COND_EVICTED);
	if (evicted && !w->has_requeue_state)
		return;
	if (!evicted && has_target) {
		cause = kueue_plan_text(plan, "%.*s", SPAN_ARGS(target->reason));
		message =
		    kueue_plan_text(plan, "%s due to %.*s", message, SPAN_ARGS(target->message));
	}
	if (!evicted)
		kueue_plan_evict(w, now, "Deactivated", cause, message, plan);
	if (has_target)
		kueue_plan_set(w, plan, KUEUE_COND_DEACTIVATION_TARGET, KUEUE_ABSENT, "", "");
	if (w->has_requeue_state) {
		plan->flags |= KUEUE_PLAN_REQUEUE;
		plan->has_requeue_state = false;
		plan->requeue_count = 0;
		plan->requeue_at = -1;
	}
	plan->flags |= KUEUE_PLAN_HOLD;
}

static void requeued(const struct kueue_life *w, const char *reason, const char *message,
		     struct kueue_plan *plan)
{
	kueue_plan_set(w, plan, KUEUE_COND_REQUEUED, KUEUE_TRUE, reason, message);
	plan->flags |= KUEUE_PLAN_UNHOLD;
}

/* What lets one with Requeued=False back into its queue. */
static void try_requeue(const struct kueue_life *w, int64_t now, struct kueue_plan *plan)
{
	const struct kueue_condition *c = &w->conditions[KUEUE_COND_REQUEUED];
	bool waits = w->requeue_at >= 0;
	if (waits && w->requeue_at > now) {
		look_again(plan, w->requeue_at);
		return;
	}
	if (waits && !has_reservation(w)) {
		plan->flags |= KUEUE_PLAN_REQUEUE;
		plan->requeue_at = -1;
		if (c->status != KUEUE_FALSE)
			plan->flags |= KUEUE_PLAN_UNHOLD;
	}
	if (c->status != KUEUE_FALSE || has_reservation(w))
		return;
	if (span_starts(c->reason, SPAN("Deactivated")))
		requeued(w, "Reactivated", "The workload was reactivated", plan);
	else if (span_is(c->reason, "PodsReadyTimeout") || span_is(c->reason, "AdmissionCheck"))
		requeued(w, "BackoffFinished", "The workload backoff was finished", plan);
	else if (span_is(c->reason, "LocalQueueStopped") && w->local_exists &&
		 w->local_stop == KUEUE_STOP_NONE)
		requeued(w, "LocalQueueRestarted",
			 "The LocalQueue was restarted after being stopped", plan);
	else if (span_is(c->reason, "ClusterQueueStopped") && w->cluster_exists &&
		 w->cluster_stop == KUEUE_STOP_NONE)
		requeued(w, "ClusterQueueRestarted",
			 "The ClusterQueue was restarted after being stopped", plan);
}

/* ---- pending: why its queue cannot take it ---- */

static void set_unreserved(const struct kueue_life *w, const char *reason, const char *message,
			   struct kueue_plan *plan)
{
	kueue_plan_set(w, plan, KUEUE_COND_QUOTA_RESERVED, KUEUE_FALSE,
		       w->observability ? reason : "Inadmissible", message);
}

static void explain_pending(const struct kueue_life *w, struct kueue_plan *plan)
{
	if (!w->local_exists)
		set_unreserved(w, "Misconfigured",
			       kueue_plan_text(plan, "LocalQueue %.*s doesn't exist",
					       SPAN_ARGS(w->queue_name)),
			       plan);
	else if (w->local_stop != KUEUE_STOP_NONE)
		set_unreserved(
		    w, "Suspended",
		    kueue_plan_text(plan, "LocalQueue %.*s is inactive", SPAN_ARGS(w->queue_name)),
		    plan);
	else if (!w->cluster_exists)
		set_unreserved(w, "Misconfigured",
			       kueue_plan_text(plan, "ClusterQueue %.*s doesn't exist",
					       SPAN_ARGS(w->cluster_queue)),
			       plan);
	else if (!w->cluster_active)
		set_unreserved(w, "Suspended",
			       kueue_plan_text(plan, "ClusterQueue %.*s is inactive",
					       SPAN_ARGS(w->cluster_queue)),
			       plan);
}

static void try_admit(const struct kueue_life *w, int64_t now, struct kueue_plan *plan)
{
	if (is_true(w, KUEUE_COND_ADMITTED) || !has_reservation(w) ||
	    is_true(w, KUEUE_COND_EVICTED) || !kueue_plan_sync_admitted(w, true, now, plan))
		return;
	long long waited =
	    (now - w->conditions[KUEUE_COND_QUOTA_RESERVED].since + SECOND / 2) / SECOND;
	kueue_plan_event(plan, false, "Admitted",
			 kueue_plan_text(plan,
					 "Admitted by ClusterQueue %.*s, wait time since "
					 "reservation was %llds",
					 SPAN_ARGS(w->cluster_queue), waited));
}

/* ---- holding quota: why it may not go on ---- */

static const char *rejected_names(const struct kueue_life *w, struct kueue_plan *plan)
{
	char names[KUEUE_CHANGE_TEXT] = "";
	size_t len = 0;
	for (size_t i = 0; i < w->n_checks && len < sizeof(names); i++) {
		if (w->checks[i].state != KUEUE_CHECK_REJECTED)
			continue;
		int n = snprintf(names + len, sizeof(names) - len, "%s%.*s", len ? "," : "",
				 SPAN_ARGS(w->checks[i].name));
		len += n > 0 ? (size_t)n : 0;
	}
	return kueue_plan_text(plan, "Admission check(s): %s, were rejected", names);
}

/* The latest lastTransitionTime + requeueAfterSeconds of the checks that say Retry. */
static int64_t retry_time(const struct kueue_life *w)
{
	int64_t latest = -1;
	for (size_t i = 0; i < w->n_checks; i++) {
		const struct kueue_check *c = &w->checks[i];
		if (c->state == KUEUE_CHECK_RETRY && c->requeue_after >= 0)
			latest = num_max(latest, num_add_sat(c->since, c->requeue_after));
	}
	return latest;
}

static bool evict_by_checks(const struct kueue_life *w, int64_t now, struct kueue_plan *plan)
{
	const struct kueue_check *rejected = find_check(w, KUEUE_CHECK_REJECTED);
	if (is_true(w, KUEUE_COND_EVICTED) || (!rejected && !find_check(w, KUEUE_CHECK_RETRY)))
		return false;
	if (rejected) {
		kueue_plan_set(w, plan, KUEUE_COND_DEACTIVATION_TARGET, KUEUE_TRUE,
			       "AdmissionCheck", rejected_names(w, plan));
		kueue_plan_event(plan, true, "AdmissionCheckRejected",
				 kueue_plan_text(plan,
						 "Deactivating workload because AdmissionCheck "
						 "for %.*s was Rejected: %.*s",
						 SPAN_ARGS(rejected->name),
						 SPAN_ARGS(rejected->message)));
		return true;
	}
	int64_t at = retry_time(w);
	if (at > now)
		move_requeue_at(plan, at);
	kueue_plan_evict(w, now, "AdmissionCheck", NULL, "At least one admission check is false",
			 plan);
	return true;
}

static void lose_reservation(const struct kueue_life *w, const char *reason, const char *message,
			     int64_t now, struct kueue_plan *plan)
{
	set_unreserved(w, reason, message, plan);
	plan->flags |= KUEUE_PLAN_CLEAR_ADMISSION;
	kueue_plan_sync_admitted(w, false, now, plan);
}

/* A queue that stops: HoldAndDrain evicts the admitted; whoever only holds quota loses it. */
static bool evict_by_stop(const struct kueue_life *w, bool local, int64_t now,
			  struct kueue_plan *plan)
{
	const char *kind = local ? "LocalQueue" : "ClusterQueue";
	struct span name = local ? w->queue_name : w->cluster_queue;
	enum kueue_stop stop = local ? w->local_stop : w->cluster_stop;
	bool there = local ? w->local_exists && !w->local_terminating
			   : w->cluster_exists && !w->cluster_terminating;
	if (is_true(w, KUEUE_COND_ADMITTED)) {
		if (stop != KUEUE_STOP_HOLD_AND_DRAIN || is_true(w, KUEUE_COND_EVICTED))
			return false;
		kueue_plan_evict(w, now, local ? "LocalQueueStopped" : "ClusterQueueStopped", NULL,
				 kueue_plan_text(plan, "The %s is stopped", kind), plan);
		return true;
	}
	if (is_true(w, KUEUE_COND_EVICTED) || (there && stop == KUEUE_STOP_NONE))
		return false;
	lose_reservation(w, there ? "Suspended" : "Misconfigured",
			 kueue_plan_text(plan, "%s %.*s is %s", kind, SPAN_ARGS(name),
					 there ? "stopped" : "terminating or missing"),
			 now, plan);
	return true;
}

/* How long its pods may still take to be ready; INT64_MAX: nobody waits for them. */
static int64_t not_ready_until(const struct kueue_life *w,
			       const struct kueue_wait_for_pods_ready *pods, const char **ret_cause)
{
	const struct kueue_condition *c = &w->conditions[KUEUE_COND_PODS_READY];
	if (!pods->enabled || !w->active || is_true(w, KUEUE_COND_EVICTED) ||
	    !is_true(w, KUEUE_COND_ADMITTED) || c->status == KUEUE_TRUE)
		return INT64_MAX;
	if (c->status == KUEUE_ABSENT || span_is(c->reason, "WaitForStart") ||
	    span_is(c->reason, "PodsReady")) {
		*ret_cause = "WaitForStart";
		return num_add_sat(w->conditions[KUEUE_COND_ADMITTED].since, pods->timeout);
	}
	if (!span_is(c->reason, "WaitForRecovery") || pods->recovery_timeout < 0)
		return INT64_MAX;
	*ret_cause = "WaitForRecovery";
	return num_add_sat(c->since, pods->recovery_timeout);
}

static bool evict_not_ready(const struct kueue_life *w,
			    const struct kueue_wait_for_pods_ready *pods, uint64_t seed,
			    int64_t now, struct kueue_plan *plan)
{
	const char *cause = "";
	int64_t until = not_ready_until(w, pods, &cause);
	if (until > now) {
		look_again(plan, until);
		return false;
	}
	int32_t n = w->requeue_count < INT32_MAX ? w->requeue_count + 1 : INT32_MAX;
	if (pods->backoff_limit >= 0 && n > pods->backoff_limit)
		return kueue_plan_set(w, plan, KUEUE_COND_DEACTIVATION_TARGET, KUEUE_TRUE,
				      "RequeuingLimitExceeded",
				      "exceeding the maximum number of re-queuing retries");
	plan->flags |= KUEUE_PLAN_REQUEUE;
	plan->has_requeue_state = true;
	plan->requeue_count = n;
	move_requeue_at(plan,
			num_add_sat(now, kueue_lifecycle_backoff(pods->backoff_base,
								 pods->backoff_max, n, seed)));
	kueue_plan_evict(
	    w, now, "PodsReadyTimeout", cause,
	    kueue_plan_text(plan, "Exceeded the PodsReady timeout %.*s", SPAN_ARGS(w->name)), plan);
	return true;
}

static bool stop_after_max_execution(const struct kueue_life *w, int64_t now,
				     struct kueue_plan *plan)
{
	if (!is_true(w, KUEUE_COND_ADMITTED) || w->max_execution < 0)
		return false;
	int64_t past = w->past_execution < 0 ? 0 : w->past_execution;
	int64_t until = num_add_sat(w->conditions[KUEUE_COND_ADMITTED].since,
				    num_mul_sat(w->max_execution - past, SECOND));
	if (until > now) {
		look_again(plan, until);
		return false;
	}
	if (is_true(w, KUEUE_COND_DEACTIVATION_TARGET))
		return false;
	kueue_plan_set(w, plan, KUEUE_COND_DEACTIVATION_TARGET, KUEUE_TRUE,
		       "MaximumExecutionTimeExceeded", "exceeding the maximum execution time");
	plan->flags |= KUEUE_PLAN_EXECUTION;
	plan->past_execution = -1;
	kueue_plan_event(
	    plan, true, "MaximumExecutionTimeExceeded",
	    kueue_plan_text(plan, "The maximum execution time (%ds) exceeded", w->max_execution));
	return true;
}

/* ---- steps ---- */

static bool changes_something(const struct kueue_plan *plan)
{
	return plan->flags || plan->n_changes;
}

bool kueue_lifecycle_step(const struct kueue_life *w, const struct kueue_wait_for_pods_ready *pods,
			  uint64_t jitter_seed, int64_t now, struct kueue_plan *plan)
{
	kueue_plan_init(w, plan);
	if (is_true(w, KUEUE_COND_FINISHED))
		return false;
	if (w->active && is_true(w, KUEUE_COND_DEACTIVATION_TARGET)) {
		plan->flags |= KUEUE_PLAN_DEACTIVATE;
		return true;
	}
	if (w->active)
		try_requeue(w, now, plan);
	else
		deactivated(w, now, plan);
	if (changes_something(plan))
		return true;
	if (!has_reservation(w)) {
		explain_pending(w, plan);
		return changes_something(plan);
	}
	/* Before it is admitted: a check may ask for eviction in the same breath. */
	if (evict_by_checks(w, now, plan))
		return changes_something(plan);
	try_admit(w, now, plan);
	if (changes_something(plan))
		return true;
	if (evict_by_stop(w, true, now, plan) || evict_by_stop(w, false, now, plan) ||
	    evict_not_ready(w, pods, jitter_seed, now, plan) ||
	    stop_after_max_execution(w, now, plan))
		return changes_something(plan);
	return false;
}

/* ---- steps that somebody else decided ---- */

/* A condition of the last round of its life that a new reservation ends. */
static void end_condition(const struct kueue_life *w, enum kueue_condition_type type,
			  struct kueue_plan *plan)
{
	const struct kueue_condition *c = &w->conditions[type];
	if (c->status != KUEUE_TRUE)
		return;
	kueue_plan_set(w, plan, type, KUEUE_FALSE, "QuotaReserved",
		       kueue_plan_text(plan, "Previously: %.*s", SPAN_ARGS(c->message)));
}

void kueue_lifecycle_reserved(const struct kueue_life *w, int64_t now, struct kueue_plan *plan)
{
	kueue_plan_init(w, plan);
	kueue_plan_set(w, plan, KUEUE_COND_QUOTA_RESERVED, KUEUE_TRUE, "QuotaReserved",
		       kueue_plan_text(plan, "Quota reserved in ClusterQueue %.*s",
				       SPAN_ARGS(w->cluster_queue)));
	end_condition(w, KUEUE_COND_EVICTED, plan);
	end_condition(w, KUEUE_COND_PREEMPTED, plan);
	const struct kueue_condition *requeued_at = &w->conditions[KUEUE_COND_REQUEUED];
	int64_t queued = requeued_at->status != KUEUE_ABSENT ? requeued_at->since : w->created;
	long long waited = (now - queued + SECOND / 2) / SECOND;
	kueue_plan_event(plan, false, "QuotaReserved",
			 kueue_plan_text(plan,
					 "Quota reserved in ClusterQueue %.*s, wait time since "
					 "queued was %llds",
					 SPAN_ARGS(w->cluster_queue), waited));
	if (kueue_plan_sync_admitted(w, true, now, plan))
		kueue_plan_event(plan, false, "Admitted",
				 kueue_plan_text(plan,
						 "Admitted by ClusterQueue %.*s, wait time since "
						 "reservation was 0s",
						 SPAN_ARGS(w->cluster_queue)));
}

void kueue_lifecycle_unreserved(const struct kueue_life *w, const char *reason, const char *message,
				int64_t now, struct kueue_plan *plan)
{
	kueue_plan_init(w, plan);
	const char *as = w->observability ? reason : "Pending";
	bool changed = kueue_plan_set(w, plan, KUEUE_COND_QUOTA_RESERVED, KUEUE_FALSE, as, message);
	if (w->has_admission)
		plan->flags |= KUEUE_PLAN_CLEAR_ADMISSION;
	kueue_plan_sync_admitted(w, false, now, plan);
	if (changed)
		kueue_plan_event(plan, true, as, message);
}

void kueue_lifecycle_preempted(const struct kueue_life *w, const char *reason, const char *message,
			       int64_t now, struct kueue_plan *plan)
{
	kueue_plan_init(w, plan);
	kueue_plan_evict(w, now, "Preempted", NULL, message, plan);
	kueue_plan_set(w, plan, KUEUE_COND_PREEMPTED, KUEUE_TRUE, reason, message);
	kueue_plan_event(plan, false, "Preempted", message);
}

void kueue_lifecycle_evict(const struct kueue_life *w, const char *reason, const char *message,
			   int64_t now, struct kueue_plan *plan)
{
	kueue_plan_init(w, plan);
	kueue_plan_evict(w, now, reason, NULL, message, plan);
}

void kueue_lifecycle_released(const struct kueue_life *w, int64_t now, struct kueue_plan *plan)
{
	const struct kueue_condition *evicted = &w->conditions[KUEUE_COND_EVICTED];
	kueue_plan_init(w, plan);
	const char *reason = kueue_plan_text(plan, "%.*s", SPAN_ARGS(evicted->reason));
	const char *message = kueue_plan_text(plan, "%.*s", SPAN_ARGS(evicted->message));
	bool at_once =
	    span_is(evicted->reason, "Preempted") || span_is(evicted->reason, "NodeFailures");
	kueue_plan_set(w, plan, KUEUE_COND_REQUEUED, at_once ? KUEUE_TRUE : KUEUE_FALSE, reason,
		       message);
	kueue_plan_set(w, plan, KUEUE_COND_QUOTA_RESERVED, KUEUE_FALSE,
		       w->observability ? "PendingEvaluation" : "Pending", message);
	plan->flags |= KUEUE_PLAN_CLEAR_ADMISSION;
	kueue_plan_sync_admitted(w, false, now, plan);
	if (!at_once || (w->requeue_at >= 0 && w->requeue_at > now))
		plan->flags |= KUEUE_PLAN_HOLD;
}

void kueue_lifecycle_finished(const struct kueue_life *w, const char *reason, const char *message,
			      int64_t now, struct kueue_plan *plan)
{
	(void)now;
	kueue_plan_init(w, plan);
	kueue_plan_set(w, plan, KUEUE_COND_FINISHED, KUEUE_TRUE, reason, message);
}
