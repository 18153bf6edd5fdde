/*
 * Tables of the rules that reference/kueue.md tells by numbers and that no other file here counts
 * out: what a blocked head reserves (2.2), the gates of order (1.8, 2.2, 2.3), when victims are
 * looked for at all (2.5), and what a resource weighs in a LocalQueue's usage (2.7). cpu is in
 * milli-units that are written as plain numbers.
 */
#include "kueue_world.h"

/* ---- 2.2: quotaResourcesToReserve ---- */

/*
 * A blocked head of queue a (StrictFIFO, preempts nobody: reclaimWithinCohort Never) holds back, of
 * its demand d with usage u:
 *   not borrowing	max(0, min(d, nominal - u))
 *   borrowing		min(d, nominal + limit - u), all of it without a limit
 * The cohort has a's nominal and the lender's; what b may still take tells what was held back.
 */
static void a_blocked_head_reserves_by_what_it_could_hold(void **state)
{
	static const struct reserve_case {
		const char *what;
		int64_t nominal, limit, lends, used_a, used_b, demand;
		int64_t most_b; /* what b gets beside it, and no more */
	} cases[] = {
	    /* 4 + 4; a uses 2, b 3: 3 left. a asks 4: it would use 6 > 4, so it borrows; its limit
	     * 4 + 2 - 2 = 4, all it asks is held: 3 - 4 < 0. */
	    {"borrowing within its limit", 4, 2, 4, 2, 3, 4, 0},
	    /* 4 + 4; a uses 3, b 3: 2 left. a asks 3: borrows; 4 + 2 - 3 = 3: nothing is left. */
	    {"up to its limit", 4, 2, 4, 3, 3, 3, 0},
	    /* 4 + 4; a uses 2, b 5: 1 left; a asks 2 and stays within its 4: holds min(2, 2) = 2.
	     */
	    {"within its nominal quota", 4, NO, 4, 2, 5, 2, 0},
	    /* 4 + 8; a uses 3, b nothing: 9 left. a asks 3, and may hold 4 + 1 - 3 = 2: 7 left. */
	    {"not above its limit", 4, 1, 8, 3, 0, 3, 7},
	    /* 6 + 8; a uses 6 = all its own, b 4: 4 left. a asks 5 without a limit: holds all 5. */
	    {"without a limit all it asks", 6, NO, 8, 6, 4, 5, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases) * 2; i++) {
		const struct reserve_case *c = &cases[i / 2];
		bool exactly = i % 2; /* as much as is left; else one more */
		if (exactly && c->most_b == 0)
			continue;
		struct world w = world_with(world_options());
		/* It is blocked, and not hopeless, where taking back could help: only then does
		 * Kueue reserve. */
		const struct kueue_queue_spec reclaims = {
		    .weight = 1,
		    .strategy = KUEUE_STRICT_FIFO,
		    .preemption = {.reclaim_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY,
				   .borrow_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY}};
		uint32_t a = kt_queue_with(
		    w.f, "a", "co", (struct kueue_quota){c->nominal, c->limit, NO}, &reclaims);
		uint32_t b = kt_queue(w.f, "b", "co", 0, NO, NO);

		kt_queue(w.f, "lender", "co", c->lends, NO, NO);
		world_add(&w, a, "a1", 100, 1, c->used_a);
		world_cycle(&w);
		if (c->used_b)
			world_add(&w, b, "b1", 100, 1, c->used_b);
		world_cycle(&w);
		/* Nobody gives way to its priority. */
		world_add(&w, a, "blocked", 50, 2, c->demand);
		world_add(&w, b, "greedy", 0, 3, c->most_b + !exactly);
		world_cycle(&w);
		if (!strstr(w.story, "-blocked") ||
		    !strstr(w.story, exactly ? "+greedy" : "-greedy"))
			fail_msg("%s: \"%s\"", c->what, w.story);
		world_done(&w);
	}
}

/* ---- gates of order ---- */

/* Gate PrioritizePreemptorWorkloads: who has issued preemptions goes before higher priorities of
 * its cohort. y (9) waits for low's 2; x (99) comes to the other queue meanwhile. */
