/*
 * A copy that is not there, or is not ours, and the proof that nothing of it runs any more.
 */
#include "base/compat.h"
#include "core/dispatch/dispatch_plan.h"

/* Our copy is not there any more, though nobody here asked for that: the job is placed anew, once
 * its pods are gone too. */
static void lost(struct dispatch_plan *p)
{
	p->next.step = DISPATCH_WITHDRAWING;
	p->next.failures = 0;
	p->durable = true;
}

/* The copy is known, settled, and ought to be there. */
bool dispatch_has_copy(const struct dispatch_state *s)
{
	return s->step == DISPATCH_SUSPENDED || s->step == DISPATCH_STARTED ||
	       s->step == DISPATCH_STOPPING || s->step == DISPATCH_PARKED ||
	       s->step == DISPATCH_RESUMING;
}

static bool is_ending(const struct dispatch_state *s)
{
	return s->step == DISPATCH_WITHDRAWING || s->step == DISPATCH_LEAVING;
}

/* A copy with our job's uid from an earlier epoch: it never started, or is being deleted. */
void dispatch_stale(struct dispatch_plan *p, const struct dispatch_event *e)
{
	struct dispatch_state *s = &p->next;

	if (s->in_flight && !s->reading)
		return;
	if (s->reading && dispatch_has_copy(s))
		lost(p);
	if (s->step != DISPATCH_CREATING && s->step != DISPATCH_CONFLICT && !is_ending(s))
		return;
	dispatch_order(p, DISPATCH_ORDER_DELETE);
	(void)snprintf(p->uid, sizeof(p->uid), "%s", e->uid ? e->uid : "");
}

static void copy_is_gone(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	p->next.copy_gone = true;
	if (e->pods_gone)
		dispatch_order(p, DISPATCH_ORDER_READ_PODS);
	else
		dispatch_retry_later(p, now);
}

void dispatch_foreign(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	struct dispatch_state *s = &p->next;

	if (s->reading && dispatch_has_copy(s))
		lost(p);
	if (is_ending(s)) {
		/* Ours is not there: somebody else's object stands under the name. */
		copy_is_gone(p, e, now);
	} else if (s->step == DISPATCH_CREATING || s->step == DISPATCH_CONFLICT) {
		s->step = DISPATCH_CONFLICT;
		dispatch_retry_later(p, now);
	}
}

void dispatch_absent(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	struct dispatch_state *s = &p->next;

	switch (s->step) {
	case DISPATCH_CREATING:
	case DISPATCH_CONFLICT:
		s->step = DISPATCH_CREATING;
		dispatch_order(p, DISPATCH_ORDER_PREPARE);
		break;
	case DISPATCH_RESUMING:
		dispatch_leave_for(p, s->member);
		copy_is_gone(p, e, now);
		break;
	case DISPATCH_SUSPENDED:
	case DISPATCH_STARTED:
	case DISPATCH_STOPPING:
	case DISPATCH_PARKED:
		lost(p);
		__attribute__((fallthrough));
	case DISPATCH_WITHDRAWING:
	case DISPATCH_LEAVING:
		copy_is_gone(p, e, now);
		break;
	case DISPATCH_IDLE:
	case DISPATCH_DECIDED:
	case DISPATCH_FINISHED:
	case DISPATCH_STEP_MAX:
	default:
		break;
	}
}

void dispatch_gone(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	struct dispatch_state *s = &p->next;

	/* While CREATING the stream may tell of an older copy; a create whose answer is still out
	 * may put one back. Only a settled copy with a known uid can be gone. */
	if (s->step == DISPATCH_CREATING || s->step == DISPATCH_CONFLICT || s->uid[0] == '\0')
		return;
	s->in_flight = false;
	dispatch_absent(p, e, now);
}

void dispatch_pods(struct dispatch_plan *p, enum dispatch_event_kind kind, usec now)
{
	struct dispatch_state *s = &p->next;
	bool proven =
	    (is_ending(s) && s->copy_gone) || (s->step == DISPATCH_STOPPING && s->copy_stopped);

	if (!proven && s->reading && kind != EVENT_PODS_GONE) {
		/* Asked for before the job was withdrawn: now the copy comes first. */
		if (is_ending(s) && s->uid[0])
			dispatch_order(p, DISPATCH_ORDER_DELETE);
		else if (is_ending(s) || s->step == DISPATCH_STOPPING)
			dispatch_order(p, DISPATCH_ORDER_READ);
	} else if (!proven) {
		return;
	} else if (kind == EVENT_PODS_GONE) {
		if (!s->in_flight)
			dispatch_order(p, DISPATCH_ORDER_READ_PODS);
	} else if (!s->reading) {
		return;
	} else if (kind == EVENT_PODS_LEFT) {
		dispatch_retry_later(p, now);
	} else if (s->step == DISPATCH_WITHDRAWING) {
		dispatch_become_idle(p);
	} else if (s->step == DISPATCH_LEAVING) {
		dispatch_arrive(p);
	} else {
		dispatch_become_parked(p);
	}
}
