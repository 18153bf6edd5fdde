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

static void set_uid(char to[DISPATCH_UID_MAX], const char *uid)
{
	(void)snprintf(to, DISPATCH_UID_MAX, "%s", uid ? uid : "");
}

static void order(struct dispatch_plan *p, enum dispatch_order o)
{
	p->order = o;
	p->next.in_flight = o != DISPATCH_ORDER_NONE;
	p->next.reading = o == DISPATCH_ORDER_READ || o == DISPATCH_ORDER_READ_PODS;
	p->next.retry_at = 0;
	if (o == DISPATCH_ORDER_START || o == DISPATCH_ORDER_DELETE)
		set_uid(p->uid, p->next.uid);
}

static void retry_later(struct dispatch_plan *p, usec now)
{
	p->next.in_flight = false;
	p->next.reading = false;
	p->next.retry_at = now + dispatch_backoff(p->next.failures);
	if (p->next.failures < 32)
		p->next.failures++;
}

static void become_idle(struct dispatch_plan *p)
{
	p->next = (struct dispatch_state){.step = DISPATCH_IDLE, .epoch = p->next.epoch};
	p->order = DISPATCH_ORDER_NONE;
	p->durable = true;
	p->freed = true;
}

static void on_decided(struct dispatch_plan *p, const struct dispatch_event *e)
{
	if (p->next.step != DISPATCH_IDLE)
		return;
	p->next = (struct dispatch_state){
	    .step = DISPATCH_DECIDED, .member = e->member, .epoch = p->next.epoch + 1};
	order(p, DISPATCH_ORDER_PREPARE);
	p->durable = true;
}

static void on_prepared(struct dispatch_plan *p)
{
	if (p->next.step == DISPATCH_WITHDRAWING) {
		/* Only asked for while CREATING: an earlier create may have landed. */
		order(p, p->next.uid[0] ? DISPATCH_ORDER_DELETE : DISPATCH_ORDER_READ);
		return;
	}
	if (p->next.step != DISPATCH_DECIDED && p->next.step != DISPATCH_CREATING)
		return;
	p->next.step = DISPATCH_CREATING;
	order(p, DISPATCH_ORDER_CREATE);
}

static void on_durable(struct dispatch_plan *p)
{
	if (p->next.step != DISPATCH_SUSPENDED || p->next.in_flight)
		return;
	p->next.step = DISPATCH_STARTED;
	order(p, DISPATCH_ORDER_START);
}

/* The copy of a started job, as a read or the stream shows it. */
static void on_ours_started(struct dispatch_plan *p, const struct dispatch_event *e)
{
	struct dispatch_state *s = &p->next;

	if (strcmp(s->uid, e->uid) != 0)
		return;
	if (!e->suspended) {
		s->start_seen = true;
		s->failures = 0;
		if (s->reading || !s->in_flight)
			order(p, DISPATCH_ORDER_NONE);
	} else if (s->reading) {
		order(p, DISPATCH_ORDER_START);
	}
}

static void on_ours(struct dispatch_plan *p, const struct dispatch_event *e)
{
	struct dispatch_state *s = &p->next;

	switch (s->step) {
	case DISPATCH_DECIDED:
	case DISPATCH_CREATING:
	case DISPATCH_CONFLICT:
		set_uid(s->uid, e->uid);
		s->step = DISPATCH_SUSPENDED;
		s->failures = 0;
		order(p, DISPATCH_ORDER_NONE);
		p->durable = true;
		break;
	case DISPATCH_STARTED:
		on_ours_started(p, e);
		break;
	case DISPATCH_WITHDRAWING:
		if (s->uid[0] == '\0')
			set_uid(s->uid, e->uid);
		s->copy_gone = false;
		if (s->reading || !s->in_flight)
			order(p, DISPATCH_ORDER_DELETE);
		break;
	case DISPATCH_SUSPENDED:
		/* The answer to a create that the stream had answered already: on with the start,
		 * which follows when the state is durable. */
		if (s->reading && strcmp(s->uid, e->uid) == 0) {
			order(p, DISPATCH_ORDER_NONE);
			p->durable = true;
		}
		break;
	case DISPATCH_IDLE:
	case DISPATCH_FINISHED:
	case DISPATCH_STEP_MAX:
	default:
		break;
	}
}

/* Our copy is not there any more, though nobody here asked for that: the job is placed anew, once
 * its pods are gone too. */
