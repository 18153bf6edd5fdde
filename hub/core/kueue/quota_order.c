#include "core/kueue/quota_order.h"

bool quota_order_is_fair(const struct core *c, uint32_t queue)
{
	const struct kueue_queue_spec *s = kueue_forest_queue_spec(c->kueue->forest, queue);

	return s && s->admission_fair_sharing;
}

static int by_usage(const struct core *c, const struct workload *a, const struct workload *b)
{
	const struct kueue_queues *q = c->kueue->queues;
	double x, y;

	if (!quota_order_is_fair(c, a->unit->queue))
		return 0;
	x = kueue_queues_local_usage(q, a->unit->queue, a->unit->local_queue);
	y = kueue_queues_local_usage(q, b->unit->queue, b->unit->local_queue);
	return (x > y) - (x < y);
}

static struct kueue_share share_with(struct kueue_forest *f, uint32_t side, uint32_t queue,
				     const struct kueue_use *uses, size_t n)
{
	size_t mark = kueue_forest_mark(f);

	kueue_forest_charge(f, queue, uses, n);
	struct kueue_share share = kueue_forest_share(f, side);
	kueue_forest_rollback(f, mark);
	return share;
}

static int by_share(const struct core *c, const struct workload *w, const struct kueue_use *uses,
		    size_t n, const struct quota_shadow *s)
{
	struct kueue_forest *f = c->kueue->forest;
	uint32_t ours, theirs;

	if (!kueue_forest_options(f)->fair_sharing ||
	    !kueue_shadow_sides(f, w->unit->queue, s->of.queue, &ours, &theirs))
		return 0;
	return kueue_share_cmp(share_with(f, ours, w->unit->queue, uses, n),
			       share_with(f, theirs, s->of.queue, s->of.uses, s->of.n_uses));
}

static int by_age(const struct core *c, const struct kueue_workload *a,
		  const struct kueue_workload *b)
{
	if (kueue_forest_options(c->kueue->forest)->priority_sorting_within_cohort &&
	    a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (a->queue_order != b->queue_order)
		return a->queue_order < b->queue_order ? -1 : 1;
	return span_cmp(a->uid, b->uid);
}

bool quota_order_before(const struct core *c, const struct workload *w,
			const struct kueue_use *uses, size_t n, const struct quota_shadow *s)
{
	const struct workload *starving = s->workload;
	bool same = w->unit->queue == starving->unit->queue;
	int order = same ? by_usage(c, w, starving) : by_share(c, w, uses, n, s);

	if (order == 0)
		order = same ? kueue_workload_cmp(w->unit, starving->unit)
			     : by_age(c, w->unit, starving->unit);
	return order < 0;
}
