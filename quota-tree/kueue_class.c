#include "quota-tree/kueue_class.h"
#include "quota-tree/kueue_engine.h"
#include "quota-tree/kueue_shape.h"
#include <assert.h>

/* Classes that are remembered after their last member went, in one tree. */
#define MAX_EMPTY 1024

int kueue_class_cmp(const void *a, const void *b)
{
	const struct kueue_class *x = a, *y = b;
	return kueue_workload_cmp(x->head, y->head);
}

static bool before_by_class(const struct rank_node *a, const struct rank_node *b)
{
	return kueue_workload_cmp(rank_entry_const(a, struct kueue_workload, by_class),
				  rank_entry_const(b, struct kueue_workload, by_class)) < 0;
}

static const struct rank_order by_class_order = {.before = before_by_class};

/* ---- their places in the lane ---- */

/* Members of classes that are awake are the queue's active ones. */
static void recount(struct kueue_class *c)
{
	size_t now = c->filed && !c->parked ? rank_len(&c->members) : 0;
	c->lane->queue->n_active += now - c->counted;
	c->counted = now;
}

static void lane_put(struct kueue_class *c)
{
	struct kueue_queue *queue = c->lane->queue;
	c->filed = true;
	if (c->parked) {
		rank_list_insert(&c->lane->parked, c->turn, c, (int64_t)c->tried_wake);
		return;
	}
	rank_list_insert(&c->lane->awake, c->turn, c, 0);
	recount(c);
	if (queue->n_awake == 0)
		queue->settled = kueue_lane_settled(queue);
	if (queue->n_awake++ == 0)
		kueue_lane_sync_live(queue);
}

static void lane_take(struct kueue_class *c)
{
	struct kueue_queue *queue = c->lane->queue;
	if (!c->filed)
		return;
	c->filed = false;
	if (c->parked) {
		rank_list_remove(&c->lane->parked, c->turn, c);
		return;
	}
	rank_list_remove(&c->lane->awake, c->turn, c);
	recount(c);
	if (--queue->n_awake == 0) {
		queue->slept = queue->tree->quiets;
		kueue_lane_sync_live(queue);
	}
}

void kueue_class_tried(struct kueue_class *c, uint64_t wake)
{
	c->tried_wake = wake;
	if (c->filed && c->parked)
		rank_list_set_mark(&c->lane->parked, c->turn, c, (int64_t)wake);
}

/* ---- which there are ---- */

struct class_key { /* bytes of a map key */
	const struct kueue_lane *lane;
	const struct kueue_workload *alone;
	uint32_t shape;
	int32_t priority;
};

static struct span key_span(const struct class_key *key)
{
	return span_make((const char *)key, sizeof(*key));
}

static void class_free(struct kueue_queues *q, struct kueue_class *c)
{
	struct class_key key = {c->lane, c->alone, c->shape->number, c->priority};
	assert(!rank_len(&c->members));
	lane_take(c);
	kueue_parked_clear(q, c);
	kueue_link_take(&c->refused);
	if (kueue_link_is_in(&c->empty)) {
		kueue_link_take(&c->empty);
		c->lane->queue->tree->n_empty--;
	}
	map_remove(&q->classes, key_span(&key));
	kueue_shape_put(&q->shapes, c->shape);
	vec_done(&c->waits);
	vec_done(&c->demand);
	free(c);
}

/* The class lost its last member. A parked one is remembered until what would wake it: an equal
 * newcomer is bypassed until then (Kueue's hashToBulkMoveReason). */
static void class_emptied(struct kueue_queues *q, struct kueue_class *c)
{
	struct kueue_tree *t = c->lane->queue->tree;
	lane_take(c);
	kueue_parked_clear(q, c);
	c->head = NULL;
	if (!c->parked || c->alone) {
		class_free(q, c);
		return;
	}
	kueue_link_put(&t->empty, &c->empty);
	if (++t->n_empty > MAX_EMPTY)
		class_free(q, rank_entry(t->empty.next, struct kueue_class, empty));
}

