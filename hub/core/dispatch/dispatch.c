/*
 * One handler per event, each a few lines: the transition table of DESIGN section 7.
 *
 * The unknown outcome is the centre: whatever is in flight when it gets lost, the next order is a
 * read, and only the read's answer moves the state. A read that says "absent" while CREATING leads
 * to another create of the same epoch: should the first one still land, the second is answered
 * AlreadyExists, read again, and found to be ours.
 */
#include "core/dispatch/dispatch.h"

#include "base/compat.h"
#include "core/dispatch/dispatch_plan.h"

static void set_uid(char to[DISPATCH_UID_MAX], const char *uid)
{
	(void)snprintf(to, DISPATCH_UID_MAX, "%s", uid ? uid : "");
}

void dispatch_order(struct dispatch_plan *p, enum dispatch_order o)
{
	p->order = o;
	p->next.in_flight = o != DISPATCH_ORDER_NONE;
	p->next.reading = o == DISPATCH_ORDER_READ || o == DISPATCH_ORDER_READ_PODS;
	p->next.retry_at = 0;
	set_uid(p->uid, p->next.uid);
	p->copy_epoch = p->next.epoch;
}

/* A copy that does not go, and nobody knows why, must not keep its job's next place for ever. */
#define LEAVE_TRIES 8

void dispatch_retry_later(struct dispatch_plan *p, usec now)
{
	p->next.in_flight = false;
	p->next.reading = false;
	p->next.retry_at = now + dispatch_backoff(p->next.failures);
	if (p->next.failures < 32)
		p->next.failures++;
	if (p->next.step == DISPATCH_LEAVING && p->next.failures > LEAVE_TRIES)
		dispatch_forgo_target(p);
}

void dispatch_become_idle(struct dispatch_plan *p)
{
	p->next = (struct dispatch_state){.step = DISPATCH_IDLE, .epoch = p->next.epoch};
	p->order = DISPATCH_ORDER_NONE;
	p->durable = true;
	p->freed = true;
}

static void on_decided(struct dispatch_plan *p, const struct dispatch_event *e)
{
	if (p->next.step == DISPATCH_PARKED) {
		dispatch_place_parked(p, e->member);
		return;
	}
	if (p->next.step != DISPATCH_IDLE)
		return;
	p->next = (struct dispatch_state){
	    .step = DISPATCH_DECIDED, .member = e->member, .epoch = p->next.epoch + 1};
	dispatch_order(p, DISPATCH_ORDER_PREPARE);
	p->durable = true;
}

static void on_prepared(struct dispatch_plan *p)
{
	if (p->next.step == DISPATCH_WITHDRAWING) {
		/* Only asked for while CREATING: an earlier create may have landed. */
		dispatch_order(p, p->next.uid[0] ? DISPATCH_ORDER_DELETE : DISPATCH_ORDER_READ);
		return;
	}
	if (p->next.step == DISPATCH_RESUMING || p->next.step == DISPATCH_STOPPING)
		dispatch_order(p, DISPATCH_ORDER_READ);
	if (p->next.step != DISPATCH_DECIDED && p->next.step != DISPATCH_CREATING)
		return;
	p->next.step = DISPATCH_CREATING;
	dispatch_order(p, DISPATCH_ORDER_CREATE);
}

static void on_durable(struct dispatch_plan *p)
{
	if (p->next.step != DISPATCH_SUSPENDED || p->next.in_flight)
		return;
	p->next.step = DISPATCH_STARTED;
	dispatch_order(p, DISPATCH_ORDER_START);
}

/* The copy of a started job, as a read or the stream shows it. */
static void on_ours_started(struct dispatch_plan *p, const struct dispatch_event *e)
{
	struct dispatch_state *s = &p->next;

	/* What the stream tells late may be of before the copy was parked. */
	if (strcmp(s->uid, e->uid) != 0 || e->epoch != s->epoch)
		return;
	if (!e->suspended && s->edited && s->reading) {
		/* What the stream tells meanwhile is no answer: the text is needed. */
		s->start_seen = true;
		if (e->has_text)
			dispatch_order(p, DISPATCH_ORDER_AMEND);
	} else if (!e->suspended) {
		s->start_seen = true;
		s->failures = s->edited ? s->failures : 0;
		if (s->reading || !s->in_flight)
			dispatch_order(p, DISPATCH_ORDER_NONE);
	} else if (s->reading) {
		dispatch_order(p, DISPATCH_ORDER_START);
	}
}

