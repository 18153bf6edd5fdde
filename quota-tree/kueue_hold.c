/*
 * What holds quota: as it was recorded (restart), while it is admitted, until it is given back.
 */
#include "base/num.h"
#include "quota-tree/kueue_engine.h"
#include <assert.h>

/* ---- taking it ---- */

static void count_admitted(struct kueue_queues *q, struct kueue_queue *queue,
			   struct kueue_workload *w)
{
	w->admitted = true;
	w->lane->admitted++;
	queue->own.admitted++;
	kueue_usage_count(q, w, 1);
}

static void uncount_admitted(struct kueue_queues *q, struct kueue_queue *queue,
			     struct kueue_workload *w)
{
	if (!w->admitted)
		return;
	w->admitted = false;
	w->lane->admitted--;
	queue->own.admitted--;
	kueue_usage_count(q, w, -1);
}

void kueue_hold_quota(struct kueue_queues *q, struct kueue_queue *queue, struct kueue_workload *w,
		      enum kueue_state state)
{
	w->state = state;
	w->lane->reserving++;
	queue->own.reserving++;
	if (state == KUEUE_ADMITTED)
		count_admitted(q, queue, w);
	kueue_holders_add(q->forest, w);
	kueue_bound_count(queue, w, 1);
	queue->tree->changes++;
}

/* ---- what was recorded ---- */

static int check_holdings(const struct kueue_workload *w, const struct kueue_holding *holdings,
			  size_t n, struct err *reterr)
{
	for (size_t i = 0; i < n; i++) {
		if (holdings[i].pod_set >= w->shape->n_sets || holdings[i].value < 0)
			return err_set_field(reterr, ERR_INVALID,
					     "status.admission.podSetAssignments",
					     "does not go with the pod sets");
	}
	return 0;
}

/* What the holdings come to once reclaimable pods are taken off (totalRequestsFromAdmission):
 * whole pods, by integer division. */
static void fill_uses(struct kueue_workload *w)
{
	w->uses = xrealloc(w->uses, (w->n_holdings ? w->n_holdings : 1) * sizeof(*w->uses));
	w->n_uses = 0;
	for (size_t i = 0; i < w->n_holdings; i++) {
		const struct kueue_holding *h = &w->holdings[i];
		int32_t of = w->counts ? w->counts[h->pod_set] : w->shape->sets[h->pod_set].count;
		int32_t left = kueue_workload_count(w, h->pod_set);
		int64_t value = left < of ? h->value / of * left : h->value;
		size_t k = 0;
		while (k < w->n_uses &&
		       (w->uses[k].flavor != h->flavor || w->uses[k].resource != h->resource))
			k++;
		if (value == 0)
			continue;
		if (k == w->n_uses)
			w->uses[w->n_uses++] = (struct kueue_use){h->flavor, h->resource, 0};
		w->uses[k].value = num_add_sat(w->uses[k].value, value);
	}
}

static bool is_reduced(const struct kueue_workload *w, const int32_t *counts)
{
	for (size_t s = 0; counts && s < w->shape->n_sets; s++) {
		if (counts[s] != w->shape->sets[s].count)
			return true;
	}
	return false;
}

int kueue_queues_restore(struct kueue_queues *q, uint32_t queue,
			 const struct kueue_workload_spec *spec, enum kueue_state state,
			 int64_t reserved_at, const struct kueue_holding *holdings,
			 size_t n_holdings, const int32_t *counts, struct kueue_workload **ret,
			 struct err *reterr)
{
	assert(!q->in_cycle && queue != KUEUE_NONE && state >= KUEUE_RESERVING);
	struct kueue_workload *w;
	int r = kueue_workload_create(&q->shapes, q->forest, queue, spec, &w, reterr);
	if (r < 0)
		return r;
	r = check_holdings(w, holdings, n_holdings, reterr);
	if (r < 0) {
		kueue_workload_free(&q->shapes, w);
		return r;
	}
	w->reserved_at = reserved_at;
	w->n_holdings = n_holdings;
	w->holdings = xcalloc(n_holdings, sizeof(*holdings));
	if (n_holdings)
		memcpy(w->holdings, holdings, n_holdings * sizeof(*holdings));
	if (is_reduced(w, counts)) {
		w->counts = xcalloc(w->shape->n_sets, sizeof(*counts));
		memcpy(w->counts, counts, w->shape->n_sets * sizeof(*counts));
	}
	fill_uses(w);
	struct kueue_queue *at = kueue_lane_queue(q, queue);
	w->lane = kueue_lane_local(at, w->local_queue);
	kueue_hold_quota(q, at, w, state == KUEUE_RESERVING ? state : KUEUE_ADMITTED);
	kueue_wake_charged(q, at, w->uses, w->n_uses, w->priority);
	if (state == KUEUE_EVICTED)
		kueue_queues_evicted(q, w);
	*ret = w;
	return 0;
}