static void lost(struct dispatch_plan *p)
{
	p->next.step = DISPATCH_WITHDRAWING;
	p->next.failures = 0;
	p->durable = true;
}

/* A copy with our job's uid from an earlier epoch: it never started, or is being deleted. */
static void on_stale(struct dispatch_plan *p, const struct dispatch_event *e)
{
	struct dispatch_state *s = &p->next;

	if (s->in_flight && !s->reading)
		return;
	if (s->reading && (s->step == DISPATCH_SUSPENDED || s->step == DISPATCH_STARTED))
		lost(p);
	if (s->step != DISPATCH_CREATING && s->step != DISPATCH_CONFLICT &&
	    s->step != DISPATCH_WITHDRAWING)
		return;
	order(p, DISPATCH_ORDER_DELETE);
	set_uid(p->uid, e->uid);
}

static void copy_is_gone(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	p->next.copy_gone = true;
	if (e->pods_gone)
		order(p, DISPATCH_ORDER_READ_PODS);
	else
		retry_later(p, now);
}

static void on_foreign(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	struct dispatch_state *s = &p->next;

	if (s->reading && (s->step == DISPATCH_SUSPENDED || s->step == DISPATCH_STARTED))
		lost(p);
	if (s->step == DISPATCH_WITHDRAWING) {
		/* Ours is not there: somebody else's object stands under the name. */
		copy_is_gone(p, e, now);
	} else if (s->step == DISPATCH_CREATING || s->step == DISPATCH_CONFLICT) {
		s->step = DISPATCH_CONFLICT;
		retry_later(p, now);
	}
}

