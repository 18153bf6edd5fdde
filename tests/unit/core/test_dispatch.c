/*
 * The dispatch state machine: its transitions one by one, and the guarantee behind them in a
 * simulation where orders are lost, late, answered or not, and the hub dies at any moment.
 */
#include "core/dispatch/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct dispatch_plan feed(struct dispatch_state *s, struct dispatch_event e, usec now)
{
	struct dispatch_plan p = dispatch_next(s, &e, now);
	*s = p.next;
	return p;
}

static void a_decision_is_durable_before_anything_is_sent(void **state)
{
	struct dispatch_state s = {0};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 7}, 1);
	assert_int_equal(s.step, DISPATCH_DECIDED);
	assert_int_equal(s.member, 7);
	assert_int_equal(s.epoch, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_PREPARE);
	assert_true(p.durable);
}

static void the_uid_is_durable_before_the_copy_is_started(void **state)
{
	struct dispatch_state s = {0};
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 1}, 1);
	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_PREPARED}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_CREATE);
	p = feed(&s, (struct dispatch_event){EVENT_CREATED, .uid = "u1", .suspended = true}, 3);
	assert_int_equal(s.step, DISPATCH_SUSPENDED);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	assert_true(p.durable);
	p = feed(&s, (struct dispatch_event){EVENT_DURABLE}, 4);
	assert_int_equal(p.order, DISPATCH_ORDER_START);
	assert_string_equal(p.uid, "u1");
}

static void an_unknown_create_is_read_never_repeated_blindly(void **state)
{
	struct dispatch_state s = {0};
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 1}, 1);
	feed(&s, (struct dispatch_event){EVENT_PREPARED}, 2);
	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_UNKNOWN}, 3);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(&s, (struct dispatch_event){EVENT_READ_ABSENT, .pods_gone = true}, 4);
	assert_int_equal(p.order, DISPATCH_ORDER_PREPARE);
	assert_int_equal(s.step, DISPATCH_CREATING);
}

static void a_withdrawn_job_is_free_only_after_absence_is_read(void **state)
{
	struct dispatch_state s = {
	    .step = DISPATCH_STARTED, .member = 1, .epoch = 1, .uid = "u1", .start_seen = true};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_WITHDRAW}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_DELETE);
	assert_true(p.durable);
	assert_false(p.freed);
	p = feed(&s, (struct dispatch_event){EVENT_DELETE_ANSWERED}, 2);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	p = feed(&s, (struct dispatch_event){EVENT_READ_ABSENT, .pods_gone = false}, 3);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_GONE}, 4);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_ABSENT}, 5);
	assert_int_equal(s.step, DISPATCH_IDLE);
	assert_true(p.freed);
	assert_int_equal(s.epoch, 1);
}

static void pods_that_the_stream_does_not_show_keep_a_job_from_being_free(void **state)
{
	struct dispatch_state s = {
	    .step = DISPATCH_WITHDRAWING, .member = 1, .epoch = 1, .uid = "u1"};
	(void)state;

	struct dispatch_plan p =
	    feed(&s, (struct dispatch_event){EVENT_GONE, .pods_gone = true}, USEC_PER_SEC);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_LEFT}, USEC_PER_SEC);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_true(s.retry_at > USEC_PER_SEC);
	/* Then everything is looked at anew: the copy first. */
	p = feed(&s, (struct dispatch_event){EVENT_TIMER}, s.retry_at);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_ABSENT}, 10 * USEC_PER_SEC);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING); /* of before: it proves nothing now */
	p = feed(&s, (struct dispatch_event){EVENT_READ_ABSENT, .pods_gone = true},
		 10 * USEC_PER_SEC);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_UNKNOWN}, 10 * USEC_PER_SEC);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_true(s.retry_at > 10 * USEC_PER_SEC);
}

static void a_foreign_object_is_a_conflict_and_is_not_touched(void **state)
{
	struct dispatch_state s = {0};
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 1}, 1);
	feed(&s, (struct dispatch_event){EVENT_PREPARED}, 2);
	feed(&s, (struct dispatch_event){EVENT_UNKNOWN}, 3);
	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_READ_FOREIGN}, 4);
	assert_int_equal(s.step, DISPATCH_CONFLICT);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	p = feed(&s, (struct dispatch_event){EVENT_WITHDRAW}, 5);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(&s, (struct dispatch_event){EVENT_READ_FOREIGN, .pods_gone = true}, 6);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_ABSENT}, 7);
	assert_int_equal(s.step, DISPATCH_IDLE);
}

