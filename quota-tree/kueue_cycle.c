/*
 * The cycle: reference/kueue.md section 2.2 (pkg/scheduler/scheduler.go). A round nominates one
 * head of every queue on the forest as it stands, and processes the entries one after the other on
 * a trial that holds what the earlier ones promised. Its admissions are charged for good once the
 * trial is over.
 */
#include "base/num.h"
#include "quota-tree/kueue_class.h"
#include "quota-tree/kueue_message.h"
#include <assert.h>

static const char REASON_WAITING_FOR_QUOTA[] = "WaitingForQuota";
static const char REASON_WAITING_FOR_PREEMPTED[] = "WaitingForPreemptedWorkloads";

/* ---- the entries of a round ---- */

static struct kueue_heat *heat_new(struct kueue_queues *q)
{
	if (q->n_heats == q->heats.len)
		vec_push(&q->heats, xcalloc(1, sizeof(struct kueue_heat)));
	struct kueue_heat *h = q->heats.items[q->n_heats++];
	h->outcome = KUEUE_OUT_NONE;
	h->popped = h->out = h->refused = h->deferred = false;
	h->levels_known = false;
	vec_clear(&h->promised);
	return h;
}

/* What the last attempt tried stays good until the queue could take more; while it stays in the
 * heap for longer (FlavorFungibilityPreserveScanProgress: Kueue tries it in every cycle). */
static void drop_stale_tried(struct kueue_queues *q, struct kueue_workload *w)
{
	if (!w->tried || (q->options.flavor_fungibility && q->options.preserve_scan_progress))
		return;
	if (w->tried_generation != kueue_forest_generation(q->forest, w->queue) ||
	    !q->options.flavor_fungibility)
		kueue_workload_forget_tried(w);
}

static void nominate(struct kueue_queues *q, struct kueue_queue *queue, struct kueue_workload *w)
{
	struct kueue_heat *h = heat_new(q);
	h->queue = queue;
	h->pub.workload = w;
	h->pub.reason = h->pub.message = "";
	drop_stale_tried(q, w);
	kueue_nominate(q->forest, w, &h->pub.assignment, &h->pub.victims);
}

static struct kueue_workload *slot_of(struct kueue_queues *q, struct kueue_queue *queue)
{
	if (kueue_forest_active(q->forest, queue->node) != KUEUE_ACTIVE)
		return NULL;
	struct kueue_workload *w = kueue_heap_head(queue);
	struct kueue_class *c = queue->open.len ? kueue_parked_best(q, queue) : NULL;
	if (!c || (w && kueue_workload_cmp(w, c->head) < 0))
		return w;
	kueue_class_wake(q, c);
	return kueue_heap_head(queue);
}

/* The heads of one tree. A class that Kueue would try again first, in vain, takes the queue's turn
 * in its place; where nobody else has a head that changes nothing. */
static void nominate_tree(struct kueue_queues *q, struct kueue_tree *t)
{
	size_t heads = 0;
	if (t->wake > t->settled && t->live.next != &t->live)
		kueue_parked_reserving(q, t);
	for (struct kueue_link *l = t->live.next, *next; l != &t->live && heads < 2; l = next) {
		next = l->next; /* a queue that turns out to have nobody leaves the ring */
		heads += slot_of(q, rank_entry(l, struct kueue_queue, live)) != NULL;
	}
	for (struct kueue_link *l = t->live.next, *next; l != &t->live; l = next) {
		struct kueue_queue *queue = rank_entry(l, struct kueue_queue, live);
		next = l->next;
		struct kueue_workload *w = slot_of(q, queue);
		if (!w)
			continue;
		struct kueue_class *ghost = heads > 1 ? kueue_heap_ghost(queue, w) : NULL;
		if (ghost) {
			ghost->tried_wake = t->wake;
			kueue_class_refile(ghost);
			t->moved = true;
			continue;
		}
		nominate(q, queue, w);
	}
}

static int cmp_trees(const void *a, const void *b)
{
	const struct kueue_tree *x = *(struct kueue_tree *const *)a;
	const struct kueue_tree *y = *(struct kueue_tree *const *)b;
	return x->root < y->root ? -1 : x->root > y->root;
}

