/*
 * What an attempt says when it fails, and what it adds up to when it does not (reference/kueue.md
 * 2.5): only the reasons of what failed, the highest borrowing level of all, the first of equal
 * flavors; and the order of preemption's attempts (2.6).
 */
#include "kueue_assigning.h"

/* cpu of flavor one (1) and two (9), gpu of a100 (2): one pod of 4 cpu finds two after one, 3 gpus
 * find nothing. Flavor one is not spoken of, since cpu did get a flavor. */
static void only_the_group_that_failed_is_told(void **state)
{
	static const struct span cpu[] = {SPAN("cpu")}, gpu[] = {SPAN("gpu")},
				 models[] = {SPAN("a100")};
	static const struct kueue_quota cpus[] = {{1000, NO, NO}, {9000, NO, NO}},
					gpus[] = {{2, NO, NO}};
	const struct kueue_group_spec groups[] = {{cpu, 1, two_flavors, 2, cpus},
						  {gpu, 1, models, 1, gpus}};
	static const struct kueue_request requests[] = {{SPAN("cpu"), 4000}, {SPAN("gpu"), 3}};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = requests, .n_requests = 2};
	struct kt_world w = kt_world();

	kt_flavor(w.f, "one");
	kt_flavor(w.f, "two");
	kt_flavor(w.f, "a100");
	uint32_t q = kt_queue_of(w.f, "q", NULL, groups, 2, NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, &set, 1);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_NO_FIT);
	assert_string_equal(
	    message(&w, wl),
	    "couldn't assign flavors to pod set main: insufficient quota for gpu in flavor a100, "
	    "previously considered podsets requests (0) + current podset request (3) > maximum "
	    "capacity (2)");
	kt_done(&w);
}

/* The same where cpu gets a flavor that is full (3 of 4 are held, 2 asked: 1 is missing, and nobody
 * may be preempted): that does not fit either, but gpu is what no flavor could ever hold. */
static void what_waits_is_not_told_beside_what_never_fits(void **state)
{
	static const struct span cpu[] = {SPAN("cpu")}, gpu[] = {SPAN("gpu")},
				 names[] = {SPAN("one")}, models[] = {SPAN("a100")};
	static const struct kueue_quota cpus[] = {{4000, NO, NO}}, gpus[] = {{2, NO, NO}};
	const struct kueue_group_spec groups[] = {{cpu, 1, names, 1, cpus},
						  {gpu, 1, models, 1, gpus}};
	static const struct kueue_request requests[] = {{SPAN("cpu"), 2000}, {SPAN("gpu"), 3}};
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("first"), .count = 1, .requests = requests, .n_requests = 1},
	    {.name = SPAN("main"), .count = 1, .requests = requests, .n_requests = 2}};
	struct kt_world w = kt_world();

	kt_flavor(w.f, "one");
	kt_flavor(w.f, "a100");
	uint32_t q = kt_queue_of(w.f, "q", NULL, groups, 2, NULL);
	const struct kueue_use held = kt_use(w.f, "one", "cpu", 3000);
	kueue_forest_charge(w.f, q, &held, 1);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, sets, 2);
	kueue_assign(w.f, wl, NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_NO_FIT);
	assert_string_equal(
	    message(&w, wl),
	    "couldn't assign flavors to pod set first: insufficient unused quota for cpu in flavor "
	    "one, 1 more needed; couldn't assign flavors to pod set main: insufficient quota for "
	    "gpu in flavor a100, previously considered podsets requests (0) + current podset "
	    "request (3) > maximum capacity (2)");
	kt_done(&w);
}

/* The first pod set fits in two after one was too small; the second fits nowhere. */
static void pod_sets_that_fit_are_not_told(void **state)
{
	static const struct kueue_request small[] = {{SPAN("cpu"), 2000}},
					  large[] = {{SPAN("cpu"), 9000}};
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("small"), .count = 1, .requests = small, .n_requests = 1},
	    {.name = SPAN("large"), .count = 1, .requests = large, .n_requests = 1}};
	struct kt_world w = kt_world();
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(1000), nominal(4000), NULL);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 0, 1, sets, 2);

	kueue_assign(w.f, wl, NULL, &w.a);
	assert_string_equal(
	    message(&w, wl),
	    "couldn't assign flavors to pod set large: insufficient quota for cpu in flavor one, "
	    "previously considered podsets requests (0) + current podset request (9) > maximum "
	    "capacity (1), insufficient quota for cpu in flavor two, previously considered podsets "
	    "requests (2) + current podset request (9) > maximum capacity (4)");
	kt_done(&w);
}

/* cpu (3 of 2, 4 lent) borrows at level 1, memory (1 of 9) not at all: the whole borrows at 1,
 * whichever comes last. */
