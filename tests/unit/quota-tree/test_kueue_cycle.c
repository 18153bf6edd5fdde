/*
 * The order of queues, requeueing and the cycle (reference/kueue.md sections 2.1 to 2.3).
 * cpu is in plain numbers; stories read "+a" admitted, "!b" evicted, "-c" went back.
 */
#include "kueue_world.h"

static const struct kueue_queue_spec strict = {.weight = 1, .strategy = KUEUE_STRICT_FIFO};

static void priority_then_age_then_uid(void **state)
{
	struct world w = world_with(world_options());
	uint32_t q = kt_queue(w.f, "q", NULL, 3, NO, NO);

	world_add(&w, q, "old", 0, 1, 1);
	world_add(&w, q, "young", 0, 2, 1);
	world_add(&w, q, "high", 5, 9, 1);
	struct kueue_workload *twin = world_add(&w, q, "aa", 0, 2, 1);

	assert_int_equal(kueue_queues_position(w.q, twin), 2);
	assert_story(&w, "+high");
	assert_story(&w, "+old");
	assert_int_equal(kueue_queues_position(w.q, twin), 0);
	assert_story(&w, "+aa"); /* "aa" < "young" */
	assert_story(&w, "-young");
	assert_story(&w, ""); /* parked */
	world_done(&w);
}

/* big (3) does not fit the 2 that are left: best effort passes it over, strict does not. */
static void strict_blocks_and_best_effort_passes_over(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world w = world_with(world_options());
		uint32_t q = kt_queue_with(w.f, "q", NULL, (struct kueue_quota){4, NO, NO},
					   i ? &strict : NULL);

		world_add(&w, q, "first", 0, 1, 2);
		struct kueue_workload *big = world_add(&w, q, "big", 0, 2, 3);
		world_add(&w, q, "small", 0, 3, 1);
		assert_story(&w, "+first");
		assert_story(&w, "-big");
		assert_int_equal(kueue_queues_state(big), i ? KUEUE_PENDING : KUEUE_INADMISSIBLE);
		assert_string_equal(kueue_queues_parked_reason(big), i ? "" : "WaitingForQuota");
		assert_story(&w, i ? "" : "+small");
		assert_false(kueue_queues_is_due(w.q));
		world_done(&w);
	}
}

static void what_is_parked_comes_back_when_quota_does(void **state)
{
	struct world w = world_with(world_options());
	uint32_t a = kt_queue(w.f, "a", "co", 2, NO, NO);
	uint32_t b = kt_queue(w.f, "b", "co", 2, NO, NO);
	struct kueue_workload *one = world_add(&w, a, "one", 0, 1, 3);

	assert_story(&w, "+one"); /* borrows 1 of b's */
	struct kueue_workload *two = world_add(&w, b, "two", 0, 2, 2);
	assert_story(&w, "-two");
	assert_story(&w, "");
	assert_int_equal(kueue_queues_state(two), KUEUE_INADMISSIBLE);
	/* It finishes: everything of the cohort is tried again. */
	kueue_queues_remove(w.q, one);
	assert_int_equal(kueue_queues_state(two), KUEUE_PENDING);
	assert_story(&w, "+two");
	world_done(&w);
}

/* One verdict parks a class; an equal newcomer is bypassed until the next release. */
static void equal_workloads_are_parked_together(void **state)
{
	struct world w = world_with(world_options());
	uint32_t q = kt_queue(w.f, "q", NULL, 4, NO, NO);
	struct kueue_workload *holder = world_add(&w, q, "holder", 0, 1, 3);

	assert_story(&w, "+holder");
	struct kueue_workload *a = world_add(&w, q, "a", 0, 2, 2);
	struct kueue_workload *b = world_add(&w, q, "b", 0, 3, 2);
	world_add(&w, q, "c", 1, 4, 2); /* another priority: another class, and first */
	assert_story(&w, "-c");
	assert_story(&w, "-a");
	assert_int_equal(kueue_queues_state(b), KUEUE_INADMISSIBLE);
	struct kueue_workload *d = world_add(&w, q, "d", 0, 5, 2);
	assert_int_equal(kueue_queues_state(d), KUEUE_INADMISSIBLE);
	assert_story(&w, "");
	/* Its memory outlasts its members. */
	kueue_queues_remove(w.q, a);
	kueue_queues_remove(w.q, b);
	kueue_queues_remove(w.q, d);
	d = world_add(&w, q, "d", 0, 6, 2);
	assert_int_equal(kueue_queues_state(d), KUEUE_INADMISSIBLE);
	kueue_queues_remove(w.q, holder);
	assert_story(&w, "+c");
	assert_story(&w, "+d");
	world_done(&w);
}

/* In the cohort there are 2 free. b's head stays within its own 2, a's would borrow: b goes first
 * although a's priority is higher. */