static void round_begin(struct kueue_queues *q)
{
	q->cycle++;
	q->n_heats = 0;
	vec_clear(&q->round_trees);
	vec_clear(&q->preempted);
	vec_clear(&q->admitted);
	vec_clear(&q->evictions);
	for (size_t i = 0; i < q->asked.len; i++) {
		struct kueue_tree *t = q->asked.items[i];
		if (t->dirty)
			vec_push(&q->round_trees, t);
		else if (!t->again)
			kueue_tree_settle_turns(t);
	}
	if (q->round_trees.len > 1)
		qsort(q->round_trees.items, q->round_trees.len, sizeof(struct kueue_tree *),
		      cmp_trees);
	for (size_t i = 0; i < q->round_trees.len; i++) {
		struct kueue_tree *t = q->round_trees.items[i];
		t->dirty = t->moved = false;
		nominate_tree(q, t);
	}
	kueue_order_begin(q);
	q->mark = kueue_forest_mark(q->forest);
	q->in_round = true;
}

/* ---- processing an entry ---- */

static bool is_preempted(const struct kueue_queues *q, const struct kueue_workload *w)
{
	for (size_t i = 0; i < q->preempted.len; i++) {
		if (q->preempted.items[i] == w)
			return true;
	}
	return false;
}

static bool overlaps(const struct kueue_queues *q, const struct kueue_heat *h)
{
	if (!q->preempted.len)
		return false;
	vec_foreach (&h->pub.victims.items, v) {
		if (is_preempted(q, v->workload))
			return true;
	}
	return false;
}

static void release_on_trial(struct kueue_queues *q, const struct kueue_workload *w)
{
	kueue_forest_release(q->forest, w->queue, w->uses, w->n_uses);
}

static bool of_tree(const struct kueue_queues *q, const struct kueue_workload *w,
		    const struct kueue_heat *h)
{
	return q->by_node.items[w->queue]->tree == h->queue->tree;
}

static bool uses_fit(struct kueue_queues *q, const struct kueue_heat *h)
{
	return kueue_forest_fits(q->forest, h->queue->node, h->pub.assignment.uses.items,
				 h->pub.assignment.uses.len);
}

/* Whether it fits beside what the round promised once everybody preempted is gone. */
static bool fits_in_the_end(struct kueue_queues *q, const struct kueue_heat *h)
{
	size_t mark = kueue_forest_mark(q->forest);
	for (size_t i = 0; i < q->preempted.len; i++) {
		if (of_tree(q, q->preempted.items[i], h))
			release_on_trial(q, q->preempted.items[i]);
	}
	vec_foreach (&h->pub.victims.items, v) {
		if (!is_preempted(q, v->workload))
			release_on_trial(q, v->workload);
	}
	bool fits = uses_fit(q, h);
	kueue_forest_rollback(q->forest, mark);
	return fits;
}

/* Whether it fits now, beside what is really held: victims still there, promises not. Kueue does
 * not ask this, and may admit two workloads into the room of one large victim before it is gone. */
static bool fits_now(struct kueue_queues *q, const struct kueue_heat *h)
{
	if (!q->preempted.len)
		return true;
	size_t mark = kueue_forest_mark(q->forest);
	for (size_t i = 0; i < q->n_heats; i++) {
		const struct kueue_heat *other = q->heats.items[i];
		if (other->promised.len && other->queue->tree == h->queue->tree)
			kueue_forest_release(q->forest, other->queue->node, other->promised.items,
					     other->promised.len);
	}
	bool fits = uses_fit(q, h);
	kueue_forest_rollback(q->forest, mark);
	return fits;
}

/* Charged until the end of the round. */
static void promise(struct kueue_queues *q, struct kueue_heat *h)
{
	kueue_forest_charge(q->forest, h->queue->node, h->promised.items, h->promised.len);
	kueue_order_charged(q, h->queue);
}

static void promise_uses(struct kueue_queues *q, struct kueue_heat *h)
{
	vec_foreach (&h->pub.assignment.uses, u)
		vec_push(&h->promised, *u);
	promise(q, h);
}

/* Holds back what a blocked preemptor could get, so that lower priorities do not take it in this
 * round (quotaResourcesToReserve). */
