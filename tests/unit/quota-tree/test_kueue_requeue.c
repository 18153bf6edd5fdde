/*
 * Who is tried again, and from which flavor on (reference/kueue.md sections 2.3 and 2.5): scenes
 * that the random scenarios against the slow model found, by hand.
 */
#include "kueue_world.h"

static const struct span one_two[] = {SPAN("default"), SPAN("two")};

/* Flavors "default" and "two", so much of each. */
static uint32_t queue_of_two(struct world *w, const char *name, const char *cohort, int64_t one,
			     int64_t two, const struct kueue_queue_spec *more)
{
	const struct kueue_quota quotas[] = {{one, NO, NO}, {two, NO, NO}};
	const struct kueue_group_spec group = {kt_cpu, 1, one_two, 2, quotas};

	kt_flavor(w->f, "two");
	return kt_queue_of(w->f, name, cohort, &group, 1, more);
}

static const char *flavor_of_set(const struct world *w, const struct kueue_workload *wl,
				 uint32_t set)
{
	for (size_t i = 0; i < wl->n_holdings; i++)
		if (wl->holdings[i].pod_set == set)
			return kueue_forest_flavor_name(w->f, wl->holdings[i].flavor).ptr;
	return "";
}

/*
 * Of "default" both queues have 2; low holds s's 2, so head would borrow o's. o's own goes first
 * and takes them: head lost to it, and goes on with "two", of which there is nothing. The first
 * flavor, tried again, gives it a victim. Kueue tries its head in every cycle.
 */
static void a_strict_head_that_began_in_the_middle_goes_on_from_the_first_flavor(void **state)
{
	struct world w = world_with(kueue_options_default());
	const struct kueue_queue_spec spec = {
	    .weight = 1,
	    .strategy = KUEUE_STRICT_FIFO,
	    .when_can_borrow = KUEUE_MAY_STOP_SEARCH,
	    .preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,
	};
	uint32_t s = queue_of_two(&w, "s", "co", 2, 0, &spec);
	uint32_t o = queue_of_two(&w, "o", "co", 2, 0, NULL);

	world_add(&w, s, "low", 0, 1, 2);
	assert_story(&w, "+low");
	world_add(&w, s, "head", 5, 2, 2);
	world_add(&w, o, "own", 0, 3, 2);
	assert_story(&w, "+own -head -head !low");
	world_done(&w);
}

/*
 * Three pod sets of 1, 2 and 2 on 2 of "default" and 2 of "two": in the first attempt they would
 * get default, two and nothing; in the next, which goes on behind those, two, default and nothing;
 * so on in turn, until it parks. With one of "default" more there is room from the first flavors
 * on: default, default, two. Going on in the middle it would find default, two, default.
 */
static void what_parks_in_the_middle_of_its_flavors_starts_over(void **state)
{
	struct world w = world_with(kueue_options_default());
	uint32_t q = queue_of_two(&w, "q", NULL, 3, 2, NULL);
	const struct kueue_request small = {SPAN("cpu"), 1}, large = {SPAN("cpu"), 2};
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("a"), .count = 1, .requests = &small, .n_requests = 1},
	    {.name = SPAN("b"), .count = 1, .requests = &large, .n_requests = 1},
	    {.name = SPAN("c"), .count = 1, .requests = &large, .n_requests = 1},
	};
	struct kueue_workload *first = world_add(&w, q, "first", 0, 1, 1);

	assert_story(&w, "+first");
	struct kueue_workload *wl = world_add_sets_to(&w, q, 0, "w", 0, 2, sets, 3);
	while (world_cycle(&w))
		;
	assert_int_equal(kueue_queues_state(wl), KUEUE_INADMISSIBLE);
	assert_null(wl->tried);
	kueue_queues_remove(w.q, first);
	assert_story(&w, "+w");
	assert_string_equal(flavor_of_set(&w, wl, 0), "default");
	assert_string_equal(flavor_of_set(&w, wl, 1), "default");
	assert_string_equal(flavor_of_set(&w, wl, 2), "two");
	world_done(&w);
}

