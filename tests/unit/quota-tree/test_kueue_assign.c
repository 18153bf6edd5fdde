/* Flavor assignment (reference/kueue.md section 2.5): what is asked against what is there. */
#include "kueue_assigning.h"

static void what_fits_gets_the_first_flavor(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(5000), NULL);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 1, 2000);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_int_equal(w.a.no_fit, KUEUE_NO_FIT_NONE);
	assert_string_equal(flavor_of(&w, 0), "one");
	assert_int_equal(w.a.borrow_level, 0);
	assert_int_equal(w.a.uses.len, 1);
	assert_int_equal(w.a.uses.items[0].value, 2000);
	assert_int_equal(w.a.counts[0], 1);
	assert_string_equal(message(&w, wl), "");
	kt_done(&w);
}

static void a_resource_that_no_group_covers_fails_by_name(void **state)
{
	static const struct kueue_request requests[] = {{SPAN("example.com/gpu"), 1},
							{SPAN("cpu"), 1000}};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = requests, .n_requests = 2};
	struct kt_world w = kt_world();
	uint32_t q = kt_queue(w.f, "q", NULL, 4000, NO, NO);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, &set, 1);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_NO_FIT);
	assert_int_equal(w.a.no_fit, KUEUE_NO_MATCHING_FLAVOR);
	assert_string_equal(message(&w, wl),
			    "couldn't assign flavors to pod set main: resource example.com/gpu "
			    "unavailable in ClusterQueue");
	/* cpu had a flavor, but a pod set gets all or nothing */
	assert_string_equal(flavor_of(&w, 0), "");
	assert_string_equal(flavor_of(&w, 1), "");
	kt_done(&w);
}

static void zero_of_an_uncovered_resource_needs_no_flavor(void **state)
{
	static const struct kueue_request requests[] = {{SPAN("cpu"), 1000}, {SPAN("gpu"), 0}};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = requests, .n_requests = 2};
	struct kt_world w = kt_world();
	uint32_t q = kt_queue(w.f, "q", NULL, 4000, NO, NO);

	kueue_assign(w.f, kt_workload_of(&w, q, "w", 0, 1, &set, 1), NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_int_equal(w.a.uses.len, 1);
	kt_done(&w);
}

static void undeclared_resources_can_be_ignored(void **state)
{
	static const struct kueue_request requests[] = {{SPAN("cpu"), 1000}, {SPAN("gpu"), 7}};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = requests, .n_requests = 2};
	struct kueue_options options = kueue_options_default();

	options.ignore_undeclared = true;
	struct kt_world w = kt_world_with(options);
	uint32_t q = kt_queue(w.f, "q", NULL, 4000, NO, NO);
	kueue_assign(w.f, kt_workload_of(&w, q, "w", 0, 1, &set, 1), NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_int_equal(w.a.uses.len, 1);
	kt_done(&w);
}

static void what_waits_for_quota_says_how_much_more(void **state)
{
	/* 10 nominal, 9 used, 2 asked: 1 more. No policy allows preemption: NoFit. */
	struct kt_world w = kt_world();
	uint32_t q = kt_queue(w.f, "q", NULL, 10000, NO, NO);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 1, 2000);

	kt_charge(w.f, q, 9000);
	kueue_assign(w.f, wl, NULL, &w.a);
	/* nominal holds it, so that victims are looked for: there are none. */
	assert_int_equal(w.a.mode, KUEUE_NO_CANDIDATES);
	assert_string_equal(
	    message(&w, wl),
	    "couldn't assign flavors to pod set main: insufficient unused quota for "
	    "cpu in flavor default, 1 more needed");
	kt_done(&w);
}

static void above_nominal_at_the_root_it_does_not_fit_at_all(void **state)
{
	/* co: a 2, b 4. a asks 5 of 6 and 3 are used by b: 2 more needed; no subtree smaller than
	 * the tree holds 5, and a may not preempt while borrowing: NoFit, WaitingForQuota. */
	struct kt_world w = kt_world();
	uint32_t a = kt_queue(w.f, "a", "co", 2000, NO, NO),
		 b = kt_queue(w.f, "b", "co", 4000, NO, NO);
	struct kueue_workload *wl = kt_workload(&w, a, "w", 0, 1, 5000);

	kt_charge(w.f, b, 3000);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_NO_FIT);
	assert_int_equal(w.a.no_fit, KUEUE_WAITING_FOR_QUOTA);
	assert_string_equal(kueue_no_fit_to_string(w.a.no_fit), "WaitingForQuota");
	assert_non_null(strstr(message(&w, wl), ", 2 more needed"));
	kt_done(&w);
}

