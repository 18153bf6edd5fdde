/*
 * Preemption under fair sharing (reference/kueue.md section 2.7), worked out by hand. Shares are in
 * thousandths of what could be lent.
 */
#include "kueue_testing.h"

static struct kueue_options fair(void)
{
	struct kueue_options options = kueue_options_default();

	options.fair_sharing = true;
	return options;
}

static uint32_t queue_within(struct kt_world *w, const char *name, const char *cohort,
			     int64_t nominal, enum kueue_preempt_policy within, double weight)
{
	const struct kueue_queue_spec spec = {
	    .weight = weight,
	    .preemption = {.within_cluster_queue = within,
			   .reclaim_within_cohort = KUEUE_PREEMPT_ANY}};

	return kt_queue_with(w->f, name, cohort, (struct kueue_quota){nominal, NO, NO}, &spec);
}

static uint32_t queue(struct kt_world *w, const char *name, const char *cohort, int64_t nominal)
{
	return queue_within(w, name, cohort, nominal, KUEUE_PREEMPT_NEVER, 1);
}

/* `n` workloads of 1, name0 the oldest. */
static void hold_ones(struct kt_world *w, uint32_t q, const char *name, int n)
{
	for (int i = 0; i < n; i++) {
		char each[16];
		snprintf(each, sizeof(each), "%s%d", name, i);
		kt_hold(w, q, each, 0, i, "default", 1);
	}
}

#define victims(w, wl) kt_victims(w, wl, NULL)

static void a_smaller_share_takes_from_a_larger(void **state)
{
	/* 3 + 3 + 3. a holds 3, b 6. With 1 more a borrows 1/9 = 111; b, less 1, 2/9 = 222. */
	struct kt_world w = kt_world_with(fair());
	uint32_t a = queue(&w, "a", "co", 3), b = queue(&w, "b", "co", 3);

	queue(&w, "c", "co", 3);
	hold_ones(&w, a, "a", 3);
	hold_ones(&w, b, "b", 6);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 1)),
			    "b5:InCohortFairSharing");
	/* 2 at once: a 222; b less 1 is 222, and then 111: the strategy holds once. S2-b: 222 is
	 * not less than b's 222 by then. */
	assert_string_equal(victims(&w, kt_workload(&w, a, "in2", 0, 9, 2)), "");
	kt_done(&w);
}

static void an_equal_or_larger_share_takes_nothing(void **state)
{
	/* a holds 4, b 5: with 1 more a is at 222, b after at 111, before at 222. */
	struct kt_world w = kt_world_with(fair());
	uint32_t a = queue(&w, "a", "co", 3), b = queue(&w, "b", "co", 3);

	queue(&w, "c", "co", 3);
	hold_ones(&w, a, "a", 4);
	hold_ones(&w, b, "b", 5);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 1)), "");
	kt_done(&w);
}

static void the_second_strategy_asks_for_the_initial_share(void **state)
{
	/* b is one of 6. a, with 2 more than its 3, is at 222: more than b's 0 after, less than its
	 * 333 before. */
	struct kueue_options options = fair();
	struct kt_world w = kt_world_with(options);
	uint32_t a = queue(&w, "a", "co", 3), b = queue(&w, "b", "co", 3);

	queue(&w, "c", "co", 3);
	hold_ones(&w, a, "a", 3);
	kt_hold(&w, b, "big", 0, 1, "default", 6);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 2)),
			    "big:InCohortFairSharing");
	kt_done(&w);

	options.n_fair_strategies = 1; /* the first one alone */
	w = kt_world_with(options);
	a = queue(&w, "a", "co", 3);
	b = queue(&w, "b", "co", 3);
	queue(&w, "c", "co", 3);
	hold_ones(&w, a, "a", 3);
	kt_hold(&w, b, "big", 0, 1, "default", 6);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 2)), "");
	kt_done(&w);

	options.fair_strategies[0] = KUEUE_LESS_THAN_INITIAL_SHARE; /* the second one alone */
	w = kt_world_with(options);
	a = queue(&w, "a", "co", 3);
	b = queue(&w, "b", "co", 3);
	queue(&w, "c", "co", 3);
	hold_ones(&w, a, "a", 3);
	kt_hold(&w, b, "big", 0, 1, "default", 6);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 2)),
			    "big:InCohortFairSharing");
	kt_done(&w);
}