/*
 * As above head loses o's "default" to own and goes on with "two", where it preempts low. What it
 * tried is forgotten with that, as in Kueue: in the next round it begins with "default" again, and
 * finds a victim there too. Going on it would stay with "two".
 */
static void a_preemptor_begins_with_its_first_flavor_again(void **state)
{
	struct world w = world_with(kueue_options_default());
	const struct kueue_queue_spec spec = {
	    .weight = 1,
	    .when_can_borrow = KUEUE_MAY_STOP_SEARCH,
	    .when_can_preempt = KUEUE_MAY_STOP_SEARCH,
	    .preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,
	};
	uint32_t s = queue_of_two(&w, "s", "co", 2, 2, &spec);
	uint32_t o = queue_of_two(&w, "o", "co", 0, 0, NULL);

	world_add(&w, s, "first", 0, 1, 2);
	struct kueue_workload *low = world_add(&w, s, "low", 0, 2, 2);
	assert_story(&w, "+first +low");
	assert_string_equal(flavor_of_set(&w, low, 0), "two");
	o = queue_of_two(&w, "o", "co", 2, 0, NULL);
	kueue_queues_edited(w.q, o);
	world_add(&w, s, "head", 5, 3, 2);
	world_add(&w, o, "own", 0, 4, 2);
	assert_story(&w, "+own -head !low !first");
	world_done(&w);
}

/* b holds what a lent. While b is stopped nobody takes from it: Kueue's snapshot has no such queue,
 * and a's head waits; once it is active again, a takes back. */
static void a_queue_that_is_not_active_gives_nobody_up(void **state)
{
	struct world w = world_with(kueue_options_default());
	const struct kueue_queue_spec reclaims = {
	    .weight = 1, .preemption.reclaim_within_cohort = KUEUE_PREEMPT_ANY};
	struct kueue_queue_spec b_spec = {.weight = 1, .stop = KUEUE_STOP_HOLD};
	const struct kueue_quota none = {0, NO, NO};
	uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){2, NO, NO}, &reclaims);
	uint32_t b = kt_queue_with(w.f, "b", "co", none, NULL);

	world_add(&w, b, "b1", 0, 1, 2);
	assert_story(&w, "+b1");
	kt_queue_with(w.f, "b", "co", none, &b_spec);
	kueue_queues_edited(w.q, b);
	world_add(&w, a, "a1", 0, 2, 2);
	assert_story(&w, "-a1");
	b_spec.stop = KUEUE_STOP_NONE;
	kt_queue_with(w.f, "b", "co", none, &b_spec);
	kueue_queues_edited(w.q, b);
	assert_story(&w, "!b1");
	world_done(&w);
}

/* Its victims are on their way out: behind "other" now, which is older, it still goes first. */
static void a_preemptor_whose_priority_changes_goes_on_waiting_for_its_victims(void **state)
{
	struct world w = world_with(kueue_options_default());
	const struct kueue_queue_spec spec = {
	    .weight = 1, .preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY};
	uint32_t q = kt_queue_with(w.f, "q", NULL, (struct kueue_quota){2, NO, NO}, &spec);
	struct kueue_workload *low = world_add(&w, q, "low", 0, 1, 2);

	assert_story(&w, "+low");
	struct kueue_workload *high = world_add(&w, q, "high", 5, 2, 2);
	assert_story(&w, "!low");
	world_add(&w, q, "other", 1, 1, 2);
	kueue_queues_set_priority(w.q, high, 1);
	assert_true(high->preemptor);
	assert_int_equal(kueue_queues_position(w.q, high), 0);
	assert_story(&w, "");
	kueue_queues_released(w.q, low);
	assert_story(&w, "+high -other -low");
	world_done(&w);
}

/* Kueue tries the head of a StrictFIFO queue in every cycle, and whoever goes already is the first
 * candidate from then on; here nothing is tried that nothing has changed for. */
