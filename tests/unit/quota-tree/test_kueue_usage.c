/*
 * AdmissionFairSharing through the queues (reference/kueue.md 2.1, 2.6, 2.7; KEP-4136): what a
 * LocalQueue consumed orders those that wait, and whom a preemption hits. cpu in milli-units.
 */
#include "kueue_world.h"
#include <math.h>

#define S(n) ((int64_t)(n)*1000000)

static struct world local_world(int64_t cpus, uint32_t *ret_queue)
{
	struct kueue_options o = world_options();
	const struct kueue_queue_spec spec = {.weight = 1,
					      .admission_fair_sharing = true,
					      .preemption.within_cluster_queue =
						  KUEUE_PREEMPT_LOWER_PRIORITY};

	o.usage_half_life = S(100);
	o.usage_sampling_interval = S(10);
	struct world w = world_with(o);
	*ret_queue =
	    kt_queue_with(w.f, "q", NULL, (struct kueue_quota){cpus * 1000, NO, NO}, &spec);
	return w;
}

static void consumed(struct world *w, uint32_t q, uint32_t local, double cpus)
{
	kueue_queues_restore_usage(w->q, q, local, SPAN("cpu"), cpus, S(1000));
}

/* LocalQueue 1 consumed 1, 2 consumed 5: the victims are 2's, though 1's is the younger and 2's the
 * higher of those below. */
static void the_heavier_local_queue_gives_way(void **state)
{
	for (int heavy = 1; heavy <= 2; heavy++) {
		uint32_t q;
		struct world w = local_world(4, &q);
		struct kueue_workload *one = world_add_to(&w, q, 1, "one", 0, 1, 2000);
		struct kueue_workload *two = world_add_to(&w, q, 2, "two", 1, 2, 2000);

		world_cycle(&w);
		world_cycle(&w);
		consumed(&w, q, 1, heavy == 1 ? 5 : 1);
		consumed(&w, q, 2, heavy == 1 ? 1 : 5);
		world_add_to(&w, q, 3, "high", 9, 3, 2000);
		assert_story(&w, heavy == 1 ? "!one" : "!two");
		assert_int_equal((heavy == 1 ? one : two)->state, KUEUE_EVICTED);
		world_done(&w);
	}
}

/* One that leaves already goes before the heavier queue's. */
static void who_leaves_already_goes_first_among_them_too(void **state)
{
	uint32_t q;
	struct world w = local_world(4, &q);
	struct kueue_workload *light = world_add_to(&w, q, 1, "light", 0, 1, 2000);
	struct kueue_workload *heavy = world_add_to(&w, q, 2, "heavy", 0, 2, 2000);

	world_cycle(&w);
	world_cycle(&w);
	consumed(&w, q, 1, 1);
	consumed(&w, q, 2, 5);
	kueue_queues_evicted(w.q, light);
	world_add_to(&w, q, 3, "high", 9, 3, 2000);
	assert_story(&w, "");
	assert_int_equal(heavy->state, KUEUE_ADMITTED);
	world_done(&w);
}

/* Usage over weight: 6 / 3 = 2 goes before 4 / 1; of no weight it is infinite, before it consumed
 * anything too, whatever its priority. */
static void usage_counts_over_the_weight(void **state)
{
	uint32_t q;
	struct world w = local_world(100, &q);

	kueue_queues_set_local_weight(w.q, q, 1, 3);
	kueue_queues_set_local_weight(w.q, q, 3, 0);
	world_add_to(&w, q, 1, "weighty", 0, 3, 1000);
	world_add_to(&w, q, 2, "plain", 0, 2, 1000);
	world_add_to(&w, q, 3, "none", 9, 1, 1000);
	assert_true(isinf(kueue_queues_local_usage(w.q, q, 3)));
	consumed(&w, q, 1, 6);
	consumed(&w, q, 2, 4);
	assert_story(&w, "+weighty");
	assert_story(&w, "+plain");
	assert_story(&w, "+none");
	world_done(&w);
}

/* The order changes when usage does, without anything else happening: a is behind b, whose queue
 * consumed less, until that is said to have consumed more. */
static void a_change_of_usage_is_a_reason_to_look_again(void **state)
{
	uint32_t q;
	struct world w = local_world(4, &q);

	consumed(&w, q, 1, 3);
	consumed(&w, q, 2, 1);
	struct kueue_workload *a = world_add_to(&w, q, 1, "a", 0, 1, 1000);
	struct kueue_workload *b = world_add_to(&w, q, 2, "b", 0, 2, 1000);
	assert_int_equal(kueue_queues_position(w.q, a), 1);
	consumed(&w, q, 2, 9);
	assert_int_equal(kueue_queues_position(w.q, a), 0);
	assert_int_equal(kueue_queues_position(w.q, b), 1);
	assert_true(kueue_queues_is_due(w.q));
	assert_story(&w, "+a");
	world_done(&w);
}

/* Samples are due by LocalQueue: 1 was sampled at 1000, 2 at 1004; the interval is 10. */
static void the_next_sample_is_the_earliest(void **state)
{
	uint32_t q;
	struct world w = local_world(100, &q);

	kueue_queues_restore_usage(w.q, q, 1, SPAN("cpu"), 8, S(1000));
	kueue_queues_restore_usage(w.q, q, 2, SPAN("cpu"), 8, S(1004));
	assert_true(kueue_queues_sample_usage(w.q, S(1006)) == S(1010));
	assert_true(kueue_queues_sample_usage(w.q, S(1010)) == S(1014));
	/* 1 has decayed by 0.5^(10/100), 2 not yet; the next of 1 is at 1020. */
	int64_t at;
	assert_true(fabs(kueue_queues_local_consumed(w.q, q, 1, SPAN("cpu"), &at) -
			 8 * pow(0.5, 0.1)) < 1e-9);
	assert_true(at == S(1010));
	assert_true(fabs(kueue_queues_local_consumed(w.q, q, 2, SPAN("cpu"), &at) - 8) < 1e-9);
	assert_true(kueue_queues_sample_usage(w.q, S(1014)) == S(1020));
	world_done(&w);
}

/* Without a half-life nothing is remembered, and an entry costs no penalty. */
static void without_a_half_life_nothing_is_remembered(void **state)
{
	struct kueue_options o = world_options();
	const struct kueue_queue_spec spec = {.weight = 1, .admission_fair_sharing = true};

	o.usage_half_life = 0;
	o.usage_sampling_interval = S(10);
	struct world w = world_with(o);
	uint32_t q = kt_queue_with(w.f, "q", NULL, (struct kueue_quota){9000, NO, NO}, &spec);
	int64_t at;

	world_add_to(&w, q, 1, "a", 0, 1, 2000);
	assert_story(&w, "+a");
	assert_true(fabs(kueue_queues_local_usage(w.q, q, 1)) < 1e-9);
	(void)kueue_queues_sample_usage(w.q, S(1000));
	(void)kueue_queues_sample_usage(w.q, S(1010));
	assert_true(fabs(kueue_queues_local_consumed(w.q, q, 1, SPAN("cpu"), &at)) < 1e-9);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_heavier_local_queue_gives_way),
	    cmocka_unit_test(who_leaves_already_goes_first_among_them_too),
	    cmocka_unit_test(usage_counts_over_the_weight),
	    cmocka_unit_test(a_change_of_usage_is_a_reason_to_look_again),
	    cmocka_unit_test(the_next_sample_is_the_earliest),
	    cmocka_unit_test(without_a_half_life_nothing_is_remembered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
