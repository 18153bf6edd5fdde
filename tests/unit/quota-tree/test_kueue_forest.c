/*
 * Cohort math (reference/kueue.md section 2.4), numbers worked out in the comments.
 */
#include "kueue_testing.h"
#include "quota-tree/kueue_node.h"

static void a_queue_without_a_cohort_has_its_nominal(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", NULL, 10, NO, NO);

	assert_int_equal(kt_available(f, a), 10);
	assert_int_equal(kt_potential(f, a), 10);
	kt_charge(f, a, 7);
	assert_int_equal(kt_available(f, a), 3);
	assert_int_equal(kueue_forest_parent(f, a), KUEUE_NONE);
	assert_int_equal(kueue_forest_root(f, a), a);
	kueue_forest_destroy(f);
}

static void without_a_lending_limit_all_is_lent(void **state)
{
	/* local quota is 0, so subtree(co) = 10 + 4 and each queue sees all 14. */
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 10, NO, NO), b = kt_queue(f, "b", "co", 4, NO, NO);
	uint32_t co = kueue_forest_cohort(f, SPAN("co"));

	assert_int_equal(kt_subtree(f, co), 14);
	assert_int_equal(kt_available(f, b), 14);
	kt_charge(f, b, 9); /* above its own 4: 5 are borrowed */
	assert_int_equal(kt_usage(f, co), 9);
	assert_int_equal(kt_available(f, a), 5);
	assert_int_equal(kt_available(f, b), 5);
	assert_int_equal(kueue_forest_borrowed(f, b, 0, kueue_forest_find_resource(f, SPAN("cpu"))),
			 5);
	kt_check(f);
	kueue_forest_destroy(f);
}

static void a_lending_limit_keeps_the_rest_local(void **state)
{
	/* a lends 4 of 10: local(a) = 6, subtree(co) = 4 + 0. b sees 4, a sees 6 + 4. */
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 10, NO, 4), b = kt_queue(f, "b", "co", 0, NO, NO);
	uint32_t co = kueue_forest_cohort(f, SPAN("co"));

	assert_int_equal(kt_subtree(f, co), 4);
	assert_int_equal(kt_available(f, b), 4);
	assert_int_equal(kt_available(f, a), 10);
	kt_charge(f, a, 5); /* all within local: the cohort sees nothing */
	assert_int_equal(kt_usage(f, co), 0);
	assert_int_equal(kt_available(f, a), 5);
	kt_charge(f, a, 3); /* 1 is local, 2 move up */
	assert_int_equal(kt_usage(f, co), 2);
	assert_int_equal(kt_available(f, b), 2);
	kt_release(f, a, 4); /* 8 -> 4: the 2 that moved up come back first */
	assert_int_equal(kt_usage(f, co), 0);
	assert_int_equal(kt_usage(f, a), 4);
	kt_check(f);
	kueue_forest_destroy(f);
}

static void a_lending_limit_above_nominal_lends_all(void **state)
{
	/* local = max(0, 3 - 8) = 0 */
	struct kueue_forest *f = kt_forest();
	uint32_t b;

	kt_queue(f, "a", "co", 3, NO, 8);
	b = kt_queue(f, "b", "co", 0, NO, NO);
	assert_int_equal(kt_available(f, b), 3);
	kueue_forest_destroy(f);
}

static void a_borrowing_limit_caps_what_comes_from_the_parent(void **state)
{
	/* b has 4 and may borrow 3 of a's 10: stored in parent 4, used there u:
	 * min(14 - usage(co), 4 - u + 3). */
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 10, NO, NO), b = kt_queue(f, "b", "co", 4, 3, NO);

	assert_int_equal(kt_available(f, b), 7);
	assert_int_equal(kt_potential(f, b), 7);
	kt_charge(f, b, 5);
	assert_int_equal(kt_available(f, b), 2);
	kt_charge(f, a, 8); /* 1 is left in the cohort */
	assert_int_equal(kt_available(f, b), 1);
	kueue_forest_destroy(f);
}

