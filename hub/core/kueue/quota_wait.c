#include "core/kueue/quota_wait.h"

#include "base/num.h"
#include "core/job.h"
#include "core/kueue/quota_order.h"
#include "core/kueue/quota_shadow.h"
#include "core/kueue/workload_restore.h"

#define MOST_WAITING 16 /* that are known of a queue: the first in its order */

/* ---- who waits ---- */

static usec starves_at(const struct core *c, const struct workload *w)
{
	return num_add_sat(w->first_order, c->settings.starve_after);
}

static void drop_at(struct cluster_queue *q, size_t i)
{
	q->short_of_quota.items[i]->short_of_quota = false;
	q->short_of_quota.items[i] = q->short_of_quota.items[--q->short_of_quota.len];
}

static size_t find_last(const struct cluster_queue *q)
{
	size_t last = 0;

	for (size_t i = 1; i < q->short_of_quota.len; i++)
		if (kueue_workload_cmp(q->short_of_quota.items[i]->unit,
				       q->short_of_quota.items[last]->unit) > 0)
			last = i;
	return last;
}

static void drop_gone(struct core *c, struct cluster_queue *q)
{
	for (size_t i = 0; i < q->short_of_quota.len;) {
		const struct workload *w = q->short_of_quota.items[i];
		if (w->unit && w->unit->state == KUEUE_PENDING && workload_cluster_queue(c, w) == q)
			i++;
		else
			drop_at(q, i);
	}
}

/* Whether there is a place for it among those that are known of its queue. */
static bool has_place(struct core *c, struct cluster_queue *q, const struct workload *w)
{
	drop_gone(c, q);
	if (q->short_of_quota.len < MOST_WAITING)
		return true;
	size_t last = find_last(q);
	if (kueue_workload_cmp(w->unit, q->short_of_quota.items[last]->unit) > 0)
		return false;
	quota_shadow_drop(c, q->short_of_quota.items[last]);
	drop_at(q, last);
	return true;
}

void quota_wait_note(struct core *c, struct workload *w, bool waits)
{
	struct cluster_queue *q = workload_cluster_queue(c, w);

	if (!waits || !c->settings.starve_after || !q) {
		quota_wait_forget(c, w);
		return;
	}
	if (!w->short_of_quota) {
		if (!has_place(c, q, w))
			return;
		w->short_of_quota = true;
		vec_push(&q->short_of_quota, w);
	}
	if (starves_at(c, w) <= c->now)
		quota_shadow_add(c, w);
	else
		c->kueue->starves_at = num_min(c->kueue->starves_at, starves_at(c, w));
}