static void the_gate_puts_preemptors_first(void **state)
{
	for (int on = 0; on < 2; on++) {
		struct kueue_options options = world_options();
		options.prioritize_preemptors = on;
		struct world w = world_with(options);
		const struct kueue_queue_spec within = {
		    .weight = 1, .preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY};
		uint32_t a =
		    kt_queue_with(w.f, "a", "co", (struct kueue_quota){2, NO, NO}, &within);
		uint32_t b = kt_queue(w.f, "b", "co", 4, NO, NO);
		struct kueue_workload *low = world_add(&w, a, "low", 0, 1, 2);
		struct kueue_workload *other = world_add(&w, b, "other", 0, 1, 4);

		assert_story(&w, "+low +other");
		world_add(&w, a, "y", 9, 2, 2);
		assert_story(&w, "!low");
		kueue_queues_released(w.q, low);
		kueue_queues_released(w.q, other);
		world_add(&w, b, "x", 99, 3, 1);
		assert_story(&w, on ? "+y +x" : "+x +y");
		world_done(&w);
	}
}

/* Gate PrioritySortingWithinCohort off: heads of one cohort and level go by age alone. 4 are there
 * for two of 3: with the gate the higher priority, without it the older. */
static void without_the_gate_heads_of_a_cohort_go_by_age(void **state)
{
	for (int on = 0; on < 2; on++) {
		struct kueue_options options = world_options();
		options.priority_sorting_within_cohort = on;
		struct world w = world_with(options);
		uint32_t a = kt_queue(w.f, "a", "co", 0, NO, NO);
		uint32_t b = kt_queue(w.f, "b", "co", 0, NO, NO);

		kt_queue(w.f, "lender", "co", 4, NO, NO);
		world_add(&w, a, "older", 0, 1, 3);
		world_add(&w, b, "higher", 9, 2, 3);
		assert_story(&w, on ? "+higher -older" : "+older -higher");
		world_done(&w);
	}
}

/* Gate SchedulingEquivalenceHashing: of five that ask the same 9 of 4 one is tried, and its answer
 * is everybody's; without it each is tried. */
static void equal_workloads_are_tried_once_or_each(void **state)
{
	for (int on = 0; on < 2; on++) {
		struct kueue_options options = world_options();
		options.equivalence_hashing = on;
		struct world w = world_with(options);
		uint32_t q = kt_queue(w.f, "q", NULL, 4, NO, NO);
		char name[8];

		for (int i = 0; i < 5; i++) {
			(void)snprintf(name, sizeof(name), "w%d", i);
			world_add(&w, q, name, 0, i, 9);
		}
		while (world_cycle(&w))
			;
		assert_int_equal(w.entries, on ? 1 : 5);
		world_done(&w);
	}
}

/* ---- 2.5: when victims are looked for ---- */

/*
 * q's nominal quota is 4, its sibling's 4; the sibling holds 6 of the 8 with a lower priority. q
 * asks `demand`, available are 2. A search for victims is worth it only if the demand is within q's
 * nominal quota, or a smaller subtree than the whole could hold it, or policies let q preempt while
 * it borrows; else the mode is NoFit, however many would give way.
 */
static void victims_are_looked_for_where_they_could_help(void **state)
{
	static const struct {
		const char *what;
		int64_t demand;
		enum kueue_preempt_policy borrowing;
		bool fair, subtree;
		enum kueue_mode mode;
	} cases[] = {
	    {"2 fit", 2, KUEUE_PREEMPT_NEVER, false, false, KUEUE_FIT},
	    {"4 are q's own", 4, KUEUE_PREEMPT_NEVER, false, false, KUEUE_RECLAIM},
	    {"5 are not", 5, KUEUE_PREEMPT_NEVER, false, false, KUEUE_NO_FIT},
	    {"5 with borrowWithinCohort", 5, KUEUE_PREEMPT_LOWER_PRIORITY, false, false,
	     KUEUE_RECLAIM},
	    /* q with 5 borrows 1/8 = 125, less than the sibling's 2/8 = 250 before it gives way */
	    {"5 with fair sharing", 5, KUEUE_PREEMPT_NEVER, true, false, KUEUE_RECLAIM},
	    /* q's cohort has 2 of its own: 4 + 2 = 6 hold it below the root */
	    {"5 in its own subtree", 5, KUEUE_PREEMPT_NEVER, false, true, KUEUE_RECLAIM},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kueue_options options = kueue_options_default();
		options.fair_sharing = cases[i].fair;
		struct kt_world w = kt_world_with(options);
		const struct kueue_queue_spec spec = {
		    .weight = 1,
		    .preemption = {.reclaim_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY,
				   .borrow_within_cohort = cases[i].borrowing}};

		if (cases[i].subtree)
			kt_cohort(w.f, "sub", "co", 2, NO, NO);
		uint32_t q = kt_queue_with(w.f, "q", cases[i].subtree ? "sub" : "co",
					   (struct kueue_quota){4, NO, NO}, &spec);
		uint32_t b = kt_queue(w.f, "b", "co", 4, NO, NO);
		kt_hold(&w, b, "b1", -5, 1, "default", cases[i].subtree ? 8 : 6);
		kueue_assign(w.f, kt_workload(&w, q, "in", 5, 9, cases[i].demand), NULL, &w.a);
		if (w.a.mode != cases[i].mode)
			fail_msg("%s: mode %d, expected %d", cases[i].what, (int)w.a.mode,
				 (int)cases[i].mode);
		kt_done(&w);
	}
}