static void limits_hold_on_every_level(void **state)
{
	/*
	 *            root (own 5)
	 *      x (own 2, lends 6)     y (borrows 1)
	 *      a (8, lends 3)         b (1)
	 * local(a) = 8 - 3 = 5; subtree(x) = 2 + 3 = 5, lends 6 > 5: local(x) = 0
	 * subtree(y) = 1; subtree(root) = 5 + 5 + 1 = 11.
	 * potential(y) = min(1 + 1, 11) = 2, potential(b) = 2; potential(a) = 5 + 11 = 16.
	 */
	struct kueue_forest *f = kt_forest();
	uint32_t root = kt_cohort(f, "root", NULL, 5, NO, NO);
	uint32_t x = kt_cohort(f, "x", "root", 2, NO, 6), y = kt_cohort(f, "y", "root", 0, 1, NO);
	uint32_t a = kt_queue(f, "a", "x", 8, NO, 3), b = kt_queue(f, "b", "y", 1, NO, NO);

	assert_int_equal(kt_subtree(f, x), 5);
	assert_int_equal(kt_subtree(f, root), 11);
	assert_int_equal(kt_potential(f, y), 2);
	assert_int_equal(kt_potential(f, b), 2);
	assert_int_equal(kt_potential(f, a), 16);
	assert_int_equal(kt_available(f, b), 2);
	kt_charge(f, a, 14); /* 5 local, 9 move up to x and to the root */
	assert_int_equal(kt_usage(f, x), 9);
	assert_int_equal(kt_usage(f, root), 9);
	assert_int_equal(kt_available(f, b), 2); /* min(11 - 9, 1 - 0 + 1) */
	kt_charge(f, a, 1);
	assert_int_equal(kt_available(f, b), 1);
	kt_check(f);
	kueue_forest_destroy(f);
}

static void debt_takes_from_what_a_sibling_keeps_for_itself(void **state)
{
	/* local(a) = 8, subtree(co) = 2 + 10 = 12; b holds 25: available(co) = -13, so a sees
	 * 8 - 13 = -5, shown as 0. With 10 given back: 8 - 3 = 5. */
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 10, NO, 2), b = kt_queue(f, "b", "co", 10, NO, NO);

	kt_charge(f, b, 25);
	assert_int_equal(kt_available(f, a), 0);
	kt_release(f, b, 10);
	assert_int_equal(kt_available(f, a), 5);
	kueue_forest_destroy(f);
}

static void an_edit_may_leave_debt_and_evicts_nobody(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 10, NO, NO), b = kt_queue(f, "b", "co", 6, NO, NO);
	uint32_t co = kueue_forest_cohort(f, SPAN("co"));

	kt_charge(f, a, 10);
	assert_int_equal(kt_queue(f, "a", "co", 2, NO, NO), a);
	assert_int_equal(kt_usage(f, a), 10);
	assert_int_equal(kt_usage(f, co), 10);
	assert_int_equal(kt_available(f, b), 0); /* 8 - 10 */
	kt_check(f);
	kueue_forest_destroy(f);
}

static void a_cohort_s_own_quota_is_added(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 3, NO, NO);

	assert_int_equal(kt_available(f, a), 3);
	kt_cohort(f, "co", NULL, 7, NO, NO);
	assert_int_equal(kt_available(f, a), 10);
	kueue_forest_remove_cohort(f, SPAN("co"));
	assert_int_equal(kt_available(f, a), 3); /* still named, limitless, without own quota */
	kueue_forest_destroy(f);
}

static void a_cell_that_only_the_cohort_has_is_not_the_queue_s(void **state)
{
	struct kueue_forest *f = kt_forest();
	static const struct span gpu[] = {SPAN("gpu")};
	const struct kueue_quota four = {4, NO, NO};
	const struct kueue_group_spec group = {gpu, 1, kt_default, 1, &four};
	uint32_t a = kt_queue(f, "a", "co", 3, NO, NO);
	struct kueue_use use = kt_use(f, "default", "gpu", 1);

	kt_queue_of(f, "b", "co", &group, 1, NULL);
	assert_false(kueue_forest_lists(f, a, use.flavor, use.resource));
	assert_int_equal(kueue_forest_available(f, a, use.flavor, use.resource), 0);
	assert_false(kueue_forest_fits(f, a, &use, 1));
	kueue_forest_destroy(f);
}

