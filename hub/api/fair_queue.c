#include "api/fair_queue.h"

#include "base/compat.h"

struct fair_flow {
	struct fair_flow *prev, *next;	   /* in the ring, while `head` is not NULL */
	struct fair_request *head, **tail; /* that wait, oldest first */
	size_t n_waiting, bytes;
	size_t n_running, seats; /* the latter: that they hold */
	size_t n_long;
	char *user;
};

static struct fair_flow *flow_of(struct fair_queue *q, struct span user)
{
	struct fair_flow *f = map_get(&q->flows, user);
	if (f)
		return f;
	f = xcalloc(1, sizeof(*f));
	f->tail = &f->head;
	f->user = xstrndup(user.ptr ? user.ptr : "", user.len);
	(void)map_put(&q->flows, user, f);
	q->n_flows++;
	return f;
}

static void flow_settle(struct fair_queue *q, struct fair_flow *f)
{
	if (f->n_waiting || f->n_running || f->n_long)
		return;
	(void)map_remove(&q->flows, span_of(f->user));
	q->n_flows--;
	free(f->user);
	free(f);
}

static void ring_add(struct fair_queue *q, struct fair_flow *f)
{
	if (!q->first) {
		q->first = f->next = f->prev = f;
		return;
	}
	f->next = q->first;
	f->prev = q->first->prev;
	f->prev->next = f;
	f->next->prev = f;
}

static void ring_remove(struct fair_queue *q, struct fair_flow *f)
{
	if (f->next == f) {
		q->first = NULL;
	} else {
		f->next->prev = f->prev;
		f->prev->next = f->next;
		if (q->first == f)
			q->first = f->next;
	}
	f->prev = f->next = NULL;
}

void fair_queue_init(struct fair_queue *q, const struct fair_limits *limits)
{
	*q = (struct fair_queue){.limits = *limits};
}

void fair_queue_done(struct fair_queue *q)
{
	map_foreach (&q->flows, e) {
		struct fair_flow *f = e->value;
		free(f->user);
		free(f);
	}
	map_done(&q->flows);
}

static bool fits_share(const struct fair_queue *q, const struct fair_flow *f, uint32_t cost)
{
	return !f->n_running || f->seats + cost <= q->limits.seats / (q->n_flows + 1);
}

static bool fits_seats(const struct fair_queue *q, uint32_t cost)
{
	return !q->seats_taken || q->seats_taken + cost <= q->limits.seats;
}

static void run(struct fair_queue *q, struct fair_flow *f, struct fair_request *r)
{
	r->state = FAIR_RUNNING;
	r->flow = f;
	f->n_running++;
	f->seats += r->cost;
	q->seats_taken += r->cost;
	q->dispatched++;
	*(r->write ? &q->running_write : &q->running_read) += 1;
}

static bool is_full(const struct fair_queue *q, const struct fair_flow *f,
		    const struct fair_request *r)
{
	const struct fair_limits *l = &q->limits;
	return f->n_waiting >= l->flow_waiting || f->bytes + r->bytes > l->flow_bytes ||
	       (q->waiting_bytes + r->bytes > l->max_bytes &&
		f->bytes + r->bytes > l->max_bytes / q->n_flows);
}

static void wait_for_turn(struct fair_queue *q, struct fair_flow *f, struct fair_request *r)
{
	if (!f->head)
		ring_add(q, f);
	r->state = FAIR_WAITING;
	r->flow = f;
	r->next = NULL;
	r->prev =
	    f->head ? (struct fair_request *)((char *)f->tail - offsetof(struct fair_request, next))
		    : NULL;
	*f->tail = r;
	f->tail = &r->next;
	f->n_waiting++;
	f->bytes += r->bytes;
	q->n_waiting++;
	q->waiting_bytes += r->bytes;
}

static void leave(struct fair_queue *q, struct fair_flow *f, struct fair_request *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		f->head = r->next;
	if (r->next)
		r->next->prev = r->prev;
	else
		f->tail = r->prev ? &r->prev->next : &f->head;
	r->prev = r->next = NULL;
	f->n_waiting--;
	f->bytes -= r->bytes;
	q->n_waiting--;
	q->waiting_bytes -= r->bytes;
	if (!f->head)
		ring_remove(q, f);
}

/* Whose turn it is; NULL when nobody waits but flows at their share. */
static struct fair_flow *whose_turn(const struct fair_queue *q)
{
	struct fair_flow *last = q->first ? q->first->prev : NULL;
	for (struct fair_flow *f = q->first; f; f = f == last ? NULL : f->next)
		if (fits_share(q, f, f->head->cost))
			return f;
	return NULL;
}

enum fair_state fair_queue_add(struct fair_queue *q, struct span user, struct fair_request *r)
{
	struct fair_flow *f = flow_of(q, user);
	/* Nobody overtakes: neither the flow's own older ones, nor others that wait for seats. */
	if (!f->head && fits_share(q, f, r->cost) && fits_seats(q, r->cost) && !whose_turn(q)) {
		run(q, f, r);
		return FAIR_RUNNING;
	}
	if (is_full(q, f, r)) {
		r->state = FAIR_NONE;
		q->refused++;
		flow_settle(q, f);
		return FAIR_NONE;
	}
	wait_for_turn(q, f, r);
	return FAIR_WAITING;
}

void fair_queue_add_exempt(struct fair_queue *q, struct fair_request *r)
{
	r->state = FAIR_EXEMPT;
	q->exempt++;
	*(r->write ? &q->running_write : &q->running_read) += 1;
}

bool fair_queue_add_long(struct fair_queue *q, struct span user, bool exempt,
			 struct fair_request *r)
{
	struct fair_flow *f = flow_of(q, user);
	if (q->running_long >= q->limits.long_running ||
	    (!exempt && f->n_long >= (q->limits.long_running + 1) / 2)) {
		r->state = FAIR_NONE;
		q->refused++;
		flow_settle(q, f);
		return false;
	}
	r->state = FAIR_LONG;
	r->flow = f;
	f->n_long++;
	q->running_long++;
	return true;
}

struct fair_request *fair_queue_next(struct fair_queue *q)
{
	struct fair_flow *f = whose_turn(q);
	struct fair_request *r = f ? f->head : NULL;
	if (!r || !fits_seats(q, r->cost))
		return NULL;
	q->first = f->next;
	leave(q, f, r);
	run(q, f, r);
	return r;
}

void fair_queue_remove(struct fair_queue *q, struct fair_request *r)
{
	struct fair_flow *f = r->flow;
	enum fair_state was = r->state;
	r->state = FAIR_NONE;
	r->flow = NULL;
	if (was == FAIR_RUNNING || was == FAIR_EXEMPT)
		*(r->write ? &q->running_write : &q->running_read) -= 1;
	if (was == FAIR_RUNNING) {
		f->n_running--;
		f->seats -= r->cost;
		q->seats_taken -= r->cost;
	} else if (was == FAIR_WAITING) {
		leave(q, f, r);
	} else if (was == FAIR_LONG) {
		f->n_long--;
		q->running_long--;
	}
	if (f)
		flow_settle(q, f);
}