static void promise_blocked(struct kueue_queues *q, struct kueue_heat *h)
{
	const struct kueue_assignment *a = &h->pub.assignment;
	uint32_t node = h->queue->node;
	vec_foreach (&a->uses, u) {
		struct kueue_quota quota = kueue_parked_quota(q, node, u->flavor, u->resource);
		int64_t usage = kueue_forest_usage(q->forest, node, u->flavor, u->resource);
		int64_t most = quota.nominal;
		if (a->borrow_level > 0)
			most = num_add_sat(most, quota.borrowing);
		int64_t part = a->borrow_level > 0 && quota.borrowing == QUOTA_UNLIMITED
				   ? u->value
				   : num_max(0, num_min(u->value, num_sub_sat(most, usage)));
		if (part > 0)
			vec_push(&h->promised, (struct kueue_use){u->flavor, u->resource, part});
	}
	promise(q, h);
}

/* Nominates it again as if the victims of earlier entries were gone, on the flavors it has
 * (RecomputeAssignmentUponPreemptionTargetsOverlap). */
static void nominate_again(struct kueue_queues *q, struct kueue_heat *h)
{
	size_t mark = kueue_forest_mark(q->forest);
	struct kueue_workload *w = h->pub.workload;
	struct VEC(uint32_t) pinned = {0};
	vec_foreach (&h->pub.assignment.choices, c)
		vec_push(&pinned, c->flavor);
	for (size_t i = 0; i < q->preempted.len; i++) {
		struct kueue_workload *v = q->preempted.items[i];
		if (!of_tree(q, v, h))
			continue;
		release_on_trial(q, v);
		kueue_holders_set_taken(v, true);
	}
	kueue_workload_forget_tried(w);
	w->pinned = pinned.items;
	kueue_nominate(q->forest, w, &h->pub.assignment, &h->pub.victims);
	w->pinned = NULL;
	for (size_t i = 0; i < q->preempted.len; i++)
		kueue_holders_set_taken(q->preempted.items[i], false);
	kueue_forest_rollback(q->forest, mark);
	vec_done(&pinned);
	h->deferred = h->pub.assignment.mode == KUEUE_FIT;
}

static void say(struct kueue_queues *q, struct kueue_heat *h, const char *reason,
		const char *message)
{
	h->pub.kind = KUEUE_ENTRY_WAITS;
	h->pub.reason = reason;
	h->pub.message = message;
	if (message)
		return;
	kueue_message_assignment(q->forest, h->pub.workload, &h->pub.assignment, q->text,
				 KUEUE_MESSAGE_MAX);
	h->pub.message = q->text;
}

static void no_candidates(struct kueue_queues *q, struct kueue_heat *h)
{
	h->outcome = KUEUE_OUT_NO_CANDIDATES;
	say(q, h, REASON_WAITING_FOR_QUOTA, NULL);
	if (!h->queue->always_reclaims)
		promise_blocked(q, h);
}

static void process(struct kueue_queues *q, struct kueue_heat *h)
{
	struct kueue_assignment *a = &h->pub.assignment;
	bool overlapping = overlaps(q, h);
	if (overlapping && q->options.recompute_on_overlap) {
		nominate_again(q, h);
		overlapping = overlaps(q, h);
	}
	if (a->mode == KUEUE_NO_FIT) {
		h->outcome = KUEUE_OUT_NO_FIT;
		say(q, h, kueue_no_fit_to_string(a->no_fit), NULL);
	} else if (a->mode != KUEUE_FIT && !h->pub.victims.items.len) {
		no_candidates(q, h);
	} else if (overlapping) {
		h->outcome = KUEUE_OUT_SKIPPED;
		say(q, h, REASON_WAITING_FOR_QUOTA,
		    "Workload has overlapping preemption targets with another workload");
	} else if (!fits_in_the_end(q, h) ||
		   (a->mode == KUEUE_FIT && !h->deferred && !fits_now(q, h))) {
		h->outcome = KUEUE_OUT_SKIPPED;
		say(q, h, REASON_WAITING_FOR_QUOTA,
		    "Workload no longer fits after processing another workload");
	} else if (h->deferred) {
		h->outcome = KUEUE_OUT_DEFERRED;
		say(q, h, REASON_WAITING_FOR_PREEMPTED,
		    "Workload fits once the workloads preempted in this cycle are gone");
		promise_uses(q, h);
	} else {
		h->pub.kind = a->mode == KUEUE_FIT ? KUEUE_ENTRY_FITS : KUEUE_ENTRY_PREEMPTS;
	}
}