static void what_nobody_lists_any_more_counts_as_borrowed_until_it_goes(void **state)
{
	/* a held 3 gpu when its quota for gpu went; b still lists 4: 1 is left of them. */
	static const struct span gpu[] = {SPAN("gpu")};
	struct kueue_forest *f = kt_forest();
	const struct kueue_quota four = {4, NO, NO};
	const struct kueue_group_spec group = {gpu, 1, kt_default, 1, &four};
	uint32_t a = kt_queue_of(f, "a", "co", &group, 1, NULL);
	uint32_t b = kt_queue_of(f, "b", "co", &group, 1, NULL);
	struct kueue_use use = kt_use(f, "default", "gpu", 3);

	kueue_forest_charge(f, a, &use, 1);
	kt_queue(f, "a", "co", 2, NO, NO);
	assert_int_equal(kueue_forest_usage(f, a, use.flavor, use.resource), 3);
	assert_true(kueue_forest_borrows_on(f, a, &use, 1));
	assert_int_equal(kueue_forest_available(f, b, use.flavor, use.resource), 1);
	/* More of it, charged by a restart: the row grows by what is not there. */
	kueue_forest_release(f, a, &use, 1);
	kt_queue(f, "a", "co", 2, NO, NO);
	assert_int_equal(kueue_forest_available(f, b, use.flavor, use.resource), 4);
	kueue_forest_charge(f, a, &use, 1);
	assert_int_equal(kueue_forest_available(f, b, use.flavor, use.resource), 1);
	kt_check(f);
	kueue_forest_destroy(f);
}

static void sums_saturate_and_stay_unlimited(void **state)
{
	/* Two bounded giants stop one below unlimited; one unlimited makes the whole tree so. */
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", INT64_MAX - 5, NO, NO);
	uint32_t co = kueue_forest_cohort(f, SPAN("co"));

	kt_queue(f, "b", "co", INT64_MAX - 5, NO, NO);
	assert_true(kt_subtree(f, co) == INT64_MAX - 1);
	assert_true(kt_available(f, a) == INT64_MAX - 1);
	kt_queue(f, "b", "co", UNLIMITED, NO, NO);
	assert_true(kt_subtree(f, co) == UNLIMITED);
	kt_charge(f, a, 1000);
	assert_true(kt_available(f, a) == UNLIMITED);
	kt_check(f);
	kueue_forest_destroy(f);
}

static void a_cycle_disables_its_tree_and_nothing_else(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "x", 10, NO, NO), c = kt_queue(f, "c", "z", 5, NO, NO);

	kt_charge(f, a, 4);
	kt_cohort(f, "x", "y", 0, NO, NO);
	assert_int_equal(kueue_forest_active(f, a), KUEUE_ACTIVE);
	kt_cohort(f, "y", "x", 0, NO, NO);
	assert_int_equal(kueue_forest_active(f, a), KUEUE_COHORT_CYCLE);
	assert_int_equal(kt_usage(f, a), 4);
	assert_int_equal(kueue_forest_active(f, c), KUEUE_ACTIVE);
	kt_check(f);
	/* Broken at the far end: what hung from it comes back. */
	kt_cohort(f, "y", NULL, 3, NO, NO);
	assert_int_equal(kueue_forest_active(f, a), KUEUE_ACTIVE);
	assert_int_equal(kt_available(f, a), 9);
	kt_check(f);
	/* A cohort that is its own parent. */
	kt_cohort(f, "y", "y", 3, NO, NO);
	assert_int_equal(kueue_forest_active(f, a), KUEUE_COHORT_CYCLE);
	kueue_forest_destroy(f);
}

