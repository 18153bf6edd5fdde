/*
 * Where a workload waits: what keeps it out of its queue's heap, and what it is told about that
 * (workload.h). Reference/kueue.md 1.4 and 2.3.
 */
#include "core/admission/settle.h"
#include "core/job.h"
#include "core/kueue/bypass.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/compose.h"
#include "core/kueue/evict.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/quota_wait.h"
#include "core/kueue/requeue.h"
#include "core/kueue/workload_restore.h"
#include "core/kueue/workload_status.h"

/* ---- with the engine ---- */

/* FNV-1a, from `h` on. */
static uint64_t hash_bytes(struct span bytes, uint64_t h)
{
	for (size_t i = 0; i < bytes.len; i++)
		h = (h ^ (unsigned char)bytes.ptr[i]) * 1099511628211u;
	return h;
}

#define FNV_BASIS 14695981039346656037u

/* Of what the engine is told. */
static uint64_t hash_of(const struct workload_digest *d, uint32_t placement)
{
	auto_buf bytes = BUF_INIT;
	struct workload_digest counted = *d;

	counted.priority = 0;
	counted.queue_name = counted.priority_class = SPAN_NONE;
	counted.inactive = false;
	workload_digest_pack(&counted, &bytes);
	return hash_bytes(buf_span(&bytes), FNV_BASIS ^ placement);
}

static uint32_t node_of(const struct core *c, const struct workload *w)
{
	const struct cluster_queue *q = w->queue ? local_queue_cluster(c, w->queue) : NULL;

	return q ? q->node : KUEUE_NONE;
}

struct kueue_workload_spec workload_engine_spec(const struct core *c, struct workload *w,
						const struct workload_digest *d, struct arena *mem)
{
	return (struct kueue_workload_spec){
	    .name = span_of(w->key),
	    .uid = span_of(w->uid_text),
	    .local_queue = w->queue ? w->queue->number : 0,
	    .priority = workload_priority(w),
	    .created = w->created,
	    .queue_order = w->queue_order,
	    .pod_sets = compose_engine_sets(d, &c->kueue->settings.resources, mem),
	    .n_pod_sets = d->n_pod_sets,
	    .placement = w->base ? ask_id(w->base) + 1 : 0,
	    .owner = w,
	};
}

static void take_base(struct core *c, struct workload *w)
{
	struct ask *was = w->base;

	w->base = w->job && w->job->ask ? ask_dup_ref(w->job->ask) : NULL;
	placer_ask_unref(c->placer, was);
}

void workload_recount(struct core *c, struct workload *w, const struct workload_digest *d)
{
	auto_arena mem = ARENA_INIT;
	struct err err = ERR_INIT;

	take_base(c, w);
	uint64_t hash = hash_of(d, w->base ? ask_id(w->base) + 1 : 0);
	bool moved = w->unit && w->unit->local_queue != (w->queue ? w->queue->number : 0);
	if (w->unit && hash == w->spec_hash && !moved) {
		workload_review(c, w);
		return;
	}
	quota_wait_forget(c, w);
	uint64_t sets = hash_of(d, 0);
	if (w->unit) {
		kueue_queues_remove(c->kueue->queues, w->unit);
		w->unit = NULL;
		w->respec = w->job != NULL;
		if (w->job && w->exists && w->sets_hash && sets != w->sets_hash)
			job_queue_event(c, w->job, "Normal", "UpdatedWorkload",
					"Updated not matching Workload for suspended job: %s",
					w->key);
	}
	w->spec_hash = hash;
	w->sets_hash = sets;
	struct kueue_workload_spec spec = workload_engine_spec(c, w, d, &mem);
	if (kueue_queues_add(c->kueue->queues, node_of(c, w), &spec, &w->unit, &err) < 0) {
		w->unit = NULL;
		workload_tell(c, w, "Misconfigured", err.text);
	}
	workload_review(c, w);
}

/* ---- why it is held ---- */

static bool job_is_held(const struct workload *w)
{
	const struct job *j = w->job;

	/* Until its copy is proven gone it can be placed nowhere. */
	if (j && !workload_holds_quota(w) && !dispatch_is_free(&j->dispatch))
		return true;
	return j && (j->hold == HOLD_NO_POLICY || j->hold == HOLD_POLICY_SUSPENDED ||
		     j->hold == HOLD_PROVISIONING);
}

static enum workload_wait wait_of(struct core *c, const struct workload *w)
{
	const struct cluster_queue *q = local_queue_cluster(c, w->queue);