static void the_largest_share_gives_first(void **state)
{
	/* 3 each: 12. a holds 3; b 4 (83), c 5 (167): c gives. */
	struct kt_world w = kt_world_with(fair());
	uint32_t a = queue(&w, "a", "co", 3), b = queue(&w, "b", "co", 3), c;

	c = queue(&w, "c", "co", 3);
	queue(&w, "d", "co", 3);
	hold_ones(&w, a, "a", 3);
	hold_ones(&w, b, "b", 4);
	hold_ones(&w, c, "c", 5);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 1)),
			    "c4:InCohortFairSharing");
	kt_done(&w);
}

static void a_tie_of_queues_is_broken_by_their_candidates(void **state)
{
	/* b and c both borrow 2 of 12: the one whose first candidate has the lower priority. */
	struct kt_world w = kt_world_with(fair());
	uint32_t a = queue(&w, "a", "co", 3), b = queue(&w, "b", "co", 3), c;

	c = queue(&w, "c", "co", 3);
	queue(&w, "d", "co", 3);
	hold_ones(&w, a, "a", 2);
	hold_ones(&w, b, "b", 4);
	kt_hold(&w, b, "b-high", 5, 8, "default", 1);
	hold_ones(&w, c, "c", 4);
	kt_hold(&w, c, "c-low", -5, 0, "default", 1);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 1)),
			    "c-low:InCohortReclamation");
	kt_done(&w);
}

static void within_its_nominal_a_queue_takes_back_what_is_its_own(void **state)
{
	/* b's single 9 holds everything; a asks its own 3: share 0 either way, so that only the
	 * reason tells the rule. */
	struct kueue_options options = fair();
	struct kt_world w = kt_world_with(options);
	uint32_t a = queue(&w, "a", "co", 3), b = queue(&w, "b", "co", 3);

	queue(&w, "c", "co", 3);
	kt_hold(&w, b, "all", 0, 1, "default", 9);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 3)),
			    "all:InCohortReclamation");
	kt_done(&w);

	options.preempt_within_nominal = false;
	w = kt_world_with(options);
	a = queue(&w, "a", "co", 3);
	b = queue(&w, "b", "co", 3);
	queue(&w, "c", "co", 3);
	kt_hold(&w, b, "all", 0, 1, "default", 9);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 3)),
			    "all:InCohortFairSharing");
	kt_done(&w);
}

static void shares_of_other_resources_do_not_stop_a_reclaim_within_nominal(void **state)
{
	/*
	 * cpu and memory, 3 each in a and b. a borrows 2 memory of b's and holds no cpu; b holds
	 * all 6 cpu as 5 and 1. a asks its own 1 cpu: its share is memory's 2/6 = 333. b is at 3/6
	 * = 500, without the 1: 333, so the first strategy would pass; without the 5: 0. By
	 * entitlement the order alone counts: the newer first.
	 */
	static const struct span res[] = {SPAN("cpu"), SPAN("memory")};
	static const struct kueue_quota quotas[] = {{3, NO, NO}, {3, NO, NO}};
	const struct kueue_group_spec group = {res, 2, kt_default, 1, quotas};
	const struct kueue_queue_spec spec = {
	    .weight = 1, .preemption = {.reclaim_within_cohort = KUEUE_PREEMPT_ANY}};
	struct kt_world w = kt_world_with(fair());
	uint32_t a = kt_queue_of(w.f, "a", "co", &group, 1, &spec);
	uint32_t b = kt_queue_of(w.f, "b", "co", &group, 1, &spec);
	struct kueue_use memory = kt_use(w.f, "default", "memory", 5);

	kueue_forest_charge(w.f, a, &memory, 1);
	kt_hold(&w, b, "small", 0, 1, "default", 1);
	kt_hold(&w, b, "large", 0, 2, "default", 5);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 1)),
			    "large:InCohortReclamation");
	kueue_forest_release(w.f, a, &memory, 1);
	kt_done(&w);
}

static void one_s_own_lower_priorities_are_taken_freely(void **state)
{
	/* a at 6 of 3 has the larger share; its own low goes. */
	struct kt_world w = kt_world_with(fair());
	uint32_t a = queue_within(&w, "a", "co", 3, KUEUE_PREEMPT_LOWER_PRIORITY, 1);
	uint32_t b = queue(&w, "b", "co", 3);

	queue(&w, "c", "co", 3);
	hold_ones(&w, a, "a", 5);
	kt_hold(&w, a, "low", -1, 0, "default", 1);
	hold_ones(&w, b, "b", 3);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 1)), "low:InClusterQueue");
	kt_done(&w);
}

