/*
 * The cycle as its caller sees it: rounds (kueue_round.h) follow one another until one changes
 * nothing, and each entry gets an answer.
 */
#include "quota-tree/kueue_engine.h"
#include "quota-tree/kueue_message.h"
#include <assert.h>

static const char REASON_WAITING_FOR_PREEMPTED[] = "WaitingForPreemptedWorkloads";

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
	w->gone_for = 0;
	kueue_hold_quota(q, h->queue, w, checks ? KUEUE_RESERVING : KUEUE_ADMITTED);
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
	return kueue_entry_next(q, h);
}

void kueue_cycle_preempt(struct kueue_queues *q, struct kueue_entry *e)
{
	struct kueue_heat *h = current(q, e);
	assert(e->kind == KUEUE_ENTRY_PREEMPTS && h->outcome == KUEUE_OUT_NONE);
	size_t n = e->victims.items.len;
	assert(n);
	kueue_entry_say(q, h, REASON_WAITING_FOR_PREEMPTED, NULL);
	h->pub.kind = KUEUE_ENTRY_PREEMPTS;
	if (!q->text[0])
		snprintf(q->text, KUEUE_MESSAGE_MAX, "no member cluster has room");
	size_t len = strlen(q->text);
	snprintf(q->text + len, KUEUE_MESSAGE_MAX - len,
		 ". Pending the preemption of %zu workload(s)", n);
	if (!e->workload->number)
		e->workload->number = ++q->n_preemptors;
	vec_foreach (&e->victims.items, v) {
		if (!v->workload->gone_for)
			v->workload->gone_for = e->workload->number;
		if (v->workload->state != KUEUE_EVICTED) {
			h->queue->tree->moved = true;
			kueue_queues_evicted(q, v->workload);
		}
		if (!kueue_entry_is_preempted(q, v->workload))
			vec_push(&q->preempted, v->workload);
	}
	kueue_entry_promise(q, h);
	h->outcome = KUEUE_OUT_PREEMPTING;
}

/* ---- the iterator ---- */

void kueue_cycle_begin(struct kueue_queues *q, int64_t now)
{
	assert(!q->in_cycle);
	q->in_cycle = true;
	q->now = now;
	kueue_round_begin(q);
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
			kueue_entry_process(q, h);
			return &h->pub;
		}
		kueue_round_end(q);
		if (goes_on(q))
			kueue_round_begin(q);
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
		kueue_round_end(q);
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
		kueue_heap_settle_turns(t);
	}
	q->asked.len = kept;
	return kueue_queues_is_due(q);
}
