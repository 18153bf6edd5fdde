#include "core/kueue/requeue.h"

#include "core/kueue/cluster_queue.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/workload_status.h"
#include "quota-tree/kueue_lifecycle.h"

/* What lets it back, or NULL (kueue_lifecycle_back). */
static const char *way_back(const struct core *c, const struct workload *w,
			    const char **ret_message)
{
	const struct cluster_queue *q = local_queue_cluster(c, w->queue);
	struct kueue_life life = {.inactive = w->inactive,
				  .local_stop = w->queue ? w->queue->stop : KUEUE_STOP_NONE,
				  .cluster_stop = q ? q->stop : KUEUE_STOP_NONE,
				  .requeue_at = w->requeue_at};

	return kueue_lifecycle_back(&life, w->evicted_as, w->queue, q, c->now, ret_message);
}

static void set_requeued(struct core *c, struct workload *w, bool status, const char *reason,
			 const char *message)
{
	if (!w->requeued_at || w->requeued_false == status)
		w->requeued_at = c->now;
	workload_set_condition(c, w, "Requeued", status, reason, "%s", message);
	w->requeued_false = !status;
}

static void come_back(struct core *c, struct workload *w, const char *reason, const char *message)
{
	if (w->requeue_at && strcmp(reason, "BackoffFinished") == 0) {
		w->requeue_at = 0;
		workload_set_requeue(c, w);
	}
	set_requeued(c, w, true, reason, message);
	w->evicted_as = NULL;
}

void requeue_look_back(struct core *c, struct workload *w)
{
	const char *message;

	if (!w->requeued_false || !w->evicted_as || workload_holds_quota(w))
		return;
	const char *reason = way_back(c, w, &message);
	if (reason)
		come_back(c, w, reason, message ? message : "The workload is requeued");
}

void requeue_tell(struct core *c, struct workload *w, const char *words)
{
	const char *reason, *message;

	if (!w->evicted_as || w->requeued_false)
		return;
	reason = way_back(c, w, &message);
	if (reason) {
		come_back(c, w, reason, message ? message : words);
		return;
	}
	set_requeued(c, w, false, w->evicted_as, words);
}