	if (!w->unit)
		return WORKLOAD_UNCOUNTABLE;
	if (w->inactive)
		return WORKLOAD_INACTIVE;
	if (w->deleting) /* the next row is another object: until then it waits */
		return WORKLOAD_NOT_REQUEUED;
	if (!w->queue || !w->queue->exists)
		return WORKLOAD_NO_QUEUE;
	if (w->queue->stop != KUEUE_STOP_NONE)
		return WORKLOAD_QUEUE_STOPPED;
	if (!q)
		return WORKLOAD_NO_CLUSTER_QUEUE;
	if (!cluster_queue_takes(c, q, w->ns))
		return WORKLOAD_WRONG_NAMESPACE;
	if (w->requeue_at > c->now)
		return WORKLOAD_BACKOFF;
	if (w->requeued_false)
		return WORKLOAD_NOT_REQUEUED;
	return job_is_held(w) ? WORKLOAD_JOB_HELD : WORKLOAD_READY;
}

static bool is_inactive(const struct core *c, const struct cluster_queue *q)
{
	return q && q->node != KUEUE_NONE &&
	       kueue_forest_active(c->kueue->forest, q->node) != KUEUE_ACTIVE;
}

void workload_wait_text(const struct core *c, const struct workload *w, struct buf *out)
{
	const struct cluster_queue *q = local_queue_cluster(c, w->queue);

	switch (w->wait) {
	case WORKLOAD_NO_QUEUE:
		if (w->queue)
			buf_addf(out, "LocalQueue %.*s doesn't exist", SPAN_ARGS(w->queue->name));
		else
			buf_add_str(out, "The workload names no LocalQueue");
		break;
	case WORKLOAD_NO_CLUSTER_QUEUE:
		buf_addf(out, "ClusterQueue %s doesn't exist",
			 w->queue->cluster_queue ? w->queue->cluster_queue : "");
		break;
	case WORKLOAD_WRONG_NAMESPACE:
		if (is_inactive(c, q))
			buf_addf(out, "ClusterQueue %s is inactive", q->name);
		else
			buf_add_str(out, "workload namespace doesn't match ClusterQueue selector");
		break;
	case WORKLOAD_INACTIVE:
		buf_add_str(out, "The workload is deactivated");
		break;
	case WORKLOAD_QUEUE_STOPPED:
		buf_addf(out, "LocalQueue %.*s is inactive", SPAN_ARGS(w->queue->name));
		break;
	case WORKLOAD_UNCOUNTABLE:
		buf_add_str(out, "The workload is beyond what can be counted");
		break;
	case WORKLOAD_BACKOFF:
	case WORKLOAD_NOT_REQUEUED:
	case WORKLOAD_READY:
		if (is_inactive(c, q))
			buf_addf(out, "ClusterQueue %s is inactive", q->name);
		else if (w->wait != WORKLOAD_READY)
			buf_add_str(out, "The workload waits to be requeued after its eviction");
		break;
	case WORKLOAD_JOB_HELD:
	case WORKLOAD_WAIT_MAX:
	default:
		break;
	}
}

static const char *wait_reason(const struct core *c, const struct workload *w)
{
	const struct cluster_queue *q = local_queue_cluster(c, w->queue);

	switch (w->wait) {
	case WORKLOAD_NO_QUEUE:
	case WORKLOAD_NO_CLUSTER_QUEUE:
	case WORKLOAD_UNCOUNTABLE:
		return "Misconfigured";
	case WORKLOAD_WRONG_NAMESPACE:
		return is_inactive(c, q) ? "Suspended" : "Misconfigured";
	case WORKLOAD_INACTIVE:
		return "Deactivated";
	case WORKLOAD_QUEUE_STOPPED:
		return "Suspended";
	case WORKLOAD_READY:
	case WORKLOAD_BACKOFF:
	case WORKLOAD_NOT_REQUEUED:
		return is_inactive(c, q) ? "Suspended" : NULL;
	case WORKLOAD_JOB_HELD:
	case WORKLOAD_WAIT_MAX:
	default:
		return NULL;
	}
}

/* ---- telling ---- */

const char *workload_pending_reason(const struct core *c)
{
	return c->kueue->settings.observability ? "PendingEvaluation" : "Pending";
}

/* Without the gate UnadmittedWorkloadsObservability there are three reasons. */
static const char *plain_reason(const char *reason)
{
	static const char *const inadmissible[] = {"Misconfigured", "Deactivated", "Suspended"};

	for (size_t i = 0; i < ARRAY_LEN(inadmissible); i++)
		if (strcmp(reason, inadmissible[i]) == 0)
			return "Inadmissible";
	return strcmp(reason, "WaitingForPodsReady") == 0 ? "Waiting" : "Pending";
}

/* Beside QuotaReserved=False, which says why. */
static void workload_set_unadmitted(struct core *c, struct workload *w)
{
	workload_set_condition(c, w, "Admitted", false, "NoReservation",
			       "The workload has no reservation");
}