/* ---- answers ---- */

static struct kueue_heat *current(struct kueue_queues *q, const struct kueue_entry *e)
{
	assert(q->current && &q->current->pub == e);
	return q->current;
}

/* Records what the assignment gives it. */
static void take_assignment(struct kueue_queues *q, struct kueue_workload *w,
			    const struct kueue_assignment *a)
{
	struct kueue_use asks[KUEUE_MAX_REQUESTS + 1];
	bool fewer = false;
	w->holdings = xcalloc(a->choices.len, sizeof(*w->holdings));
	for (size_t s = 0; s < w->shape->n_sets; s++) {
		fewer |= a->counts[s] != kueue_workload_count(w, s);
		size_t n = kueue_workload_requests(q->forest, w, w->queue, s, a->counts[s], asks);
		assert(n == a->first_choice[s + 1] - a->first_choice[s]);
		for (size_t i = 0; i < n; i++) {
			const struct kueue_choice *c = &a->choices.items[a->first_choice[s] + i];
			if (c->flavor != KUEUE_NONE)
				w->holdings[w->n_holdings++] = (struct kueue_holding){
				    (uint32_t)s, c->flavor, c->resource, asks[i].value};
		}
	}
	if (fewer) {
		w->counts = xcalloc(w->shape->n_sets, sizeof(*w->counts));
		memcpy(w->counts, a->counts, w->shape->n_sets * sizeof(*w->counts));
	}
	w->n_uses = a->uses.len;
	w->uses = xcalloc(a->uses.len, sizeof(*w->uses));
	if (a->uses.len)
		memcpy(w->uses, a->uses.items, a->uses.len * sizeof(*w->uses));
}

void kueue_cycle_admit(struct kueue_queues *q, struct kueue_entry *e, bool checks)
{
	struct kueue_heat *h = current(q, e);
	struct kueue_workload *w = e->workload;
	assert(e->kind == KUEUE_ENTRY_FITS && h->outcome == KUEUE_OUT_NONE);
	if (h->queue->preemptor == w)
		kueue_queue_set_preemptor(q, h->queue, NULL);
	kueue_heap_leave(q, w);
	kueue_workload_forget_tried(w);
	take_assignment(q, w, &e->assignment);
	w->reserved_at = q->now;
	kueue_queue_hold_quota(q, h->queue, w, checks ? KUEUE_RESERVING : KUEUE_ADMITTED);
	kueue_usage_penalize(q, w);
	vec_push(&q->admitted, w);
	kueue_order_charged(q, h->queue);
	h->outcome = KUEUE_OUT_ADMITTED;
	h->queue->tree->moved = true;
}

bool kueue_cycle_refuse(struct kueue_queues *q, struct kueue_entry *e)
{
	struct kueue_heat *h = current(q, e);
	assert(h->outcome == KUEUE_OUT_NONE);
	h->refused = true;
	while (kueue_assign_next(q->forest, e->workload, &e->assignment)) {
		bool starts =
		    e->assignment.mode == KUEUE_FIT && e->assignment.pass != KUEUE_PASS_ROOM;
		vec_clear(&e->victims.items);
		if (e->assignment.mode != KUEUE_FIT) {
			kueue_preempt(q->forest, e->workload, &e->assignment, NULL, &e->victims);
			if (!e->victims.items.len || overlaps(q, h))
				continue;
		}
		if (!fits_in_the_end(q, h) || (starts && !fits_now(q, h)))
			continue;
		e->kind = starts ? KUEUE_ENTRY_FITS : KUEUE_ENTRY_PREEMPTS;
		return true;
	}
	vec_clear(&e->victims.items);
	h->outcome = KUEUE_OUT_NO_FIT;
	say(q, h, kueue_no_fit_to_string(KUEUE_TOPOLOGY_PLACEMENT_FAILED), NULL);
	return false;
}