static void who_borrows_less_goes_first(void **state)
{
	struct world w = world_with(world_options());
	uint32_t a = kt_queue(w.f, "a", "co", 0, NO, NO);
	uint32_t b = kt_queue(w.f, "b", "co", 2, NO, NO);

	world_add(&w, a, "rich", 100, 1, 2);
	world_add(&w, b, "poor", 0, 2, 2);
	assert_story(&w, "+poor -rich");
	/* Skipped, not refused: it is still in its heap and is now told that there is nothing. */
	assert_story(&w, "-rich");
	assert_story(&w, "");
	world_done(&w);
}

static void heads_of_one_level_go_by_priority_then_age(void **state)
{
	struct world w = world_with(world_options());
	uint32_t a = kt_queue(w.f, "a", "co", 4, NO, NO);
	uint32_t b = kt_queue(w.f, "b", "co", 4, NO, NO);
	uint32_t c = kt_queue(w.f, "c", "co", 4, NO, NO);

	world_add(&w, a, "a1", 1, 3, 1);
	world_add(&w, b, "b1", 2, 9, 1);
	world_add(&w, c, "c1", 1, 2, 1);
	world_add(&w, c, "c2", 9, 20, 1);
	/* c's head is c2; c1 waits for the next cycle. */
	assert_story(&w, "+c2 +b1 +a1");
	assert_story(&w, "+c1");
	world_done(&w);
}

/* a (policy Never) needs 3 of its own 4 and 2 are free: it holds those 2 back from b, whose head
 * would borrow 2, in every cycle in which it is tried; under reclaimWithinCohort=Any it would not
 * have to. */
static void a_blocked_head_holds_back_what_it_could_get(void **state)
{
	for (int any = 0; any < 2; any++) {
		struct world w = world_with(world_options());
		struct kueue_queue_spec spec = strict;
		if (any)
			spec.preemption.reclaim_within_cohort = KUEUE_PREEMPT_ANY;
		uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){4, NO, NO}, &spec);
		uint32_t b = kt_queue(w.f, "b", "co", 0, NO, NO);

		world_add(&w, a, "mine", 0, 1, 2);
		assert_story(&w, "+mine");
		world_add(&w, a, "blocked", 9, 2, 3);
		world_add(&w, b, "greedy", 0, 3, 2);
		assert_story(&w, any ? "-blocked +greedy" : "-blocked -greedy");
		world_done(&w);
	}
}

/* high needs 2 of 2, which low holds: low is evicted, and high waits for it at the head, before
 * higher priorities that come later. */
static void a_preemptor_keeps_the_head_until_its_victims_are_gone(void **state)
{
	struct world w = world_with(world_options());
	const struct kueue_queue_spec spec = {
	    .weight = 1, .preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY};
	uint32_t q = kt_queue_with(w.f, "q", NULL, (struct kueue_quota){2, NO, NO}, &spec);
	struct kueue_workload *low = world_add(&w, q, "low", 0, 1, 2);

	assert_story(&w, "+low");
	struct kueue_workload *high = world_add(&w, q, "high", 5, 2, 2);
	assert_story(&w, "!low");
	assert_int_equal(low->state, KUEUE_EVICTED);
	assert_true(high->sticky);
	world_add(&w, q, "higher", 9, 3, 2);
	assert_int_equal(kueue_queues_position(w.q, high), 0);
	assert_story(&w, ""); /* still waits; nobody is evicted twice */
	kueue_queues_released(w.q, low);
	assert_story(&w, "+high");
	assert_false(high->sticky);
	/* low kept its place: behind higher, by priority, not by time. */
	assert_int_equal(kueue_queues_position(w.q, low), 1);
	world_done(&w);
}

static void held_workloads_wait_aside(void **state)
{
	struct world w = world_with(world_options());
	uint32_t q = kt_queue(w.f, "q", NULL, 4, NO, NO);
	struct kueue_workload *a = world_add(&w, q, "a", 0, 1, 1);
	struct kueue_workload *b = world_add(&w, q, "b", 0, 2, 1);

	kueue_queues_hold(w.q, a, true); /* backs off: still pending, still first in the list */
	assert_int_equal(kueue_queues_count(w.q, q).active, 1);
	kueue_queues_hold(w.q, b, false); /* inactive */
	assert_int_equal(kueue_queues_count(w.q, q).pending, 1);
	assert_int_equal(kueue_queues_count(w.q, q).active, 0);
	assert_int_equal(kueue_queues_position(w.q, a), 0);
	assert_true(kueue_queues_position(w.q, b) == SIZE_MAX);
	assert_story(&w, "");
	kueue_queues_unhold(w.q, b);
	assert_story(&w, "+b");
	kueue_queues_hold(w.q, b, true); /* requeueAt while it runs: known when it comes back */
	kueue_queues_evicted(w.q, b);
	kueue_queues_released(w.q, b);
	assert_int_equal(b->state, KUEUE_HELD);
	kueue_queues_unhold(w.q, a);
	kueue_queues_unhold(w.q, b);
	assert_story(&w, "+a");
	assert_story(&w, "+b");
	world_done(&w);
}

