#include "quota-tree/kueue_plan.h"
#include <stdarg.h>

#define SECOND 1000000

static const char *const condition_names[KUEUE_COND_MAX] = {
    [KUEUE_COND_QUOTA_RESERVED] = "QuotaReserved",
    [KUEUE_COND_ADMITTED] = "Admitted",
    [KUEUE_COND_EVICTED] = "Evicted",
    [KUEUE_COND_PREEMPTED] = "Preempted",
    [KUEUE_COND_REQUEUED] = "Requeued",
    [KUEUE_COND_PODS_READY] = "PodsReady",
    [KUEUE_COND_FINISHED] = "Finished",
    [KUEUE_COND_DEACTIVATION_TARGET] = "DeactivationTarget",
};

const char *kueue_condition_to_string(enum kueue_condition_type type)
{
	return type >= 0 && type < KUEUE_COND_MAX ? condition_names[type] : "";
}

const char *kueue_check_state_to_string(enum kueue_check_state state)
{
	static const char *const names[] = {"Pending", "Ready", "Retry", "Rejected"};
	return (size_t)state < ARRAY_LEN(names) ? names[state] : "";
}

void kueue_plan_init(const struct kueue_life *w, struct kueue_plan *plan)
{
	plan->flags = 0;
	plan->n_changes = plan->n_events = plan->n_text = 0;
	plan->n_checks = w->n_checks;
	for (size_t i = 0; i < w->n_checks; i++)
		plan->checks[i] = w->checks[i];
	plan->has_requeue_state = w->has_requeue_state;
	plan->requeue_count = w->requeue_count;
	plan->requeue_at = w->requeue_at;
	plan->past_execution = w->past_execution;
	plan->evicted_reason = plan->evicted_cause = "";
	plan->again_at = INT64_MAX;
}

const char *kueue_plan_text(struct kueue_plan *plan, const char *fmt, ...)
{
	char *at = plan->text + plan->n_text;
	size_t room = sizeof(plan->text) - plan->n_text;
	va_list args;
	if (room <= 1)
		return "";
	va_start(args, fmt);
	int n = vsnprintf(at, room, fmt, args);
	va_end(args);
	if (n < 0)
		return "";
	plan->n_text += (size_t)n < room ? (size_t)n + 1 : room;
	return at;
}

bool kueue_plan_set(const struct kueue_life *w, struct kueue_plan *plan,
		    enum kueue_condition_type type, enum kueue_status status, const char *reason,
		    const char *message)
{
	const struct kueue_condition *was = &w->conditions[type];
	if (was->status == status && (status == KUEUE_ABSENT || (span_is(was->reason, reason) &&
								 span_is(was->message, message))))
		return false;
	plan->changes[plan->n_changes++] = (struct kueue_change){type, status, reason, message};
	return true;
}

void kueue_plan_event(struct kueue_plan *plan, bool warning, const char *reason,
		      const char *message)
{
	plan->events[plan->n_events++] = (struct kueue_event){warning, reason, message};
}

/* resetChecksOnEviction */
static void reset_checks(struct kueue_plan *plan, int64_t now)
{
	for (size_t i = 0; i < plan->n_checks; i++) {
		struct kueue_check *c = &plan->checks[i];
		if (c->state == KUEUE_CHECK_PENDING)
			continue;
		const char *message =
		    kueue_plan_text(plan, "Reset to Pending after eviction. Previously: %s",
				    kueue_check_state_to_string(c->state));
		c->retry_count = c->state == KUEUE_CHECK_RETRY ? c->retry_count + 1 : 0;
		c->state = KUEUE_CHECK_PENDING;
		c->message = span_of(message);
		c->since = now;
		plan->flags |= KUEUE_PLAN_CHECKS;
	}
}

void kueue_plan_evict(const struct kueue_life *w, int64_t now, const char *reason,
		      const char *cause, const char *message, struct kueue_plan *plan)
{
	const char *full = reason;
	if (cause && strcmp(reason, "Deactivated") == 0)
		full = kueue_plan_text(plan, "%sDueTo%s", reason, cause);
	kueue_plan_set(w, plan, KUEUE_COND_EVICTED, KUEUE_TRUE, full, message);
	reset_checks(plan, now);
	plan->flags |= KUEUE_PLAN_COUNT_EVICTION;
	plan->evicted_reason = reason;
	plan->evicted_cause = cause ? cause : "";
	if (!w->has_admission)
		return;
	plan->flags |= KUEUE_PLAN_EVICT;
	kueue_plan_event(plan, false, kueue_plan_text(plan, "EvictedDueTo%s", full), message);
}

bool kueue_plan_sync_admitted(const struct kueue_life *w, bool reserved, int64_t now,
			      struct kueue_plan *plan)
{
	const struct kueue_condition *was = &w->conditions[KUEUE_COND_ADMITTED];
	bool admitted = was->status == KUEUE_TRUE, ready = kueue_lifecycle_all_ready(w);
	if (admitted == (reserved && ready && !w->topology_pending))
		return false;
	if (!admitted)
		return kueue_plan_set(w, plan, KUEUE_COND_ADMITTED, KUEUE_TRUE, "Admitted",
				      "The workload is admitted");
	const char *reason = "PendingDelayedTopologyRequests";
	const char *message = "There are pending delayed topology requests";
	if (!reserved && !ready) {
		reason = w->observability ? "NoReservation" : "NoReservationUnsatisfiedChecks";
		message = "The workload has no reservation and not all checks ready";
	} else if (!reserved) {
		reason = "NoReservation";
		message = "The workload has no reservation";
	} else if (!ready) {
		reason = w->observability ? "UnsatisfiedAdmissionChecks" : "UnsatisfiedChecks";
		message = "The workload has not all checks ready";
	}
	/* Whole seconds, as they are stored. */
	int64_t ran = (now - was->since) / SECOND;
	plan->past_execution = (w->past_execution < 0 ? 0 : w->past_execution) + ran;
	plan->flags |= KUEUE_PLAN_EXECUTION;
	return kueue_plan_set(w, plan, KUEUE_COND_ADMITTED, KUEUE_FALSE, reason, message);
}
