/*
 * One entry of a round on the trial that holds what the earlier ones promised: reference/kueue.md
 * section 2.2 (pkg/scheduler/scheduler.go).
 */
#include "base/num.h"
#include "quota-tree/kueue_engine.h"
#include "quota-tree/kueue_message.h"

static const char REASON_WAITING_FOR_QUOTA[] = "WaitingForQuota";
static const char REASON_WAITING_FOR_PREEMPTED[] = "WaitingForPreemptedWorkloads";

/* ---- what fits beside the others ---- */

bool kueue_entry_is_preempted(const struct kueue_queues *q, const struct kueue_workload *w)
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
		if (kueue_entry_is_preempted(q, v->workload))
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
		if (!kueue_entry_is_preempted(q, v->workload))
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

void kueue_entry_promise(struct kueue_queues *q, struct kueue_heat *h)
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
		struct kueue_quota quota = kueue_bound_quota(q, node, u->flavor, u->resource);
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

void kueue_entry_say(struct kueue_queues *q, struct kueue_heat *h, const char *reason,
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
	kueue_entry_say(q, h, REASON_WAITING_FOR_QUOTA, NULL);
	if (!h->queue->always_reclaims)
		promise_blocked(q, h);
}

void kueue_entry_process(struct kueue_queues *q, struct kueue_heat *h)
{
	struct kueue_assignment *a = &h->pub.assignment;
	bool overlapping = overlaps(q, h);
	if (overlapping && q->options.recompute_on_overlap) {
		nominate_again(q, h);
		overlapping = overlaps(q, h);
	}
	if (a->mode == KUEUE_NO_FIT) {
		h->outcome = KUEUE_OUT_NO_FIT;
		kueue_entry_say(q, h, kueue_no_fit_to_string(a->no_fit), NULL);
	} else if (a->mode != KUEUE_FIT && !h->pub.victims.items.len) {
		no_candidates(q, h);
	} else if (overlapping) {
		h->outcome = KUEUE_OUT_SKIPPED;
		kueue_entry_say(
		    q, h, REASON_WAITING_FOR_QUOTA,
		    "Workload has overlapping preemption targets with another workload");
	} else if (!fits_in_the_end(q, h) ||
		   (a->mode == KUEUE_FIT && !h->deferred && !fits_now(q, h))) {
		h->outcome = KUEUE_OUT_SKIPPED;
		kueue_entry_say(q, h, REASON_WAITING_FOR_QUOTA,
				"Workload no longer fits after processing another workload");
	} else if (h->deferred) {
		h->outcome = KUEUE_OUT_DEFERRED;
		kueue_entry_say(
		    q, h, REASON_WAITING_FOR_PREEMPTED,
		    "Workload has overlapping preemption targets with another workload, but will "
		    "fit after these preemptions complete");
		kueue_entry_promise(q, h);
	} else {
		h->pub.kind = a->mode == KUEUE_FIT ? KUEUE_ENTRY_FITS : KUEUE_ENTRY_PREEMPTS;
	}
}

bool kueue_entry_next(struct kueue_queues *q, struct kueue_heat *h)
{
	struct kueue_entry *e = &h->pub;
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
	kueue_entry_say(q, h, kueue_no_fit_to_string(KUEUE_TOPOLOGY_PLACEMENT_FAILED), NULL);
	return false;
}
