#include "core/kueue/workload.h"

#include "base/json.h"
#include "base/num.h"
#include "core/admission/pump.h"
#include "core/job.h"
#include "core/kueue/claim.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/compose.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/pods_ready.h"
#include "core/kueue/prebuilt.h"
#include "core/kueue/preempted.h"
#include "core/kueue/priority_class.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/quota_wait.h"
#include "core/kueue/workload_restore.h"
#include "core/kueue/workload_row.h"
#include "core/kueue/workload_status.h"

#include <stdarg.h>

/* ---- records ---- */

struct workload *workload_find(const struct core *c, struct span ns, struct span name)
{
	auto_buf key = BUF_INIT;

	buf_addf(&key, "%.*s/%.*s", SPAN_ARGS(ns), SPAN_ARGS(name));
	return map_get(&c->kueue->workloads, buf_span(&key));
}

struct workload *workload_create(struct core *c, struct span ns, struct span name,
				 const uint8_t uid[STORE_UID_LEN])
{
	struct workload *w = xcalloc(1, sizeof(*w));
	auto_buf key = BUF_INIT;

	buf_addf(&key, "%.*s/%.*s", SPAN_ARGS(ns), SPAN_ARGS(name));
	w->key = buf_steal(&key, NULL);
	w->ns = span_make(w->key, ns.len);
	w->name = span_make(w->key + ns.len + 1, name.len);
	memcpy(w->uid, uid, STORE_UID_LEN);
	object_uid_format(w->uid, w->uid_text);
	w->wait = WORKLOAD_NO_QUEUE;
	map_put(&c->kueue->workloads, span_of(w->key), w);
	return w;
}

static void leave_queue(struct core *c, struct workload *w)
{
	struct local_queue *q = w->queue;

	if (!q)
		return;
	if (w->queue_prev)
		w->queue_prev->queue_next = w->queue_next;
	else
		q->workloads = w->queue_next;
	if (w->queue_next)
		w->queue_next->queue_prev = w->queue_prev;
	queue_status_touch(c, w);
	w->queue_prev = w->queue_next = NULL;
	w->queue = NULL;
	local_queue_unneeded(c, q);
}

/* Goes to the end: those of one queue stay in the order in which they came. */
void workload_enter_queue(struct core *c, struct workload *w, struct span name)
{
	struct local_queue *q = name.len ? local_queue_get(c, w->ns, name) : NULL;

	if (q == w->queue)
		return;
	leave_queue(c, w);
	w->queue = q;
	if (!q)
		return;
	w->queue_next = q->workloads;
	if (q->workloads)
		q->workloads->queue_prev = w;
	q->workloads = w;
	queue_status_dirty_local(c, q);
}

void workload_drop_sets(struct workload *w)
{
	for (size_t i = 0; i < w->n_sets; i++)
		free(w->sets[i].flavors);
	free(w->sets);
	w->sets = NULL;
	w->n_sets = 0;
}

static void drop_dirty(struct core *c, const struct workload *w)
{
	struct kueue *k = c->kueue;
	size_t at = 0;

	while (at < k->dirty.len && k->dirty.items[at] != w)
		at++;
	if (at == k->dirty.len)
		return;
	k->n_freed -= at < k->n_freed;
	k->dirty.len--;
	memmove(k->dirty.items + at, k->dirty.items + at + 1,
		(k->dirty.len - at) * sizeof(*k->dirty.items));
}

