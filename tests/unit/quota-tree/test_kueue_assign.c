/*
 * Flavor assignment (reference/kueue.md section 2.5). cpu is in milli-units: 1000 reads as "1".
 */
#include "kueue_testing.h"

static const struct span two_flavors[] = {SPAN("one"), SPAN("two")};

/* A queue with cpu in flavors one and two. */
static uint32_t queue_of_two(struct kt_world *w, const char *name, const char *cohort,
			     struct kueue_quota one, struct kueue_quota two,
			     const struct kueue_queue_spec *more)
{
	return kt_queue_in(w, name, cohort, "one two", (const struct kueue_quota[]){one, two},
			   more);
}

static struct kueue_quota nominal(int64_t value)
{
	return (struct kueue_quota){value, NO, NO};
}

static const char *flavor_of(struct kt_world *w, size_t choice)
{
	uint32_t flavor = w->a.choices.items[choice].flavor;

	return flavor == KUEUE_NONE ? "" : kueue_forest_flavor_name(w->f, flavor).ptr;
}

static const char *message(struct kt_world *w, const struct kueue_workload *wl)
{
	static char text[KUEUE_MESSAGE_MAX];

	kueue_message_assignment(w->f, wl, &w->a, text, sizeof(text));
	return text;
}

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

/* Flavor "one" with a taint, and a toleration of its own or none. */
static void taint_one(struct kt_world *w, enum taint_effect effect, bool tolerated)
{
	const struct taint taint = {SPAN("instance"), SPAN("spot"), effect};
	const struct toleration own = {.key = SPAN("instance"), .exists = true};
	const struct kueue_flavor_spec spec = {
	    .name = SPAN("one"),
	    .taints = &taint,
	    .n_taints = 1,
	    .tolerations = &own,
	    .n_tolerations = tolerated,
	};
	struct err err = ERR_INIT;

	assert_ok(kueue_forest_set_flavor(w->f, &spec, &err), &err);
}

