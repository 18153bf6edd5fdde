#include "quota-tree/kueue_lifecycle.h"
#include "base/num.h"

#define SECOND ((int64_t)1000000)

static struct kueue_loss_plan keep(const struct kueue_life *w)
{
	return (struct kueue_loss_plan){.reason = "",
					.cause = "",
					.message = "",
					.requeues = w->requeues,
					.requeue_at = w->requeue_at,
					.past_execution = w->past_execution,
					.again_at = INT64_MAX};
}

static struct kueue_loss_plan evict(const struct kueue_life *w, const char *reason,
				    const char *cause, const char *message)
{
	struct kueue_loss_plan p = keep(w);

	p.loss = KUEUE_EVICTS;
	p.reason = reason;
	p.cause = cause;
	p.message = message;
	return p;
}

/* Who is active again starts with a clean requeueState. */
static struct kueue_loss_plan deactivate(const struct kueue_life *w, const char *cause,
					 const char *message)
{
	struct kueue_loss_plan p = evict(w, "Deactivated", cause, message);

	p.loss = KUEUE_DEACTIVATES;
	p.requeues = 0;
	p.requeue_at = 0;
	return p;
}

/* ---- stopped ---- */

static struct kueue_loss_plan stop(const struct kueue_life *w, const char *evicted,
				   const char *message, enum kueue_stop how)
{
	struct kueue_loss_plan p = keep(w);

	if (how == KUEUE_STOP_NONE || (w->admitted && how == KUEUE_STOP_HOLD))
		return p;
	if (!w->admitted) {
		p.loss = KUEUE_UNRESERVED;
		p.reason = evicted;
		return p;
	}
	return evict(w, evicted, "", message);
}

struct kueue_loss_plan kueue_lifecycle_stopped(const struct kueue_life *w)
{
	struct kueue_loss_plan p = keep(w);

	if (w->evicted)
		return p;
	if (w->inactive) {
		p = evict(w, "Deactivated", "", "The workload is deactivated");
		p.requeues = 0;
		p.requeue_at = 0;
		return p;
	}
	p = stop(w, "LocalQueueStopped", "The LocalQueue is stopped", w->local_stop);
	if (p.loss != KUEUE_KEEPS)
		return p;
	return stop(w, "ClusterQueueStopped", "The ClusterQueue is stopped", w->cluster_stop);
}

/* ---- back ---- */

static const char *restarted(const struct kueue_life *w, const char *evicted_as, bool local,
			     bool cluster, const char **ret_message)
{
	if (strcmp(evicted_as, "ClusterQueueStopped") == 0) {
		*ret_message = "The ClusterQueue was restarted after being stopped";
		return cluster && w->cluster_stop == KUEUE_STOP_NONE ? "ClusterQueueRestarted"
								     : NULL;
	}
	*ret_message = "The LocalQueue was restarted after being stopped";
	return local && w->local_stop == KUEUE_STOP_NONE ? "LocalQueueRestarted" : NULL;
}

const char *kueue_lifecycle_back(const struct kueue_life *w, const char *evicted_as, bool local,
				 bool cluster, int64_t now, const char **ret_message)
{
	*ret_message = NULL;
	if (strcmp(evicted_as, "Preempted") == 0 || strcmp(evicted_as, "NodeFailures") == 0 ||
	    strcmp(evicted_as, "ApplicationFailure") == 0)
		return evicted_as;
	if (strncmp(evicted_as, "Deactivated", strlen("Deactivated")) == 0) {
		*ret_message = "The workload was reactivated";
		return w->inactive ? NULL : "Reactivated";
	}
	if (strcmp(evicted_as, "AdmissionCheck") == 0 ||
	    strcmp(evicted_as, "PodsReadyTimeout") == 0) {
		*ret_message = "The workload backoff was finished";
		return w->requeue_at > now ? NULL : "BackoffFinished";
	}
	return restarted(w, evicted_as, local, cluster, ret_message);
}