static void a_restart_looks_before_it_creates(void **state)
{
	struct dispatch_state s = {.step = DISPATCH_DECIDED, .member = 1, .epoch = 3};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_RESTARTED}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	assert_int_equal(s.step, DISPATCH_CREATING);
	p = feed(&s, (struct dispatch_event){EVENT_WITHDRAW}, 2);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
}

/* ---- parked ---- */

static struct dispatch_state running(void)
{
	return (struct dispatch_state){
	    .step = DISPATCH_STARTED, .member = 1, .epoch = 4, .uid = "u1", .start_seen = true};
}

static void an_evicted_job_is_suspended_first_and_free_when_its_pods_are_gone(void **state)
{
	struct dispatch_state s = running();
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_STOP}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_STOP);
	assert_string_equal(p.uid, "u1");
	assert_int_equal(p.copy_epoch, 4);
	assert_true(p.durable);
	assert_false(p.freed);
	p = feed(&s, (struct dispatch_event){EVENT_STOPPED, .epoch = 5, .pods_gone = false}, 2);
	assert_int_equal(s.step, DISPATCH_STOPPING);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_GONE}, 3);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_ABSENT}, 4);
	assert_int_equal(s.step, DISPATCH_PARKED);
	assert_true(p.freed && p.durable && dispatch_is_free(&s));
	assert_int_equal(s.epoch, 5);
	assert_string_equal(s.uid, "u1");
}

static struct dispatch_state parked(void)
{
	return (struct dispatch_state){
	    .step = DISPATCH_PARKED, .member = 1, .epoch = 5, .uid = "u1", .released = true};
}

static void placed_where_it_is_parked_the_copy_is_rewritten_and_resumed(void **state)
{
	struct dispatch_state s = parked();
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 1}, 1);
	assert_int_equal(s.step, DISPATCH_RESUMING);
	assert_int_equal(s.epoch, 6);
	assert_true(p.durable && !s.released);
	p = feed(&s, (struct dispatch_event){EVENT_PREPARED}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(
	    &s,
	    (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 5, .suspended = true},
	    3);
	assert_int_equal(p.order, DISPATCH_ORDER_REWRITE);
	p = feed(&s, (struct dispatch_event){EVENT_REWRITTEN}, 4);
	assert_int_equal(s.step, DISPATCH_SUSPENDED);
	assert_true(p.durable);
	p = feed(&s, (struct dispatch_event){EVENT_DURABLE}, 5);
	assert_int_equal(p.order, DISPATCH_ORDER_START);
	assert_int_equal(p.copy_epoch, 6);
}

static void a_rewrite_that_nobody_answered_is_read_before_it_is_repeated(void **state)
{
	struct dispatch_state s = parked();
	(void)state;

	s.step = DISPATCH_RESUMING;
	s.epoch = 6;
	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_RESTARTED}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_PREPARE);
	p = feed(&s, (struct dispatch_event){EVENT_PREPARED}, 2);
	p = feed(
	    &s,
	    (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 6, .suspended = true},
	    3);
	assert_int_equal(s.step, DISPATCH_SUSPENDED);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
}

static void placed_elsewhere_nothing_begins_there_before_the_parked_copy_is_gone(void **state)
{
	struct dispatch_state s = parked();
	uint32_t where;
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 2}, 1);
	assert_int_equal(s.step, DISPATCH_LEAVING);
	assert_int_equal(p.order, DISPATCH_ORDER_DELETE);
	assert_true(dispatch_holds(&s, &where));
	assert_int_equal(where, 2);
	p = feed(&s, (struct dispatch_event){EVENT_DELETE_ANSWERED}, 2);
	p = feed(&s, (struct dispatch_event){EVENT_GONE, .pods_gone = true}, 3);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_ABSENT}, 4);
	assert_int_equal(s.step, DISPATCH_DECIDED);
	assert_int_equal(s.member, 2);
	assert_int_equal(s.epoch, 6);
	assert_string_equal(s.uid, "");
	assert_true(p.durable && !p.freed);
	assert_int_equal(p.order, DISPATCH_ORDER_PREPARE);
}