static void a_queue_without_a_cohort_takes_its_own(void **state)
{
	struct kt_world w = kt_world_with(fair());
	uint32_t a = queue_within(&w, "a", NULL, 3, KUEUE_PREEMPT_LOWER_PRIORITY, 1);

	kt_hold(&w, a, "low", -1, 0, "default", 2);
	kt_hold(&w, a, "mid", 0, 0, "default", 1);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 1, 9, 3)),
			    "low:InClusterQueue mid:InClusterQueue");
	assert_string_equal(victims(&w, kt_workload(&w, a, "in1", 1, 9, 1)), "low:InClusterQueue");
	kt_done(&w);
}

static void shares_are_compared_just_below_the_common_ancestor(void **state)
{
	/*
	 * left (a 2, b 2), right (c 2, d 2): 8. a holds 2, c 6, and a asks 1 more. left would stand
	 * at 3 of its 4: 0. right, less 1, at 5: 1/8 = 125. c's own share does not count.
	 */
	struct kt_world w = kt_world_with(fair());
	uint32_t a, c;

	kt_cohort(w.f, "left", "root", 0, NO, NO);
	kt_cohort(w.f, "right", "root", 0, NO, NO);
	a = queue(&w, "a", "left", 2);
	queue(&w, "b", "left", 2);
	c = queue(&w, "c", "right", 2);
	queue(&w, "d", "right", 2);
	hold_ones(&w, a, "a", 2);
	hold_ones(&w, c, "c", 6);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 1)),
			    "c5:InCohortFairSharing");
	kt_done(&w);
}

static void a_cohort_that_keeps_within_its_quota_is_left_alone(void **state)
{
	/* As before, but left holds its 4 and right its 4: c borrows of d alone. */
	struct kt_world w = kt_world_with(fair());
	uint32_t a, c;

	kt_cohort(w.f, "left", "root", 0, NO, NO);
	kt_cohort(w.f, "right", "root", 0, NO, NO);
	a = queue(&w, "a", "left", 2);
	queue(&w, "b", "left", 2);
	c = queue(&w, "c", "right", 2);
	queue(&w, "d", "right", 2);
	hold_ones(&w, a, "a", 4);
	hold_ones(&w, c, "c", 4);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 1)), "");
	kt_done(&w);
}

static void within_a_cohort_siblings_are_compared_with_each_other(void **state)
{
	/* left (a 2, b 2) borrows nothing, yet b holds 4 of its 4: with 1 more of its 2 a stands at
	 * 0: entitled. */
	struct kt_world w = kt_world_with(fair());
	uint32_t a, b;

	kt_cohort(w.f, "left", "root", 0, NO, NO);
	a = queue(&w, "a", "left", 2);
	b = queue(&w, "b", "left", 2);
	hold_ones(&w, b, "b", 4);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 1)),
			    "b3:InCohortReclamation");
	kt_done(&w);
}

static void weights_scale_shares(void **state)
{
	/* 9 in all. With 1 more a is at 2/9 = 222, halved by its weight: 111. b, less 1, is at
	 * 1/9 = 111: not below. With weight 1 nothing would go. */
	for (int weight = 1; weight <= 2; weight++) {
		struct kt_world w = kt_world_with(fair());
		uint32_t a = queue_within(&w, "a", "co", 3, KUEUE_PREEMPT_NEVER, weight);
		uint32_t b = queue(&w, "b", "co", 3);

		queue(&w, "c", "co", 3);
		hold_ones(&w, a, "a", 4);
		hold_ones(&w, b, "b", 5);
		assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 1)),
				    weight == 2 ? "b4:InCohortFairSharing" : "");
		kt_done(&w);
	}
}

static void a_queue_of_weight_zero_takes_nothing_while_it_borrows(void **state)
{
	/* Infinite against finite; against another infinite the ratio counts. */
	struct kt_world w = kt_world_with(fair());
	uint32_t a = queue_within(&w, "a", "co", 3, KUEUE_PREEMPT_NEVER, 0), b;

	b = queue(&w, "b", "co", 3);
	queue(&w, "c", "co", 3);
	hold_ones(&w, a, "a", 3);
	hold_ones(&w, b, "b", 6);
	struct kueue_workload *in = kt_workload(&w, a, "in", 0, 9, 1);
	assert_string_equal(victims(&w, in), "");
	queue_within(&w, "b", "co", 3, KUEUE_PREEMPT_NEVER, 0);
	assert_string_equal(victims(&w, in), "b5:InCohortFairSharing");
	kt_done(&w);
}