static void on_ours(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	struct dispatch_state *s = &p->next;

	switch (s->step) {
	case DISPATCH_DECIDED:
	case DISPATCH_CREATING:
	case DISPATCH_CONFLICT:
		set_uid(s->uid, e->uid);
		s->step = DISPATCH_SUSPENDED;
		s->failures = 0;
		dispatch_order(p, DISPATCH_ORDER_NONE);
		p->durable = true;
		break;
	case DISPATCH_STARTED:
		on_ours_started(p, e);
		break;
	case DISPATCH_WITHDRAWING:
	case DISPATCH_LEAVING:
		if (s->uid[0] == '\0')
			set_uid(s->uid, e->uid);
		s->copy_gone = false;
		if (s->reading || !s->in_flight)
			dispatch_order(p, DISPATCH_ORDER_DELETE);
		break;
	case DISPATCH_SUSPENDED:
		/* The answer to a create that the stream had answered already: on with the start,
		 * which follows when the state is durable. */
		if (s->reading && strcmp(s->uid, e->uid) == 0) {
			dispatch_order(p, DISPATCH_ORDER_NONE);
			p->durable = true;
		}
		break;
	case DISPATCH_STOPPING:
	case DISPATCH_PARKED:
	case DISPATCH_RESUMING:
		dispatch_park_seen(p, e, now);
		break;
	case DISPATCH_IDLE:
	case DISPATCH_FINISHED:
	case DISPATCH_STEP_MAX:
	default:
		break;
	}
}

void dispatch_withdraw(struct dispatch_plan *p)
{
	struct dispatch_state *s = &p->next;

	switch (s->step) {
	case DISPATCH_IDLE:
	case DISPATCH_WITHDRAWING:
		return;
	case DISPATCH_DECIDED:
		/* Nothing was created in this epoch: CREATING begins before the first create is
		 * sent, and a restart turns DECIDED into CREATING. */
		dispatch_become_idle(p);
		return;
	case DISPATCH_LEAVING:
		dispatch_forgo_target(p);
		return;
	case DISPATCH_CREATING:
	case DISPATCH_SUSPENDED:
	case DISPATCH_STARTED:
	case DISPATCH_FINISHED:
	case DISPATCH_CONFLICT:
	case DISPATCH_STOPPING:
	case DISPATCH_PARKED:
	case DISPATCH_RESUMING:
	case DISPATCH_STEP_MAX:
	default:
		s->step = DISPATCH_WITHDRAWING;
		s->copy_gone = false;
		s->failures = 0;
		p->durable = true;
		/* An answer that is still out decides the next order; else act once durable. */
		if (!s->in_flight)
			dispatch_order(p, s->uid[0] ? DISPATCH_ORDER_DELETE : DISPATCH_ORDER_READ);
		return;
	}
}

static void on_unknown(struct dispatch_plan *p, usec now)
{
	struct dispatch_state *s = &p->next;

	if (s->step == DISPATCH_IDLE || s->step == DISPATCH_FINISHED)
		dispatch_order(p, DISPATCH_ORDER_NONE);
	else if (s->step == DISPATCH_DECIDED || s->reading)
		dispatch_retry_later(p, now);
	else
		dispatch_order(p, DISPATCH_ORDER_READ);
}

/* Level-triggered: whatever was tried before, look first, and act on what is seen. */
static void look_again(struct dispatch_plan *p)
{
	switch (p->next.step) {
	case DISPATCH_DECIDED:
		dispatch_order(p, DISPATCH_ORDER_PREPARE);
		break;
	case DISPATCH_STARTED:
		dispatch_order(p, p->next.start_seen && !p->next.edited ? DISPATCH_ORDER_NONE
									: DISPATCH_ORDER_READ);
		break;
	case DISPATCH_RESUMING:
		dispatch_order(p, DISPATCH_ORDER_PREPARE);
		break;
	case DISPATCH_WITHDRAWING:
	case DISPATCH_LEAVING:
	case DISPATCH_STOPPING:
		p->next.copy_gone = p->next.copy_stopped = false; /* until it is read again */
		__attribute__((fallthrough));
	case DISPATCH_CREATING:
	case DISPATCH_CONFLICT:
	case DISPATCH_PARKED:
		dispatch_order(p, DISPATCH_ORDER_READ);
		break;
	case DISPATCH_SUSPENDED:
		on_durable(p);
		break;
	case DISPATCH_IDLE:
	case DISPATCH_FINISHED:
	case DISPATCH_STEP_MAX:
	default:
		dispatch_order(p, DISPATCH_ORDER_NONE);
		break;
	}
}

static void on_finished(struct dispatch_plan *p)
{
	if (!dispatch_has_copy(&p->next) && p->next.step != DISPATCH_LEAVING)
		return;
	p->next.step = DISPATCH_FINISHED;
	p->next.target = 0;
	p->next.released = p->next.edited = false;
	p->next.start_seen = true;
	dispatch_order(p, DISPATCH_ORDER_NONE);
	p->durable = true;
	p->freed = true;
}