static void a_member_that_does_not_answer_keeps_no_room_elsewhere(void **state)
{
	struct dispatch_state s = parked();
	struct dispatch_plan p = {0};
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 2}, 1);
	for (int i = 0; i < 12 && s.step == DISPATCH_LEAVING; i++) {
		p = feed(&s, (struct dispatch_event){EVENT_NOT_SENT}, s.retry_at + 1);
		if (s.step == DISPATCH_LEAVING)
			feed(&s, (struct dispatch_event){EVENT_TIMER}, s.retry_at);
	}
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_true(p.freed && s.released);
	assert_int_equal(s.member, 1);
}

static void a_member_that_refuses_to_suspend_has_its_copy_deleted(void **state)
{
	struct dispatch_state s = running();
	struct dispatch_plan p = {0};
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_STOP}, 1);
	for (int i = 0; i < 8 && s.step == DISPATCH_STOPPING; i++) {
		p = feed(&s, (struct dispatch_event){EVENT_REFUSED}, 10);
		if (s.step != DISPATCH_STOPPING)
			break;
		feed(&s, (struct dispatch_event){EVENT_TIMER}, s.retry_at);
		feed(&s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 4}, 20);
	}
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_int_equal(p.order, DISPATCH_ORDER_DELETE);
	assert_false(p.freed || s.released);
}

static void a_job_that_ends_before_the_stop_lands_has_finished(void **state)
{
	struct dispatch_state s = running();
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_STOP}, 1);
	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_FINISHED}, 2);
	assert_int_equal(s.step, DISPATCH_FINISHED);
	assert_true(p.freed);
}

static void a_parked_copy_that_somebody_starts_is_stopped_again(void **state)
{
	struct dispatch_state s = parked();
	(void)state;

	/* What the stream tells late is of before. */
	feed(&s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 4}, 1);
	assert_int_equal(s.step, DISPATCH_PARKED);
	struct dispatch_plan p =
	    feed(&s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 5}, 2);
	assert_int_equal(s.step, DISPATCH_STOPPING);
	assert_int_equal(p.order, DISPATCH_ORDER_STOP);
	assert_int_equal(p.copy_epoch, 5);
	uint32_t where;
	assert_false(dispatch_holds(&s, &where));
}

/* ---- edits ---- */

static void an_edit_of_a_running_copy_is_read_first_and_sent_once(void **state)
{
	struct dispatch_state s = {
	    .step = DISPATCH_STARTED, .member = 1, .epoch = 1, .uid = "u1", .start_seen = true};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_EDITED}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	/* What the stream tells meanwhile is not the answer. */
	const struct dispatch_event seen = {EVENT_READ_OURS, .uid = "u1", .epoch = 1};
	p = feed(&s, seen, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	assert_true(s.in_flight);
	p = feed(
	    &s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 1, .has_text = true},
	    3);
	assert_int_equal(p.order, DISPATCH_ORDER_AMEND);
	/* Nobody knows whether it landed. */
	p = feed(&s, (struct dispatch_event){EVENT_UNKNOWN}, 4);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(
	    &s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 1, .has_text = true},
	    5);
	p = feed(&s, (struct dispatch_event){EVENT_AMENDED}, 6);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	p = feed(&s, seen, 7);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	assert_false(s.in_flight || s.edited);
}

static void an_edit_while_the_copy_starts_waits_until_it_has(void **state)
{
	struct dispatch_state s = {
	    .step = DISPATCH_SUSPENDED, .member = 1, .epoch = 1, .uid = "u1"};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_EDITED}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	p = feed(&s, (struct dispatch_event){EVENT_DURABLE}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_START);
	p = feed(&s, (struct dispatch_event){EVENT_STARTED}, 3);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
}

static void a_refused_edit_is_not_tried_again_by_itself(void **state)
{
	struct dispatch_state s = {.step = DISPATCH_STARTED,
				   .member = 1,
				   .epoch = 1,
				   .uid = "u1",
				   .start_seen = true,
				   .edited = true,
				   .in_flight = true};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_AMEND_REFUSED}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	assert_int_equal(s.retry_at, 0);
	p = feed(&s, (struct dispatch_event){EVENT_EDITED}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
}

/* Evicted while its amendment is out: what that leaves behind is looked at first. */
static void a_stop_goes_before_an_edit(void **state)
{
	struct dispatch_state s = {.step = DISPATCH_STARTED,
				   .member = 1,
				   .epoch = 1,
				   .uid = "u1",
				   .start_seen = true,
				   .edited = true,
				   .in_flight = true};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_STOP}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	p = feed(&s, (struct dispatch_event){EVENT_AMENDED}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(&s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 1}, 3);
	assert_int_equal(p.order, DISPATCH_ORDER_STOP);
}

