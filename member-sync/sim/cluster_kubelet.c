/*
 * Binding pods, and what the kubelets do with them: start, end, restart, and lose them.
 */
#include "base/num.h"
#include "member-sync/sim/pod_status.h"
#include <errno.h>

/* A pod's row, its two Events, and what the registry may add. */
#define ROWS_PER_POD 6

/* ---- status ---- */

/* Writes the record's state into the object; bind: with spec.nodeName. */
static int put_status(struct cluster *c, struct sim_pod *p, const struct store_object *o, bool bind,
		      const char *why)
{
	struct err err = ERR_INIT;
	struct object_draft d;
	auto_buf status = BUF_INIT;
	pod_status_print(p, why, c->now, &status);
	int rc = object_draft_splice_status(o, buf_span(&status), false, &d, &err);
	if (!rc && bind) {
		char text[300];
		snprintf(text, sizeof(text), "\"nodeName\":\"%.*s\",", SPAN_ARGS(p->node));
		rc = writer_insert_in_spec(&d, text, &err);
		if (rc)
			object_draft_done(&d);
	}
	if (rc)
		return cluster_fail(c, &err);
	p->ours = true;
	return registry_put(c->batch, c->pod_kind, p->ns, p->name, &d);
}

static int current(struct cluster *c, const struct sim_pod *p, struct store_object *ret)
{
	return cluster_current(c, c->pod_kind, p->ns, p->name, p->revision, ret);
}

/* Acts on it then, or when it has to leave. */
static void wake_at(struct cluster *c, struct sim_pod *p, usec at)
{
	at = p->leave_at ? num_min(at, p->leave_at) : at;
	if (at < INT64_MAX)
		cluster_timer_set(c, at, p, NULL);
}

int64_t cluster_kubelet_tolerates(struct cluster *c, struct sim_pod *p, struct scheduler_node *n)
{
	int64_t seconds = scheduler_tolerated_for(n, p->class->shape);

	if (seconds == INT64_MAX)
		p->leave_at = 0;
	else if (seconds && !p->leave_at)
		p->leave_at = num_add_sat(c->now, num_mul_sat(seconds, USEC_PER_SEC));
	return seconds;
}

int cluster_kubelet_tell(struct cluster *c, struct sim_pod *p)
{
	struct store_object o;
	int rc = current(c, p, &o);
	return rc ? rc : put_status(c, p, &o, false, NULL);
}

static void start(struct cluster *c, struct sim_pod *p)
{
	p->phase = POD_RUNNING;
	p->started = c->now;
	c->stats.pods_started++;
	if (!p->start_time)
		p->start_time = c->now;
	if (p->class->n_containers)
		cluster_event(c, c->pod_kind, p->ns, p->name, p->uid_text, "kubelet", false,
			      "Started", "Started container %s", p->class->containers[0].name);
	wake_at(c, p, p->forever ? INT64_MAX : p->started + p->duration / c->options.time_scale);
}

/* ---- binding ---- */

static void bind_one(struct cluster *c, struct sim_pod *p)
{
	const char *why = NULL;
	struct store_object o;
	if (p->deleting || current(c, p, &o))
		return; /* overtaken: the next step sees what became of it */
	struct scheduler_node *n = scheduler_place(c->scheduler, &p->sched, &why);
	if (!n) {
		if (p->told_pending)
			return;
		p->told_pending = true;
		cluster_event(c, c->pod_kind, p->ns, p->name, p->uid_text, "default-scheduler",
			      true, "FailedScheduling", "%s", why);
		(void)!put_status(c, p, &o, false, why);
		return;
	}
	cluster_pods_unqueue(c, p);
	scheduler_bind(c->scheduler, &p->sched, n);
	p->node = arena_span(&p->mem, scheduler_node_name(n));
	cluster_event(c, c->pod_kind, p->ns, p->name, p->uid_text, "default-scheduler", false,
		      "Scheduled", "Successfully assigned %.*s/%.*s to %.*s", SPAN_ARGS(p->ns),
		      SPAN_ARGS(p->name), SPAN_ARGS(p->node));
	(void)cluster_kubelet_tolerates(c, p, n);
	if (!cluster_silence_has(c, p))
		start(c, p);
	(void)!put_status(c, p, &o, true, NULL);
}

bool cluster_kubelet_schedule(struct cluster *c)
{
	uint64_t generation = scheduler_generation(c->scheduler);
	if (!c->pending)
		c->pending_new = false;
	if (!c->pending_new && c->scheduled_at == generation)
		return true;
	for (struct sim_pod *p = c->pending, *next; p; p = next) {
		next = p->next_pending;
		if (registry_batch_room(c->batch) < ROWS_PER_POD + REGISTRY_RESERVE)
			return false;
		if (p->told_pending && scheduler_is_hopeless(c->scheduler, &p->sched))
			continue;
		bind_one(c, p);
	}
	c->pending_new = false;
	c->scheduled_at = generation;
	return true;
}

