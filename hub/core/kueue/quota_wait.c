#include "core/kueue/quota_wait.h"

#include "base/num.h"
#include "core/admission/running.h"
#include "core/job.h"
#include "core/kueue/workload_restore.h"

#define MOST_WAITING 16 /* that are known of a queue: the first in its order */

static bool is_waiting(const struct core *c, const struct cluster_queue *q,
		       const struct workload *w)
{
	return w->unit && w->unit->state == KUEUE_PENDING && workload_cluster_queue(c, w) == q;
}

static bool starves(const struct core *c, const struct workload *w)
{
	return c->settings.starve_after &&
	       num_add_sat(w->first_order, c->settings.starve_after) <= c->now;
}

static void drop_at(struct cluster_queue *q, size_t i)
{
	q->short_of_quota.items[i]->short_of_quota = false;
	q->short_of_quota.items[i] = q->short_of_quota.items[--q->short_of_quota.len];
}

/* The first in the queue's order, or the last; len when there is none. */
static size_t find(const struct cluster_queue *q, bool last)
{
	size_t best = q->short_of_quota.len;

	for (size_t i = 0; i < q->short_of_quota.len; i++) {
		int order = best == q->short_of_quota.len
				? -1
				: kueue_workload_cmp(q->short_of_quota.items[i]->unit,
						     q->short_of_quota.items[best]->unit);
		if (best == q->short_of_quota.len || (last ? order > 0 : order < 0))
			best = i;
	}
	return best;
}

static void drop_gone(struct core *c, struct cluster_queue *q)
{
	for (size_t i = 0; i < q->short_of_quota.len;) {
		if (is_waiting(c, q, q->short_of_quota.items[i]))
			i++;
		else
			drop_at(q, i);
	}
}

void quota_wait_note(struct core *c, struct workload *w, bool waits)
{
	struct cluster_queue *q = workload_cluster_queue(c, w);

	if (!waits || !c->settings.starve_after || !q) {
		quota_wait_forget(c, w);
		return;
	}
	if (w->short_of_quota)
		return;
	drop_gone(c, q);
	if (q->short_of_quota.len == MOST_WAITING) {
		size_t last = find(q, true);
		if (kueue_workload_cmp(w->unit, q->short_of_quota.items[last]->unit) > 0)
			return;
		drop_at(q, last);
	}
	w->short_of_quota = true;
	vec_push(&q->short_of_quota, w);
}

void quota_wait_forget(struct core *c, struct workload *w)
{
	if (!w->short_of_quota)
		return;
	map_foreach (&c->kueue->cluster_queues, e) {
		struct cluster_queue *q = e->value;
		for (size_t i = 0; i < q->short_of_quota.len; i++)
			if (q->short_of_quota.items[i] == w) {
				drop_at(q, i);
				return;
			}
	}
}

static const struct workload *first_of(struct core *c, struct cluster_queue *q)
{
	const struct workload *best = NULL;

	drop_gone(c, q);
	vec_foreach (&q->short_of_quota, it)
		if (starves(c, *it) && (!best || kueue_workload_cmp((*it)->unit, best->unit) < 0))
			best = *it;
	return best;
}

const struct workload *quota_wait_first(struct core *c, const struct workload *w)
{
	struct cluster_queue *q = workload_cluster_queue(c, w);
	const struct workload *first =
	    q && q->short_of_quota.len && w->unit ? first_of(c, q) : NULL;

	return first && first != w && kueue_workload_cmp(first->unit, w->unit) < 0 ? first : NULL;
}

void quota_wait_refused(struct core *c, struct workload *w, const struct workload *first)
{
	struct cluster_queue *q = workload_cluster_queue(c, w);
	uint32_t shape = w->unit->shape->number;
	char text[1024];

	c->kueue->keeps_quota = true;
	size_t at = 0;
	while (at < q->refused_shapes.len && q->refused_shapes.items[at] != shape)
		at++;
	if (at == q->refused_shapes.len)
		vec_push(&q->refused_shapes, shape);
	if (w->told && strcmp(w->told, "WaitingForQuota") == 0)
		return;
	(void)snprintf(text, sizeof(text),
		       "quota of ClusterQueue %s is kept for workload %s, which is before it and "
		       "has waited for longer than starvation.after",
		       q->name, first->key);
	workload_tell(c, w, "WaitingForQuota", text);
}

void quota_wait_sweep(struct core *c)
{
	if (!c->kueue->keeps_quota)
		return;
	c->kueue->keeps_quota = false;
	map_foreach (&c->kueue->cluster_queues, e) {
		struct cluster_queue *q = e->value;
		if (!q->refused_shapes.len)
			continue;
		if (first_of(c, q)) {
			c->kueue->keeps_quota = true;
			continue;
		}
		vec_foreach (&q->refused_shapes, shape)
			kueue_queues_wake_shape(c->kueue->queues, *shape);
		vec_clear(&q->refused_shapes);
	}
}

/* ---- words ---- */

/* When all that the queue runs has ended; RESERVATION_NEVER: it may never. */
static usec ends_at(const struct core *c, const struct cluster_queue *q)
{
	usec end = c->now;

	map_foreach (&c->jobs_by_number, e) {
		const struct job *j = e->value;
		if (!j->holds || !j->workload || workload_cluster_queue(c, j->workload) != q)
			continue;
		usec limit = running_limit(j);
		if (limit == RESERVATION_NEVER)
			return RESERVATION_NEVER;
		end = num_max(end, num_add_sat(j->decided_at, limit));
	}
	return end;
}

bool quota_wait_tell(struct core *c, const struct workload *w, char *out, size_t size)
{
	struct cluster_queue *q = workload_cluster_queue(c, w);
	const struct workload *first;
	char when[CLOCK_TEXT_MAX];

	if (!q || !q->short_of_quota.len || !is_waiting(c, q, w))
		return false;
	if (!(first = first_of(c, q)) || (first != w && quota_wait_first(c, w) != first))
		return false;
	if (first != w) {
		(void)snprintf(out, size, "Quota of ClusterQueue %s is kept for workload %s.",
			       q->name, first->key);
		return true;
	}
	usec end = ends_at(c, q);
	if (end == RESERVATION_NEVER)
		(void)snprintf(out, size,
			       "Quota that comes free in ClusterQueue %s is kept for it, which has "
			       "waited long; no bound on its wait exists, as jobs without a time "
			       "limit run there.",
			       q->name);
	else
		(void)snprintf(out, size,
			       "Quota that comes free in ClusterQueue %s is kept for it, which has "
			       "waited long: what runs there ends by %s if it keeps its limits.",
			       q->name, clock_format(end, when));
	return true;
}