static void later_pod_sets_see_what_earlier_ones_take(void **state)
{
	/* one holds 3, two 4: the driver takes 2 of one, so the worker's 3 go to two. */
	static const struct kueue_request driver[] = {{SPAN("cpu"), 2000}},
					  worker[] = {{SPAN("cpu"), 1000}};
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("driver"), .count = 1, .requests = driver, .n_requests = 1},
	    {.name = SPAN("worker"), .count = 3, .requests = worker, .n_requests = 1}};
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(4000), NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, sets, 2);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_string_equal(flavor_of(&w, 0), "one");
	assert_string_equal(flavor_of(&w, 1), "two");
	assert_int_equal(w.a.requests.items[1].value, 3000);
	assert_int_equal(w.a.uses.len, 2);
	/* With 2 of two neither holds the workers. */
	queue_of_two(&w, "q", NULL, nominal(3000), nominal(2000), NULL);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_NO_FIT);
	assert_string_equal(
	    message(&w, wl),
	    "couldn't assign flavors to pod set worker: insufficient quota for cpu in flavor one, "
	    "previously considered podsets requests (2) + current podset request (3) > maximum "
	    "capacity (3), insufficient quota for cpu in flavor two, previously considered podsets "
	    "requests (0) + current podset request (3) > maximum capacity (2)");
	kt_done(&w);
}

static void pod_sets_of_one_group_share_a_flavor(void **state)
{
	/* Alone the leader would take one. Together they need 4, which only two holds. */
	static const struct kueue_request request[] = {{SPAN("cpu"), 1000}};
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("leader"),
	     .count = 1,
	     .group = SPAN("g"),
	     .requests = request,
	     .n_requests = 1},
	    {.name = SPAN("other"), .count = 1, .requests = request, .n_requests = 1},
	    {.name = SPAN("workers"),
	     .count = 3,
	     .group = SPAN("g"),
	     .requests = request,
	     .n_requests = 1}};
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(4000), NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, sets, 3);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_string_equal(flavor_of(&w, 0), "two");
	assert_string_equal(flavor_of(&w, 1), "one");
	assert_string_equal(flavor_of(&w, 2), "two");
	kt_done(&w);
}

static void a_failed_group_is_told_for_each_of_its_pod_sets(void **state)
{
	static const struct kueue_request request[] = {{SPAN("cpu"), 3000}};
	const struct kueue_pod_set sets[] = {{.name = SPAN("x"),
					      .count = 1,
					      .group = SPAN("g"),
					      .requests = request,
					      .n_requests = 1},
					     {.name = SPAN("y"),
					      .count = 1,
					      .group = SPAN("g"),
					      .requests = request,
					      .n_requests = 1}};
	struct kt_world w = kt_world();
	uint32_t q = kt_queue(w.f, "q", NULL, 4000, NO, NO);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, sets, 2);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(
	    message(&w, wl),
	    "couldn't assign flavors to pod set x: insufficient quota for cpu in flavor default, "
	    "previously considered podsets requests (0) + current podset request (6) > maximum "
	    "capacity (4); couldn't assign flavors to pod set y: insufficient quota for cpu in "
	    "flavor default, previously considered podsets requests (0) + current podset request "
	    "(6) > maximum capacity (4)");
	kt_done(&w);
}

