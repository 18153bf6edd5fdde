/*
 * Who goes back where at the end of a round (reference/kueue.md section 2.3), and whether that is a
 * reason for another one.
 */
#include "quota-tree/kueue_engine.h"

/* Keeps what this attempt tried; true when flavors are left that it did not try. */
static bool remember_tried(struct kueue_queues *q, struct kueue_workload *w,
			   const struct kueue_assignment *a)
{
	bool left = false;
	if (!q->options.flavor_fungibility)
		return false;
	if (w->n_tried != a->choices.len) {
		kueue_workload_forget_tried(w);
		w->tried = xcalloc(a->choices.len, sizeof(*w->tried));
		w->n_tried = (uint32_t)a->choices.len;
	}
	for (size_t i = 0; i < a->choices.len; i++) {
		w->tried[i] = a->choices.items[i].tried;
		left |= w->tried[i] != -1;
	}
	w->tried_generation = kueue_forest_generation(q->forest, w->queue);
	return left;
}

/* How often flavors that are left may be a reason for another round while nothing changes: enough
 * for every flavor to have been first. Two pod sets may take turns in leaving some for ever. */
static uint32_t most_tries(const struct kueue_queues *q, const struct kueue_queue *queue)
{
	const struct kueue_queue_spec *spec = kueue_forest_queue_spec(q->forest, queue->node);
	uint32_t n = 2;
	for (size_t g = 0; spec && g < spec->n_groups; g++)
		n += (uint32_t)spec->groups[g].n_flavors;
	return n;
}

/* Whether its queue's head should be tried again for the flavors it has left. */
static bool goes_on_trying(struct kueue_queues *q, struct kueue_queue *queue,
			   const struct kueue_workload *w, bool left)
{
	uint64_t changes = queue->tree->changes;
	if (queue->trying != w || queue->trying_changes != changes) {
		queue->tries = 0;
		queue->trying = w;
		queue->trying_changes = changes;
	}
	if (!left) /* through all of them */
		queue->tries = UINT32_MAX;
	if (queue->tries >= most_tries(q, queue))
		return false;
	queue->tries++;
	queue->tree->moved = true;
	return true;
}

/* Whether its last attempt began behind the first flavor of some group. */
static bool began_later(const struct kueue_workload *w)
{
	for (size_t i = 0; i < w->n_tried; i++)
		if (w->tried[i] != -1)
			return true;
	return false;
}

static void requeue_hopeless(struct kueue_queues *q, struct kueue_heat *h)
{
	struct kueue_workload *w = h->pub.workload;
	struct kueue_queue *queue = h->queue;
	struct kueue_tree *t = queue->tree;
	struct kueue_class *c = w->class;
	/* The head of a StrictFIFO queue goes on from the first one then. */
	bool left = queue->strict && began_later(w);
	if (h->refused)
		kueue_workload_forget_tried(w);
	else
		left |= remember_tried(q, w, &h->pub.assignment);
	if (h->refused && !kueue_link_is_in(&c->refused))
		kueue_wake_refused_put(q, c);
	if (goes_on_trying(q, queue, w, left) || queue->strict)
		return;
	t->moved = true;
	/* What is parked starts over: the flavors it left are no better than the others. */
	kueue_workload_forget_tried(w);
	/* What is beyond its quota now may come to be short of candidates only, and hold back. */
	bool reserves = !queue->always_reclaims;
	kueue_class_park(q, c, h->pub.reason);
	kueue_parked_file(q, c, &h->pub.assignment, reserves);
	for (size_t i = 0; queue->fair && i < queue->locals.len; i++) {
		c = kueue_class_sibling(q, w->class, queue->locals.items[i]);
		if (!c || c->parked)
			continue;
		kueue_class_park(q, c, h->pub.reason);
		kueue_parked_file(q, c, &h->pub.assignment, reserves);
	}
}

/* Who waits for victims goes first next time: a reason for another round, but two that take turns
 * in it are none for ever. */
static void make_preemptor(struct kueue_queues *q, struct kueue_queue *queue,
			   struct kueue_workload *w)
{
	if (queue->preemptor == w && w->sticky == !queue->strict)
		return;
	if (queue->preemptor == w) /* its queue has another strategy since */
		kueue_queue_set_preemptor(q, queue, NULL);
	if (queue->turns_changes != queue->tree->changes)
		queue->turns = 0;
	queue->turns_changes = queue->tree->changes;
	if (++queue->turns <= 2)
		queue->tree->moved = true;
	kueue_queue_set_preemptor(q, queue, w);
}

void kueue_requeue(struct kueue_queues *q, struct kueue_heat *h)
{
	struct kueue_workload *w = h->pub.workload;
	struct kueue_queue *queue = h->queue;
	switch (h->outcome) {
	case KUEUE_OUT_ADMITTED:
		return;
	case KUEUE_OUT_PREEMPTING:
	case KUEUE_OUT_DEFERRED:
		kueue_workload_forget_tried(w);
		make_preemptor(q, queue, w);
		return;
	default:
		break;
	}
	if (queue->preemptor == w && h->popped)
		make_preemptor(q, queue, NULL);
	if (h->outcome == KUEUE_OUT_NO_FIT || h->outcome == KUEUE_OUT_NO_CANDIDATES) {
		requeue_hopeless(q, h);
	} else if (h->outcome == KUEUE_OUT_SKIPPED && q->options.preserve_scan_progress) {
		goes_on_trying(q, queue, w, remember_tried(q, w, &h->pub.assignment));
	} else {
		queue->tree->again |= h->outcome == KUEUE_OUT_NONE;
		kueue_workload_forget_tried(w);
	}
}