/* ---- the simulation ---- */

#define MEMBERS 3
#define FLIGHTS 16
#define STEPS	400
#define SEEDS	3000

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

struct copy {
	bool exists, deleting, suspended, ours;
	bool pods;    /* some pod of it runs or may run */
	bool orphans; /* some pod of one that is gone does */
	uint64_t epoch;
	char uid[24];
	uint64_t version; /* of its resource; no write is carried out that was made for another */
	uint64_t made_of; /* edit of the job */
};

struct flight { /* an order on its way to a member; it may land late */
	bool used, awaited;
	enum dispatch_order order;
	uint32_t member;
	uint64_t epoch, copy_epoch;
	char uid[DISPATCH_UID_MAX];
	uint64_t version, edit;
};

struct world {
	uint64_t random;
	usec now;
	struct copy members[MEMBERS];
	struct flight flights[FLIGHTS];
	struct dispatch_state live, durable;
	uint64_t uids;
	bool pending_commit; /* plan.durable: order below waits for the commit */
	enum dispatch_order order;
	char order_uid[DISPATCH_UID_MAX];
	uint64_t order_epoch;
	uint64_t edit;	  /* of the job, by its user */
	bool edited;	  /* a durable row says that the copy lacks one */
	uint64_t refused; /* that edit is known to be refused */
	uint64_t read;	  /* version of the copy that was read last */
	size_t starts, parked, resumed, left, amended;
};

static bool chance(struct world *w, unsigned percent)
{
	return next_random(&w->random) % 100 < percent;
}

static void act(struct world *w, struct dispatch_event e);

/* Whoever gives quota and nodes back has no pods anywhere. */
static void check_nothing_runs(const struct world *w)
{
	for (size_t i = 0; i < MEMBERS; i++)
		assert_false(w->members[i].pods || w->members[i].orphans);
}

static void depart(struct world *w)
{
	enum dispatch_order order = w->order;

	w->order = DISPATCH_ORDER_NONE;
	if (order == DISPATCH_ORDER_NONE)
		return;
	if (order == DISPATCH_ORDER_PREPARE) {
		act(w, (struct dispatch_event){chance(w, 90) ? EVENT_PREPARED : EVENT_NOT_SENT});
		return;
	}
	for (size_t i = 0; i < FLIGHTS; i++) {
		struct flight *f = &w->flights[i];
		if (f->used)
			continue;
		*f = (struct flight){.used = true,
				     .awaited = true,
				     .order = order,
				     .member = w->live.member,
				     .epoch = w->live.epoch,
				     .copy_epoch = w->order_epoch,
				     .version = order == DISPATCH_ORDER_AMEND
						    ? w->read
						    : w->members[w->live.member].version,
				     .edit = w->edit};
		memcpy(f->uid, w->order_uid, sizeof(f->uid));
		return;
	}
	act(w, (struct dispatch_event){EVENT_NOT_SENT});
}

static void act(struct world *w, struct dispatch_event e)
{
	struct dispatch_plan p = dispatch_next(&w->live, &e, w->now);

	w->parked += p.next.step == DISPATCH_PARKED && w->live.step != DISPATCH_PARKED;
	w->resumed += p.next.step == DISPATCH_SUSPENDED && w->live.step == DISPATCH_RESUMING;
	w->left += p.next.step == DISPATCH_DECIDED && w->live.step == DISPATCH_LEAVING;
	w->live = p.next;
	if (p.freed && p.next.step != DISPATCH_FINISHED)
		check_nothing_runs(w);
	if (p.order != DISPATCH_ORDER_NONE) {
		w->order = p.order;
		w->order_epoch = p.copy_epoch;
		memcpy(w->order_uid, p.uid, sizeof(p.uid));
	}
	w->pending_commit = w->pending_commit || p.durable;
	if (!w->pending_commit)
		depart(w);
}

static void commit(struct world *w)
{
	w->durable = w->live;
	w->pending_commit = false;
	depart(w);
	act(w, (struct dispatch_event){EVENT_DURABLE});
}

static struct dispatch_event look(const struct world *w, const struct copy *c)
{
	struct dispatch_event e = {
	    .uid = c->uid, .suspended = c->suspended, .epoch = c->epoch, .pods_gone = true};

