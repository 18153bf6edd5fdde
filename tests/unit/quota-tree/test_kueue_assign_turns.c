/*
 * Flavor assignment (reference/kueue.md section 2.5): fungibility, the combinations that placement
 * is asked for one after the other, and partial admission.
 */
#include "kueue_assigning.h"

/* ---- fungibility ---- */

static void when_it_can_borrow_it_stops_or_goes_on(void **state)
{
	/* one: a owns 1 and could borrow 4 of b; two: a owns 3. 2 asked. */
	struct kueue_queue_spec next = {.weight = 1, .when_can_borrow = KUEUE_TRY_NEXT_FLAVOR};
	struct kt_world w = kt_world();
	uint32_t a = queue_of_two(&w, "a", "co", nominal(1000), nominal(3000), NULL);
	struct kueue_workload *wl = kt_workload(&w, a, "w", 0, 1, 2000);

	queue_of_two(&w, "b", "co", nominal(4000), nominal(0), NULL);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one"); /* MayStopSearch */
	assert_int_equal(w.a.borrow_level, 1);
	assert_int_equal(w.a.choices.items[0].tried, 0);
	queue_of_two(&w, "a", "co", nominal(1000), nominal(3000), &next);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	assert_int_equal(w.a.borrow_level, 0);
	assert_int_equal(w.a.choices.items[0].tried, -1); /* the last flavor */
	/* Nothing better: the best seen wins, after the last was tried. */
	queue_of_two(&w, "a", "co", nominal(1000), nominal(1000), &next);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one");
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_int_equal(w.a.choices.items[0].tried, -1);
	kt_done(&w);
}

/* a: one is full of a lower priority's work, two is free. */
static struct kueue_workload *fill_one(struct kt_world *w, struct kueue_queue_spec spec,
				       uint32_t *ret_queue)
{
	spec.preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY;
	spec.weight = 1;
	*ret_queue = queue_of_two(w, "a", NULL, nominal(2000), nominal(2000), &spec);
	kt_hold(w, *ret_queue, "low", -1, 1, "one", 2000);
	return kt_workload(w, *ret_queue, "high", 5, 2, 2000);
}

static void when_it_can_preempt_it_stops_or_goes_on(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q;
	struct kueue_workload *wl =
	    fill_one(&w, (struct kueue_queue_spec){.when_can_preempt = KUEUE_TRY_NEXT_FLAVOR}, &q);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	assert_int_equal(w.a.mode, KUEUE_FIT);
	kt_done(&w);

	w = kt_world();
	wl = fill_one(&w, (struct kueue_queue_spec){.when_can_preempt = KUEUE_MAY_STOP_SEARCH}, &q);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one");
	assert_int_equal(w.a.mode, KUEUE_PREEMPT);
	assert_int_equal(w.a.choices.items[0].tried, 0);
	kt_done(&w);
}

static void no_candidates_always_goes_on(void **state)
{
	/* one is full of higher priorities, two is free. */
	struct kt_world w = kt_world();
	uint32_t q;
	struct kueue_workload *wl =
	    fill_one(&w, (struct kueue_queue_spec){.when_can_preempt = KUEUE_MAY_STOP_SEARCH}, &q);

	wl->priority = -2;
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	kt_done(&w);
}

static void the_preference_breaks_ties(void **state)
{
	/* one: 2 of a's own quota are held by low: preempting them needs no borrowing. two: a owns
	 * nothing, b's 2 are free: it fits by borrowing. Both policies go on. */
	struct kueue_queue_spec spec = {.weight = 1,
					.when_can_borrow = KUEUE_TRY_NEXT_FLAVOR,
					.when_can_preempt = KUEUE_TRY_NEXT_FLAVOR};
	struct kt_world w = kt_world();
	uint32_t a;

	spec.preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY;
	a = queue_of_two(&w, "a", "co", nominal(2000), nominal(0), &spec);
	queue_of_two(&w, "b", "co", nominal(0), nominal(2000), NULL);
	kt_hold(&w, a, "low", -1, 1, "one", 2000);
	struct kueue_workload *wl = kt_workload(&w, a, "high", 5, 2, 2000);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_int_equal(w.a.borrow_level, 1);
	spec.preference = KUEUE_PREEMPTION_OVER_BORROWING;
	queue_of_two(&w, "a", "co", nominal(2000), nominal(0), &spec);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one");
	assert_int_equal(w.a.mode, KUEUE_PREEMPT);
	assert_int_equal(w.a.borrow_level, 0);
	kt_done(&w);
}

