/*
 * The guarantee behind the dispatch state machine, in a simulation where orders are lost, late,
 * answered or not, and the hub dies at any moment: a job runs on one member at most.
 */
#include "core/dispatch/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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
	    cmocka_unit_test(a_job_runs_on_at_most_one_member_whatever_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