/* ---- 2.7: resource weights ---- */

/* A LocalQueue of weight 2 holds 6 cpus (6000 milli) and 8 of memory; in one half-life half of it
 * is consumed: 3 cpus and 4. With weights cpu 2, memory 0.5: (3 x 2 + 4 x 0.5) / 2 = 4; with none
 * stated: (3 + 4) / 2 = 3.5; memory 0: 3 / 2 = 1.5. */
static void resources_weigh_as_configured(void **state)
{
	static const struct {
		double cpu, memory, want; /* negative: not stated */
	} cases[] = {{2, 0.5, 4}, {-1, -1, 3.5}, {-1, 0, 1.5}};
	static const struct span resources[] = {SPAN("cpu"), SPAN("memory")};
	static const struct kueue_quota quotas[] = {{9000, NO, NO}, {9, NO, NO}};
	static const struct kueue_request requests[] = {{SPAN("cpu"), 6000}, {SPAN("memory"), 8}};
	const int64_t half_life = 3600000000, interval = 3600000000;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kueue_options options = world_options();
		options.usage_half_life = half_life;
		options.usage_sampling_interval = interval;
		struct world w = world_with(options);
		const struct kueue_queue_spec fair = {.weight = 1, .admission_fair_sharing = true};
		const struct kueue_group_spec group = {resources, 2, kt_default, 1, quotas};
		uint32_t q = kt_queue_of(w.f, "q", NULL, &group, 1, &fair);
		const struct kueue_pod_set set = {
		    .name = SPAN("main"), .count = 1, .requests = requests, .n_requests = 2};

		if (cases[i].cpu >= 0)
			kueue_queues_set_usage_weight(w.q, SPAN("cpu"), cases[i].cpu);
		if (cases[i].memory >= 0)
			kueue_queues_set_usage_weight(w.q, SPAN("memory"), cases[i].memory);
		kueue_queues_set_local_weight(w.q, q, 1, 2);
		(void)kueue_queues_sample_usage(w.q, 1);
		world_add_sets_to(&w, q, 1, "w", 0, 1, &set, 1);
		assert_story(&w, "+w");
		/* The penalty of entry is what a first interval would have consumed: (1 - 0.5) of
		 * it; it is folded in with the sample, in which it was held for one half-life. */
		double penalty = kueue_queues_local_usage(w.q, q, 1);
		(void)kueue_queues_sample_usage(w.q, 1 + half_life);
		double usage = kueue_queues_local_usage(w.q, q, 1);
		assert_true(penalty > cases[i].want - 0.01 && penalty < cases[i].want + 0.01);
		assert_true(usage > 2 * cases[i].want - 0.01 && usage < 2 * cases[i].want + 0.01);
		world_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_blocked_head_reserves_by_what_it_could_hold),
	    cmocka_unit_test(the_gate_puts_preemptors_first),
	    cmocka_unit_test(without_the_gate_heads_of_a_cohort_go_by_age),
	    cmocka_unit_test(equal_workloads_are_tried_once_or_each),
	    cmocka_unit_test(victims_are_looked_for_where_they_could_help),
	    cmocka_unit_test(resources_weigh_as_configured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