static struct kueue_class *class_get(struct kueue_queues *q, struct kueue_queue *queue,
				     struct kueue_workload *w)
{
	bool alone = !q->options.equivalence_hashing || w->reclaimable;
	struct class_key key = {.lane = queue->fair ? w->lane : &queue->own,
				.alone = alone ? w : NULL,
				.shape = w->shape->number,
				.priority = w->priority};
	struct kueue_class *c = map_get(&q->classes, key_span(&key));
	if (c)
		return c;
	c = xcalloc(1, sizeof(*c));
	c->lane = queue->fair ? w->lane : &queue->own;
	c->shape = w->shape;
	c->shape->refs++;
	c->priority = w->priority;
	c->alone = key.alone;
	rank_init(&c->members, &by_class_order);
	map_put(&q->classes, key_span(&key), c);
	return c;
}

static void set_head(struct kueue_class *c, struct kueue_workload *head)
{
	c->head = head;
	if (head)
		c->turn = head->turn;
}

/* Its first member may be another one now. */
static void class_rehead(struct kueue_class *c)
{
	struct rank_node *first = rank_first(&c->members);
	struct kueue_workload *head =
	    first ? rank_entry(first, struct kueue_workload, by_class) : NULL;
	if (head == c->head && c->filed) {
		recount(c);
		return;
	}
	lane_take(c);
	kueue_parked_lift(c);
	set_head(c, head);
	kueue_parked_drop(c);
	if (head)
		lane_put(c);
}

void kueue_class_wake(struct kueue_queues *q, struct kueue_class *c)
{
	struct kueue_tree *t = c->lane->queue->tree;
	if (!c->parked)
		return;
	kueue_parked_clear(q, c);
	kueue_link_take(&c->refused);
	if (!c->head) {
		class_free(q, c);
		return;
	}
	lane_take(c);
	c->parked = false;
	c->reason = NULL;
	lane_put(c);
	t->dirty = true;
	t->changes++;
	kueue_lane_ask(q, t);
}

void kueue_class_park(struct kueue_queues *q, struct kueue_class *c, const char *reason)
{
	(void)q;
	assert(!c->parked && c->head);
	lane_take(c);
	c->parked = true;
	c->reason = reason;
	c->tried_wake = c->lane->queue->tree->wake;
	c->lane->queue->tree->changes++;
	lane_put(c);
}

struct kueue_class *kueue_class_sibling(const struct kueue_queues *q, const struct kueue_class *c,
					struct kueue_lane *lane)
{
	struct class_key key = {lane, NULL, c->shape->number, c->priority};
	return c->alone || lane == c->lane ? NULL : map_get(&q->classes, key_span(&key));
}

/* ---- waking all ---- */

static void wake_lane(struct kueue_queues *q, struct kueue_lane *lane)
{
	struct kueue_class *c;
	while ((c = rank_list_first(&lane->parked)))
		kueue_class_wake(q, c);
}

void kueue_class_wake_queue(struct kueue_queues *q, struct kueue_queue *queue)
{
	wake_lane(q, &queue->own);
	for (size_t i = 0; i < queue->locals.len; i++)
		wake_lane(q, queue->locals.items[i]);
}

void kueue_class_forget_empty(struct kueue_queues *q, struct kueue_tree *t)
{
	while (t->empty.next != &t->empty)
		class_free(q, rank_entry(t->empty.next, struct kueue_class, empty));
}

/* ---- members ---- */

void kueue_class_join(struct kueue_queues *q, struct kueue_queue *queue, struct kueue_workload *w)
{
	struct kueue_class *c = class_get(q, queue, w);
	w->class = c;
	rank_insert(&c->members, &w->by_class);
	if (kueue_link_is_in(&c->empty)) {
		kueue_link_take(&c->empty);
		queue->tree->n_empty--;
		class_rehead(c);
		kueue_parked_make_restless(c);
		if (c->tried_wake < queue->tree->wake)
			kueue_class_wake(q, c);
	} else {
		class_rehead(c);
	}
}

void kueue_class_part(struct kueue_queues *q, struct kueue_workload *w)
{
	struct kueue_class *c = w->class;
	rank_remove(&c->members, &w->by_class);
	w->class = NULL;
	if (rank_len(&c->members))
		class_rehead(c);
	else
		class_emptied(q, c);
}

void kueue_class_lift(struct kueue_workload *w)
{
	lane_take(w->class);
	kueue_parked_lift(w->class);
	rank_remove(&w->class->members, &w->by_class);
}

void kueue_class_drop(struct kueue_workload *w)
{
	struct kueue_class *c = w->class;
	rank_insert(&c->members, &w->by_class);
	set_head(c, rank_entry(rank_first(&c->members), struct kueue_workload, by_class));
	kueue_parked_drop(c);
	lane_put(c);
}
