/*
 * Shares of fair sharing (reference/kueue.md section 2.7), worked out by hand.
 */
#include "kueue_testing.h"
#include <math.h>

#define assert_share(share, expected) assert_true(fabs((share) - (expected)) < 1e-9)

static double share_of(struct kueue_forest *f, uint32_t node)
{
	return kueue_forest_share(f, node).value;
}

static void a_share_is_what_is_borrowed_of_what_is_lent(void **state)
{
	/* The cohort could use 10 + 10 + 5 = 25. a uses 14 of its 10: 4 x 1000 / 25 = 160. */
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 10, NO, NO), b = kt_queue(f, "b", "co", 10, NO, NO);
	uint32_t co = kt_cohort(f, "co", NULL, 5, NO, NO);

	assert_share(share_of(f, a), 0.0);
	kt_charge(f, a, 10);
	assert_share(share_of(f, a), 0.0); /* all of nominal is not borrowing */
	assert_int_equal(kueue_forest_share(f, a).resource, KUEUE_NONE);
	kt_charge(f, a, 4);
	assert_share(share_of(f, a), 160.0);
	assert_true(
	    span_is(kueue_forest_resource_name(f, kueue_forest_share(f, a).resource), "cpu"));
	assert_share(share_of(f, b), 0.0);
	assert_share(share_of(f, co), 0.0); /* a root has no share */
	kueue_forest_destroy(f);
}

/* 25 can be lent: 4 x 1000 / 25 = 160; once b owns 20: 4 x 1000 / 35; once it owns nothing: / 15.
 */
static void an_edit_of_a_lender_changes_what_is_lent(void **state)
{
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue(f, "a", "co", 10, NO, NO);

	kt_queue(f, "b", "co", 10, NO, NO);
	kt_cohort(f, "co", NULL, 5, NO, NO);
	kt_charge(f, a, 14);
	assert_share(share_of(f, a), 160.0);
	kt_queue(f, "b", "co", 20, NO, NO);
	assert_share(share_of(f, a), 4000.0 / 35);
	kt_queue(f, "b", "co", 0, NO, NO);
	assert_share(share_of(f, a), 4000.0 / 15);
	kueue_forest_destroy(f);
}

static void weights_divide_and_zero_is_infinite_while_borrowing(void **state)
{
	/* Of 20: 4 borrowed is 200. Weight 2 makes it 100, weight 0 infinite. */
	struct kueue_forest *f = kt_forest();
	const struct kueue_quota ten = {10, NO, NO};
	uint32_t a = kt_queue_with(f, "a", "co", ten, &(struct kueue_queue_spec){.weight = 2});
	uint32_t b = kt_queue_with(f, "b", "co", ten, &(struct kueue_queue_spec){.weight = 0});

	kt_charge(f, a, 14);
	assert_share(share_of(f, a), 100.0);
	assert_share(share_of(f, b), 0.0);
	kt_charge(f, b, 11);
	assert_true(isinf(share_of(f, b)));
	assert_int_equal(kueue_share_status(kueue_forest_share(f, b)), INT64_MAX);
	assert_true(kueue_share_cmp(kueue_forest_share(f, a), kueue_forest_share(f, b)) < 0);
	kueue_forest_destroy(f);
}

static void two_infinite_shares_compare_by_their_ratio(void **state)
{
	const struct kueue_share one = {.value = INFINITY, .ratio = 10},
				 two = {.value = INFINITY, .ratio = 20};

	assert_true(kueue_share_cmp(one, two) < 0);
	assert_true(kueue_share_cmp(two, one) > 0);
	assert_int_equal(kueue_share_cmp(one, one), 0);
}

static void the_status_is_rounded_up(void **state)
{
	assert_int_equal(kueue_share_status((struct kueue_share){.value = 0.001}), 1);
	assert_int_equal(kueue_share_status((struct kueue_share){.value = 3}), 3);
	assert_int_equal(kueue_share_status((struct kueue_share){.value = 0}), 0);
	assert_int_equal(kueue_share_status((struct kueue_share){.value = 1e300}), INT64_MAX);
}