static void on_started(struct dispatch_plan *p)
{
	if (p->next.step == DISPATCH_STARTED) {
		p->next.start_seen = true;
		p->next.failures = 0;
		dispatch_order(p, DISPATCH_ORDER_NONE);
	} else if (p->next.step == DISPATCH_WITHDRAWING) {
		dispatch_order(p, DISPATCH_ORDER_DELETE);
	} else if (p->next.step == DISPATCH_STOPPING) {
		dispatch_order(p, DISPATCH_ORDER_STOP);
	} else {
		p->next.in_flight = false;
	}
}

static void on_restarted(struct dispatch_plan *p)
{
	struct dispatch_state *s = &p->next;

	s->in_flight = s->reading = false;
	s->failures = 0;
	if (s->step == DISPATCH_DECIDED)
		s->step = DISPATCH_CREATING; /* the lost process may have sent its create */
	if (s->step != DISPATCH_PARKED)	     /* its stream goes on where it was */
		look_again(p);
}

static void on_amended(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	p->next.edited = false;
	if (p->next.step != DISPATCH_STARTED) {
		dispatch_park_answer(p, e, now); /* it is on its way out: too late */
		return;
	}
	p->next.failures = 0;
	dispatch_order(p, DISPATCH_ORDER_NONE);
}

/* A running copy is amended as soon as nothing else is awaited of it. */
static void follow_edit(struct dispatch_plan *p)
{
	const struct dispatch_state *s = &p->next;

	if (s->step == DISPATCH_STARTED && s->start_seen && s->edited && !s->in_flight &&
	    !s->retry_at)
		dispatch_order(p, DISPATCH_ORDER_READ);
}

static void on_refused(struct dispatch_plan *p, usec now)
{
	bool stop = p->next.step == DISPATCH_STOPPING && !p->next.reading;

	dispatch_retry_later(p, now);
	if (stop && p->next.failures > DISPATCH_STOP_TRIES)
		dispatch_withdraw(p);
}

struct dispatch_plan dispatch_next(const struct dispatch_state *state,
				   const struct dispatch_event *event, usec now)
{
	struct dispatch_plan p = {.next = *state};
	struct dispatch_state *s = &p.next;

	switch (event->kind) {
	case EVENT_DECIDED:
		on_decided(&p, event);
		break;
	case EVENT_DURABLE:
		on_durable(&p);
		break;
	case EVENT_PREPARED:
		on_prepared(&p);
		break;
	case EVENT_CREATED:
		s->in_flight = false;
		on_ours(&p, event, now);
		break;
	case EVENT_READ_OURS:
		on_ours(&p, event, now);
		break;
	case EVENT_READ_STALE:
		dispatch_stale(&p, event);
		break;
	case EVENT_READ_FOREIGN:
		dispatch_foreign(&p, event, now);
		break;
	case EVENT_READ_ABSENT:
		dispatch_absent(&p, event, now);
		break;
	case EVENT_STARTED:
		on_started(&p);
		break;
	case EVENT_REFUSED:
		on_refused(&p, now);
		break;
	case EVENT_DELETE_ANSWERED:
	case EVENT_NOT_SENT:
		dispatch_retry_later(&p, now);
		break;
	case EVENT_GONE:
		dispatch_gone(&p, event, now);
		break;
	case EVENT_PODS_GONE:
	case EVENT_PODS_ABSENT:
	case EVENT_PODS_LEFT:
		dispatch_pods(&p, event->kind, now);
		break;
	case EVENT_UNKNOWN:
		on_unknown(&p, now);
		break;
	case EVENT_FINISHED:
		on_finished(&p);
		break;
	case EVENT_WITHDRAW:
		dispatch_withdraw(&p);
		break;
	case EVENT_STOP:
		dispatch_stop(&p);
		break;
	case EVENT_STOPPED:
	case EVENT_REWRITTEN:
	case EVENT_UNFIT:
		dispatch_park_answer(&p, event, now);
		break;
	case EVENT_EDITED:
		s->edited = true;
		break;
	case EVENT_AMENDED:
	case EVENT_AMEND_REFUSED:
		on_amended(&p, event, now);
		break;
	case EVENT_MEMBER_DEAD:
		if (s->step == DISPATCH_LEAVING && s->target != s->member)
			dispatch_arrive(&p);
		else if (s->step != DISPATCH_IDLE)
			dispatch_become_idle(&p);
		break;
	case EVENT_TIMER:
		if (!s->in_flight && s->retry_at != 0 && s->retry_at <= now)
			look_again(&p);
		break;
	case EVENT_RESTARTED:
		on_restarted(&p);
		break;
	case EVENT_KIND_MAX:
	default:
		break;
	}
	follow_edit(&p);
	return p;
}
