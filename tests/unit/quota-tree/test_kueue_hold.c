/*
 * What holds quota: as it was recorded, with pods that are not needed any more (reference/kueue.md
 * 2.1, totalRequestsFromAdmission), and once it is evicted (2.6). cpu in milli-units written as
 * plain numbers.
 */
#include "kueue_world.h"

/* driver: 1 pod of 2; worker: 4 pods of 3. */
static const struct kueue_request driver[] = {{SPAN("cpu"), 2}}, worker[] = {{SPAN("cpu"), 3}};
static const struct kueue_pod_set sets[] = {
    {.name = SPAN("driver"), .count = 1, .requests = driver, .n_requests = 1},
    {.name = SPAN("worker"), .count = 4, .requests = worker, .n_requests = 1}};

static struct kueue_workload *restored(struct world *w, uint32_t q, enum kueue_state state,
				       const struct kueue_holding *holdings, size_t n,
				       const int32_t *counts)
{
	const struct kueue_workload_spec spec = {.name = SPAN("old"),
						 .uid = SPAN("old"),
						 .created = 1,
						 .queue_order = 1,
						 .pod_sets = sets,
						 .n_pod_sets = 2};
	struct kueue_workload *wl = NULL;
	struct err err = ERR_INIT;

	assert_ok(kueue_queues_restore(w->q, q, &spec, state, 7, holdings, n, counts, &wl, &err),
		  &err);
	world_check(w);
	return wl;
}

/* 2 + 12 = 14 of 20, whatever its state; it counts, and gives back what it holds. */
static void what_was_recorded_is_held_again(void **state)
{
	static const enum kueue_state states[] = {KUEUE_RESERVING, KUEUE_ADMITTED, KUEUE_EVICTED};

	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		struct world w = world_with(world_options());
		uint32_t q = kt_queue(w.f, "q", NULL, 20, NO, NO);
		uint32_t f = kueue_forest_flavor(w.f, SPAN("default")),
			 cpu = kueue_forest_resource(w.f, SPAN("cpu"));
		const struct kueue_holding holdings[] = {{0, f, cpu, 2}, {1, f, cpu, 12}};
		struct kueue_workload *old = restored(&w, q, states[i], holdings, 2, NULL);

		assert_int_equal(old->state, states[i]);
		assert_int_equal(old->reserved_at, 7);
		assert_int_equal(kt_usage(w.f, q), 14);
		assert_int_equal(kueue_queues_count(w.q, q).reserving, 1);
		assert_int_equal(kueue_queues_count(w.q, q).admitted, i > 0);
		world_add(&w, q, "new", 0, 2, 7);
		assert_story(&w, "-new");
		kueue_queues_remove(w.q, old);
		assert_int_equal(kt_usage(w.f, q), 0);
		assert_story(&w, "+new");
		world_done(&w);
	}
}

/* Admitted by quota alone, it waits for more: 14 of 20 stay held, and it counts as admitted once it
 * is so again. */
static void what_was_admitted_may_wait_again(void **state)
{
	struct world w = world_with(world_options());
	uint32_t q = kt_queue(w.f, "q", NULL, 20, NO, NO);
	uint32_t f = kueue_forest_flavor(w.f, SPAN("default")),
		 cpu = kueue_forest_resource(w.f, SPAN("cpu"));
	const struct kueue_holding holdings[] = {{0, f, cpu, 2}, {1, f, cpu, 12}};
	struct kueue_workload *old = restored(&w, q, KUEUE_ADMITTED, holdings, 2, NULL);

	kueue_queues_unadmitted(w.q, old);
	world_check(&w);
	assert_int_equal(old->state, KUEUE_RESERVING);
	assert_int_equal(kt_usage(w.f, q), 14);
	assert_int_equal(kueue_queues_count(w.q, q).reserving, 1);
	assert_int_equal(kueue_queues_count(w.q, q).admitted, 0);
	kueue_queues_admitted(w.q, old);
	world_check(&w);
	assert_int_equal(kueue_queues_count(w.q, q).admitted, 1);
	kueue_queues_remove(w.q, old);
	assert_int_equal(kt_usage(w.f, q), 0);
	world_done(&w);
}