static void a_tree_that_is_too_deep_is_disabled(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "c0", 1, NO, NO);
	char name[8], parent[8];

	for (int i = 0; i < KUEUE_MAX_DEPTH; i++) {
		assert_int_equal(kueue_forest_active(f, a), KUEUE_ACTIVE);
		snprintf(name, sizeof(name), "c%d", i);
		snprintf(parent, sizeof(parent), "c%d", i + 1);
		kt_cohort(f, name, parent, 0, NO, NO);
	}
	assert_int_equal(kueue_forest_active(f, a), KUEUE_COHORT_CYCLE);
	kueue_forest_destroy(f);
}

static void queues_say_why_they_take_nobody(void **state)
{
	struct kueue_forest *f = kt_forest();
	struct kueue_queue_spec stopped = {.weight = 1, .stop = KUEUE_STOP_HOLD};
	struct kueue_queue_spec off = {.weight = 1, .inactive = true};
	const struct kueue_quota one = {1, NO, NO};
	uint32_t a = kt_queue(f, "a", NULL, 1, NO, NO);

	assert_int_equal(kueue_forest_active(f, a), KUEUE_ACTIVE);
	kueue_forest_remove_flavor(f, SPAN("default"));
	assert_int_equal(kueue_forest_active(f, a), KUEUE_FLAVOR_NOT_FOUND);
	assert_null(kueue_forest_flavor_spec(f, kueue_forest_flavor(f, SPAN("default"))));
	kt_flavor(f, "default");
	assert_int_equal(kueue_forest_active(f, a), KUEUE_ACTIVE);
	kt_queue_with(f, "a", NULL, one, &stopped);
	assert_int_equal(kueue_forest_active(f, a), KUEUE_STOPPED);
	kt_queue_with(f, "a", NULL, one, &off);
	assert_int_equal(kueue_forest_active(f, a), KUEUE_INACTIVE_BY_CORE);
	kueue_forest_destroy(f);
}

static void numbers_live_as_long_as_something_needs_them(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 5, NO, NO);
	uint32_t co = kueue_forest_cohort(f, SPAN("co"));

	kt_charge(f, a, 2);
	kueue_forest_remove_queue(f, SPAN("a"));
	assert_int_equal(kueue_forest_queue(f, SPAN("a")), a); /* 2 are still held */
	assert_null(kueue_forest_queue_spec(f, a));
	assert_int_equal(kueue_forest_active(f, a), KUEUE_INACTIVE_BY_CORE);
	assert_int_equal(kueue_forest_cohort(f, SPAN("co")), KUEUE_NONE); /* nobody names it */
	kt_release(f, a, 2);
	assert_int_equal(kueue_forest_queue(f, SPAN("a")), KUEUE_NONE);
	/* Numbers are given again. */
	assert_true(kt_queue(f, "b", "co2", 5, NO, NO) <= (a > co ? a : co));
	kt_check(f);
	kueue_forest_destroy(f);
}

static void moving_a_queue_moves_its_quota_and_its_usage(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "x", 10, NO, NO), b = kt_queue(f, "b", "x", 0, NO, NO);
	uint32_t c = kt_queue(f, "c", "y", 1, NO, NO);

	kt_charge(f, a, 4);
	assert_int_equal(kt_available(f, b), 6);
	kt_queue(f, "a", "y", 10, NO, NO);
	assert_int_equal(kt_available(f, b), 0);
	assert_int_equal(kt_available(f, c), 7);
	assert_int_equal(kueue_forest_root(f, a), kueue_forest_cohort(f, SPAN("y")));
	kt_check(f);
	kueue_forest_destroy(f);
}