void workload_destroy(struct core *c, struct workload *w)
{
	struct kueue *k = c->kueue;

	claim_drop(c, w);
	quota_wait_forget(c, w);
	workload_forget_asks(c, w);
	vec_foreach (&k->placing, p)
		if (*p == w)
			*p = NULL;
	vec_foreach (&k->checking, p)
		if (*p == w)
			*p = NULL;
	provisioning_check_drop(c, w);
	if (w->unit) {
		workload_uncount_usage(c, w);
		kueue_queues_remove(k->queues, w->unit);
		c->pump_wanted = true;
	}
	w->unit = NULL;
	leave_queue(c, w);
	placer_ask_unref(c->placer, w->base);
	workload_timer_remove(c, w);
	if (!w->job && w->dirty)
		drop_dirty(c, w);
	if (map_get(&k->workloads, span_of(w->key)) == w)
		(void)map_remove(&k->workloads, span_of(w->key));
	if (w->job)
		w->job->workload = NULL;
	workload_edit_free(w);
	workload_drop_events(w);
	vec_done(&w->events);
	workload_drop_sets(w);
	preempted_drop(w);
	free(w->misasked);
	free(w->evicted_words);
	free(w->priority_class);
	free(w->key);
	free(w);
}

void workload_withdraw(struct core *c, struct workload *w)
{
	if (!w->unit)
		return;
	/* Its copy may be there for a while: the row gives the quota back now. */
	if (workload_holds_quota(w))
		workload_set_admission(c, w, NULL);
	claim_drop(c, w);
	provisioning_check_drop(c, w);
	workload_forget_asks(c, w);
	workload_uncount_usage(c, w);
	kueue_queues_remove(c->kueue->queues, w->unit);
	w->unit = NULL;
	c->pump_wanted = true;
}

void workload_leave(struct core *c, struct workload *w)
{
	if (workload_holds_quota(w))
		return;
	if (w->prebuilt) {
		prebuilt_leave(c, w);
		return;
	}
	workload_drop_row(c, w);
	workload_destroy(c, w);
}

struct cluster_queue *workload_cluster_queue(const struct core *c, const struct workload *w)
{
	return w->unit ? cluster_queue_by_node(c, w->unit->queue) : NULL;
}

/* ---- of a job ---- */

static int compose(const struct core *c, const struct job *j, struct arena *mem,
		   struct workload_digest *ret, struct err *reterr)
{
	const struct compose_options o = {
	    .ray_submitter = c->kueue->settings.ray_submitter,
	    .has_default_class = c->kueue->settings.priority_class_defaulting &&
				 priority_class_find(c, SPAN("default")) != NULL,
	};
	return compose_workload(&j->digest, j->kind->type, &o, mem, ret, reterr);
}

int workload_compose(struct core *c, const struct job *j, struct arena *mem,
		     struct workload_digest *ret, struct err *reterr)
{
	int r = compose(c, j, mem, ret, reterr);

	if (r == 0 && j->workload && j->workload->queue)
		ret->queue_name = j->workload->queue->name;
	return r;
}

static struct workload *create_for(struct core *c, struct job *j)
{
	char name[STORE_MAX_NAME + 1];
	uint8_t uid[STORE_UID_LEN];

	registry_new_uid(c->registry, uid);
	struct workload *w = workload_create(
	    c, span_of(j->ns),
	    span_of(compose_name(
		j->kind, j->name, j->uid_text,
		c->kueue->settings.short_names ? COMPOSE_NAME_SHORT : COMPOSE_NAME_LONG, name)),
	    uid);
	w->job = j;
	j->workload = w;
	w->created = c->now;
	w->first_order = w->queue_order = j->first_attempt;
	w->respec = true;
	workload_tell_new(c, w);
	pods_ready_begin(c, w);
	job_queue_event(c, j, "Normal", "CreatedWorkload", "Created Workload: %s", w->key);
	return w;
}

struct workload *workload_of_job(struct core *c, struct job *j, struct span queue,
				 struct err *reterr)
{
	auto_arena mem = ARENA_INIT;
	struct workload_digest d;

	if (compose(c, j, &mem, &d, reterr) < 0)
		return NULL;
	struct workload *w = j->workload ? j->workload : create_for(c, j);
	if (!workload_holds_quota(w)) {
		workload_enter_queue(c, w, queue);
		workload_take_priority(c, w, &d);
		w->max_execution = d.max_execution_seconds;
		workload_recount(c, w, &d);
	}
	if (w->respec)
		workload_dirty(c, w);
	return w;
}