/* ---- overdue ---- */

static int64_t execution_until(const struct kueue_life *w)
{
	if (!w->admitted || w->max_execution <= 0)
		return INT64_MAX;
	return num_add_sat(w->admitted_at,
			   num_mul_sat(w->max_execution - w->past_execution, SECOND));
}

static int64_t ready_until(const struct kueue_life *w, const struct kueue_wait_for_pods_ready *pods)
{
	bool recovers = w->was_ready && pods->recovery_timeout >= 0;

	if (!pods->enabled || !w->admitted || !w->unready_since ||
	    (recovers && pods->recovery_timeout == 0))
		return INT64_MAX;
	return num_add_sat(w->unready_since, recovers ? pods->recovery_timeout : pods->timeout);
}

/* base x 2^(n-1), at most `max`. */
static int64_t backoff(const struct kueue_wait_for_pods_ready *pods, int32_t n)
{
	int64_t wait = pods->backoff_base;

	for (int32_t i = 1; i < n && wait < pods->backoff_max; i++)
		wait = num_mul_sat(wait, 2);
	return num_min(wait, pods->backoff_max);
}

static struct kueue_loss_plan not_ready(const struct kueue_life *w,
					const struct kueue_wait_for_pods_ready *pods, int64_t now)
{
	struct kueue_loss_plan p;
	int32_t n = w->requeues < INT32_MAX ? w->requeues + 1 : INT32_MAX;

	if (pods->backoff_limit >= 0 && n > pods->backoff_limit)
		return deactivate(w, "RequeuingLimitExceeded",
				  "The workload is deactivated due to exceeding the maximum "
				  "number of re-queuing retries");
	p = evict(w, "PodsReadyTimeout", w->was_ready ? "WaitForRecovery" : "WaitForStart", "");
	p.requeues = n;
	/* Several components share it: it only ever moves later. */
	p.requeue_at = num_max(w->requeue_at, num_add_sat(now, backoff(pods, n)));
	p.to_back = !pods->from_creation;
	return p;
}

struct kueue_loss_plan kueue_lifecycle_overdue(const struct kueue_life *w,
					       const struct kueue_wait_for_pods_ready *pods,
					       int64_t now)
{
	struct kueue_loss_plan p = keep(w);
	int64_t execution = execution_until(w), ready = ready_until(w, pods);

	if (w->evicted)
		return p;
	if (ready <= now)
		return not_ready(w, pods, now);
	if (execution > now) {
		p.again_at = num_min(execution, ready);
		return p;
	}
	/* What ran is forgotten, so that who is active again has its whole time. */
	p = deactivate(w, "MaximumExecutionTimeExceeded",
		       "The workload is deactivated due to exceeding the maximum execution time");
	p.past_execution = 0;
	return p;
}

/* ---- checked ---- */

struct kueue_loss_plan kueue_lifecycle_checked(const struct kueue_life *w,
					       const struct kueue_check *checks, size_t n,
					       int64_t now)
{
	struct kueue_loss_plan p = keep(w);
	bool rejected = false, again = false;
	int64_t at = w->requeue_at;

	if (w->evicted)
		return p;
	for (size_t i = 0; i < n; i++) {
		const struct kueue_check *k = &checks[i];
		rejected |= k->state == KUEUE_CHECK_REJECTED;
		again |= k->state == KUEUE_CHECK_RETRY;
		if (k->state == KUEUE_CHECK_RETRY && k->requeue_after > 0)
			at = num_max(at, num_add_sat(k->since ? k->since : now,
						     num_mul_sat(k->requeue_after, SECOND)));
	}
	if (rejected)
		return deactivate(w, "AdmissionCheck", "");
	if (!again)
		return p;
	p = evict(w, "AdmissionCheck", "", "");
	p.requeue_at = at > now ? at : 0;
	p.to_back = true;
	return p;
}
