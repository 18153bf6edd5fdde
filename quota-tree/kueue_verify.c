/*
 * The invariants of the queues, recomputed; for tests.
 */
#include "quota-tree/kueue_engine.h"

static int wrong(struct err *reterr, const struct kueue_queues *q, const struct kueue_queue *queue,
		 const char *what)
{
	return err_set(reterr, ERR_INTERNAL, "queue %.*s: %s",
		       SPAN_ARGS(kueue_forest_name(q->forest, queue->node)), what);
}

static struct kueue_workload *pending_at(const struct kueue_queue *queue, size_t i)
{
	return rank_list_at(&queue->own.pending, i);
}

static int check_pending(const struct kueue_queues *q, const struct kueue_queue *queue,
			 struct err *reterr)
{
	const struct kueue_workload *last = NULL;
	size_t n = rank_list_len(&queue->own.pending), locals = 0;
	for (size_t i = 0; i < n; i++) {
		const struct kueue_workload *w = pending_at(queue, i);
		if (last && kueue_workload_cmp(last, w) >= 0)
			return wrong(reterr, q, queue, "the pending are out of order");
		if (!w->listed || w->queue != queue->node || w->lane->queue != queue)
			return wrong(reterr, q, queue, "a workload is listed in a wrong place");
		if (w->state == KUEUE_PENDING ? !w->class : w->state != KUEUE_HELD || w->class)
			return wrong(reterr, q, queue, "state and class disagree");
		if (w->preemptor != (queue->preemptor == w) || (w->sticky && !w->preemptor))
			return wrong(reterr, q, queue, "a preemptor is not the queue's");
		last = w;
	}
	for (size_t i = 0; i < queue->locals.len; i++)
		locals += rank_list_len(&queue->locals.items[i]->pending);
	return locals == n ? 0 : wrong(reterr, q, queue, "the LocalQueues list others");
}

static int check_holders(const struct kueue_queues *q, const struct kueue_queue *queue,
			 struct err *reterr)
{
	size_t n = kueue_holders_count(q->forest, queue->node), admitted = 0, reserving = 0;
	size_t local_admitted = 0;
	for (size_t i = 0; i < n; i++) {
		const struct kueue_workload *w = kueue_holders_at(q->forest, queue->node, i);
		if (w->state < KUEUE_RESERVING || w->listed || w->class || !w->uses)
			return wrong(reterr, q, queue, "a holder waits too");
		admitted += w->admitted;
	}
	for (size_t i = 0; i < queue->locals.len; i++) {
		reserving += queue->locals.items[i]->reserving;
		local_admitted += queue->locals.items[i]->admitted;
	}
	if (queue->own.reserving != n || reserving != n || queue->own.admitted != admitted ||
	    local_admitted != admitted)
		return wrong(reterr, q, queue, "the counts of holders are wrong");
	/* What they hold by priority is what the forest has charged. */
	for (size_t i = 0; i < queue->prio_uses.len; i++) {
		const struct kueue_prio_use *u = &queue->prio_uses.items[i];
		int64_t sum = 0;
		for (size_t k = 0; k < queue->prio_uses.len; k++) {
			const struct kueue_prio_use *v = &queue->prio_uses.items[k];
			if (v->flavor == u->flavor && v->resource == u->resource)
				sum += v->value;
		}
		if (sum != kueue_forest_usage(q->forest, queue->node, u->flavor, u->resource))
			return wrong(reterr, q, queue, "uses by priority do not add up");
	}
	return 0;
}

static int check_lane(const struct kueue_queues *q, const struct kueue_lane *lane, size_t *classed,
		      size_t *awake, size_t *active, struct err *reterr)
{
	const struct rank_list *lists[] = {&lane->awake, &lane->parked};
	for (size_t t = 0; t < ARRAY_LEN(lists); t++) {
		for (size_t i = 0; i < rank_list_len(lists[t]); i++) {
			const struct kueue_class *c = rank_list_at(lists[t], i);
			const struct rank_node *first = rank_first(&c->members);
			if (!first || &c->head->by_class != first)
				return wrong(reterr, q, lane->queue, "a class has a wrong head");
			if (c->parked != (t == 1) || c->lane != lane || !c->filed)
				return wrong(reterr, q, lane->queue,
					     "a class stands in a wrong tree");
			if (!c->parked && (c->waits.len || kueue_link_is_in(&c->woken)))
				return wrong(reterr, q, lane->queue, "an awake class is filed");
			if (c->parked && lane->queue->strict)
				return wrong(reterr, q, lane->queue,
					     "a class of a strict queue is parked");
			*classed += rank_len(&c->members);
			*active += c->parked ? 0 : rank_len(&c->members);
		}
	}
	*awake += rank_list_len(&lane->awake);
	return 0;
}

static int check_classes(const struct kueue_queues *q, const struct kueue_queue *queue,
			 struct err *reterr)
{
	size_t classed = 0, awake = 0, active = 0, pending = 0;
	int r = check_lane(q, &queue->own, &classed, &awake, &active, reterr);
	for (size_t i = 0; r == 0 && i < queue->locals.len; i++)
		r = check_lane(q, queue->locals.items[i], &classed, &awake, &active, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < rank_list_len(&queue->own.pending); i++)
		pending += pending_at(queue, i)->state == KUEUE_PENDING;
	if (classed != pending)
		return wrong(reterr, q, queue, "a pending workload is in no class, or in two");
	if (awake != queue->n_awake ||
	    (awake > 0 || queue->open.len > 0) != kueue_link_is_in(&queue->live))
		return wrong(reterr, q, queue, "the awake classes are miscounted");
	if (active != queue->n_active)
		return wrong(reterr, q, queue, "the active workloads are miscounted");
	return kueue_wait_check(q, queue, reterr);
}

int kueue_queues_check(const struct kueue_queues *q, struct err *reterr)
{
	for (size_t i = 0; i < q->by_node.len; i++) {
		const struct kueue_queue *queue = q->by_node.items[i];
		if (!queue)
			continue;
		int r = check_pending(q, queue, reterr);
		if (r == 0)
			r = check_holders(q, queue, reterr);
		if (r == 0)
			r = check_classes(q, queue, reterr);
		if (r < 0)
			return r;
	}
	return 0;
}