static void the_second_run_takes_one_of_each_queue(void **state)
{
	/*
	 * 3 x 4 = 12. a holds 3, asks 3: 6, 3/12 = 250. b holds one of 6 and one of 1 on top: 7
	 * (333). Without the 1: 250: passes the first strategy, frees 1. Then b stands at 250: the
	 * 6 fails it (0), and 250 is not less than 250 either.
	 */
	struct kt_world w = kt_world_with(fair());
	uint32_t a = queue(&w, "a", "co", 3), b = queue(&w, "b", "co", 3);

	queue(&w, "c", "co", 3);
	queue(&w, "d", "co", 3);
	hold_ones(&w, a, "a", 3);
	kt_hold(&w, b, "six", 0, 1, "default", 6);
	kt_hold(&w, b, "one", 0, 2, "default", 1);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 5)), "");
	/* 3: 2 are free. b's one gives the third. */
	assert_string_equal(victims(&w, kt_workload(&w, a, "in3", 0, 9, 3)),
			    "one:InCohortFairSharing");
	kt_done(&w);
}

static void borrow_within_cohort_is_ignored(void **state)
{
	/* a at 222 with 1 more, b at 111 after: no victim, though its priority is far below. */
	struct kueue_queue_spec spec = {
	    .weight = 1,
	    .preemption = {.reclaim_within_cohort = KUEUE_PREEMPT_ANY,
			   .borrow_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY}};
	struct kt_world w = kt_world_with(fair());
	uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){3, NO, NO}, &spec);
	uint32_t b = queue(&w, "b", "co", 3);

	queue(&w, "c", "co", 3);
	hold_ones(&w, a, "a", 4);
	hold_ones(&w, b, "b", 5);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 1000, 9, 1)), "");
	kt_done(&w);
}

static void who_borrows_where_nothing_is_lent_is_a_victim_all_the_same(void **state)
{
	/* a has 6 and lends none of it any more; b has 2 of them still. The cohort owes 2, so that
	 * a has 1 of its own 3: b's go, though 0 is what is lent, and b's share with it. */
	struct kt_world w = kt_world_with(fair());
	const struct kueue_queue_spec any = {
	    .weight = 1, .preemption = {.reclaim_within_cohort = KUEUE_PREEMPT_ANY}};
	uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){6, NO, 0}, &any);
	uint32_t b = queue(&w, "b", "co", 0);

	(void)state;
	kt_hold(&w, a, "own", 0, 1, "default", 3);
	kt_hold(&w, b, "guest", 2, 2, "default", 2);
	assert_string_equal(kt_victims(&w, kt_workload(&w, a, "in", 1, 9, 3), NULL),
			    "guest:InCohortReclamation");
	kt_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(who_borrows_where_nothing_is_lent_is_a_victim_all_the_same),
	    cmocka_unit_test(a_smaller_share_takes_from_a_larger),
	    cmocka_unit_test(an_equal_or_larger_share_takes_nothing),
	    cmocka_unit_test(the_second_strategy_asks_for_the_initial_share),
	    cmocka_unit_test(the_largest_share_gives_first),
	    cmocka_unit_test(a_tie_of_queues_is_broken_by_their_candidates),
	    cmocka_unit_test(within_its_nominal_a_queue_takes_back_what_is_its_own),
	    cmocka_unit_test(shares_of_other_resources_do_not_stop_a_reclaim_within_nominal),
	    cmocka_unit_test(one_s_own_lower_priorities_are_taken_freely),
	    cmocka_unit_test(a_queue_without_a_cohort_takes_its_own),
	    cmocka_unit_test(shares_are_compared_just_below_the_common_ancestor),
	    cmocka_unit_test(a_cohort_that_keeps_within_its_quota_is_left_alone),
	    cmocka_unit_test(within_a_cohort_siblings_are_compared_with_each_other),
	    cmocka_unit_test(weights_scale_shares),
	    cmocka_unit_test(a_queue_of_weight_zero_takes_nothing_while_it_borrows),
	    cmocka_unit_test(the_second_run_takes_one_of_each_queue),
	    cmocka_unit_test(borrow_within_cohort_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