	if (!c->exists)
		e.kind = EVENT_READ_ABSENT;
	else if (!c->ours)
		e.kind = EVENT_READ_FOREIGN;
	else if (dispatch_owns(&w->live, span_of(c->uid), c->epoch))
		e.kind = EVENT_READ_OURS;
	else
		e.kind = EVENT_READ_STALE;
	return e;
}

/* The order reaches the member; returns what the member answers. */
static struct dispatch_event land(struct world *w, const struct flight *f)
{
	struct copy *c = &w->members[f->member];
	bool same = c->exists && c->ours && strcmp(c->uid, f->uid) == 0;
	bool fits = same && c->epoch == f->copy_epoch;

	switch (f->order) {
	case DISPATCH_ORDER_CREATE:
		if (c->exists)
			return (struct dispatch_event){EVENT_UNKNOWN};
		*c = (struct copy){.exists = true,
				   .suspended = true,
				   .ours = true,
				   .epoch = f->epoch,
				   .version = c->version + 1,
				   .made_of = f->edit,
				   .orphans = c->orphans};
		(void)snprintf(c->uid, sizeof(c->uid), "uid-%llu", (unsigned long long)++w->uids);
		return (struct dispatch_event){EVENT_CREATED, .uid = c->uid, .epoch = c->epoch,
					       .suspended = true};
	case DISPATCH_ORDER_STOP:
		if (!fits)
			return (struct dispatch_event){EVENT_REFUSED};
		c->suspended = true;
		c->epoch = f->epoch + 1;
		c->version++;
		return (struct dispatch_event){EVENT_STOPPED, .epoch = c->epoch,
					       .pods_gone = chance(w, 50)};
	case DISPATCH_ORDER_REWRITE:
		if (!same || c->version != f->version || c->deleting)
			return (struct dispatch_event){chance(w, 90) ? EVENT_NOT_SENT
								     : EVENT_UNFIT};
		assert_true(c->suspended && !c->pods);
		c->epoch = f->epoch;
		c->version++;
		return (struct dispatch_event){EVENT_REWRITTEN};
	case DISPATCH_ORDER_AMEND:
		if (!same || c->version != f->version)
			return (struct dispatch_event){EVENT_NOT_SENT};
		assert_true(c->epoch == f->epoch && !c->suspended);
		if (chance(w, 10))
			return (struct dispatch_event){EVENT_AMEND_REFUSED};
		c->made_of = f->edit;
		c->version++;
		w->amended++;
		return (struct dispatch_event){EVENT_AMENDED};
	case DISPATCH_ORDER_START:
		if (!fits || c->deleting)
			return (struct dispatch_event){EVENT_REFUSED};
		c->suspended = false;
		c->pods = true;
		c->version++;
		w->starts++;
		return (struct dispatch_event){EVENT_STARTED};
	case DISPATCH_ORDER_DELETE:
		if (!c->exists)
			return (struct dispatch_event){EVENT_READ_ABSENT, .pods_gone = true};
		if (!same)
			return (struct dispatch_event){EVENT_REFUSED};
		c->deleting = true;
		return (struct dispatch_event){EVENT_DELETE_ANSWERED};
	case DISPATCH_ORDER_READ_PODS:
		return (struct dispatch_event){c->pods || c->orphans ? EVENT_PODS_LEFT
								     : EVENT_PODS_ABSENT};
	default: {
		struct dispatch_event e = look(w, c);
		e.has_text = true;
		w->read = c->version;
		return e;
	}
	}
}

/* As amend.h keeps the row. */
static void amended(struct world *w, const struct flight *f, enum dispatch_event_kind kind)
{
	if (kind != EVENT_AMENDED && kind != EVENT_AMEND_REFUSED)
		return;
	w->refused = kind == EVENT_AMEND_REFUSED ? f->edit : w->refused;
	if (f->edit != w->edit)
		act(w, (struct dispatch_event){EVENT_EDITED});
	else
		w->edited = kind == EVENT_AMEND_REFUSED;
}

static void edit(struct world *w)
{
	w->edit++;
	if (!dispatch_has_standing_copy(&w->live))
		return;
	w->edited = true;
	act(w, (struct dispatch_event){EVENT_EDITED});
}