static void without_fungibility_the_first_that_fits_wins(void **state)
{
	struct kueue_queue_spec next = {.weight = 1, .when_can_borrow = KUEUE_TRY_NEXT_FLAVOR};
	struct kueue_options options = kueue_options_default();

	options.flavor_fungibility = false;
	struct kt_world w = kt_world_with(options);
	uint32_t a = queue_of_two(&w, "a", "co", nominal(1000), nominal(3000), &next);
	queue_of_two(&w, "b", "co", nominal(4000), nominal(0), NULL);
	kueue_assign(w.f, kt_workload(&w, a, "w", 0, 1, 2000), NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one");
	kt_done(&w);
}

static void the_next_attempt_goes_on_after_the_last_flavor(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(3000), NULL);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 1, 2000);

	wl->tried = xcalloc(1, sizeof(int32_t)); /* flavor 0 was the last */
	wl->n_tried = 1;
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	assert_int_equal(w.a.choices.items[0].tried, -1);
	wl->tried[0] = -1; /* all were tried: from the first */
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one");
	assert_int_equal(w.a.choices.items[0].tried, 0);
	kt_done(&w);
}

/* ---- combinations ---- */

static void refused_flavors_are_passed_over_in_order(void **state)
{
	/* Driver and worker, 1 each; one and two hold both: 11, 12, 21, 22. */
	static const struct kueue_request request[] = {{SPAN("cpu"), 1000}};
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("driver"), .count = 1, .requests = request, .n_requests = 1},
	    {.name = SPAN("worker"), .count = 1, .requests = request, .n_requests = 1}};
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(3000), NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, sets, 2);
	static const char *const expect[][2] = {{"one", "two"}, {"two", "one"}, {"two", "two"}};

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one");
	assert_string_equal(flavor_of(&w, 1), "one");
	for (size_t i = 0; i < ARRAY_LEN(expect); i++) {
		assert_true(kueue_assign_next(w.f, wl, &w.a));
		assert_int_equal(w.a.mode, KUEUE_FIT);
		assert_string_equal(flavor_of(&w, 0), expect[i][0]);
		assert_string_equal(flavor_of(&w, 1), expect[i][1]);
	}
	assert_false(kueue_assign_next(w.f, wl, &w.a));
	assert_int_equal(w.a.mode, KUEUE_NO_FIT);
	assert_int_equal(w.a.no_fit, KUEUE_TOPOLOGY_PLACEMENT_FAILED);
	assert_string_equal(flavor_of(&w, 0), "");
	kt_done(&w);
}

static void quota_still_counts_in_later_combinations(void **state)
{
	/* one holds 3, two 1: driver (2) only in one; worker (1) in one, then in two. */
	static const struct kueue_request driver[] = {{SPAN("cpu"), 2000}},
					  worker[] = {{SPAN("cpu"), 1000}};
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("driver"), .count = 1, .requests = driver, .n_requests = 1},
	    {.name = SPAN("worker"), .count = 1, .requests = worker, .n_requests = 1}};
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(1000), NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, sets, 2);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 1), "one");
	assert_true(kueue_assign_next(w.f, wl, &w.a));
	assert_string_equal(flavor_of(&w, 0), "one");
	assert_string_equal(flavor_of(&w, 1), "two");
	assert_int_equal(w.a.uses.len, 2);
	assert_false(kueue_assign_next(w.f, wl, &w.a));
	kt_done(&w);
}

static void what_fits_comes_before_what_needs_preemption(void **state)
{
	/* two is free, one is full of low's work: FIT in two, the same again for whoever could
	 * leave nodes there, then PREEMPT in one. */
	struct kt_world w = kt_world();
	uint32_t q;
	struct kueue_workload *wl =
	    fill_one(&w, (struct kueue_queue_spec){.when_can_preempt = KUEUE_TRY_NEXT_FLAVOR}, &q);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	assert_true(kueue_assign_next(w.f, wl, &w.a));
	assert_string_equal(flavor_of(&w, 0), "two");
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_int_equal(w.a.pass, KUEUE_PASS_ROOM);
	assert_true(kueue_assign_next(w.f, wl, &w.a));
	assert_string_equal(flavor_of(&w, 0), "one");
	assert_int_equal(w.a.mode, KUEUE_PREEMPT);
	kueue_preempt(w.f, wl, &w.a, NULL, &w.v);
	assert_int_equal(w.v.items.len, 1);
	assert_false(kueue_assign_next(w.f, wl, &w.a));
	kt_done(&w);
}