/* ---- the kubelet ---- */

static void end_run(struct cluster *c, struct sim_pod *p, const char *result)
{
	usec end = c->now;
	/* A run that was over while nobody simulated it ended when it should have. */
	usec due = p->started + p->duration / c->options.time_scale;
	if (!p->forever && due < end)
		end = due;
	if (p->started)
		cluster_pods_log_run(c, p, end, result);
	p->ended = end;
}

static void finish(struct cluster *c, struct sim_pod *p, enum pod_next next,
		   const struct store_object *o)
{
	bool good = next == POD_NEXT_SUCCEEDED;
	end_run(c, p, good ? "Succeeded" : next == POD_NEXT_LOST ? "Killed" : "Failed");
	p->phase = good ? POD_SUCCEEDED : POD_FAILED;
	if (next == POD_NEXT_LOST) /* killed before it could end with its own */
		p->exit_code = 137;
	scheduler_unbind(c->scheduler, &p->sched);
	(void)!put_status(c, p, o, false, NULL);
	if (p->node_gone)
		cluster_timer_set(c, c->now, p, NULL);
}

/* Its kubelet was silent, and is back: it kills what was deleted, and tells of the rest. */
static void take_up(struct cluster *c, struct sim_pod *p)
{
	struct store_object o;
	int rc = current(c, p, &o);

	if (rc == -ENOENT)
		return;
	cluster_timer_set(c, c->now, p, NULL);
	if (rc)
		return;
	if (p->held && !(o.flags & OBJECT_HAS_FINALIZERS)) {
		(void)!registry_delete(c->batch, c->pod_kind, p->ns, p->name, PROPAGATE_BACKGROUND);
		return;
	}
	p->held = p->unheard = p->evicted = false;
	(void)!put_status(c, p, &o, false, NULL);
}

void cluster_kubelet_due(struct cluster *c, struct sim_pod *p)
{
	struct store_object o;
	usec at = 0;
	if (cluster_silence_has(c, p)) {
		cluster_silence_pod(c, p);
		return;
	}
	if ((p->unheard || p->held) && !p->node_gone && !sim_pod_over(p)) {
		take_up(c, p);
		return;
	}
	if (p->leave_at && p->leave_at <= c->now)
		p->lost = p->node_gone = true;
	if (p->phase == POD_PENDING && p->node.len && !p->lost && !p->deleting) {
		/* bound by somebody else: the kubelet takes it up */
		if (current(c, p, &o) == 0) {
			start(c, p);
			(void)!put_status(c, p, &o, false, NULL);
		}
		return;
	}
	enum pod_next next = pod_status_decide(p, c->now, c->options.time_scale, &at);
	if (next == POD_NEXT_NOTHING) {
		wake_at(c, p, at ? at : INT64_MAX);
		return;
	}
	int rc = current(c, p, &o);
	if (rc == -ESTALE)
		cluster_timer_set(c, c->now, p, NULL);
	if (rc)
		return;
	switch (next) {
	case POD_NEXT_START:
		p->restarts++;
		start(c, p);
		(void)!put_status(c, p, &o, false, NULL);
		break;
	case POD_NEXT_BACKOFF:
		end_run(c, p, p->exit_code ? "Failed" : "Succeeded");
		p->started = 0;
		(void)!put_status(c, p, &o, false, NULL);
		wake_at(c, p, at);
		break;
	case POD_NEXT_REMOVE:
		(void)!cluster_pods_delete(c, p);
		break;
	default:
		finish(c, p, next, &o);
	}
}

void cluster_kubelet_lost(struct cluster *c, struct scheduler_node *n, bool node_gone)
{
	for (struct scheduler_pod *sp = scheduler_node_pods(n), *next; sp; sp = next) {
		struct sim_pod *p = (struct sim_pod *)sp;
		next = sp->next;
		p->lost = true;
		p->node_gone = node_gone;
		if (node_gone)
			scheduler_unbind(c->scheduler, sp);
		cluster_timer_set(c, c->now, p, NULL);
	}
}

void cluster_kubelet_evict(struct cluster *c, struct scheduler_node *n)
{
	for (struct scheduler_pod *sp = scheduler_node_pods(n); sp; sp = sp->next) {
		struct sim_pod *p = (struct sim_pod *)sp;
		if (p->lost)
			continue;
		if (cluster_kubelet_tolerates(c, p, n) == 0)
			p->lost = p->node_gone = true;
		if (p->lost || p->leave_at)
			cluster_timer_set(c, c->now, p, NULL);
	}
}