void quota_wait_forget(struct core *c, struct workload *w)
{
	quota_shadow_drop(c, w);
	free(w->lacks);
	w->lacks = NULL;
	w->n_lacks = 0;
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

/* Those whose time has come starve from now on. */
static void find_starving(struct core *c)
{
	struct kueue *k = c->kueue;

	if (k->starves_at > c->now)
		return;
	k->starves_at = INT64_MAX;
	map_foreach (&k->cluster_queues, e) {
		struct cluster_queue *q = e->value;
		drop_gone(c, q);
		vec_foreach (&q->short_of_quota, w) {
			if (starves_at(c, *w) <= c->now)
				quota_shadow_add(c, *w);
			else
				k->starves_at = num_min(k->starves_at, starves_at(c, *w));
		}
	}
}

/* ---- who is refused ---- */

static usec ends_if_started(const struct core *c, const struct workload *w)
{
	int64_t limit = quota_shadow_limit(c, w);

	return limit == KUEUE_SHADOW_NEVER ? limit : num_add_sat(c->now, limit);
}

const struct workload *quota_wait_first(struct core *c, const struct workload *w,
					const struct kueue_use *uses, size_t n)
{
	const struct kueue_forest *f = c->kueue->forest;

	find_starving(c);
	if (!w->unit)
		return NULL;
	for (size_t i = 0; i < c->kueue->starving.len; i++) {
		const struct quota_shadow *s = c->kueue->starving.items[i];
		/* Among those that starve nobody waits for one after it. */
		if (s->workload == w)
			return NULL;
		if (!quota_shadow_holds(c, s))
			continue;
		if (kueue_shadow_lets(f, &s->of, w->unit->queue, uses, n, ends_if_started(c, w)))
			continue;
		if (quota_shadow_find(c, w) || !quota_order_before(c, w, uses, n, s))
			return s->workload;
	}
	return NULL;
}

void quota_wait_took(struct core *c, const struct workload *w, const struct kueue_use *uses,
		     size_t n)
{
	vec_foreach (&c->kueue->starving, s) {
		if ((*s)->workload == w || !quota_shadow_holds(c, *s))
			continue;
		kueue_shadow_took(c->kueue->forest, &(*s)->of, w->unit->queue, uses, n,
				  ends_if_started(c, w));
		c->kueue->shadows_stale = true;
	}
}

static void keep_uses(struct workload *w, const struct kueue_use *uses, size_t n)
{
	free(w->lacks);
	w->lacks = xcalloc(n + 1, sizeof(*w->lacks));
	w->n_lacks = n;
	for (size_t i = 0; i < n; i++)
		w->lacks[i] = uses[i];
}

void quota_wait_refused(struct core *c, struct workload *w, const struct workload *first,
			const struct kueue_use *uses, size_t n)
{
	uint32_t shape = w->unit->shape->number;
	char text[1024];
	size_t at = 0;

	quota_wait_note(c, w, true);
	keep_uses(w, uses, n);
	while (at < c->kueue->refused_shapes.len && c->kueue->refused_shapes.items[at] != shape)
		at++;
	if (at == c->kueue->refused_shapes.len)
		vec_push(&c->kueue->refused_shapes, shape);
	if (w->told && strcmp(w->told, "WaitingForQuota") == 0)
		return;
	struct span queue = kueue_forest_name(c->kueue->forest, first->unit->queue);
	(void)snprintf(text, sizeof(text),
		       "quota of ClusterQueue %.*s is kept for workload %s, which is before it and "
		       "has waited for longer than starvation.after",
		       SPAN_ARGS(queue), first->key);
	workload_tell(c, w, "WaitingForQuota", text);
}

void quota_wait_sweep(struct core *c)
{
	struct kueue *k = c->kueue;

	find_starving(c);
	if (!quota_shadow_refresh(c))
		return;
	vec_foreach (&k->refused_shapes, shape)
		kueue_queues_wake_shape(k->queues, *shape);
	vec_clear(&k->refused_shapes);
}

usec quota_wait_due(const struct core *c)
{
	return c->kueue->refused_shapes.len ? quota_shadow_due(c) : INT64_MAX;
}

/* ---- words ---- */

static void tell_unknown(const struct core *c, const struct quota_shadow *s, char *out, size_t size)
{
	(void)snprintf(
	    out, size,
	    "Quota that comes free in ClusterQueue %.*s is kept for it, which has waited "
	    "long; no bound on its wait exists, as workloads without a time limit hold "
	    "what it needs, or come before it.",
	    SPAN_ARGS(kueue_forest_name(c->kueue->forest, s->of.queue)));
}

/* What could take the quota from it although it is kept; "" when nothing could. */
static void tell_doubt(const struct core *c, const struct quota_shadow *s, struct buf *out)
{
	const struct kueue_forest *f = c->kueue->forest;
	uint32_t lender = s->of.lender;

	if (lender != KUEUE_NONE)
		buf_addf(out, "it has to borrow what %s %.*s may take back",
			 kueue_forest_is_queue(f, lender) ? "ClusterQueue" : "cohort",
			 SPAN_ARGS(kueue_forest_name(f, lender)));
	else if (s->of.borrows && kueue_forest_options(f)->fair_sharing)
		buf_add_str(out, "with fair sharing queues of a smaller share borrow before it");
	else if (quota_order_is_fair(c, s->of.queue))
		buf_add_str(out, "LocalQueues that used less than its own go before it");
}

static void tell_kept(const struct core *c, const struct quota_shadow *s, char *out, size_t size)
{
	struct span queue = kueue_forest_name(c->kueue->forest, s->of.queue);
	char when[CLOCK_TEXT_MAX];
	auto_buf doubt = BUF_MAX(1024);

	tell_doubt(c, s, &doubt);
	clock_format(s->of.at, when);
	if (doubt.len)
		(void)snprintf(out, size,
			       "Quota that comes free for ClusterQueue %.*s is kept for it, which "
			       "has waited long; no bound on its wait exists, as %s. Else it has "
			       "its quota by %s if running workloads keep their limits.",
			       SPAN_ARGS(queue), doubt.ptr, when);
	else
		(void)snprintf(out, size,
			       "Quota that comes free for ClusterQueue %.*s is kept for it, which "
			       "has waited long: it has its quota by %s if running workloads keep "
			       "their limits and none that goes before it comes.",
			       SPAN_ARGS(queue), when);
}

bool quota_wait_tell(struct core *c, const struct workload *w, char *out, size_t size)
{
	if (!w->unit || w->unit->state != KUEUE_PENDING || !w->short_of_quota)
		return false;
	quota_wait_sweep(c);
	const struct workload *first =
	    w->lacks ? quota_wait_first(c, w, w->lacks, w->n_lacks) : NULL;
	const struct quota_shadow *s = quota_shadow_find(c, w);
	if (first) {
		(void)snprintf(out, size, "Quota of ClusterQueue %.*s is kept for workload %s.",
			       SPAN_ARGS(kueue_forest_name(c->kueue->forest, first->unit->queue)),
			       first->key);
		if (!s || s->of.at == KUEUE_SHADOW_NEVER)
			return true;
		size_t len = strlen(out);
		if (len + 2 < size) {
			out[len] = ' ';
			tell_kept(c, s, out + len + 1, size - len - 1);
		}
		return true;
	}
	if (!s || !quota_shadow_holds(c, s))
		return false;
	if (s->of.at == KUEUE_SHADOW_NEVER)
		tell_unknown(c, s, out, size);
	else
		tell_kept(c, s, out, size);
	return true;
}
