#include "core/kueue/pods_ready.h"

#include "core/job.h"
#include "core/kueue/evict.h"
#include "core/kueue/queue_meter.h"
#include "core/kueue/ready.h"
#include "core/kueue/workload_status.h"

void pods_ready_begin(struct core *c, struct workload *w)
{
	if (w->job && c->kueue->settings.wait_for_pods_ready)
		workload_set_condition(c, w, "PodsReady", false, "WaitForStart",
				       "Not all pods are ready or succeeded");
}

void pods_ready_say(struct core *c, struct workload *w, bool ready)
{
	if (!c->kueue->settings.wait_for_pods_ready || !w->admitted_at || w->evicted_at ||
	    ready == !w->unready_since)
		return;
	w->unready_since = ready ? 0 : c->now;
	if (ready)
		workload_set_condition(c, w, "PodsReady", true,
				       w->was_ready ? "Recovered" : "Started",
				       "All pods reached readiness and the workload is running");
	else if (w->was_ready)
		workload_set_condition(c, w, "PodsReady", false, "WaitForRecovery",
				       "At least one pod has failed, waiting for recovery");
	else
		pods_ready_begin(c, w);
	if (ready && !w->was_ready)
		queue_meter_ready(c, w);
	w->was_ready = w->was_ready || ready;
	ready_review(c, w);
	evict_expect(c, w);
}

void pods_ready_count(struct core *c, struct workload *w)
{
	int64_t need = 0;

	/* A Ray cluster that is up is ready; what submits its job comes after. */
	for (size_t i = 0; w->job && i < w->n_sets; i++)
		need += job_is_submitter(w->job, i) ? 0 : w->sets[i].count;
	if (need > 0)
		pods_ready_say(c, w, w->job->ready_pods - w->job->ready_beside >= need);
}
