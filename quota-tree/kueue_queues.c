/*
 * The public face of the queues: workloads come, go, hold, give back.
 */
#include "quota-tree/kueue_queues.h"
#include "base/num.h"
#include "quota-tree/kueue_class.h"
#include "quota-tree/kueue_message.h"
#include <assert.h>

struct kueue_queues *kueue_queues_create(struct kueue_forest *f,
					 const struct kueue_options *options)
{
	struct kueue_queues *q = xcalloc(1, sizeof(*q));
	q->forest = f;
	q->options = *options;
	q->text = xcalloc(1, KUEUE_MESSAGE_MAX);
	return q;
}

static void free_all(struct kueue_queues *q, struct kueue_queue *queue)
{
	while (kueue_holders_count(q->forest, queue->node))
		kueue_queues_remove(q, kueue_holders_at(q->forest, queue->node, 0));
	struct rank_node *first;
	while ((first = rank_first(&queue->own.pending)))
		kueue_queues_remove(q, rank_entry(first, struct kueue_workload, by_queue));
}

struct kueue_queues *kueue_queues_destroy(struct kueue_queues *q)
{
	if (!q)
		return NULL;
	for (size_t i = 0; i < q->by_node.len; i++) {
		if (q->by_node.items[i])
			free_all(q, q->by_node.items[i]);
	}
	while (q->unlisted.next != &q->unlisted && q->unlisted.next)
		kueue_queues_remove(q,
				    rank_entry(q->unlisted.next, struct kueue_workload, unlisted));
	kueue_heap_done(q);
	kueue_shapes_done(&q->shapes);
	for (size_t i = 0; i < q->refused.len; i++)
		free(q->refused.items[i]);
	for (size_t i = 0; i < q->heats.len; i++) {
		kueue_assignment_done(&q->heats.items[i]->pub.assignment);
		kueue_victims_done(&q->heats.items[i]->pub.victims);
		vec_done(&q->heats.items[i]->promised);
		free(q->heats.items[i]);
	}
	vec_done(&q->heats);
	vec_done(&q->refused);
	vec_done(&q->asked);
	vec_done(&q->round_trees);
	vec_done(&q->preempted);
	vec_done(&q->admitted);
	vec_done(&q->evictions);
	vec_done(&q->usage_weights);
	vec_done(&q->local_usage);
	kueue_forest_set_local_usage(q->forest, NULL, 0);
	free(q->text);
	free(q);
	return NULL;
}

void kueue_queues_edited(struct kueue_queues *q, uint32_t node)
{
	assert(!q->in_cycle);
	uint32_t root = node == KUEUE_NONE ? KUEUE_NONE : kueue_forest_root(q->forest, node);
	struct kueue_tree *was = NULL;
	if (node < q->by_node.len && q->by_node.items[node])
		was = q->by_node.items[node]->tree;
	for (size_t i = 0; i < q->by_node.len; i++) {
		if (q->by_node.items[i])
			kueue_heap_sync(q, q->by_node.items[i]);
	}
	for (size_t i = 0; i < q->trees.len; i++) {
		struct kueue_tree *t = q->trees.items[i];
		if (!t || (node != KUEUE_NONE && t->root != root && t != was && !t->reshaped))
			continue;
		t->reshaped = false;
		kueue_parked_wake_tree(q, t);
		/* Groups know the quota of their queue. */
		vec_foreach (&t->queues, it)
			kueue_parked_queue_done(*it);
		t->dirty = true;
		t->changes++;
		kueue_tree_ask(q, t);
	}
}

/* ---- held workloads ---- */

static void put_unlisted(struct kueue_queues *q, struct kueue_workload *w)
{
	if (!q->unlisted.next)
		kueue_link_init(&q->unlisted);
	kueue_link_put(&q->unlisted, &w->unlisted);
}

static void become_held(struct kueue_queues *q, struct kueue_workload *w)
{
	w->state = KUEUE_HELD;
	if (w->queue != KUEUE_NONE && w->held_listed) {
		struct kueue_queue *queue = kueue_heap_queue(q, w->queue);
		w->lane = kueue_heap_local(queue, w->local_queue);
		kueue_heap_list(w, queue);
	} else {
		put_unlisted(q, w);
	}
}

static void cease_held(struct kueue_queues *q, struct kueue_workload *w)
{
	kueue_link_take(&w->unlisted);
	if (w->listed)
		kueue_heap_unlist(w, q->by_node.items[w->queue]);
}

/* To its class, or aside when it is held or has no queue. */
static void settle(struct kueue_queues *q, struct kueue_workload *w)
{
	if (w->held || w->queue == KUEUE_NONE)
		become_held(q, w);
	else
		kueue_heap_enter(q, w);
}