static void an_edit_touches_its_own_tree_only(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "x", 10, NO, NO), b = kt_queue(f, "b", "y", 10, NO, NO);
	uint32_t c = kt_queue(f, "c", "x", 10, NO, NO);
	uint64_t at_a = kueue_forest_generation(f, a), at_b = kueue_forest_generation(f, b);
	uint64_t x = kueue_forest_tree_generation(f, a), y = kueue_forest_tree_generation(f, b);

	kt_queue(f, "c", "x", 11, NO, NO);
	assert_true(kueue_forest_generation(f, a) > at_a);
	assert_true(kueue_forest_tree_generation(f, a) > x);
	assert_int_equal(kueue_forest_generation(f, b), at_b);
	assert_int_equal(kueue_forest_tree_generation(f, b), y);
	/* A release is its own queue's news for resume, and its tree's for wake-up. */
	kt_charge(f, c, 3);
	at_a = kueue_forest_generation(f, a);
	x = kueue_forest_tree_generation(f, a);
	kt_release(f, c, 3);
	assert_int_equal(kueue_forest_generation(f, a), at_a);
	assert_true(kueue_forest_tree_generation(f, a) > x);
	kueue_forest_destroy(f);
}

static void trials_are_undone_and_nest(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 10, NO, 4), b = kt_queue(f, "b", "co", 10, NO, NO);
	uint32_t co = kueue_forest_cohort(f, SPAN("co"));
	struct kueue_use strange = kt_use(f, "default", "gpu", 2);
	uint64_t generation;
	size_t outer, inner;

	kt_charge(f, a, 7);
	generation = kueue_forest_tree_generation(f, a);
	outer = kueue_forest_mark(f);
	kt_release(f, a, 5);
	assert_int_equal(kt_usage(f, co), 0);
	inner = kueue_forest_mark(f);
	kt_charge(f, b, 12);
	kueue_forest_charge(f, b, &strange, 1);
	assert_int_equal(kt_usage(f, co), 12);
	kueue_forest_rollback(f, inner);
	assert_int_equal(kt_usage(f, b), 0);
	assert_int_equal(kueue_forest_usage(f, b, strange.flavor, strange.resource), 0);
	assert_int_equal(kt_usage(f, a), 2);
	kueue_forest_rollback(f, outer);
	assert_int_equal(kt_usage(f, a), 7);
	assert_int_equal(kt_usage(f, co), 1);
	assert_int_equal(kueue_forest_tree_generation(f, a), generation);
	kt_check(f);
	kueue_forest_destroy(f);
}

static void the_borrowing_level_is_the_height_of_what_holds_it(void **state)
{
	/*
	 *        root (own 100)          height 3
	 *          mid (own 10)          height 2
	 *            low (own 2)         height 1
	 *              a (4)             b (5, below mid)
	 * low holds 6, mid 6 + 10 + 5 = 21, root 121.
	 */
	struct kueue_forest *f = kt_forest();
	struct kueue_use use = kt_use(f, "default", "cpu", 0);
	uint32_t a;
	bool smaller;

	kt_cohort(f, "root", NULL, 100, NO, NO);
	kt_cohort(f, "mid", "root", 10, NO, NO);
	kt_cohort(f, "low", "mid", 2, NO, NO);
	a = kt_queue(f, "a", "low", 4, NO, NO);
	kt_queue(f, "b", "mid", 5, NO, NO);
#define LEVEL(value) kueue_forest_borrow_level(f, a, use.flavor, use.resource, (value), &smaller)
	assert_int_equal(LEVEL(4), 0);
	assert_true(smaller);
	assert_int_equal(LEVEL(5), 1);
	assert_true(smaller);
	assert_int_equal(LEVEL(7), 2);
	assert_true(smaller);
	assert_int_equal(LEVEL(22), 3);
	assert_false(smaller);
	assert_int_equal(LEVEL(1000), 3); /* nothing holds it: the whole tree */
	assert_false(smaller);
	kt_charge(f, a, 4);
	assert_int_equal(LEVEL(1), 1);
#undef LEVEL
	uint32_t alone = kt_queue(f, "alone", NULL, 1, NO, NO);
	assert_int_equal(kueue_forest_borrow_level(f, alone, use.flavor, use.resource, 9, &smaller),
			 0);
	assert_false(smaller);
	kueue_forest_destroy(f);
}