static void fly(struct world *w, struct flight *f)
{
	struct flight flown = *f;

	if (f->awaited && chance(w, 15)) {
		/* The answer will never come; the order itself may still land, or be lost. */
		f->awaited = false;
		if (chance(w, 30))
			f->used = false;
		if (flown.epoch == w->live.epoch && w->live.in_flight)
			act(w, (struct dispatch_event){EVENT_UNKNOWN});
		return;
	}
	f->used = false;
	struct dispatch_event answer = land(w, &flown);
	if (flown.awaited && w->live.step != DISPATCH_IDLE && flown.epoch == w->live.epoch) {
		act(w, answer);
		amended(w, &flown, answer.kind);
	}
}

static void crash(struct world *w)
{
	w->live = w->durable;
	w->live.in_flight = w->live.reading = false;
	w->live.retry_at = 0;
	w->pending_commit = false;
	w->order = DISPATCH_ORDER_NONE;
	for (size_t i = 0; i < FLIGHTS; i++)
		w->flights[i].awaited = false;
	act(w, (struct dispatch_event){EVENT_RESTARTED});
	if (w->edited && w->refused != w->edit)
		act(w, (struct dispatch_event){EVENT_EDITED});
}

static void copy_goes(struct world *w, struct copy *c)
{
	bool mine = c == &w->members[w->live.member] && w->live.step != DISPATCH_IDLE &&
		    strcmp(c->uid, w->live.uid) == 0;

	c->exists = c->deleting = false;
	if (mine && chance(w, 50))
		act(w, (struct dispatch_event){EVENT_GONE, .pods_gone = chance(w, 50)});
}

static void member_acts(struct world *w, struct copy *c)
{
	if (c->deleting && c->pods && chance(w, 20)) {
		/* Somebody takes its finalizer off: it goes before its pods, which the stream of
		 * pods may not have shown. */
		c->pods = false;
		c->orphans = true;
		copy_goes(w, c);
	} else if ((c->deleting || c->suspended) && c->pods) {
		c->pods = false; /* foreground: pods go before their owner */
	} else if (c->deleting) {
		copy_goes(w, c);
	} else if (chance(w, 30)) {
		c->orphans = false;
	}
}

static void step(struct world *w)
{
	w->now += (usec)(next_random(&w->random) % 40000);
	switch (next_random(&w->random) % 12) {
	case 0:
		if (dispatch_is_free(&w->live) && !w->pending_commit)
			act(w, (struct dispatch_event){
				   EVENT_DECIDED,
				   .member = (uint32_t)(next_random(&w->random) % MEMBERS)});
		break;
	case 1:
		if (chance(w, 10))
			act(w, (struct dispatch_event){EVENT_WITHDRAW});
		else if (chance(w, 30))
			act(w, (struct dispatch_event){EVENT_STOP});
		else if (chance(w, 40))
			edit(w);
		break;
	case 2:
		if (chance(w, 10))
			crash(w);
		break;
	case 3:
	case 4:
		if (w->pending_commit)
			commit(w);
		break;
	case 5:
	case 6:
	case 7: {
		struct flight *f = &w->flights[next_random(&w->random) % FLIGHTS];
		for (size_t i = 0; i < FLIGHTS && !f->used; i++)
			f = &w->flights[i];
		if (f->used)
			fly(w, f);
		break;
	}
	case 8:
	case 9:
		member_acts(w, &w->members[next_random(&w->random) % MEMBERS]);
		break;
	case 10:
		if (w->live.retry_at && w->live.retry_at <= w->now)
			act(w, (struct dispatch_event){EVENT_TIMER});
		else if (w->live.retry_at)
			w->now = w->live.retry_at;
		break;
	default:
		if (w->live.step != DISPATCH_IDLE && w->live.step != DISPATCH_RESUMING &&
		    look(w, &w->members[w->live.member]).kind == EVENT_READ_OURS)
			act(w, look(w, &w->members[w->live.member]));
		break;
	}
}

static void check_at_most_one(const struct world *w, uint64_t seed, size_t at)
{
	size_t running = 0;

	for (size_t i = 0; i < MEMBERS; i++)
		running += w->members[i].pods || w->members[i].orphans;
	if (running > 1)
		fail_msg("seed %llu, step %zu: %zu members run the job", (unsigned long long)seed,
			 at, running);
}

