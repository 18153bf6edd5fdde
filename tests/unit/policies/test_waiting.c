#include "fixture.h"

static void an_ask_is_woken_when_enough_of_its_pods_fit_and_not_before(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 4, 1000, 2);
	struct ask *a = ask_of(&w, s, NULL);

	add_nodes(&w, c, 2, 64000, 8);
	for (int i = 0; i < 6; i++)
		charge_pod(&w, c, (uint32_t)i / 3, 100, 2, true);
	while (waiting_next(w.w))
		;
	assert_int_equal(decide(&w, a), CLUSTER_NONE);
	waiting_park(w.w, a);
	waiting_park(w.w, a);
	assert_int_equal(waiting_count(w.w), 1);
	assert_null(waiting_next(w.w));
	/* More cpu, or less of something, is not what it lacks. */
	charge_pod(&w, c, 0, 100, 2, true);
	charge_pod(&w, c, 0, 100, 2, false);
	assert_null(waiting_next(w.w));
	charge_pod(&w, c, 0, 100, 2, false);
	assert_null(waiting_next(w.w));
	charge_pod(&w, c, 1, 100, 2, false);
	assert_ptr_equal(waiting_next(w.w), a);
	assert_false(waiting_is_parked(w.w, a));
	assert_null(waiting_next(w.w));
	assert_int_equal(decide(&w, a), c);
	for (int i = 0; i < 4; i++)
		charge_pod(&w, c, (uint32_t)i / 2, 100, 2, false);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void only_the_asks_that_a_change_helps_are_woken_in_order_of_parking(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s[3] = {gang(&w, 8, 1, 1), gang(&w, 2, 1, 1), gang(&w, 4, 1, 1)};
	struct ask *a[3];

	add_node(&w, c, "n", 8000, 1, NULL);
	for (int i = 0; i < 3; i++) {
		a[i] = ask_of(&w, s[i], NULL);
		assert_int_equal(decide(&w, a[i]), CLUSTER_NONE);
		waiting_park(w.w, a[i]);
	}
	assert_null(waiting_next(w.w));
	add_node(&w, c, "n", 8000, 5, NULL);
	assert_ptr_equal(waiting_next(w.w), a[1]);
	assert_ptr_equal(waiting_next(w.w), a[2]);
	assert_null(waiting_next(w.w));
	assert_true(waiting_is_parked(w.w, a[0]));
	/* One that is withdrawn while it is woken is not handed out. */
	waiting_park(w.w, a[1]);
	waiting_park(w.w, a[2]);
	add_node(&w, c, "n", 8000, 8, NULL);
	assert_ptr_equal(waiting_next(w.w), a[0]);
	waiting_unpark(w.w, a[1]);
	waiting_unpark(w.w, a[1]);
	assert_ptr_equal(waiting_next(w.w), a[2]);
	assert_null(waiting_next(w.w));
	assert_int_equal(waiting_count(w.w), 0);
	for (int i = 0; i < 3; i++) {
		placer_ask_unref(w.p, a[i]);
		fleet_shape_unref(w.f, s[i]);
	}
	world_done(&w);
}

static void a_cluster_that_becomes_a_candidate_wakes(void **state)
{
	static const struct api_kind kind = {SPAN("batch/v1"), SPAN("Job")};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 100, 0);
	static const struct placement_spec anywhere;
	struct ask *a;

	assert_int_equal(placer_ask_ref(w.p, s, &anywhere, &kind, &a, &w.err), 0);
	add_nodes(&w, c, 1, 1000, 0);
	decide(&w, a);
	waiting_park(w.w, a);
	assert_null(waiting_next(w.w));
	struct cluster_spec spec = {
	    .name = SPAN("c"), .kinds = &kind, .n_kinds = 1, .ready = true, .cordoned = true};
	assert_int_equal(cluster_view_upsert(w.f, &spec, &c, &w.err), 0);
	assert_null(waiting_next(w.w));
	cluster_view_set_health(w.f, c, true, true, 0);
	assert_null(waiting_next(w.w));
	cluster_view_set_cordoned(w.f, c, false);
	assert_ptr_equal(waiting_next(w.w), a);
	/* A new member does, once it has nodes; a removed one wakes nobody. */
	cluster_view_set_cordoned(w.f, c, true);
	waiting_park(w.w, a);
	spec.name = SPAN("d");
	spec.cordoned = false;
	spec.fresh = true;
	uint32_t d;
	assert_int_equal(cluster_view_upsert(w.f, &spec, &d, &w.err), 0);
	assert_null(waiting_next(w.w));
	add_nodes(&w, d, 1, 1000, 0);
	cluster_view_remove(w.f, d);
	assert_null(waiting_next(w.w));
	assert_int_equal(cluster_view_upsert(w.f, &spec, &d, &w.err), 0);
	add_nodes(&w, d, 1, 1000, 0);
	assert_ptr_equal(waiting_next(w.w), a);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void several_kinds_are_woken_only_when_they_fit_together(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2][2];
	struct pod_set sets[] = {pods(&w, "a", 1, 5000, 0, buf[0]),
				 pods(&w, "b", 1, 3000, 0, buf[1])};
	struct shape *s = shape_of(&w, sets, 2, NULL);
	struct ask *a = ask_of(&w, s, NULL);

	/* 7 free: either fits, not both; then 7.5, then 8: no count of either kind changes. */
	add_node(&w, c, "n", 8000, 0, NULL);
	charge_pod(&w, c, 0, 500, 0, true);
	charge_pod(&w, c, 0, 500, 0, true);
	decide(&w, a);
	waiting_park(w.w, a);
	assert_null(waiting_next(w.w));
	charge_pod(&w, c, 0, 500, 0, false);
	assert_null(waiting_next(w.w));
	charge_pod(&w, c, 0, 500, 0, false);
	assert_ptr_equal(waiting_next(w.w), a);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void sums_and_dropped_assumptions_wake_too(void **state)
{
	static const struct placement_spec by_sum = {.sum_of_free = true};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 2, 100, 4);
	struct ask *a = ask_of(&w, s, &by_sum);

	add_nodes(&w, c, 4, 8000, 3);
	assert_int_equal(place(&w, a, 1), c);
	assert_int_equal(decide(&w, a), CLUSTER_NONE);
	waiting_park(w.w, a);
	assert_null(waiting_next(w.w));
	ledger_drop(w.l, 1);
	assert_ptr_equal(waiting_next(w.w), a);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_ask_is_woken_when_enough_of_its_pods_fit_and_not_before),
	    cmocka_unit_test(only_the_asks_that_a_change_helps_are_woken_in_order_of_parking),
	    cmocka_unit_test(a_cluster_that_becomes_a_candidate_wakes),
	    cmocka_unit_test(several_kinds_are_woken_only_when_they_fit_together),
	    cmocka_unit_test(sums_and_dropped_assumptions_wake_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