static void local_quota_on_the_way_lowers_what_must_fit_above(void **state)
{
	/* a keeps 6 of 10 local and uses 4 of them: of 9 more, 2 stay local, 7 ask low. low owns 1
	 * and 4 come from a: 5 < 7, so the root (5 + 20) has to hold them. */
	struct kueue_forest *f = kt_forest();
	struct kueue_use use = kt_use(f, "default", "cpu", 0);
	uint32_t a;

	kt_cohort(f, "root", NULL, 20, NO, NO);
	kt_cohort(f, "low", "root", 1, NO, NO);
	a = kt_queue(f, "a", "low", 10, NO, 4);
	kt_charge(f, a, 4);
	assert_int_equal(kueue_forest_borrow_level(f, a, use.flavor, use.resource, 9, NULL), 2);
	assert_int_equal(kueue_forest_borrow_level(f, a, use.flavor, use.resource, 7, NULL), 1);
	kueue_forest_destroy(f);
}

static void an_object_may_be_set_from_its_own_copy(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 10, 2, 3);
	struct err err = ERR_INIT;

	assert_ok(kueue_forest_set_queue(f, kueue_forest_queue_spec(f, a), &err), &err);
	assert_ok(kueue_forest_set_flavor(f, kueue_forest_flavor_spec(f, 0), &err), &err);
	assert_true(span_is(kueue_forest_flavor_spec(f, 0)->name, "default"));
	assert_true(span_is(kueue_forest_queue_spec(f, a)->cohort, "co"));
	assert_true(span_is(kueue_forest_queue_spec(f, a)->name, "a"));
	assert_int_equal(kt_potential(f, a), 10);
	assert_int_equal(kueue_forest_queue_spec(f, a)->groups[0].quotas[0].lending, 3);
	kueue_forest_destroy(f);
}

static void children_come_cohorts_first_by_name(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t b = kt_queue(f, "b", "co", 1, NO, NO), a = kt_queue(f, "a", "co", 1, NO, NO);
	uint32_t z = kt_cohort(f, "z", "co", 0, NO, NO), co = kueue_forest_cohort(f, SPAN("co"));

	assert_int_equal(kueue_forest_child(f, co, 0), z);
	assert_int_equal(kueue_forest_child(f, co, 1), a);
	assert_int_equal(kueue_forest_child(f, co, 2), b);
	assert_int_equal(kueue_forest_child(f, co, 3), KUEUE_NONE);
	assert_false(kueue_forest_is_queue(f, z));
	assert_true(kueue_forest_is_queue(f, a));
	kueue_forest_destroy(f);
}

static void names_of_resources_have_an_end_that_is_told(void **state)
{
	/* Whoever may submit jobs chooses the names. */
	struct kt_world w = kt_world();
	uint32_t a = kt_queue(w.f, "a", NULL, 10, NO, NO);
	struct kueue_request request = {SPAN("one/too-many"), 1};
	const struct kueue_pod_set set = {
	    .name = SPAN("main"), .count = 1, .requests = &request, .n_requests = 1};
	const struct kueue_workload_spec spec = {
	    .name = SPAN("w"), .pod_sets = &set, .n_pod_sets = 1};
	struct kueue_workload *wl;
	struct err err = ERR_INIT;
	char name[16];
	uint32_t last = 0;

	for (uint32_t i = 0; last != KUEUE_NONE; i++) {
		assert_true(i <= KUEUE_MAX_NAMES);
		snprintf(name, sizeof(name), "r%x", (i * 7919u) & 0xfffff);
		last = kueue_forest_resource(w.f, span_of(name));
	}
	assert_int_equal(kueue_workload_create(&w.shapes, w.f, a, &spec, &wl, &err),
			 err_errno(ERR_TOO_MANY));
	request.resource = SPAN("cpu"); /* what is known goes on */
	kueue_assign(w.f, kt_workload(&w, a, "ok", 0, 1, 5), NULL, &w.a);
	assert_int_equal(w.a.mode, KUEUE_FIT);
	/* and the order of names is theirs, not that of their arrival */
	const struct span *names = w.f->resources.names.items;
	for (size_t i = 1; i < w.f->resources_sorted.len; i++) {
		uint32_t before = w.f->resources_sorted.items[i - 1],
			 here = w.f->resources_sorted.items[i];
		assert_true(span_cmp(names[before], names[here]) < 0);
		assert_int_equal(w.f->resource_ranks.items[here], i);
	}
	kt_done(&w);
}

