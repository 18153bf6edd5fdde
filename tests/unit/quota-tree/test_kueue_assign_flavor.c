/* Flavor assignment (reference/kueue.md section 2.5): which flavors may be taken at all. */
#include "kueue_assigning.h"

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

/* A transformation makes credits of cpu: a flavor without a topology may be their quota, also where
 * the pods ask for one, and may not be the quota of what the pods ask for themselves. */
static void what_transformations_made_needs_no_topology(void **state)
{
	static const struct span cpu[] = {SPAN("cpu")}, credits[] = {SPAN("credits")},
				 two[] = {SPAN("two")}, one[] = {SPAN("one")};
	static const struct kueue_request requests[] = {{SPAN("cpu"), 1000}, {SPAN("credits"), 1}};
	const struct kueue_quota quota = nominal(2000);
	const struct kueue_group_spec groups[] = {{cpu, 1, two, 1, &quota},
						  {credits, 1, one, 1, &quota}};
	struct kueue_pod_set set = {.name = SPAN("main"),
				    .count = 1,
				    .requests = requests,
				    .n_requests = 2,
				    .asked = cpu,
				    .n_asked = 1,
				    .topology = true};
	struct kt_world w = kt_world();

	queue_with_racks(&w);
	uint32_t q = kt_queue_of(w.f, "both", NULL, groups, 2, NULL);
	kueue_assign(w.f, kt_workload_of(&w, q, "made", 0, 1, &set, 1), NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	assert_int_equal(w.a.uses.len, 2);
	set.asked = NULL;
	set.n_asked = 0;
	struct kueue_workload *asking = kt_workload_of(&w, q, "asked", 0, 1, &set, 1);
	kueue_assign(w.f, asking, NULL, &w.a);
	assert_int_equal(w.a.no_fit, KUEUE_NO_MATCHING_FLAVOR);
	assert_string_equal(message(&w, asking),
			    "couldn't assign flavors to pod set main: Flavor \"one\" does not "
			    "support TopologyAwareScheduling");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_taint_that_nobody_tolerates_passes_a_flavor_over),
	    cmocka_unit_test(affinity_is_judged_on_the_flavor_s_own_keys),
	    cmocka_unit_test(flavors_with_a_topology_are_for_those_that_ask),
	    cmocka_unit_test(what_transformations_made_needs_no_topology),
	    cmocka_unit_test(where_every_flavor_has_a_topology_all_may_have_them),
	    cmocka_unit_test(a_missing_flavor_is_told_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