/* Returns the reason as it is written. */
static const char *set_told(struct core *c, struct workload *w, const char *reason,
			    const char *message)
{
	w->told = reason;
	w->told_at = c->now;
	w->answered = true;
	if (!c->kueue->settings.observability)
		reason = plain_reason(reason);
	workload_set_condition(c, w, "QuotaReserved", false, reason, "%s", message);
	if (c->kueue->settings.observability)
		workload_set_unadmitted(c, w);
	return reason;
}

bool workload_tell_bypassed(struct core *c, struct workload *w)
{
	const char *reason = w->unit ? kueue_queues_parked_reason(w->unit) : "";

	if (w->answered || w->told || w->wait != WORKLOAD_READY || !reason[0])
		return false;
	(void)set_told(c, w, reason, KUEUE_BYPASSED_MESSAGE);
	return true;
}

void workload_tell(struct core *c, struct workload *w, const char *reason, const char *message)
{
	if (w->told && strcmp(w->told, reason) == 0)
		return;
	reason = set_told(c, w, reason, message);
	bypass_wanted(c);
	workload_event(c, w, "Warning", WORKLOAD_ADMISSION, reason, "%s", message);
	if (w->job)
		settle_tell(c, w->job, reason);
}

static void tell_pending(struct core *c, struct workload *w)
{
	workload_set_condition(c, w, "QuotaReserved", false, "PendingEvaluation",
			       "Workload is pending evaluation in the scheduling queue");
	workload_set_unadmitted(c, w);
}

void workload_tell_new(struct core *c, struct workload *w)
{
	if (c->kueue->settings.explicit_status)
		tell_pending(c, w);
}

/* The job's own words: a queue that does not exist holds it as ever, anything else holds it too. */
static void tell_job(struct core *c, struct workload *w, const char *text)
{
	struct job *j = w->job;

	if (!j || !dispatch_is_free(&j->dispatch) || w->wait == WORKLOAD_JOB_HELD)
		return;
	if (w->wait == WORKLOAD_NO_QUEUE)
		settle_hold(c, j, HOLD_NO_QUEUE, text);
	else if (text[0])
		settle_hold(c, j, HOLD_QUEUE, text);
	else
		settle_unhold(j);
}

/* `reason`: what keeps it out of the heap, or NULL. Back among equals that were tried already it
 * will not be tried: what it was told is over. */
static void tell_wait(struct core *c, struct workload *w, const char *reason, struct span text)
{
	uint64_t sentence = reason ? hash_bytes(text, FNV_BASIS) | 1 : 0, was = w->told_wait;

	w->told_wait = sentence;
	if (reason) {
		/* One obstacle may have given way to another of the same reason. */
		if (sentence != was)
			w->told = NULL;
		workload_tell(c, w, reason, text.ptr);
		return;
	}
	const char *parked = w->unit ? kueue_queues_parked_reason(w->unit) : "";
	bool over = was && c->kueue->settings.observability;
	if (parked[0] && (over || w->told)) {
		workload_tell(c, w, parked, KUEUE_BYPASSED_MESSAGE);
	} else if (over) {
		tell_pending(c, w);
		w->told = NULL;
		w->answered = false;
	}
}

void workload_review(struct core *c, struct workload *w)
{
	struct kueue_queues *queues = c->kueue->queues;
	auto_buf text = BUF_INIT;
	uint32_t node = node_of(c, w);

	if (w->over)
		return;
	requeue_look_back(c, w);
	w->wait = wait_of(c, w);
	if (w->unit && !workload_holds_quota(w) && w->unit->queue != node)
		kueue_queues_move(queues, w->unit, node);
	if (w->unit && w->wait == WORKLOAD_READY)
		kueue_queues_unhold(queues, w->unit);
	else if (w->unit)
		kueue_queues_hold(queues, w->unit,
				  w->wait == WORKLOAD_BACKOFF || w->wait == WORKLOAD_NOT_REQUEUED ||
				      w->wait == WORKLOAD_WRONG_NAMESPACE);
	if (w->wait == WORKLOAD_BACKOFF)
		workload_timer(c, w, w->requeue_at);
	if (workload_holds_quota(w)) {
		evict_if_stopped(c, w);
		w->wait = wait_of(c, w);
		return;
	}
	workload_wait_text(c, w, &text);
	const char *reason = wait_reason(c, w);
	tell_wait(c, w, reason, buf_span(&text));
	tell_job(c, w, reason && text.ptr ? text.ptr : "");
	if (!w->answered)
		bypass_wanted(c);
	queue_status_touch(c, w);
	c->pump_wanted = true;
}