static void three_groups_of_one_pod_set_turn_like_an_odometer(void **state)
{
	/* Three resources, each its own group of two flavors: 8 combinations, the last place
	 * fastest, each once. */
	static const struct span res[] = {SPAN("a"), SPAN("b"), SPAN("c")};
	static const struct span fl[] = {SPAN("a0"), SPAN("a1"), SPAN("b0"),
					 SPAN("b1"), SPAN("c0"), SPAN("c1")};
	static const struct kueue_quota quotas[] = {{9, NO, NO}, {9, NO, NO}};
	const struct kueue_group_spec groups[] = {{res, 1, fl, 2, quotas},
						  {res + 1, 1, fl + 2, 2, quotas},
						  {res + 2, 1, fl + 4, 2, quotas}};
	static const struct kueue_request requests[] = {
	    {SPAN("c"), 1}, {SPAN("b"), 1}, {SPAN("a"), 1}};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = requests, .n_requests = 3};
	struct kt_world w = kt_world();
	uint32_t q;
	int seen = 0;

	for (size_t i = 0; i < ARRAY_LEN(fl); i++)
		kt_flavor(w.f, fl[i].ptr);
	q = kt_queue_of(w.f, "q", NULL, groups, 3, NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, &set, 1);
	kueue_assign(w.f, wl, NULL, &w.a);
	do {
		int number = 0;
		for (size_t i = 0; i < 3; i++) {
			const char *f = flavor_of(&w, i);
			if (f[1] == '1')
				number |= 4 >> (f[0] - 'a');
		}
		assert_int_equal(number, seen++);
		assert_int_equal(w.a.uses.len, 3);
	} while (kueue_assign_next(w.f, wl, &w.a));
	assert_int_equal(seen, 8);
	kt_done(&w);
}

/* ---- partial admission ---- */

static struct kueue_workload *elastic(struct kt_world *w, uint32_t q, int32_t count, int32_t least)
{
	static const struct kueue_request request[] = {{SPAN("cpu"), 1000}};
	const struct kueue_pod_set set = {.name = SPAN("main"),
					  .count = count,
					  .min_count = least,
					  .requests = request,
					  .n_requests = 1};

	return kt_workload_of(w, q, "elastic", 3, 9, &set, 1);
}

static void as_many_pods_as_fit_are_admitted(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q = kt_queue(w.f, "q", NULL, 37000, NO, NO);
	struct kueue_workload *wl = elastic(&w, q, 50, 20);

	kueue_nominate(w.f, wl, &w.a, &w.v);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_int_equal(w.a.counts[0], 37);
	assert_int_equal(w.a.uses.items[0].value, 37000);
	kt_charge(w.f, q, 17000);
	kueue_nominate(w.f, wl, &w.a, &w.v);
	assert_int_equal(w.a.counts[0], 20);
	kt_charge(w.f, q, 1000); /* below minCount: the full count's verdict stands */
	kueue_nominate(w.f, wl, &w.a, &w.v);
	assert_int_equal(w.a.mode, KUEUE_NO_FIT);
	assert_int_equal(w.a.counts[0], 50);
	assert_int_equal(w.a.no_fit, KUEUE_EXCEEDS_MAX_QUOTA);
	assert_int_equal(w.v.items.len, 0);
	kt_done(&w);
}

static void partial_admission_takes_victims_too(void **state)
{
	/* 10 in all, 6 are low's, 2 another's of the same priority: 8 pods with low gone. */
	struct kueue_queue_spec spec = {.weight = 1};
	struct kt_world w = kt_world();
	uint32_t q;

	spec.preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY;
	q = kt_queue_with(w.f, "q", NULL, nominal(10000), &spec);
	kt_hold(&w, q, "low", 1, 1, "default", 6000);
	kt_hold(&w, q, "same", 3, 2, "default", 2000);
	kueue_nominate(w.f, elastic(&w, q, 10, 2), &w.a, &w.v);
	assert_int_equal(w.a.counts[0], 8);
	assert_int_equal(w.a.mode, KUEUE_PREEMPT);
	assert_int_equal(w.v.items.len, 1);
	assert_true(span_is(w.v.items.items[0].workload->name, "low"));
	kt_done(&w);
}

static void the_gate_turns_partial_admission_off(void **state)
{
	struct kueue_options options = kueue_options_default();

	options.partial_admission = false;
	struct kt_world w = kt_world_with(options);
	uint32_t q = kt_queue(w.f, "q", NULL, 37000, NO, NO);
	kueue_nominate(w.f, elastic(&w, q, 50, 20), &w.a, &w.v);
	assert_int_equal(w.a.mode, KUEUE_NO_FIT);
	kt_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(when_it_can_borrow_it_stops_or_goes_on),
	    cmocka_unit_test(when_it_can_preempt_it_stops_or_goes_on),
	    cmocka_unit_test(no_candidates_always_goes_on),
	    cmocka_unit_test(the_preference_breaks_ties),
	    cmocka_unit_test(without_fungibility_the_first_that_fits_wins),
	    cmocka_unit_test(the_next_attempt_goes_on_after_the_last_flavor),
	    cmocka_unit_test(refused_flavors_are_passed_over_in_order),
	    cmocka_unit_test(quota_still_counts_in_later_combinations),
	    cmocka_unit_test(what_fits_comes_before_what_needs_preemption),
	    cmocka_unit_test(three_groups_of_one_pod_set_turn_like_an_odometer),
	    cmocka_unit_test(as_many_pods_as_fit_are_admitted),
	    cmocka_unit_test(partial_admission_takes_victims_too),
	    cmocka_unit_test(the_gate_turns_partial_admission_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