/* What is to be written of it goes with its job's rows from now on, or does not any more. */
static void change_job(struct core *c, struct workload *w, struct job *j)
{
	bool dirty = w->dirty;

	if (!w->job && dirty)
		drop_dirty(c, w);
	w->dirty = false;
	w->job = j;
	w->prebuilt = j != NULL;
	if (dirty)
		workload_freed(c, w);
}

void workload_take_job(struct core *c, struct workload *w, struct job *j)
{
	change_job(c, w, j);
	j->workload = w;
}

void workload_lose_job(struct core *c, struct workload *w)
{
	w->job->workload = NULL;
	w->respec = false;
	change_job(c, w, NULL);
}

/* ---- timers: a heap by time ---- */

static void timer_set(struct kueue *k, size_t at, struct workload *w)
{
	k->timers.items[at] = w;
	w->timer_at = at + 1;
}

static void timer_up(struct kueue *k, size_t at)
{
	struct workload *w = k->timers.items[at];

	while (at > 0 && w->timer < k->timers.items[(at - 1) / 2]->timer) {
		timer_set(k, at, k->timers.items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	timer_set(k, at, w);
}

static void timer_down(struct kueue *k, size_t at)
{
	struct workload *w = k->timers.items[at];

	for (;;) {
		size_t child = at * 2 + 1;
		if (child >= k->timers.len)
			break;
		if (child + 1 < k->timers.len &&
		    k->timers.items[child + 1]->timer < k->timers.items[child]->timer)
			child++;
		if (w->timer <= k->timers.items[child]->timer)
			break;
		timer_set(k, at, k->timers.items[child]);
		at = child;
	}
	timer_set(k, at, w);
}

void workload_timer(struct core *c, struct workload *w, usec when)
{
	struct kueue *k = c->kueue;

	if (w->timer_at && w->timer <= when)
		return;
	w->timer = when;
	if (!w->timer_at) {
		vec_push(&k->timers, w);
		w->timer_at = k->timers.len;
	}
	timer_up(k, w->timer_at - 1);
}

void workload_timer_remove(struct core *c, struct workload *w)
{
	struct kueue *k = c->kueue;

	if (!w->timer_at)
		return;
	size_t at = w->timer_at - 1;
	struct workload *last = k->timers.items[--k->timers.len];
	w->timer_at = 0;
	if (last == w)
		return;
	timer_set(k, at, last);
	timer_up(k, at);
	timer_down(k, last->timer_at - 1);
}

/* ---- to be written ---- */

void workload_dirty(struct core *c, struct workload *w)
{
	if (w->job)
		core_job_dirty(c, w->job);
	else if (!w->dirty)
		vec_push(&c->kueue->dirty, w);
	w->dirty = true;
}

void workload_freed(struct core *c, struct workload *w)
{
	struct kueue *k = c->kueue;

	workload_dirty(c, w);
	if (w->job) {
		core_job_freed(c, w->job);
		return;
	}
	size_t at = k->dirty.len - 1;
	while (k->dirty.items[at] != w)
		at--;
	if (at < k->n_freed)
		return;
	memmove(k->dirty.items + k->n_freed + 1, k->dirty.items + k->n_freed,
		(at - k->n_freed) * sizeof(*k->dirty.items));
	k->dirty.items[k->n_freed++] = w;
}

#define MAX_EVENTS 16

void workload_event_owned(struct core *c, struct workload *w, const char *type,
			  const char *component, const char *reason, const char *message)
{
	if (w->events.len >= MAX_EVENTS)
		return; /* a burst within one batch; the reasons repeat */
	vec_push(&w->events,
		 (struct workload_event){type, component, xstrdup(reason), xstrdup(message)});
	workload_dirty(c, w);
}

void workload_event(struct core *c, struct workload *w, const char *type, const char *component,
		    const char *reason, const char *fmt, ...)
{
	char line[2048];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	workload_event_owned(c, w, type, component, reason, line);
}

void workload_drop_events(struct workload *w)
{
	vec_foreach (&w->events, e) {
		free(e->reason);
		free(e->message);
	}
	vec_clear(&w->events);
}