void kueue_cycle_preempt(struct kueue_queues *q, struct kueue_entry *e)
{
	struct kueue_heat *h = current(q, e);
	assert(e->kind == KUEUE_ENTRY_PREEMPTS && h->outcome == KUEUE_OUT_NONE);
	size_t n = e->victims.items.len;
	assert(n);
	say(q, h, REASON_WAITING_FOR_PREEMPTED, NULL);
	h->pub.kind = KUEUE_ENTRY_PREEMPTS;
	if (!q->text[0])
		snprintf(q->text, KUEUE_MESSAGE_MAX, "no member cluster has room");
	size_t len = strlen(q->text);
	snprintf(q->text + len, KUEUE_MESSAGE_MAX - len,
		 ". Pending the preemption of %zu workload(s)", n);
	vec_foreach (&e->victims.items, v) {
		if (v->workload->state != KUEUE_EVICTED) {
			h->queue->tree->moved = true;
			if (kueue_forest_queue_spec(q->forest, v->workload->queue))
				kueue_queues_evicted(q, v->workload);
			else /* its node may go with it: not during a trial */
				vec_push(&q->evictions, v->workload);
		}
		if (!is_preempted(q, v->workload))
			vec_push(&q->preempted, v->workload);
	}
	promise_uses(q, h);
	h->outcome = KUEUE_OUT_PREEMPTING;
}

/* ---- rounds and cycles ---- */

static void round_end(struct kueue_queues *q)
{
	kueue_forest_rollback(q->forest, q->mark);
	q->in_round = false;
	q->current = NULL;
	for (size_t i = 0; i < q->admitted.len; i++) {
		struct kueue_workload *w = q->admitted.items[i];
		kueue_forest_charge(q->forest, w->queue, w->uses, w->n_uses);
	}
	for (size_t i = 0; i < q->evictions.len; i++)
		kueue_queues_evicted(q, q->evictions.items[i]);
	for (size_t i = 0; i < q->admitted.len; i++) {
		struct kueue_workload *w = q->admitted.items[i];
		struct kueue_queue *queue = q->by_node.items[w->queue];
		kueue_parked_charged(q, queue, w->uses, w->n_uses);
	}
	for (size_t i = 0; i < q->n_heats; i++)
		kueue_requeue(q, q->heats.items[i]);
	for (size_t i = 0; i < q->round_trees.len; i++) {
		struct kueue_tree *t = q->round_trees.items[i];
		if (t->moved)
			t->dirty = true;
		else if (!t->again)
			kueue_tree_settle_turns(t);
	}
	/* Where nobody moved the next change finds them at their first flavor again. */
	for (size_t i = 0; i < q->n_heats; i++) {
		struct kueue_heat *h = q->heats.items[i];
		if (h->outcome != KUEUE_OUT_ADMITTED && !h->queue->tree->moved)
			kueue_workload_forget_tried(h->pub.workload);
	}
}

/* ---- the iterator ---- */

void kueue_cycle_begin(struct kueue_queues *q, int64_t now)
{
	assert(!q->in_cycle);
	q->in_cycle = true;
	q->now = now;
	round_begin(q);
}

static bool goes_on(const struct kueue_queues *q)
{
	if (q->options.one_head_per_cycle)
		return false;
	for (size_t i = 0; i < q->asked.len; i++) {
		if (q->asked.items[i]->dirty)
			return true;
	}
	return false;
}

struct kueue_entry *kueue_cycle_next(struct kueue_queues *q)
{
	assert(q->in_cycle);
	while (q->in_round) {
		struct kueue_heat *h = kueue_order_pop(q);
		if (h) {
			q->current = h;
			process(q, h);
			return &h->pub;
		}
		round_end(q);
		if (goes_on(q))
			round_begin(q);
	}
	return NULL;
}

bool kueue_queues_is_due(const struct kueue_queues *q)
{
	for (size_t i = 0; i < q->asked.len; i++) {
		const struct kueue_tree *t = q->asked.items[i];
		if (t->dirty && t->live.next != &t->live)
			return true;
	}
	return false;
}

bool kueue_cycle_end(struct kueue_queues *q)
{
	assert(q->in_cycle);
	if (q->in_round)
		round_end(q);
	q->in_cycle = false;
	size_t kept = 0;
	for (size_t i = 0; i < q->asked.len; i++) {
		struct kueue_tree *t = q->asked.items[i];
		t->dirty |= t->again;
		t->again = false;
		if (t->dirty && t->live.next != &t->live) {
			q->asked.items[kept++] = t;
			continue;
		}
		t->dirty = t->asked = false;
		kueue_tree_settle_turns(t);
	}
	q->asked.len = kept;
	return kueue_queues_is_due(q);
}
