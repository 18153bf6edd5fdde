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
};

struct flight { /* an order on its way to a member; it may land late */
	bool used, awaited;
	enum dispatch_order order;
	uint32_t member;
	uint64_t epoch;
	char uid[DISPATCH_UID_MAX];
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
	size_t starts;
};

static bool chance(struct world *w, unsigned percent)
{
	return next_random(&w->random) % 100 < percent;
}

static void act(struct world *w, struct dispatch_event e);

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
				     .epoch = w->live.epoch};
		memcpy(f->uid, w->order_uid, sizeof(f->uid));
		return;
	}
	act(w, (struct dispatch_event){EVENT_NOT_SENT});
}

static void act(struct world *w, struct dispatch_event e)
{
	struct dispatch_plan p = dispatch_next(&w->live, &e, w->now);

	w->live = p.next;
	if (p.order != DISPATCH_ORDER_NONE) {
		w->order = p.order;
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
	struct dispatch_event e = {.uid = c->uid, .suspended = c->suspended, .pods_gone = true};

	if (!c->exists)
		e.kind = EVENT_READ_ABSENT;
	else if (!c->ours)
		e.kind = EVENT_READ_FOREIGN;
	else if (c->epoch == w->live.epoch &&
		 (w->live.uid[0] == '\0' || strcmp(w->live.uid, c->uid) == 0))
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

	switch (f->order) {
	case DISPATCH_ORDER_CREATE:
		if (c->exists)
			return (struct dispatch_event){EVENT_UNKNOWN};
		*c = (struct copy){.exists = true,
				   .suspended = true,
				   .ours = true,
				   .epoch = f->epoch,
				   .orphans = c->orphans};
		(void)snprintf(c->uid, sizeof(c->uid), "uid-%llu", (unsigned long long)++w->uids);
		return (struct dispatch_event){EVENT_CREATED, .uid = c->uid, .suspended = true};
	case DISPATCH_ORDER_START:
		if (!same || c->deleting)
			return (struct dispatch_event){EVENT_REFUSED};
		c->suspended = false;
		c->pods = true;
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
	default:
		return look(w, c);
	}
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
	if (flown.awaited && w->live.step != DISPATCH_IDLE && flown.epoch == w->live.epoch)
		act(w, answer);
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
	} else if (c->deleting && c->pods) {
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
		if (w->live.step == DISPATCH_IDLE && !w->pending_commit)
			act(w, (struct dispatch_event){
				   EVENT_DECIDED,
				   .member = (uint32_t)(next_random(&w->random) % MEMBERS)});
		break;
	case 1:
		if (chance(w, 20))
			act(w, (struct dispatch_event){EVENT_WITHDRAW});
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
		if (w->live.step != DISPATCH_IDLE &&
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

/* After the faults stop, a withdrawn job leaves nothing that runs, and becomes free. */
static void settles(struct world *w, uint64_t seed)
{
	act(w, (struct dispatch_event){EVENT_WITHDRAW});
	for (size_t i = 0; i < 4000 && (w->live.step != DISPATCH_IDLE || w->pending_commit); i++) {
		if (w->pending_commit)
			commit(w);
		for (size_t k = 0; k < FLIGHTS; k++) {
			struct flight f = w->flights[k];
			if (!f.used)
				continue;
			w->flights[k].used = false;
			struct dispatch_event answer = land(w, &f);
			if (f.awaited && f.epoch == w->live.epoch)
				act(w, answer);
		}
		for (size_t k = 0; k < MEMBERS; k++)
			member_acts(w, &w->members[k]);
		w->now += 60 * USEC_PER_SEC;
		if (w->live.retry_at)
			act(w, (struct dispatch_event){EVENT_TIMER});
	}
	if (w->live.step != DISPATCH_IDLE)
		fail_msg("seed %llu: stuck in %s", (unsigned long long)seed,
			 dispatch_step_name(w->live.step));
	for (size_t i = 0; i < MEMBERS; i++)
		assert_false(w->members[i].pods || w->members[i].orphans);
}

static void a_job_runs_on_at_most_one_member_whatever_is_lost(void **state)
{
	size_t starts = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w = {.random = seed * 0x9e3779b97f4a7c15ULL, .now = USEC_PER_SEC};
		for (size_t i = 0; i < STEPS; i++) {
			step(&w);
			check_at_most_one(&w, seed, i);
		}
		settles(&w, seed);
		starts += w.starts;
	}
	/* The machine is alive: it does start jobs through all of this. */
	assert_true(starts > SEEDS);
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
	    cmocka_unit_test(a_job_runs_on_at_most_one_member_whatever_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