static void on_absent(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	struct dispatch_state *s = &p->next;

	switch (s->step) {
	case DISPATCH_CREATING:
	case DISPATCH_CONFLICT:
		s->step = DISPATCH_CREATING;
		order(p, DISPATCH_ORDER_PREPARE);
		break;
	case DISPATCH_SUSPENDED:
	case DISPATCH_STARTED:
		lost(p);
		__attribute__((fallthrough));
	case DISPATCH_WITHDRAWING:
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

static void on_withdraw(struct dispatch_plan *p)
{
	struct dispatch_state *s = &p->next;

	switch (s->step) {
	case DISPATCH_IDLE:
	case DISPATCH_WITHDRAWING:
		return;
	case DISPATCH_DECIDED:
		/* Nothing was created in this epoch: CREATING begins before the first create is
		 * sent, and a restart turns DECIDED into CREATING. */
		become_idle(p);
		return;
	case DISPATCH_CREATING:
	case DISPATCH_SUSPENDED:
	case DISPATCH_STARTED:
	case DISPATCH_FINISHED:
	case DISPATCH_CONFLICT:
	case DISPATCH_STEP_MAX:
	default:
		s->step = DISPATCH_WITHDRAWING;
		s->copy_gone = false;
		s->failures = 0;
		p->durable = true;
		/* An answer that is still out decides the next order; else act once durable. */
		if (!s->in_flight)
			order(p, s->uid[0] ? DISPATCH_ORDER_DELETE : DISPATCH_ORDER_READ);
		return;
	}
}

static void on_unknown(struct dispatch_plan *p, usec now)
{
	struct dispatch_state *s = &p->next;

	if (s->step == DISPATCH_IDLE || s->step == DISPATCH_FINISHED)
		order(p, DISPATCH_ORDER_NONE);
	else if (s->step == DISPATCH_DECIDED || s->reading)
		retry_later(p, now);
	else
		order(p, DISPATCH_ORDER_READ);
}

/* Level-triggered: whatever was tried before, look first, and act on what is seen. */
static void look_again(struct dispatch_plan *p)
{
	switch (p->next.step) {
	case DISPATCH_DECIDED:
		order(p, DISPATCH_ORDER_PREPARE);
		break;
	case DISPATCH_STARTED:
		order(p, p->next.start_seen ? DISPATCH_ORDER_NONE : DISPATCH_ORDER_READ);
		break;
	case DISPATCH_WITHDRAWING:
		p->next.copy_gone = false; /* until it is read again */
		__attribute__((fallthrough));
	case DISPATCH_CREATING:
	case DISPATCH_CONFLICT:
		order(p, DISPATCH_ORDER_READ);
		break;
	case DISPATCH_SUSPENDED:
		on_durable(p);
		break;
	case DISPATCH_IDLE:
	case DISPATCH_FINISHED:
	case DISPATCH_STEP_MAX:
	default:
		order(p, DISPATCH_ORDER_NONE);
		break;
	}
}

static void on_gone(struct dispatch_plan *p, const struct dispatch_event *e, usec now)
{
	struct dispatch_state *s = &p->next;

	/* While CREATING the stream may tell of an older copy; a create whose answer is still out
	 * may put one back. Only a settled copy with a known uid can be gone. */
	if (s->step == DISPATCH_CREATING || s->step == DISPATCH_CONFLICT || s->uid[0] == '\0')
		return;
	s->in_flight = false;
	on_absent(p, e, now);
}

static void on_finished(struct dispatch_plan *p)
{
	if (p->next.step != DISPATCH_STARTED && p->next.step != DISPATCH_SUSPENDED)
		return;
	p->next.step = DISPATCH_FINISHED;
	p->next.start_seen = true;
	order(p, DISPATCH_ORDER_NONE);
	p->durable = true;
	p->freed = true;
}

static void on_started(struct dispatch_plan *p)
{
	if (p->next.step == DISPATCH_STARTED) {
		p->next.start_seen = true;
		p->next.failures = 0;
		order(p, DISPATCH_ORDER_NONE);
	} else if (p->next.step == DISPATCH_WITHDRAWING) {
		order(p, DISPATCH_ORDER_DELETE);
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
	look_again(p);
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
		on_ours(&p, event);
		break;
	case EVENT_READ_OURS:
		on_ours(&p, event);
		break;
	case EVENT_READ_STALE:
		on_stale(&p, event);
		break;
	case EVENT_READ_FOREIGN:
		on_foreign(&p, event, now);
		break;
	case EVENT_READ_ABSENT:
		on_absent(&p, event, now);
		break;
	case EVENT_STARTED:
		on_started(&p);
		break;
	case EVENT_DELETE_ANSWERED:
	case EVENT_REFUSED:
	case EVENT_NOT_SENT:
		retry_later(&p, now);
		break;
	case EVENT_GONE:
		on_gone(&p, event, now);
		break;
	case EVENT_PODS_GONE:
		if (s->step == DISPATCH_WITHDRAWING && s->copy_gone && !s->in_flight)
			order(&p, DISPATCH_ORDER_READ_PODS);
		break;
	case EVENT_PODS_ABSENT:
		if (s->step == DISPATCH_WITHDRAWING && s->copy_gone && s->reading)
			become_idle(&p);
		break;
	case EVENT_PODS_LEFT:
		if (s->step == DISPATCH_WITHDRAWING && s->copy_gone && s->reading)
			retry_later(&p, now);
		break;
	case EVENT_UNKNOWN:
		on_unknown(&p, now);
		break;
	case EVENT_FINISHED:
		on_finished(&p);
		break;
	case EVENT_WITHDRAW:
		on_withdraw(&p);
		break;
	case EVENT_MEMBER_DEAD:
		if (s->step != DISPATCH_IDLE)
			become_idle(&p);
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
	return p;
}

bool dispatch_may_have_copy(const struct dispatch_state *s)
{
	return s->step != DISPATCH_IDLE && s->step != DISPATCH_DECIDED;
}

const char *dispatch_step_name(enum dispatch_step step)
{
	static const char *const names[DISPATCH_STEP_MAX] = {
	    "Idle",    "Decided",  "Creating",	  "Suspended",
	    "Started", "Finished", "Withdrawing", "Conflict",
	};
	return step >= DISPATCH_IDLE && step < DISPATCH_STEP_MAX ? names[step] : "Unknown";
}

const char *dispatch_order_name(enum dispatch_order o)
{
	static const char *const names[DISPATCH_ORDER_MAX] = {
	    "none", "prepare", "create", "read", "start", "delete", "read pods",
	};
	return o >= DISPATCH_ORDER_NONE && o < DISPATCH_ORDER_MAX ? names[o] : "unknown";
}

usec dispatch_backoff(uint32_t failures)
{
	usec wait = 100 * USEC_PER_MS;

	for (uint32_t i = 0; i < failures && wait < 30 * USEC_PER_SEC; i++)
		wait *= 2;
	return wait < 30 * USEC_PER_SEC ? wait : 30 * USEC_PER_SEC;
}