static void the_highest_level_counts(void **state)
{
	static const struct span resources[] = {SPAN("cpu"), SPAN("memory")};
	static const struct kueue_quota own[] = {{2000, NO, NO}, {9, NO, NO}},
					other[] = {{9000, NO, NO}, {0, NO, NO}},
					lent[] = {{4000, NO, NO}, {4, NO, NO}};
	static const struct kueue_request requests[] = {{SPAN("cpu"), 3000}, {SPAN("memory"), 1}};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = requests, .n_requests = 2};

	for (int i = 0; i < 2; i++) {
		struct kt_world w = kt_world();
		/* i 1: cpu fits, memory borrows. */
		const struct kueue_group_spec group = {resources, 2, kt_default, 1,
						       i ? other : own};
		const struct kueue_group_spec lender = {resources, 2, kt_default, 1, lent};
		uint32_t q = kt_queue_of(w.f, "q", "co", &group, 1, NULL);

		kt_queue_of(w.f, "lender", "co", &lender, 1, NULL);
		kueue_assign(w.f, kt_workload_of(&w, q, "w", 0, 1, &set, 1), NULL, &w.a);
		assert_int_equal(w.a.mode, KUEUE_FIT);
		assert_int_equal(w.a.borrow_level, 1);
		kt_done(&w);
	}
}

/* Gate FlavorFungibility off: of flavors that are equally good the first, though both would need
 * a victim. */
static void without_fungibility_the_first_of_equals_wins(void **state)
{
	struct kueue_options options = kueue_options_default();
	const struct kueue_queue_spec spec = {
	    .weight = 1, .preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY};

	options.flavor_fungibility = false;
	struct kt_world w = kt_world_with(options);
	uint32_t q = queue_of_two(&w, "q", NULL, nominal(3000), nominal(3000), &spec);
	kt_hold(&w, q, "low1", 0, 1, "one", 3000);
	kt_hold(&w, q, "low2", 0, 2, "two", 3000);
	assert_string_equal(kt_victims(&w, kt_workload(&w, q, "in", 5, 3, 2000), NULL),
			    "low1:InClusterQueue");
	assert_string_equal(flavor_of(&w, 0), "one");
	kt_done(&w);
}

/*
 * q owns 5, b 2 and uses 3. q asks 3 with priority 9; everybody else has 0, and 7 are there:
 *	own1 (2) and own2 (2) are q's, f (3) is b's: nothing is free
 * q is below its nominal quota (4 of 5), and would be above it with the 3 (7): f is no hierarchical
 * candidate. borrowWithinCohort is Never, so that the attempt without borrowing comes first, in
 * which f counts: f, then own2 (the newer), 2 + 3 = 5 of 5. Borrowing first, f would not count, and
 * own2 and own1 would go.
 * At its nominal quota (own1 3) only borrowing is tried: own2 (2), own1: 0 + 3 + 3 of 7.
 * With borrowWithinCohort f counts while borrowing too, which is tried first: f alone, 4 + 3 = 7.
 */
static void attempts_come_in_kueues_order(void **state)
{
	static const struct {
		enum kueue_preempt_policy borrowing;
		int64_t own1;
		const char *victims;
	} cases[] = {
	    {KUEUE_PREEMPT_NEVER, 2, "f:InCohortReclamation own2:InClusterQueue"},
	    {KUEUE_PREEMPT_NEVER, 3, "own2:InClusterQueue own1:InClusterQueue"},
	    {KUEUE_PREEMPT_LOWER_PRIORITY, 2, "f:InCohortReclaimWhileBorrowing"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kt_world w = kt_world();
		const struct kueue_queue_spec spec = {
		    .weight = 1,
		    .preemption = {.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,
				   .reclaim_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY,
				   .borrow_within_cohort = cases[i].borrowing}};
		uint32_t q = kt_queue_with(w.f, "q", "co", (struct kueue_quota){5, NO, NO}, &spec);
		uint32_t b = kt_queue(w.f, "b", "co", 2 + (cases[i].own1 - 2), NO, NO);
		struct kueue_assignment *a = &w.a;

		kt_hold(&w, q, "own1", 0, 1, "default", cases[i].own1);
		kt_hold(&w, q, "own2", 0, 2, "default", 2);
		kt_hold(&w, b, "f", 0, 3, "default", 3 + (cases[i].own1 - 2));
		struct kueue_workload *in = kt_workload(&w, q, "in", 9, 9, 3);
		struct kueue_use use = kt_use(w.f, "default", "cpu", 3);
		kueue_assign(w.f, in, NULL, a);
		/* Whatever the flavor's mode, the search is for these 3. */
		vec_clear(&a->uses);
		vec_push(&a->uses, use);
		a->choices.items[0].flavor = use.flavor;
		a->choices.items[0].mode = KUEUE_PREEMPT;
		kueue_preempt(w.f, in, a, NULL, &w.v);
		assert_string_equal(kt_victims_text(&w), cases[i].victims);
		kt_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_the_group_that_failed_is_told),
	    cmocka_unit_test(what_waits_is_not_told_beside_what_never_fits),
	    cmocka_unit_test(pod_sets_that_fit_are_not_told),
	    cmocka_unit_test(the_highest_level_counts),
	    cmocka_unit_test(without_fungibility_the_first_of_equals_wins),
	    cmocka_unit_test(attempts_come_in_kueues_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