/* Takes one that holds no quota out of wherever it stands. */
static void unsettle(struct kueue_queues *q, struct kueue_workload *w)
{
	if (w->state == KUEUE_HELD) {
		cease_held(q, w);
		return;
	}
	struct kueue_queue *queue = q->by_node.items[w->queue];
	if (queue->preemptor == w)
		kueue_queue_set_preemptor(q, queue, NULL);
	if (queue->trying == w)
		queue->trying = NULL;
	kueue_heap_leave(q, w);
	queue->tree->changes++;
	if (queue->tree->live.next != &queue->tree->live) {
		/* What it held back from others it holds back no more. */
		queue->tree->dirty = true;
		kueue_tree_ask(q, queue->tree);
	}
}

void kueue_queues_hold(struct kueue_queues *q, struct kueue_workload *w, bool listed)
{
	assert(!q->in_cycle);
	if (!kueue_workload_holds_quota(w)) {
		unsettle(q, w);
		w->held = true;
		w->held_listed = listed;
		settle(q, w);
		return;
	}
	w->held = true;
	w->held_listed = listed;
}

void kueue_queues_unhold(struct kueue_queues *q, struct kueue_workload *w)
{
	assert(!q->in_cycle);
	if (!w->held)
		return;
	if (kueue_workload_holds_quota(w)) {
		w->held = false;
		return;
	}
	unsettle(q, w);
	w->held = false;
	settle(q, w);
}

void kueue_queues_move(struct kueue_queues *q, struct kueue_workload *w, uint32_t queue)
{
	assert(!q->in_cycle && !kueue_workload_holds_quota(w));
	unsettle(q, w);
	kueue_workload_forget_tried(w);
	w->queue = queue;
	settle(q, w);
}

/* ---- come and go ---- */

int kueue_queues_add(struct kueue_queues *q, uint32_t queue, const struct kueue_workload_spec *spec,
		     struct kueue_workload **ret, struct err *reterr)
{
	assert(!q->in_cycle);
	struct kueue_workload *w;
	int r = kueue_workload_create(&q->shapes, q->forest, queue, spec, &w, reterr);
	if (r < 0)
		return r;
	settle(q, w);
	*ret = w;
	return 0;
}

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
	struct kueue_queue *at = kueue_heap_queue(q, queue);
	w->lane = kueue_heap_local(at, w->local_queue);
	kueue_queue_hold_quota(q, at, w, state == KUEUE_RESERVING ? state : KUEUE_ADMITTED);
	kueue_parked_charged(q, at, w->uses, w->n_uses);
	if (state == KUEUE_EVICTED)
		kueue_queues_evicted(q, w);
	*ret = w;
	return 0;
}

/* ---- holding quota ---- */

static void count_admitted(struct kueue_queues *q, struct kueue_queue *queue,
			   struct kueue_workload *w)
{
	w->admitted = true;
	w->lane->admitted++;
	queue->own.admitted++;
	kueue_usage_count(q, w, 1);
}

void kueue_queue_hold_quota(struct kueue_queues *q, struct kueue_queue *queue,
			    struct kueue_workload *w, enum kueue_state state)
{
	w->state = state;
	w->lane->reserving++;
	queue->own.reserving++;
	if (state == KUEUE_ADMITTED)
		count_admitted(q, queue, w);
	kueue_holders_add(q->forest, w);
	kueue_parked_count(queue, w, 1);
	queue->tree->changes++;
}

/* Gives back its quota; it stands nowhere then. */
static void give_back(struct kueue_queues *q, struct kueue_workload *w)
{
	struct kueue_queue *queue = q->by_node.items[w->queue];
	kueue_parked_count(queue, w, -1);
	w->lane->reserving--;
	queue->own.reserving--;
	if (w->admitted) {
		w->lane->admitted--;
		queue->own.admitted--;
		kueue_usage_count(q, w, -1);
	}
	kueue_holders_remove(q->forest, w);
	w->admitted = false;
	queue->tree->changes++;
	kueue_parked_released(q, queue, w->uses, w->n_uses);
	free(w->uses);
	free(w->holdings);
	free(w->counts);
	w->uses = NULL;
	w->holdings = NULL;
	w->counts = NULL;
	w->n_uses = w->n_holdings = 0;
}

void kueue_queues_remove(struct kueue_queues *q, struct kueue_workload *w)
{
	assert(!q->in_cycle);
	if (kueue_workload_holds_quota(w))
		give_back(q, w);
	else
		unsettle(q, w);
	kueue_workload_free(&q->shapes, w);
}