static void resource_groups_choose_apart_and_a_group_goes_together(void **state)
{
	/* cpu and memory share a flavor: one has the cpu, not the memory. gpu goes its own way. */
	static const struct span pair[] = {SPAN("cpu"), SPAN("memory")}, gpu[] = {SPAN("gpu")},
				 models[] = {SPAN("a100"), SPAN("h100")};
	static const struct kueue_quota quotas[] = {
	    {9000, NO, NO}, {1024, NO, NO}, {9000, NO, NO}, {9 << 20, NO, NO}};
	static const struct kueue_quota gpus[] = {{8, NO, NO}, {8, NO, NO}};
	const struct kueue_group_spec groups[] = {{pair, 2, two_flavors, 2, quotas},
						  {gpu, 1, models, 2, gpus}};
	static const struct kueue_request requests[] = {
	    {SPAN("memory"), 1 << 20}, {SPAN("gpu"), 8}, {SPAN("cpu"), 1000}};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = requests, .n_requests = 3};
	struct kt_world w = kt_world();
	uint32_t q;

	kt_flavor(w.f, "one");
	kt_flavor(w.f, "two");
	kt_flavor(w.f, "a100");
	kt_flavor(w.f, "h100");
	q = kt_queue_of(w.f, "q", NULL, groups, 2, NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, &set, 1);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	for (size_t i = 0; i < w.a.choices.len; i++) {
		const char *resource =
		    kueue_forest_resource_name(w.f, w.a.choices.items[i].resource).ptr;
		assert_string_equal(flavor_of(&w, i),
				    strcmp(resource, "gpu") == 0 ? "a100" : "two");
	}
	assert_int_equal(w.a.uses.len, 3);
	/* All of it does not fit: every shortage of every flavor of the group is told. */
	struct kueue_use used = kt_use(w.f, "two", "memory", 9 << 20);
	kueue_forest_charge(w.f, q, &used, 1);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_NO_CANDIDATES);
	assert_string_equal(
	    message(&w, wl),
	    "couldn't assign flavors to pod set main: insufficient quota for memory in flavor one, "
	    "previously considered podsets requests (0) + current podset request (1Mi) > maximum "
	    "capacity (1Ki), insufficient unused quota for memory in flavor two, 1Mi more needed");
	kt_done(&w);
}

static void pods_are_counted_when_the_queue_covers_them(void **state)
{
	static const struct span res[] = {SPAN("cpu"), SPAN("pods")};
	static const struct kueue_quota quotas[] = {{9000, NO, NO}, {3, NO, NO}};
	const struct kueue_group_spec group = {res, 2, kt_default, 1, quotas};
	static const struct kueue_request request[] = {{SPAN("cpu"), 1000}};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 4, .requests = request, .n_requests = 1};
	struct kt_world w = kt_world();
	uint32_t q = kt_queue_of(w.f, "q", NULL, &group, 1, NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, &set, 1);
	const int32_t three[] = {3};

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_NO_FIT);
	assert_non_null(strstr(message(&w, wl),
			       "insufficient quota for pods in flavor default, "
			       "previously considered podsets requests (0) + "
			       "current podset request (4) > maximum capacity (3)"));
	kueue_assign(w.f, wl, three, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_int_equal(w.a.counts[0], 3);
	kt_done(&w);
}

static void reclaimable_pods_are_not_asked_for(void **state)
{
	static const struct kueue_request request[] = {{SPAN("cpu"), 1000}};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 4, .requests = request, .n_requests = 1};
	struct kt_world w = kt_world();
	uint32_t q = kt_queue(w.f, "q", NULL, 3000, NO, NO);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, &set, 1);

	wl->reclaimable = xcalloc(1, sizeof(int32_t));
	wl->reclaimable[0] = 1;
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_int_equal(w.a.counts[0], 3);
	assert_int_equal(w.a.uses.items[0].value, 3000);
	kt_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_fits_gets_the_first_flavor),
	    cmocka_unit_test(a_resource_that_no_group_covers_fails_by_name),
	    cmocka_unit_test(zero_of_an_uncovered_resource_needs_no_flavor),
	    cmocka_unit_test(undeclared_resources_can_be_ignored),
	    cmocka_unit_test(what_waits_for_quota_says_how_much_more),
	    cmocka_unit_test(above_nominal_at_the_root_it_does_not_fit_at_all),
	    cmocka_unit_test(later_pod_sets_see_what_earlier_ones_take),
	    cmocka_unit_test(pod_sets_of_one_group_share_a_flavor),
	    cmocka_unit_test(a_failed_group_is_told_for_each_of_its_pod_sets),
	    cmocka_unit_test(resource_groups_choose_apart_and_a_group_goes_together),
	    cmocka_unit_test(pods_are_counted_when_the_queue_covers_them),
	    cmocka_unit_test(reclaimable_pods_are_not_asked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