/* ---- giving it back ---- */

void kueue_hold_give_back(struct kueue_queues *q, struct kueue_workload *w)
{
	struct kueue_queue *queue = q->by_node.items[w->queue];
	kueue_bound_count(queue, w, -1);
	w->lane->reserving--;
	queue->own.reserving--;
	uncount_admitted(q, queue, w);
	kueue_holders_remove(q->forest, w);
	queue->tree->changes++;
	kueue_wake_released(q, queue, w->uses, w->n_uses, w->priority);
	free(w->uses);
	free(w->holdings);
	free(w->counts);
	w->uses = NULL;
	w->holdings = NULL;
	w->counts = NULL;
	w->n_uses = w->n_holdings = 0;
}

void kueue_queues_admitted(struct kueue_queues *q, struct kueue_workload *w)
{
	assert(w->state == KUEUE_RESERVING);
	kueue_holders_unfile(q->forest, w);
	w->state = KUEUE_ADMITTED;
	kueue_holders_file(q->forest, w);
	count_admitted(q, q->by_node.items[w->queue], w);
}

void kueue_queues_unadmitted(struct kueue_queues *q, struct kueue_workload *w)
{
	assert(!q->in_cycle && w->state == KUEUE_ADMITTED);
	kueue_holders_unfile(q->forest, w);
	w->state = KUEUE_RESERVING;
	kueue_holders_file(q->forest, w);
	uncount_admitted(q, q->by_node.items[w->queue], w);
}

void kueue_queues_evicted(struct kueue_queues *q, struct kueue_workload *w)
{
	assert(kueue_workload_holds_quota(w));
	if (w->state == KUEUE_EVICTED)
		return;
	kueue_holders_unfile(q->forest, w);
	w->state = KUEUE_EVICTED;
	kueue_holders_file(q->forest, w);
	struct kueue_tree *t = q->by_node.items[w->queue]->tree;
	t->changes++;
	if (q->in_cycle)
		return;
	/* It is the first candidate now: heads, which Kueue tries in every cycle, may find other
	 * victims. */
	if (t->live.next != &t->live)
		t->dirty = true;
	kueue_lane_ask(q, t);
}

void kueue_queues_released(struct kueue_queues *q, struct kueue_workload *w)
{
	assert(!q->in_cycle && kueue_workload_holds_quota(w));
	kueue_hold_give_back(q, w);
	kueue_queue_settle(q, w);
}

static void set_reclaimable(struct kueue_workload *w, const int32_t *pods)
{
	free(w->reclaimable);
	w->reclaimable = NULL;
	if (!pods)
		return;
	w->reclaimable = xcalloc(w->shape->n_sets, sizeof(*pods));
	memcpy(w->reclaimable, pods, w->shape->n_sets * sizeof(*pods));
}

void kueue_queues_reclaim(struct kueue_queues *q, struct kueue_workload *w, const int32_t *pods)
{
	assert(!q->in_cycle);
	if (!kueue_workload_holds_quota(w)) {
		kueue_queue_unsettle(q, w);
		set_reclaimable(w, pods);
		kueue_queue_settle(q, w);
		return;
	}
	struct kueue_queue *queue = q->by_node.items[w->queue];
	size_t n = w->n_uses;
	struct kueue_use *was = xcalloc(n, sizeof(*was));
	if (n)
		memcpy(was, w->uses, n * sizeof(*was));
	kueue_bound_count(queue, w, -1);
	if (w->admitted)
		kueue_usage_count(q, w, -1);
	kueue_holders_remove(q->forest, w);
	set_reclaimable(w, pods);
	fill_uses(w);
	kueue_holders_add(q->forest, w);
	if (w->admitted)
		kueue_usage_count(q, w, 1);
	kueue_bound_count(queue, w, 1);
	queue->tree->changes++;
	kueue_wake_released(q, queue, was, n, w->priority);
	free(was);
}