static void bad_objects_are_refused_with_the_field(void **state)
{
	static const struct span many[KUEUE_MAX_FLAVORS + 1] = {SPAN("x")},
							  twice[] = {SPAN("cpu"), SPAN("cpu")};
	static const struct kueue_quota quotas[KUEUE_MAX_FLAVORS + 1] = {{0}};
	const struct kueue_quota negative[] = {{-1, NO, NO}};
	const struct kueue_group_spec too_many = {kt_cpu, 1, many, KUEUE_MAX_FLAVORS + 1, quotas},
				      repeated = {twice, 2, kt_default, 1, quotas},
				      below = {kt_cpu, 1, kt_default, 1, negative};
	const struct kueue_group_spec same_flavor[] = {{kt_cpu, 1, kt_default, 1, quotas},
						       {twice, 1, kt_default, 1, quotas}};
	static const struct {
		size_t n;
		const char *field;
	} expect[] = {{1, "spec.resourceGroups[0].flavors"},
		      {1, "spec.resourceGroups"},
		      {1, "spec.resourceGroups[0].flavors[0].resources[0]"},
		      {2, "spec.resourceGroups"}};
	const struct kueue_group_spec *groups[] = {&too_many, &repeated, &below, same_flavor};
	struct kueue_forest *f = kt_forest();

	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		const struct kueue_queue_spec spec = {
		    .name = SPAN("q"), .groups = groups[i], .n_groups = expect[i].n};
		struct err err = ERR_INIT;

		assert_int_equal(kueue_forest_set_queue(f, &spec, &err), err_errno(ERR_INVALID));
		assert_string_equal(err.field, expect[i].field);
		assert_int_equal(kueue_forest_queue(f, SPAN("q")), KUEUE_NONE);
	}
	kueue_forest_destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_queue_without_a_cohort_has_its_nominal),
	    cmocka_unit_test(without_a_lending_limit_all_is_lent),
	    cmocka_unit_test(a_lending_limit_keeps_the_rest_local),
	    cmocka_unit_test(a_lending_limit_above_nominal_lends_all),
	    cmocka_unit_test(a_borrowing_limit_caps_what_comes_from_the_parent),
	    cmocka_unit_test(limits_hold_on_every_level),
	    cmocka_unit_test(debt_takes_from_what_a_sibling_keeps_for_itself),
	    cmocka_unit_test(an_edit_may_leave_debt_and_evicts_nobody),
	    cmocka_unit_test(a_cohort_s_own_quota_is_added),
	    cmocka_unit_test(a_cell_that_only_the_cohort_has_is_not_the_queue_s),
	    cmocka_unit_test(what_nobody_lists_any_more_counts_as_borrowed_until_it_goes),
	    cmocka_unit_test(sums_saturate_and_stay_unlimited),
	    cmocka_unit_test(a_cycle_disables_its_tree_and_nothing_else),
	    cmocka_unit_test(a_tree_that_is_too_deep_is_disabled),
	    cmocka_unit_test(queues_say_why_they_take_nobody),
	    cmocka_unit_test(numbers_live_as_long_as_something_needs_them),
	    cmocka_unit_test(moving_a_queue_moves_its_quota_and_its_usage),
	    cmocka_unit_test(an_edit_touches_its_own_tree_only),
	    cmocka_unit_test(trials_are_undone_and_nest),
	    cmocka_unit_test(the_borrowing_level_is_the_height_of_what_holds_it),
	    cmocka_unit_test(local_quota_on_the_way_lowers_what_must_fit_above),
	    cmocka_unit_test(an_object_may_be_set_from_its_own_copy),
	    cmocka_unit_test(children_come_cohorts_first_by_name),
	    cmocka_unit_test(names_of_resources_have_an_end_that_is_told),
	    cmocka_unit_test(bad_objects_are_refused_with_the_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
