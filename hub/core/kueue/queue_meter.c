#include "core/kueue/queue_meter.h"

#include "base/num.h"
#include "core/kueue/workload_restore.h"

#include <string.h>

usec queue_meter_bound(size_t i)
{
	return i == 0 ? USEC_PER_SEC : (USEC_PER_SEC * 5 / 2) << (i - 1);
}

static struct queue_meter *meter_of(struct core *c, const struct workload *w)
{
	struct cluster_queue *q = workload_cluster_queue(c, w);

	return q ? &q->meter : NULL;
}

static void note(struct wait_histogram *h, usec wait)
{
	size_t i = 0;

	wait = num_max(0, wait); /* the clock may have been set back */
	while (i < QUEUE_METER_BOUNDS && wait > queue_meter_bound(i))
		i++;
	h->n[i]++;
	h->sum = num_add_sat(h->sum, wait);
}

void queue_meter_reserved(struct core *c, const struct workload *w)
{
	struct queue_meter *m = meter_of(c, w);

	if (!m)
		return;
	m->reserved++;
	note(&m->quota_wait, c->now - workload_queued_since(w));
}

void queue_meter_admitted(struct core *c, const struct workload *w, bool had_checks)
{
	struct queue_meter *m = meter_of(c, w);

	if (!m)
		return;
	m->admitted++;
	note(&m->admission_wait, c->now - workload_queued_since(w));
	if (had_checks)
		note(&m->checks_wait, c->now - w->reserved_at);
}

void queue_meter_ready(struct core *c, const struct workload *w)
{
	struct queue_meter *m = meter_of(c, w);

	if (!m)
		return;
	note(&m->ready_wait, c->now - workload_queued_since(w));
	note(&m->start_wait, c->now - w->admitted_at);
}

void queue_meter_evicted(struct core *c, const struct workload *w, const char *reason,
			 const char *cause)
{
	struct queue_meter *m = meter_of(c, w);

	if (!m)
		return;
	vec_foreach (&m->evicted, e)
		if (strcmp(e->reason, reason) == 0 && strcmp(e->cause, cause) == 0) {
			e->n++;
			return;
		}
	vec_push(&m->evicted, (struct eviction_count){reason, cause, 1});
}

void queue_meter_finished(struct core *c, const struct workload *w)
{
	struct queue_meter *m = meter_of(c, w);

	if (m)
		m->finished++;
}

void queue_meter_preempts(struct core *c, const struct workload *preemptor,
			  enum kueue_preempt_reason why)
{
	struct queue_meter *m = meter_of(c, preemptor);

	if (m && (size_t)why < QUEUE_METER_REASONS)
		m->preempted[why]++;
}

void queue_meter_done(struct queue_meter *m)
{
	vec_done(&m->evicted);
}