static void a_taint_that_nobody_tolerates_passes_a_flavor_over(void **state)
{
	static const struct toleration tolerates = {
	    .key = SPAN("instance"), .value = SPAN("spot"), .effect = TAINT_NO_SCHEDULE};
	static const struct kueue_request request = {SPAN("cpu"), 2000};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"),
	    .count = 1,
	    .requests = &request,
	    .n_requests = 1,
	    .constraint = {.tolerations = &tolerates, .n_tolerations = 1}};
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(1000), NULL);
	struct kueue_workload *plain = kt_workload(&w, q, "w", 0, 1, 2000);
	struct kueue_workload *tolerant = kt_workload_of(&w, q, "t", 0, 1, &set, 1);

	taint_one(&w, TAINT_NO_SCHEDULE, false);
	kueue_assign(w.f, plain, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_NO_FIT);
	/* sorted by their bytes; 2 of at most 1 */
	assert_string_equal(
	    message(&w, plain),
	    "couldn't assign flavors to pod set main: insufficient quota for cpu in "
	    "flavor two, previously considered podsets requests (0) + current "
	    "podset request (2) > maximum capacity (1), untolerated taint {instance "
	    "spot NoSchedule <nil>} in flavor one");
	/* The least severe of the flavors: another size could fit in two. */
	assert_int_equal(w.a.no_fit, KUEUE_EXCEEDS_MAX_QUOTA);
	kueue_assign(w.f, tolerant, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one");
	taint_one(&w, TAINT_NO_EXECUTE, true); /* the flavor's own toleration */
	kueue_assign(w.f, plain, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one");
	taint_one(&w, TAINT_PREFER_NO_SCHEDULE, false);
	kueue_assign(w.f, plain, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one");
	kt_done(&w);
}

static void affinity_is_judged_on_the_flavor_s_own_keys(void **state)
{
	static const struct label a100[] = {{SPAN("gpu"), SPAN("a100")}},
				  h100[] = {{SPAN("gpu"), SPAN("h100")}},
				  wants[] = {{SPAN("gpu"), SPAN("h100")},
					     {SPAN("disk"), SPAN("ssd")}};
	const struct kueue_flavor_spec one = {.name = SPAN("one"), .labels = a100, .n_labels = 1},
				       two = {.name = SPAN("two"), .labels = h100, .n_labels = 1};
	static const struct kueue_request request = {SPAN("cpu"), 2000};
	const struct kueue_pod_set set = {.name = SPAN("main"),
					  .count = 1,
					  .requests = &request,
					  .n_requests = 1,
					  .constraint = {.selector = wants, .n_selector = 2}};
	struct kt_world w = kt_world();
	struct err err = ERR_INIT;
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(1000), NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, &set, 1);

	assert_ok(kueue_forest_set_flavor(w.f, &one, &err), &err);
	assert_ok(kueue_forest_set_flavor(w.f, &two, &err), &err);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_non_null(strstr(message(&w, wl), "flavor one doesn't match node affinity"));
	assert_int_equal(w.a.mode, KUEUE_NO_FIT); /* two has only 1 */
	queue_of_two(&w, "q", NULL, nominal(3000), nominal(2000), NULL);
	assert_ok(kueue_forest_set_flavor(w.f, &one, &err), &err);
	assert_ok(kueue_forest_set_flavor(w.f, &two, &err), &err);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_string_equal(flavor_of(&w, 0), "two"); /* disk is no key of two: not asked */
	kt_done(&w);
}

/* Flavors: plain "one", and "two" of topology racks (block, rack). */
static uint32_t queue_with_racks(struct kt_world *w)
{
	static const struct span levels[] = {SPAN("block"), SPAN("rack")};
	static const struct label labels[] = {{SPAN("pool"), SPAN("tas")}};
	const struct kueue_topology_spec racks = {SPAN("racks"), levels, 2};
	const struct kueue_flavor_spec two = {
	    .name = SPAN("two"), .labels = labels, .n_labels = 1, .topology = SPAN("racks")};
	uint32_t q = queue_of_two(w, "q", NULL, nominal(3000), nominal(3000), NULL);
	struct err err = ERR_INIT;

	assert_ok(kueue_forest_set_topology(w->f, &racks, &err), &err);
	assert_ok(kueue_forest_set_flavor(w->f, &two, &err), &err);
	return q;
}

static struct kueue_workload *ask_for(struct kt_world *w, uint32_t q, const char *name,
				      struct span level)
{
	static const struct kueue_request request = {SPAN("cpu"), 1000};
	const struct kueue_pod_set set = {.name = SPAN("main"),
					  .count = 1,
					  .requests = &request,
					  .n_requests = 1,
					  .topology = true,
					  .levels = &level,
					  .n_levels = level.len > 0};

	return kt_workload_of(w, q, name, 0, 1, &set, 1);
}

static void flavors_with_a_topology_are_for_those_that_ask(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q = queue_with_racks(&w);
	struct kueue_workload *plain = kt_workload(&w, q, "plain", 0, 1, 1000);
	struct kueue_workload *rack = ask_for(&w, q, "rack", SPAN("rack"));
	struct kueue_workload *any = ask_for(&w, q, "any", SPAN_NONE);
	struct kueue_workload *host = ask_for(&w, q, "host", SPAN("host"));

	kueue_assign(w.f, plain, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "one");
	kueue_assign(w.f, rack, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	kueue_assign(w.f, any, NULL, &w.a); /* unconstrained */
	assert_string_equal(flavor_of(&w, 0), "two");
	kueue_assign(w.f, host, NULL, &w.a);
	assert_int_equal(w.a.no_fit, KUEUE_NO_MATCHING_FLAVOR);
	assert_string_equal(
	    message(&w, host),
	    "couldn't assign flavors to pod set main: Flavor \"one\" does not support "
	    "TopologyAwareScheduling, Flavor \"two\" does not contain the requested "
	    "level");
	/* one is full: two is not for everybody. */
	struct kueue_use used = kt_use(w.f, "one", "cpu", 3000);
	kueue_forest_charge(w.f, q, &used, 1);
	kueue_assign(w.f, plain, NULL, &w.a);
	assert_non_null(
	    strstr(message(&w, plain), "Flavor \"two\" supports only TopologyAwareScheduling"));
	kueue_forest_remove_topology(w.f, SPAN("racks"));
	kueue_assign(w.f, rack, NULL, &w.a);
	assert_non_null(
	    strstr(message(&w, rack), "Flavor \"two\" information missing in TAS cache"));
	kueue_assign(w.f, plain, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	kt_done(&w);
}

static void where_every_flavor_has_a_topology_all_may_have_them(void **state)
{
	static const struct span two[] = {SPAN("two")};
	struct kt_world w = kt_world();
	const struct kueue_quota quota = nominal(2000);
	const struct kueue_group_spec group = {kt_cpu, 1, two, 1, &quota};

	queue_with_racks(&w);
	uint32_t q = kt_queue_of(w.f, "only", NULL, &group, 1, NULL);
	kueue_assign(w.f, kt_workload(&w, q, "plain", 0, 1, 1000), NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	kt_done(&w);
}

static void a_missing_flavor_is_told_by_name(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(1000), NULL);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 1, 500);

	kueue_forest_remove_flavor(w.f, SPAN("one"));
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(flavor_of(&w, 0), "two");
	kueue_forest_remove_flavor(w.f, SPAN("two"));
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.no_fit, KUEUE_NO_MATCHING_FLAVOR);
	assert_string_equal(
	    message(&w, wl),
	    "couldn't assign flavors to pod set main: flavor one not found, flavor two not found");
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
	    cmocka_unit_test(what_fits_gets_the_first_flavor),
	    cmocka_unit_test(a_resource_that_no_group_covers_fails_by_name),
	    cmocka_unit_test(zero_of_an_uncovered_resource_needs_no_flavor),
	    cmocka_unit_test(undeclared_resources_can_be_ignored),
	    cmocka_unit_test(a_taint_that_nobody_tolerates_passes_a_flavor_over),
	    cmocka_unit_test(affinity_is_judged_on_the_flavor_s_own_keys),
	    cmocka_unit_test(flavors_with_a_topology_are_for_those_that_ask),
	    cmocka_unit_test(where_every_flavor_has_a_topology_all_may_have_them),
	    cmocka_unit_test(a_missing_flavor_is_told_by_name),
	    cmocka_unit_test(what_waits_for_quota_says_how_much_more),
	    cmocka_unit_test(above_nominal_at_the_root_it_does_not_fit_at_all),
	    cmocka_unit_test(later_pod_sets_see_what_earlier_ones_take),
	    cmocka_unit_test(pod_sets_of_one_group_share_a_flavor),
	    cmocka_unit_test(a_failed_group_is_told_for_each_of_its_pod_sets),
	    cmocka_unit_test(resource_groups_choose_apart_and_a_group_goes_together),
	    cmocka_unit_test(pods_are_counted_when_the_queue_covers_them),
	    cmocka_unit_test(when_it_can_borrow_it_stops_or_goes_on),
	    cmocka_unit_test(when_it_can_preempt_it_stops_or_goes_on),
	    cmocka_unit_test(no_candidates_always_goes_on),
	    cmocka_unit_test(the_preference_breaks_ties),
	    cmocka_unit_test(without_fungibility_the_first_that_fits_wins),
	    cmocka_unit_test(the_next_attempt_goes_on_after_the_last_flavor),
	    cmocka_unit_test(reclaimable_pods_are_not_asked_for),
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