static void an_eviction_by_somebody_else_is_a_reason_to_try_heads_again(void **state)
{
	struct world w = world_with(kueue_options_default());
	const struct kueue_queue_spec strict = {.weight = 1, .strategy = KUEUE_STRICT_FIFO};
	uint32_t q = kt_queue_with(w.f, "q", NULL, (struct kueue_quota){2, NO, NO}, &strict);
	struct kueue_workload *old = world_add(&w, q, "old", 0, 1, 2);

	assert_story(&w, "+old");
	world_add(&w, q, "head", 0, 2, 2);
	assert_story(&w, "-head");
	assert_false(kueue_queues_is_due(w.q));
	kueue_queues_evicted(w.q, old);
	assert_true(kueue_queues_is_due(w.q));
	assert_story(&w, "-head");
	assert_false(kueue_queues_is_due(w.q));
	/* Evicted twice is evicted once. */
	kueue_queues_evicted(w.q, old);
	assert_false(kueue_queues_is_due(w.q));
	world_done(&w);
}

/* An edit left a at 4 of 1 + 1. Its head can get nothing, and what it holds back is not less than
 * nothing: c may not take what b holds back (seed 5072). */
static void a_queue_above_its_limit_holds_back_nothing_and_frees_nothing(void **state)
{
	struct world w = world_with(kueue_options_default());
	const struct kueue_queue_spec strict = {.weight = 1, .strategy = KUEUE_STRICT_FIFO};
	uint32_t a = kt_queue(w.f, "a", "co", 4, NO, NO);
	uint32_t b = kt_queue_with(w.f, "b", "co", (struct kueue_quota){6, NO, NO}, &strict);
	uint32_t c = kt_queue(w.f, "c", "co", 0, NO, NO);

	world_add(&w, a, "a1", 0, 1, 4);
	world_add(&w, b, "b1", 0, 2, 2);
	assert_story(&w, "+a1 +b1");
	kt_queue(w.f, "a", "co", 1, 1, NO);
	kueue_queues_edited(w.q, a);
	/* 7 in all, 6 in use: b's head lacks 4 and holds back what is left of b's 6, all 4 of it;
	 * a's head would borrow, and comes before c's. */
	world_add(&w, b, "b2", 0, 3, 4);
	world_add(&w, a, "a2", 9, 4, 1);
	world_add(&w, c, "c1", 0, 5, 1);
	while (world_cycle(&w))
		assert_null(strchr(w.story, '+'));
	assert_null(strchr(w.story, '+'));
	world_done(&w);
}

/* Its number stays known where its workloads were, and is given again. */
static void a_queue_that_is_removed_survives_later_edits(void **state)
{
	struct world w = world_with(world_options());
	uint32_t a = kt_queue(w.f, "a", NULL, 4, NO, NO), b = kt_queue(w.f, "b", NULL, 4, NO, NO);
	struct kueue_workload *one = world_add(&w, a, "one", 0, 1, 4);

	(void)state;
	world_add(&w, b, "two", 0, 2, 4);
	assert_story(&w, "+one +two");
	kueue_queues_remove(w.q, one);
	kueue_forest_remove_queue(w.f, SPAN("a"));
	kueue_queues_edited(w.q, KUEUE_NONE);
	assert_int_equal(kueue_forest_queue(w.f, SPAN("a")), KUEUE_NONE);
	kueue_queues_edited(w.q, KUEUE_NONE);
	world_check(&w);
	assert_null(kueue_forest_queue_spec(w.f, a));
	assert_int_equal(kt_queue(w.f, "c", NULL, 2, NO, NO), a);
	kueue_queues_edited(w.q, KUEUE_NONE);
	world_add(&w, a, "three", 0, 3, 2);
	assert_story(&w, "+three");
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_strict_head_that_began_in_the_middle_goes_on_from_the_first_flavor),
	    cmocka_unit_test(what_parks_in_the_middle_of_its_flavors_starts_over),
	    cmocka_unit_test(a_preemptor_begins_with_its_first_flavor_again),
	    cmocka_unit_test(a_queue_that_is_not_active_gives_nobody_up),
	    cmocka_unit_test(a_preemptor_whose_priority_changes_goes_on_waiting_for_its_victims),
	    cmocka_unit_test(an_eviction_by_somebody_else_is_a_reason_to_try_heads_again),
	    cmocka_unit_test(a_queue_above_its_limit_holds_back_nothing_and_frees_nothing),
	    cmocka_unit_test(a_queue_that_is_removed_survives_later_edits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