static void the_dominant_resource_sums_over_flavors(void **state)
{
	/*
	 * a and b each: cpu 10 in x, 10 in y; memory 100 in x, 100 in y. lent: cpu 40, memory 400.
	 * a uses cpu x 12, y 13 (5 borrowed: 125) and memory x 190 (90 borrowed: 225).
	 */
	static const struct span res[] = {SPAN("cpu"), SPAN("memory")},
				 fl[] = {SPAN("x"), SPAN("y")};
	static const struct kueue_quota quotas[] = {
	    {10, NO, NO}, {100, NO, NO}, {10, NO, NO}, {100, NO, NO}};
	const struct kueue_group_spec group = {res, 2, fl, 2, quotas};
	struct kueue_forest *f = kt_forest();
	uint32_t a = kt_queue_of(f, "a", "co", &group, 1, NULL);
	struct kueue_use cpu[] = {kt_use(f, "x", "cpu", 12), kt_use(f, "y", "cpu", 13)},
			 memory = kt_use(f, "x", "memory", 190);

	kt_queue_of(f, "b", "co", &group, 1, NULL);
	kueue_forest_charge(f, a, cpu, 2);
	assert_share(share_of(f, a), 125.0);
	kueue_forest_charge(f, a, &memory, 1);
	assert_share(share_of(f, a), 225.0);
	assert_int_equal(kueue_forest_share(f, a).resource, memory.resource);
	kueue_forest_destroy(f);
}

static void a_tie_goes_to_the_first_name(void **state)
{
	/* 5 of 10 lent, both. */
	static const struct span res[] = {SPAN("memory"), SPAN("cpu")};
	static const struct kueue_quota quotas[] = {{5, NO, NO}, {5, NO, NO}};
	const struct kueue_group_spec group = {res, 2, kt_default, 1, quotas};
	struct kueue_forest *f = kueue_forest_create(&(struct kueue_options){0});
	struct kueue_use memory = kt_use(f, "default", "memory", 10),
			 cpu = kt_use(f, "default", "cpu", 10);
	uint32_t a = kt_queue_of(f, "a", "co", &group, 1, NULL);

	kt_queue_of(f, "b", "co", &group, 1, NULL);
	kueue_forest_charge(f, a, &memory, 1);
	kueue_forest_charge(f, a, &cpu, 1);
	assert_share(share_of(f, a), 500.0);
	assert_int_equal(kueue_forest_share(f, a).resource, cpu.resource);
	kueue_forest_destroy(f);
}

static void what_a_subtree_could_use_counts_flavors_that_only_others_have(void **state)
{
	/*
	 * root: mid(a: cpu 10), b: cpu of flavor other 30. mid could use 10 of default and 30 of
	 * other: 40 lent. a borrows nothing until mid owns 5: 15 used is 5 x 1000 / (15 + 30).
	 */
	static const struct span other[] = {SPAN("other")};
	const struct kueue_quota thirty = {30, NO, NO};
	const struct kueue_group_spec group = {kt_cpu, 1, other, 1, &thirty};
	struct kueue_forest *f = kt_forest();
	uint32_t a;

	kt_cohort(f, "mid", "root", 5, NO, NO);
	a = kt_queue(f, "a", "mid", 10, NO, NO);
	kt_queue_of(f, "b", "root", &group, 1, NULL);
	kt_charge(f, a, 15);
	assert_share(share_of(f, a), 5000.0 / 45.0);
	kueue_forest_destroy(f);
}

static void a_borrowing_limit_of_the_parent_bounds_what_is_lent(void **state)
{
	/* mid: own 0, a 10, may borrow 2 of b's 30: it could use min(10 + 2, 40) = 12. */
	struct kueue_forest *f = kt_forest();
	uint32_t a, mid;

	mid = kt_cohort(f, "mid", "root", 0, 2, NO);
	a = kt_queue(f, "a", "mid", 10, NO, NO);
	kt_queue(f, "b", "root", 30, NO, NO);
	kt_charge(f, a, 12);
	assert_share(share_of(f, a), 2000.0 / 12.0);
	assert_share(share_of(f, mid), 2000.0 / 40.0); /* of what the root could use */
	kueue_forest_destroy(f);
}

static void borrowing_what_nobody_lends_is_no_share(void **state)
{
	/* Both have 0: usage above it has nothing to be a share of. */
	struct kueue_forest *f = kt_forest();
	const struct kueue_quota none = {0, NO, NO};
	uint32_t a = kt_queue_with(f, "a", "co", none, &(struct kueue_queue_spec){.weight = 0});

	kt_charge(f, a, 3);
	assert_share(share_of(f, a), 0.0);
	kueue_forest_destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_share_is_what_is_borrowed_of_what_is_lent),
	    cmocka_unit_test(an_edit_of_a_lender_changes_what_is_lent),
	    cmocka_unit_test(weights_divide_and_zero_is_infinite_while_borrowing),
	    cmocka_unit_test(two_infinite_shares_compare_by_their_ratio),
	    cmocka_unit_test(the_status_is_rounded_up),
	    cmocka_unit_test(the_dominant_resource_sums_over_flavors),
	    cmocka_unit_test(a_tie_goes_to_the_first_name),
	    cmocka_unit_test(what_a_subtree_could_use_counts_flavors_that_only_others_have),
	    cmocka_unit_test(a_borrowing_limit_of_the_parent_bounds_what_is_lent),
	    cmocka_unit_test(borrowing_what_nobody_lends_is_no_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