static void a_stopped_queue_takes_nobody(void **state)
{
	struct world w = world_with(world_options());
	struct kueue_queue_spec spec = {.weight = 1, .stop = KUEUE_STOP_HOLD};
	uint32_t q = kt_queue_with(w.f, "q", NULL, (struct kueue_quota){4, NO, NO}, &spec);

	world_add(&w, q, "a", 0, 1, 1);
	assert_story(&w, "");
	spec.stop = KUEUE_STOP_NONE;
	kt_queue_with(w.f, "q", NULL, (struct kueue_quota){4, NO, NO}, &spec);
	kueue_queues_edited(w.q, q);
	assert_story(&w, "+a");
	world_done(&w);
}

static void an_edit_wakes_what_it_could_help(void **state)
{
	struct world w = world_with(kueue_options_default());
	uint32_t q = kt_queue(w.f, "q", NULL, 1, NO, NO);

	world_add(&w, q, "a", 0, 1, 2);
	assert_story(&w, "-a");
	assert_story(&w, "");
	kt_queue(w.f, "q", "co", 1, NO, NO);
	kt_queue(w.f, "r", "co", 1, NO, NO);
	kueue_queues_edited(w.q, q);
	assert_story(&w, "+a"); /* borrows r's 1 */
	world_done(&w);
}

/* b borrowed all that a lent; its cohort moves to another tree, and a has its own again. */
static void a_cohort_that_leaves_gives_back_what_it_borrowed(void **state)
{
	struct world w = world_with(kueue_options_default());
	uint32_t a, b;

	kt_cohort(w.f, "left", "root", 0, NO, NO);
	kt_cohort(w.f, "right", "root", 0, NO, NO);
	a = kt_queue(w.f, "a", "left", 2, NO, NO);
	b = kt_queue(w.f, "b", "right", 0, NO, NO);
	world_add(&w, b, "b1", 0, 1, 2);
	assert_story(&w, "+b1");
	world_add(&w, a, "a1", 0, 2, 2);
	assert_story(&w, "-a1");
	kt_cohort(w.f, "right", "elsewhere", 0, NO, NO);
	kueue_queues_edited(w.q, kueue_forest_cohort(w.f, SPAN("right")));
	assert_story(&w, "+a1");
	world_done(&w);
}

static bool nothing_fits(const struct kueue_entry *e)
{
	return false;
}

static void what_placement_refuses_parks_until_its_shape_is_woken(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world w = world_with(kueue_options_default());
		uint32_t q = kt_queue_with(w.f, "q", NULL, (struct kueue_quota){4, NO, NO},
					   i ? &strict : NULL);
		struct kueue_workload *big = world_add(&w, q, "big", 1, 1, 2);
		struct kueue_workload *done = world_add(&w, q, "next", 0, 2, 1);

		w.places = nothing_fits;
		assert_story(&w, i ? "-big" : "-big -next");
		assert_story(&w, "");
		assert_string_equal(kueue_queues_parked_reason(big),
				    i ? "" : "TopologyPlacementFailed");
		w.places = NULL;
		assert_story(&w, "");
		kueue_queues_wake_shape(w.q, done->shape->number);
		assert_story(&w, i ? "" : "+next");
		kueue_queues_wake_shape(w.q, KUEUE_NONE);
		assert_story(&w, i ? "+big +next" : "+big");
		world_done(&w);
	}
}

/* Two flavors; no member has nodes of the first: the second is asked, and taken. */
static bool only_two(const struct kueue_entry *e)
{
	return e->assignment.uses.items[0].flavor != 0;
}

static void a_refused_flavor_is_passed_over_for_the_next(void **state)
{
	struct world w = world_with(kueue_options_default());
	static const struct span flavors[] = {SPAN("default"), SPAN("two")};
	const struct kueue_quota quotas[] = {{4, NO, NO}, {4, NO, NO}};
	const struct kueue_group_spec group = {kt_cpu, 1, flavors, 2, quotas};

	kt_flavor(w.f, "two");
	uint32_t q = kt_queue_of(w.f, "q", NULL, &group, 1, NULL);
	struct kueue_workload *a = world_add(&w, q, "a", 0, 1, 2);
	w.places = only_two;
	assert_story(&w, "+a");
	assert_int_equal(a->n_uses, 1);
	assert_true(span_is(kueue_forest_flavor_name(w.f, a->uses[0].flavor), "two"));
	assert_int_equal(a->n_holdings, 1);
	assert_int_equal(a->holdings[0].value, 2);
	world_done(&w);
}

