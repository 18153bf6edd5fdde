/*
 * Stop, park, resume, leave. The copy's epoch on the member is the fence: a stop writes epoch + 1
 * there, a rewrite the epoch of the new placement, and every start demands the one it was meant
 * for.
 */
#include "core/dispatch/dispatch_plan.h"

void dispatch_become_parked(struct dispatch_plan *p)
{
	struct dispatch_state *s = &p->next;

	dispatch_order(p, DISPATCH_ORDER_NONE);
	s->step = DISPATCH_PARKED;
	s->epoch++; /* as the copy says */
	s->start_seen = s->copy_stopped = false;
	s->released = true;
	s->failures = 0;
	p->durable = true;
	p->freed = true;
}

/* Level-triggered from here on: what the copy says decides whether a stop has landed. */
static void begin_stop(struct dispatch_plan *p)
{
	p->next.step = DISPATCH_STOPPING;
	p->next.copy_stopped = p->next.copy_gone = false;
	p->next.failures = 0;
	p->durable = true;
}

void dispatch_stop(struct dispatch_plan *p)
{
	struct dispatch_state *s = &p->next;
	bool written = s->step != DISPATCH_RESUMING; /* the copy says this epoch */

	switch (s->step) {
	case DISPATCH_DECIDED:
	case DISPATCH_CREATING:
	case DISPATCH_CONFLICT:
	case DISPATCH_LEAVING:
		dispatch_withdraw(p);
		return;
	case DISPATCH_SUSPENDED:
	case DISPATCH_STARTED:
	case DISPATCH_RESUMING:
		begin_stop(p);
		if (!s->in_flight)
			dispatch_order(p, written ? DISPATCH_ORDER_STOP : DISPATCH_ORDER_READ);
		return;
	case DISPATCH_IDLE:
	case DISPATCH_FINISHED:
	case DISPATCH_WITHDRAWING:
	case DISPATCH_STOPPING:
	case DISPATCH_PARKED:
	case DISPATCH_STEP_MAX:
	default:
		return;
	}
}

static void order_stop(struct dispatch_plan *p, uint64_t copy_epoch)
{
	dispatch_order(p, DISPATCH_ORDER_STOP);
	p->copy_epoch = copy_epoch;
}

static void stopped(struct dispatch_plan *p, bool pods_gone, usec now)
{
	p->next.copy_stopped = true;
	p->next.failures = 0;
	if (pods_gone)
		dispatch_order(p, DISPATCH_ORDER_READ_PODS);
	else
		dispatch_retry_later(p, now);
}

static void seen_stopping(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	struct dispatch_state *s = &p->next;
	bool marked = e->epoch > s->epoch;

	/* The answer to what is out decides; and what the stream tells may be of before. */
	if ((s->in_flight && !s->reading) || (!marked && (!s->reading || s->copy_stopped)))
		return;
	if (!marked || !e->suspended)
		order_stop(p, e->epoch);
	else if (!s->copy_stopped || !s->in_flight)
		stopped(p, e->pods_gone, now);
}

/* Somebody on the member started it: it is stopped again (Kueue does so with a running job that is
 * not admitted). */
static void seen_parked(struct dispatch_plan *p, const struct dispatch_event *e)
{
	struct dispatch_state *s = &p->next;

	if (e->epoch == s->epoch && !e->suspended) {
		begin_stop(p);
		order_stop(p, e->epoch);
	} else if (s->reading) {
		dispatch_order(p, DISPATCH_ORDER_NONE);
	}
}

static void rewritten(struct dispatch_plan *p)
{
	p->next.step = DISPATCH_SUSPENDED;
	p->next.failures = 0;
	dispatch_order(p, DISPATCH_ORDER_NONE);
	p->durable = true;
}

static void seen_resuming(struct dispatch_plan *p, const struct dispatch_event *e)
{
	struct dispatch_state *s = &p->next;

	if (!s->reading)
		return;
	if (!e->suspended) {
		begin_stop(p);
		order_stop(p, e->epoch);
	} else if (e->epoch == s->epoch) {
		rewritten(p);
	} else {
		dispatch_order(p, DISPATCH_ORDER_REWRITE);
	}
}

void dispatch_park_seen(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	if (p->next.step == DISPATCH_STOPPING)
		seen_stopping(p, e, now);
	else if (p->next.step == DISPATCH_PARKED)
		seen_parked(p, e);
	else if (p->next.step == DISPATCH_RESUMING)
		seen_resuming(p, e);
}

/* A withdrawal, or another stop, may have come while the order was out. */
static void too_late(struct dispatch_plan *p)
{
	struct dispatch_state *s = &p->next;

	if (s->step == DISPATCH_WITHDRAWING || s->step == DISPATCH_LEAVING)
		dispatch_order(p, DISPATCH_ORDER_DELETE);
	else if (s->step == DISPATCH_STOPPING)
		dispatch_order(p, DISPATCH_ORDER_READ);
	else
		s->in_flight = false;
}

void dispatch_park_answer(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	struct dispatch_state *s = &p->next;

	if (e->kind == EVENT_STOPPED && s->step == DISPATCH_STOPPING && e->epoch > s->epoch) {
		stopped(p, e->pods_gone, now);
	} else if (e->kind == EVENT_REWRITTEN && s->step == DISPATCH_RESUMING) {
		rewritten(p);
	} else if (e->kind == EVENT_UNFIT && s->step == DISPATCH_RESUMING) {
		dispatch_leave_for(p, s->member);
		dispatch_order(p, DISPATCH_ORDER_DELETE);
	} else {
		too_late(p);
	}
}

void dispatch_leave_for(struct dispatch_plan *p, uint32_t member)
{
	p->next.step = DISPATCH_LEAVING;
	p->next.target = member;
	p->next.copy_gone = false;
	p->next.failures = 0;
	p->durable = true;
}

void dispatch_place_parked(struct dispatch_plan *p, uint32_t member)
{
	struct dispatch_state *s = &p->next;

	s->epoch++;
	s->released = false;
	s->failures = 0;
	p->durable = true;
	if (member == s->member) {
		s->step = DISPATCH_RESUMING;
		dispatch_order(p, DISPATCH_ORDER_PREPARE);
	} else {
		dispatch_leave_for(p, member);
		dispatch_order(p, DISPATCH_ORDER_DELETE);
	}
}

void dispatch_arrive(struct dispatch_plan *p)
{
	p->next = (struct dispatch_state){
	    .step = DISPATCH_DECIDED, .member = p->next.target, .epoch = p->next.epoch};
	dispatch_order(p, DISPATCH_ORDER_PREPARE);
	p->durable = true;
}

void dispatch_forgo_target(struct dispatch_plan *p)
{
	p->next.step = DISPATCH_WITHDRAWING;
	p->next.target = 0;
	p->next.released = true;
	p->durable = true;
	p->freed = true;
}