void kueue_queues_admitted(struct kueue_queues *q, struct kueue_workload *w)
{
	assert(w->state == KUEUE_RESERVING);
	kueue_holders_unfile(q->forest, w);
	w->state = KUEUE_ADMITTED;
	kueue_holders_file(q->forest, w);
	count_admitted(q, q->by_node.items[w->queue], w);
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
	kueue_tree_ask(q, t);
}

void kueue_queues_released(struct kueue_queues *q, struct kueue_workload *w)
{
	assert(!q->in_cycle && kueue_workload_holds_quota(w));
	give_back(q, w);
	settle(q, w);
}

/* ---- changes of one ---- */

void kueue_queues_set_priority(struct kueue_queues *q, struct kueue_workload *w, int32_t priority)
{
	assert(!q->in_cycle);
	if (w->priority == priority)
		return;
	if (!kueue_workload_holds_quota(w)) {
		/* Who waits for its victims goes on doing so. */
		bool waits = w->state != KUEUE_HELD && q->by_node.items[w->queue]->preemptor == w;
		unsettle(q, w);
		w->priority = priority;
		settle(q, w);
		if (waits)
			kueue_queue_set_preemptor(q, q->by_node.items[w->queue], w);
		return;
	}
	struct kueue_queue *queue = q->by_node.items[w->queue];
	kueue_holders_unfile(q->forest, w);
	kueue_parked_count(queue, w, -1);
	w->priority = priority;
	kueue_parked_count(queue, w, 1);
	kueue_holders_file(q->forest, w);
	kueue_parked_charged(q, queue, w->uses, w->n_uses);
	queue->tree->changes++;
}

void kueue_queues_set_queue_order(struct kueue_queues *q, struct kueue_workload *w, int64_t at)
{
	assert(!q->in_cycle);
	bool stands = !kueue_workload_holds_quota(w);
	if (stands)
		kueue_heap_lift(q, w);
	w->queue_order = at;
	if (stands)
		kueue_heap_drop(q, w);
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
		unsettle(q, w);
		set_reclaimable(w, pods);
		settle(q, w);
		return;
	}
	struct kueue_queue *queue = q->by_node.items[w->queue];
	size_t n = w->n_uses;
	struct kueue_use *was = xcalloc(n, sizeof(*was));
	if (n)
		memcpy(was, w->uses, n * sizeof(*was));
	kueue_parked_count(queue, w, -1);
	if (w->admitted)
		kueue_usage_count(q, w, -1);
	kueue_holders_remove(q->forest, w);
	set_reclaimable(w, pods);
	fill_uses(w);
	kueue_holders_add(q->forest, w);
	if (w->admitted)
		kueue_usage_count(q, w, 1);
	kueue_parked_count(queue, w, 1);
	queue->tree->changes++;
	kueue_parked_released(q, queue, was, n);
	free(was);
}

void kueue_queue_set_preemptor(struct kueue_queues *q, struct kueue_queue *queue,
			       struct kueue_workload *w)
{
	struct kueue_workload *was = queue->preemptor;
	if (was == w)
		return;
	queue->preemptor = w;
	if (was) {
		kueue_heap_lift(q, was);
		was->preemptor = was->sticky = false;
		kueue_heap_drop(q, was);
	}
	if (w) {
		kueue_heap_lift(q, w);
		w->preemptor = true;
		w->sticky = !queue->strict;
		kueue_heap_drop(q, w);
	}
}

/* ---- placement ---- */

void kueue_refused_put(struct kueue_queues *q, struct kueue_class *c)
{
	while (q->refused.len <= c->shape->number) {
		struct kueue_link *ring = xcalloc(1, sizeof(*ring));
		kueue_link_init(ring);
		vec_push(&q->refused, ring);
	}
	kueue_link_put(q->refused.items[c->shape->number], &c->refused);
}

static void wake_refused(struct kueue_queues *q, struct kueue_link *ring)
{
	while (ring->next != ring) {
		struct kueue_class *c = rank_entry(ring->next, struct kueue_class, refused);
		struct kueue_tree *t = c->lane->queue->tree;
		kueue_link_take(&c->refused);
		t->dirty = true;
		t->changes++;
		kueue_tree_ask(q, t);
		kueue_class_wake(q, c);
	}
}

void kueue_queues_wake_shape(struct kueue_queues *q, uint32_t shape)
{
	assert(!q->in_cycle);
	if (shape != KUEUE_NONE) {
		if (shape < q->refused.len)
			wake_refused(q, q->refused.items[shape]);
		return;
	}
	for (size_t i = 0; i < q->refused.len; i++)
		wake_refused(q, q->refused.items[i]);
}