/* Many admissions in a row: what takes Kueue five cycles is one, in the same order. */
static void without_the_pace_of_one_head_a_cycle_goes_on_until_nobody_moves(void **state)
{
	struct world w = world_with(kueue_options_default());
	uint32_t a = kt_queue(w.f, "a", "co", 2, NO, NO);
	uint32_t b = kt_queue(w.f, "b", "co", 2, NO, NO);

	world_add(&w, a, "a1", 0, 1, 1);
	world_add(&w, a, "a2", 0, 2, 1);
	world_add(&w, a, "a3", 0, 3, 1);
	world_add(&w, b, "b1", 9, 4, 1);
	world_add(&w, b, "b2", 0, 5, 1);
	/* Rounds: b1 a1; a2 (older than b2) b2; a3 finds nothing. */
	assert_story(&w, "+b1 +a1 +a2 +b2 -a3");
	assert_false(kueue_queues_is_due(w.q));
	world_done(&w);
}

static void counts_follow_every_step(void **state)
{
	struct world w = world_with(kueue_options_default());
	uint32_t q = kt_queue(w.f, "q", NULL, 2, NO, NO);
	struct kueue_workload *a = world_add_to(&w, q, 7, "a", 0, 1, 2);
	struct kueue_workload *b = world_add_to(&w, q, 8, "b", 0, 2, 2);
	struct kueue_entry *e;

	kueue_cycle_begin(w.q, 1);
	e = kueue_cycle_next(w.q);
	assert_ptr_equal(e->workload, a);
	kueue_cycle_admit(w.q, e, true);
	e = kueue_cycle_next(w.q);
	assert_ptr_equal(e->workload, b);
	assert_int_equal(e->kind, KUEUE_ENTRY_WAITS);
	assert_string_equal(e->reason, "WaitingForQuota");
	assert_string_equal(e->message,
			    "couldn't assign flavors to pod set main: insufficient unused quota "
			    "for cpu in flavor default, 2m more needed");
	assert_null(kueue_cycle_next(w.q));
	assert_false(kueue_cycle_end(w.q));
	struct kueue_counts c = kueue_queues_count(w.q, q);
	assert_int_equal(c.pending, 1);
	assert_int_equal(c.active, 0); /* tried in vain: parked */
	assert_int_equal(c.reserving, 1);
	assert_int_equal(c.admitted, 0);
	kueue_queues_admitted(w.q, a);
	assert_int_equal(kueue_queues_count_local(w.q, q, 7).admitted, 1);
	assert_int_equal(kueue_queues_count_local(w.q, q, 8).pending, 1);
	assert_int_equal(kueue_queues_position_local(w.q, b), 0);
	world_check(&w);
	world_done(&w);
}

/* An edit is a reason to look again only where somebody waits. */
static void an_edit_of_an_empty_queue_is_nothing_to_try(void **state)
{
	struct world w = world_with(kueue_options_default());
	uint32_t q = kt_queue(w.f, "q", NULL, 4, NO, NO);

	kueue_queues_edited(w.q, q);
	assert_false(kueue_queues_is_due(w.q));
	world_add(&w, q, "one", 0, 1, 4);
	assert_true(kueue_queues_is_due(w.q));
	assert_story(&w, "+one");
	assert_false(kueue_queues_is_due(w.q));
	kueue_queues_edited(w.q, q);
	assert_false(kueue_queues_is_due(w.q));
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_edit_of_an_empty_queue_is_nothing_to_try),
	    cmocka_unit_test(priority_then_age_then_uid),
	    cmocka_unit_test(strict_blocks_and_best_effort_passes_over),
	    cmocka_unit_test(what_is_parked_comes_back_when_quota_does),
	    cmocka_unit_test(equal_workloads_are_parked_together),
	    cmocka_unit_test(who_borrows_less_goes_first),
	    cmocka_unit_test(heads_of_one_level_go_by_priority_then_age),
	    cmocka_unit_test(a_blocked_head_holds_back_what_it_could_get),
	    cmocka_unit_test(a_preemptor_keeps_the_head_until_its_victims_are_gone),
	    cmocka_unit_test(held_workloads_wait_aside),
	    cmocka_unit_test(a_stopped_queue_takes_nobody),
	    cmocka_unit_test(an_edit_wakes_what_it_could_help),
	    cmocka_unit_test(a_cohort_that_leaves_gives_back_what_it_borrowed),
	    cmocka_unit_test(what_placement_refuses_parks_until_its_shape_is_woken),
	    cmocka_unit_test(a_refused_flavor_is_passed_over_for_the_next),
	    cmocka_unit_test(without_the_pace_of_one_head_a_cycle_goes_on_until_nobody_moves),
	    cmocka_unit_test(counts_follow_every_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
