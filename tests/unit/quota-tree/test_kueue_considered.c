/*
 * Which flavors were looked at before a workload got its own, in the words of Kueue's event
 * QuotaReserved (pkg/scheduler/flavorassigner/flavor_assigner_attempts.go, gates as in
 * reference/kueue.md 1.8). cpu is in milli-units.
 */
#include "kueue_assigning.h"

static const char *considered(struct kt_world *w, const struct kueue_workload *wl)
{
	static char text[KUEUE_MESSAGE_MAX];
	struct kueue_assignment told = {0};

	assert_int_equal(w->a.mode, KUEUE_FIT);
	text[0] = '\0';
	if (kueue_assign_attempts(w->f, wl, &w->a, &told)) {
		/* The same turns came to the same flavors. */
		assert_int_equal(told.mode, KUEUE_FIT);
		for (size_t i = 0; i < w->a.choices.len; i++)
			assert_int_equal(told.choices.items[i].flavor,
					 w->a.choices.items[i].flavor);
		kueue_message_considered(w->f, wl, &told, text, sizeof(text));
	}
	kueue_assignment_done(&told);
	return text;
}

static void the_first_flavor_is_not_worth_a_word(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(5000), NULL);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 1, 2000);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(considered(&w, wl), "");
	kt_done(&w);
}

static void a_flavor_that_is_too_small_is_told_with_its_numbers(void **state)
{
	/* 4 of 3, then 4 of 5. */
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(5000), NULL);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 1, 4000);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(
	    considered(&w, wl),
	    "main: one(NoFit;insufficient quota for cpu in flavor one, previously "
	    "considered podsets requests (0) + current podset request (4) > maximum "
	    "capacity (3))");
	/* Nothing stays behind. */
	assert_string_equal(message(&w, wl), "");
	kt_done(&w);
}

static void a_flavor_that_is_full_is_told_with_what_preemption_could_do(void **state)
{
	/* 3 of 4 are held by a workload of priority 0, 2 are asked: 1 more. */
	struct kueue_queue_spec spec = {.preemption.within_cluster_queue =
					    KUEUE_PREEMPT_LOWER_PRIORITY,
					.when_can_preempt = KUEUE_TRY_NEXT_FLAVOR};
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(4000), nominal(5000), &spec);

	kt_hold(&w, q, "holder", 0, 1, "one", 3000);
	struct kueue_workload *high = kt_workload(&w, q, "high", 1, 2, 2000);
	kueue_assign(w.f, high, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	assert_string_equal(considered(&w, high),
			    "main: one(preemptionMode=Preempt;insufficient unused quota for cpu in "
			    "flavor one, 1 more needed)");
	struct kueue_workload *low = kt_workload(&w, q, "low", 0, 3, 2000);
	kueue_assign(w.f, low, NULL, &w.a);
	assert_string_equal(considered(&w, low),
			    "main: one(preemptionMode=NoCandidates;insufficient unused quota for "
			    "cpu in flavor one, 1 more needed)");
	kt_done(&w);
}

static void what_is_borrowed_is_told_by_its_level(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", "co", nominal(3000), nominal(1000), NULL);

	queue_of_two(&w, "other", "co", nominal(3000), nominal(1000), NULL);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 1, 5000);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(considered(&w, wl), "main: one(Fit;borrow=1)");
	kt_done(&w);
}

static void every_pod_set_has_its_own_and_flavors_stand_by_name(void **state)
{
	/* zeta holds 1, alpha 2, mid 9: the driver's 2 pass zeta, the workers' 3 pass both, of
	 * which alpha is taken by the driver. */
	static const struct kueue_request driver[] = {{SPAN("cpu"), 2000}},
					  worker[] = {{SPAN("cpu"), 1000}};
	static const struct span flavors[] = {SPAN("zeta"), SPAN("alpha"), SPAN("mid")};
	static const struct kueue_quota quotas[] = {{1000, NO, NO}, {2000, NO, NO}, {9000, NO, NO}};
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("driver"), .count = 1, .requests = driver, .n_requests = 1},
	    {.name = SPAN("worker"), .count = 3, .requests = worker, .n_requests = 1}};
	const struct kueue_group_spec group = {kt_cpu, 1, flavors, 3, quotas};
	struct kt_world w = kt_world();

	kt_flavor(w.f, "zeta");
	kt_flavor(w.f, "alpha");
	kt_flavor(w.f, "mid");
	uint32_t q = kt_queue_of(w.f, "q", NULL, &group, 1, NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, sets, 2);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(
	    considered(&w, wl),
	    "driver: zeta(NoFit;insufficient quota for cpu in flavor zeta, previously considered "
	    "podsets requests (0) + current podset request (2) > maximum capacity (1)) | "
	    "worker: alpha(NoFit;insufficient quota for cpu in flavor alpha, previously considered "
	    "podsets requests (2) + current podset request (3) > maximum capacity (2)), "
	    "zeta(NoFit;insufficient quota for cpu in flavor zeta, previously considered podsets "
	    "requests (0) + current podset request (3) > maximum capacity (1))");
	kt_done(&w);
}

static void flavors_that_no_member_could_serve_are_told(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(5000), NULL);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 1, 2000);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_true(kueue_assign_next(w.f, wl, &w.a));
	assert_string_equal(flavor_of(&w, 0), "two");
	assert_string_equal(considered(&w, wl),
			    "main: one(NoFit;no member cluster has room in flavor one)");
	kt_done(&w);
}

static void long_words_are_cut(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(5000), NULL);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 1, 4000);
	struct kueue_assignment told = {0};
	char text[16];

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_true(kueue_assign_attempts(w.f, wl, &w.a, &told));
	assert_int_equal(kueue_message_considered(w.f, wl, &told, text, sizeof(text)), 15);
	assert_string_equal(text, "main: one(NoFit");
	kueue_assignment_done(&told);
	kt_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_flavor_is_not_worth_a_word),
	    cmocka_unit_test(a_flavor_that_is_too_small_is_told_with_its_numbers),
	    cmocka_unit_test(a_flavor_that_is_full_is_told_with_what_preemption_could_do),
	    cmocka_unit_test(what_is_borrowed_is_told_by_its_level),
	    cmocka_unit_test(every_pod_set_has_its_own_and_flavors_stand_by_name),
	    cmocka_unit_test(flavors_that_no_member_could_serve_are_told),
	    cmocka_unit_test(long_words_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