static void what_goes_with_no_pod_set_is_refused(void **state)
{
	const struct kueue_workload_spec spec = {
	    .name = SPAN("old"), .uid = SPAN("old"), .pod_sets = sets, .n_pod_sets = 2};
	struct world w = world_with(world_options());
	uint32_t q = kt_queue(w.f, "q", NULL, 20, NO, NO);
	const struct kueue_holding beyond[] = {{2, 0, 0, 1}}, negative[] = {{0, 0, 0, -1}};
	const struct kueue_holding *const bad[] = {beyond, negative};
	struct kueue_workload *wl = NULL;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = ERR_INIT;
		assert_true(kueue_queues_restore(w.q, q, &spec, KUEUE_ADMITTED, 1, bad[i], 1, NULL,
						 &wl, &err) < 0);
		assert_string_equal(err.field, "status.admission.podSetAssignments");
		assert_null(wl);
	}
	assert_int_equal(kt_usage(w.f, q), 0);
	world_done(&w);
}

/* 4 workers hold 12. Two are reclaimable: 2 + 12 / 4 x 2 = 8; partially admitted with 3 workers
 * (9), of whom the 4 - 1 that are left are all: nothing changes, until 4 - 2 < 3: 9 / 3 x 2 = 6. */
static void pods_that_are_not_needed_any_more_give_their_part_back(void **state)
{
	static const struct {
		int32_t admitted;
		int64_t recorded;
		int32_t reclaimable;
		int64_t usage;
	} cases[] = {{4, 12, 0, 14}, {4, 12, 2, 8}, {4, 12, 4, 2},
		     {3, 9, 0, 11},  {3, 9, 1, 11}, {3, 9, 2, 8}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct world w = world_with(world_options());
		uint32_t q = kt_queue(w.f, "q", NULL, 20, NO, NO);
		uint32_t f = kueue_forest_flavor(w.f, SPAN("default")),
			 cpu = kueue_forest_resource(w.f, SPAN("cpu"));
		const struct kueue_holding holdings[] = {{0, f, cpu, 2},
							 {1, f, cpu, cases[i].recorded}};
		const int32_t counts[] = {1, cases[i].admitted}, pods[] = {0, cases[i].reclaimable};
		struct kueue_workload *old = restored(&w, q, KUEUE_ADMITTED, holdings, 2, counts);

		kueue_queues_reclaim(w.q, old, pods);
		world_check(&w);
		assert_int_equal(kt_usage(w.f, q), cases[i].usage);
		/* Exactly what is left can be had. */
		world_add(&w, q, "more", 0, 2, 21 - cases[i].usage);
		world_add(&w, q, "rest", 0, 3, 20 - cases[i].usage);
		assert_story(&w, "-more");
		assert_story(&w, "+rest");
		world_done(&w);
	}
}

/* Who waits for the next victim finds the one that leaves already first (2.6): none is added. */
static void an_evicted_one_is_counted_before_anybody_else_goes(void **state)
{
	const struct kueue_queue_spec spec = {
	    .weight = 1, .preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY};
	struct world w = world_with(world_options());
	uint32_t q = kt_queue_with(w.f, "q", NULL, (struct kueue_quota){4, NO, NO}, &spec);
	struct kueue_workload *kept = world_add(&w, q, "kept", 1, 1, 2);
	struct kueue_workload *leaving = world_add(&w, q, "leaving", 2, 2, 2);

	world_cycle(&w);
	world_cycle(&w);
	/* By priority `kept` would go first. */
	kueue_queues_evicted(w.q, leaving);
	world_add(&w, q, "high", 9, 3, 2);
	assert_story(&w, "");
	assert_int_equal(kept->state, KUEUE_ADMITTED);
	kueue_queues_released(w.q, leaving);
	world_cycle(&w);
	assert_non_null(strstr(w.story, "+high"));
	assert_int_equal(kept->state, KUEUE_ADMITTED);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_recorded_is_held_again),
	    cmocka_unit_test(what_was_admitted_may_wait_again),
	    cmocka_unit_test(what_goes_with_no_pod_set_is_refused),
	    cmocka_unit_test(pods_that_are_not_needed_any_more_give_their_part_back),
	    cmocka_unit_test(an_evicted_one_is_counted_before_anybody_else_goes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