/* One round without faults. */
static void calm(struct world *w)
{
	if (w->pending_commit)
		commit(w);
	for (size_t k = 0; k < FLIGHTS; k++) {
		struct flight f = w->flights[k];
		if (!f.used)
			continue;
		w->flights[k].used = false;
		struct dispatch_event answer = land(w, &f);
		if (!f.awaited || f.epoch != w->live.epoch)
			continue;
		act(w, answer);
		amended(w, &f, answer.kind);
	}
	for (size_t k = 0; k < MEMBERS; k++)
		member_acts(w, &w->members[k]);
	w->now += 60 * USEC_PER_SEC;
	if (w->live.retry_at)
		act(w, (struct dispatch_event){EVENT_TIMER});
}

/* After the faults stop, a copy that runs has every edit of its job, or its member refused. */
static size_t catches_up(struct world *w, uint64_t seed)
{
	for (size_t i = 0; i < 200; i++)
		calm(w);
	const struct copy *c = &w->members[w->live.member];
	if (w->live.step != DISPATCH_STARTED || w->live.in_flight || w->refused == w->edit)
		return 0;
	if (c->made_of != w->edit)
		fail_msg("seed %llu: the copy lacks an edit", (unsigned long long)seed);
	return 1;
}

/* After the faults stop, a withdrawn job leaves nothing that runs, and becomes free. */
static void settles(struct world *w, uint64_t seed)
{
	act(w, (struct dispatch_event){EVENT_WITHDRAW});
	for (size_t i = 0; i < 4000 && (w->live.step != DISPATCH_IDLE || w->pending_commit); i++) {
		calm(w);
	}
	if (w->live.step != DISPATCH_IDLE)
		fail_msg("seed %llu: stuck in %s", (unsigned long long)seed,
			 dispatch_step_name(w->live.step));
	for (size_t i = 0; i < MEMBERS; i++)
		assert_false(w->members[i].pods || w->members[i].orphans);
}

static void a_job_runs_on_at_most_one_member_whatever_is_lost(void **state)
{
	size_t starts = 0, parked = 0, resumed = 0, left = 0, amendments = 0, caught_up = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w = {.random = seed * 0x9e3779b97f4a7c15ULL, .now = USEC_PER_SEC};
		for (size_t i = 0; i < STEPS; i++) {
			step(&w);
			check_at_most_one(&w, seed, i);
		}
		caught_up += catches_up(&w, seed);
		settles(&w, seed);
		amendments += w.amended;
		starts += w.starts;
		parked += w.parked;
		resumed += w.resumed;
		left += w.left;
	}
	/* The machine is alive: it does start jobs through all of this. */
	assert_true(starts > SEEDS);
	assert_true(parked > SEEDS && resumed > SEEDS / 10 && left > SEEDS / 10);
	assert_true(amendments > SEEDS && caught_up > SEEDS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_decision_is_durable_before_anything_is_sent),
	    cmocka_unit_test(the_uid_is_durable_before_the_copy_is_started),
	    cmocka_unit_test(an_unknown_create_is_read_never_repeated_blindly),
	    cmocka_unit_test(a_withdrawn_job_is_free_only_after_absence_is_read),
	    cmocka_unit_test(pods_that_the_stream_does_not_show_keep_a_job_from_being_free),
	    cmocka_unit_test(a_foreign_object_is_a_conflict_and_is_not_touched),
	    cmocka_unit_test(a_restart_looks_before_it_creates),
	    cmocka_unit_test(an_evicted_job_is_suspended_first_and_free_when_its_pods_are_gone),
	    cmocka_unit_test(placed_where_it_is_parked_the_copy_is_rewritten_and_resumed),
	    cmocka_unit_test(a_rewrite_that_nobody_answered_is_read_before_it_is_repeated),
	    cmocka_unit_test(placed_elsewhere_nothing_begins_there_before_the_parked_copy_is_gone),
	    cmocka_unit_test(a_member_that_does_not_answer_keeps_no_room_elsewhere),
	    cmocka_unit_test(a_member_that_refuses_to_suspend_has_its_copy_deleted),
	    cmocka_unit_test(a_job_that_ends_before_the_stop_lands_has_finished),
	    cmocka_unit_test(a_parked_copy_that_somebody_starts_is_stopped_again),
	    cmocka_unit_test(an_edit_of_a_running_copy_is_read_first_and_sent_once),
	    cmocka_unit_test(an_edit_while_the_copy_starts_waits_until_it_has),
	    cmocka_unit_test(a_refused_edit_is_not_tried_again_by_itself),
	    cmocka_unit_test(a_stop_goes_before_an_edit),
	    cmocka_unit_test(a_job_runs_on_at_most_one_member_whatever_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
