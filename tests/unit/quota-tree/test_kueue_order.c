/*
 * Who goes first in a cycle under fair sharing (reference/kueue.md section 2.7), among LocalQueues
 * (AdmissionFairSharing), and when victims overlap (2.2). Stories as in test_kueue_cycle.c.
 */
#include "kueue_world.h"
#include <math.h>

static struct kueue_options fair_options(void)
{
	struct kueue_options o = world_options();

	o.fair_sharing = true;
	return o;
}

/* a and b own 2 each, c owns 6 and is idle: 10 can be lent. a uses 4, b uses 2. a's head asks 1: it
 * would borrow 3 of 10, share 300; b's head asks 2: it would borrow 2, share 200. */
static void the_lower_share_after_admission_goes_first(void **state)
{
	for (int heavy = 0; heavy < 2; heavy++) {
		struct world w = world_with(fair_options());
		/* At weight 2 a's share is 150: then it goes first. */
		const struct kueue_queue_spec spec = {.weight = heavy ? 2 : 1};
		uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){2, NO, NO}, &spec);
		uint32_t b = kt_queue(w.f, "b", "co", 2, NO, NO);

		kt_queue(w.f, "c", "co", 6, NO, NO);
		world_add(&w, a, "a0", 0, 1, 4);
		world_add(&w, b, "b0", 0, 2, 2);
		world_cycle(&w);
		world_add(&w, a, "a1", 100, 3, 1);
		world_add(&w, b, "b1", 0, 4, 2);
		assert_story(&w, heavy ? "+a1 +b1" : "+b1 +a1");
		world_done(&w);
	}
}

/* Equal shares (300 both): priority decides, then age. */
static void equal_shares_go_by_priority(void **state)
{
	struct world w = world_with(fair_options());
	uint32_t a = kt_queue(w.f, "a", "co", 2, NO, NO);
	uint32_t b = kt_queue(w.f, "b", "co", 2, NO, NO);

	kt_queue(w.f, "c", "co", 6, NO, NO);
	world_add(&w, a, "a1", 1, 9, 5);
	world_add(&w, b, "b1", 0, 1, 5);
	assert_story(&w, "+a1 +b1");
	world_done(&w);
}

/* Who borrows nothing of what it asks for goes before who does, whatever the weights say. */
static void who_stays_within_its_quota_goes_first(void **state)
{
	struct kueue_options options = fair_options();

	for (int i = 0; i < 2; i++) {
		options.prioritize_non_borrowing = i == 0;
		struct world w = world_with(options);
		/* Of weight 0 it has no share before it borrows, and an infinite one then. */
		uint32_t a = kt_queue(w.f, "a", "co", 2, NO, NO);
		uint32_t b = kt_queue(w.f, "b", "co", 4, NO, NO);

		world_add(&w, a, "a1", 9, 1, 1);
		world_add(&w, b, "b1", 0, 2, 1);
		/* Both within their quota: share 0 both, priority. */
		assert_story(&w, "+a1 +b1");
		world_add(&w, a, "a2", 9, 3, 2); /* borrows 1 */
		world_add(&w, b, "b2", 0, 4, 2);
		assert_story(&w, "+b2 +a2");
		world_done(&w);
	}
}

/* left holds a and b (1 each), right holds c (1); the root itself owns 6: 9 can be lent. b uses 5
 * of left's 2. a asks 1 and stays within its own quota, c asks 2 and borrows 1; at the root left
 * would borrow 4 of 9 (444), right 1 (111): c goes first, since cohorts are compared before queues.
 */
static void cohorts_compete_before_their_queues(void **state)
{
	struct world w = world_with(fair_options());
	uint32_t a, b, c;

	kt_cohort(w.f, "root", NULL, 6, NO, NO);
	kt_cohort(w.f, "left", "root", 0, NO, NO);
	kt_cohort(w.f, "right", "root", 0, NO, NO);
	a = kt_queue(w.f, "a", "left", 1, NO, NO);
	b = kt_queue(w.f, "b", "left", 1, NO, NO);
	c = kt_queue(w.f, "c", "right", 1, NO, NO);
	world_add(&w, b, "b0", 0, 1, 5);
	assert_story(&w, "+b0");
	world_add(&w, a, "a1", 9, 2, 1);
	world_add(&w, c, "c1", 0, 3, 2);
	assert_story(&w, "+c1 +a1");
	world_done(&w);
}

/* ---- victims that overlap ---- */

/* a and c own 3 each, and b borrowed all 6 for two workloads of 3. Both owners ask for their 3
 * back, and for both the younger b2 is the first candidate. */
static void two_reclaimers_take_different_victims(void **state)
{
	struct kueue_options options = world_options();

	for (int i = 0; i < 2; i++) {
		options.recompute_on_overlap = i == 0;
		struct world w = world_with(options);
		const struct kueue_queue_spec spec = {
		    .weight = 1, .preemption.reclaim_within_cohort = KUEUE_PREEMPT_ANY};
		uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){3, NO, NO}, &spec);
		uint32_t b = kt_queue(w.f, "b", "co", 0, NO, NO);
		uint32_t c = kt_queue_with(w.f, "c", "co", (struct kueue_quota){3, NO, NO}, &spec);

		struct kueue_workload *b1 = world_add(&w, b, "b1", 0, 1, 3);
		struct kueue_workload *b2 = world_add(&w, b, "b2", 0, 2, 3);
		assert_story(&w, "+b1");
		assert_story(&w, "+b2");
		world_add(&w, a, "a1", 0, 3, 3);
		world_add(&w, c, "c1", 0, 4, 3);
		/* Alone each would take b2, the younger. The second looks again and takes b1;
		 * without the gate it is skipped, and takes it in the next cycle. */
		assert_story(&w, i == 0 ? "!b2 !b1" : "!b2 -c1");
		if (i)
			assert_story(&w, "-c1"); /* b2 is still everybody's first candidate */
		kueue_queues_released(w.q, b2);
		if (i == 0)
			kueue_queues_released(w.q, b1);
		world_cycle(&w);
		assert_true(strstr(w.story, "+a1") != NULL);
		world_done(&w);
	}
}

/* One large victim makes room for both: the second waits for it with its share held. */
static void who_fits_once_others_victims_are_gone_waits_for_them(void **state)
{
	struct world w = world_with(world_options());
	const struct kueue_queue_spec spec = {
	    .weight = 1, .preemption.reclaim_within_cohort = KUEUE_PREEMPT_ANY};
	uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){3, NO, NO}, &spec);
	uint32_t b = kt_queue(w.f, "b", "co", 0, NO, NO);
	uint32_t c = kt_queue_with(w.f, "c", "co", (struct kueue_quota){3, NO, NO}, &spec);
	struct kueue_workload *b1 = world_add(&w, b, "b1", 0, 1, 6);

	assert_story(&w, "+b1");
	world_add(&w, a, "a1", 0, 2, 3);
	struct kueue_workload *c1 = world_add(&w, c, "c1", 0, 3, 3);
	assert_story(&w, "!b1 -c1");
	assert_true(c1->preemptor);
	kueue_queues_released(w.q, b1);
	assert_story(&w, "+a1 +c1 -b1");
	world_done(&w);
}

/* big's victim (8) makes more room than it needs (3): one and two fit beside what big will hold,
 * but not beside the victim while it runs (2 free): only one of them is admitted now. */
static void room_of_a_victim_counts_when_it_is_gone(void **state)
{
	struct world w = world_with(world_options());
	const struct kueue_queue_spec spec = {
	    .weight = 1, .preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY};
	uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){10, NO, NO}, &spec);
	uint32_t b = kt_queue(w.f, "b", "co", 0, NO, NO);
	uint32_t c = kt_queue(w.f, "c", "co", 0, NO, NO);
	struct kueue_workload *victim = world_add(&w, a, "victim", 0, 1, 8);

	assert_story(&w, "+victim");
	world_add(&w, a, "big", 9, 2, 3);
	world_add(&w, b, "one", 0, 3, 2);
	world_add(&w, c, "two", 0, 4, 2);
	assert_story(&w, "!victim +one -two");
	assert_int_equal(kt_usage(w.f, kueue_forest_root(w.f, a)), 10);
	kueue_queues_released(w.q, victim);
	world_cycle(&w);
	assert_true(strstr(w.story, "+big") && strstr(w.story, "+two"));
	world_done(&w);
}

/* 4 + 3, fairly shared. a holds low (1), which is leaving, and other (2); b holds v (4) and borrows
 * 1. p asks 2: with low gone a would borrow nothing, so v goes, though while low is there p borrows
 * 1 as v did, and v is older. Else v would be given its room again, and preempted again, as often
 * as it leaves before low. */
static void a_victim_does_not_take_back_what_its_preemptor_waits_for(void **state)
{
	struct kueue_options options = world_options();
	options.fair_sharing = true;
	struct world w = world_with(options);
	const struct kueue_queue_spec spec = {
	    .weight = 1,
	    .preemption = {.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY,
			   .reclaim_within_cohort = KUEUE_PREEMPT_ANY}};
	uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){4, NO, NO}, &spec);
	uint32_t b = kt_queue(w.f, "b", "co", 3, NO, NO);
	struct kueue_workload *v = world_add(&w, b, "v", 9, 1, 4);

	assert_story(&w, "+v");
	struct kueue_workload *low = world_add(&w, a, "low", 0, 2, 1);
	assert_story(&w, "+low");
	world_add(&w, a, "other", 9, 3, 2);
	assert_story(&w, "+other");
	kueue_queues_evicted(w.q, low);
	struct kueue_workload *p = world_add(&w, a, "p", 9, 4, 2);
	assert_story(&w, "!v");
	kueue_queues_released(w.q, v);
	assert_story(&w, "+p -v");
	/* Nobody it went for waits any more: with room it has its own place again. */
	kueue_queues_released(w.q, low);
	kueue_queues_remove(w.q, p);
	world_cycle(&w);
	assert_true(strstr(w.story, "+v") != NULL);
	world_done(&w);
}

/* ---- AdmissionFairSharing ---- */

#define S(n) ((int64_t)(n)*1000000)

static struct world local_world(uint32_t *ret_queue)
{
	struct kueue_options o = world_options();
	const struct kueue_queue_spec spec = {.weight = 1, .admission_fair_sharing = true};

	o.usage_half_life = S(100);
	o.usage_sampling_interval = S(10);
	struct world w = world_with(o);
	*ret_queue = kt_queue_with(w.f, "q", NULL, (struct kueue_quota){100000, NO, NO}, &spec);
	return w;
}

static void the_local_queue_that_consumed_less_goes_first(void **state)
{
	uint32_t q;
	struct world w = local_world(&q);

	world_add_to(&w, q, 1, "a1", 0, 1, 1000);
	world_add_to(&w, q, 1, "a2", 0, 2, 1000);
	world_add_to(&w, q, 1, "a3", 9, 9, 1000);
	struct kueue_workload *b1 = world_add_to(&w, q, 2, "b1", 0, 5, 1000);
	world_add_to(&w, q, 2, "b2", 0, 6, 1000);
	/* Nobody consumed anything: priority, then age. */
	assert_int_equal(kueue_queues_position(w.q, b1), 3);
	assert_story(&w, "+a3");
	/* Its entry costs LocalQueue 1 a penalty: 2 goes first now, however young. */
	assert_int_equal(kueue_queues_position(w.q, b1), 0);
	assert_int_equal(kueue_queues_position_local(w.q, b1), 0);
	assert_ptr_equal(kueue_queues_at(w.q, q, 0), b1);
	assert_story(&w, "+b1");
	assert_story(&w, "+a1"); /* equal penalties: by age again */
	assert_story(&w, "+b2");
	assert_story(&w, "+a2");
	world_done(&w);
}

static void near(double value, double want)
{
	if (fabs(value - want) > 1e-6)
		fail_msg("%.9f instead of %.9f", value, want);
}

/* alpha = 1 - 0.5^(10/100) = 0.066967 for an entry. After one half life of holding 2 cores:
 * 0 x 0.5 + 2 x 0.5 + 2 x 0.066967 = 1.133934; after another one of holding nothing, half of it. */
static void consumption_decays_by_half_in_its_half_life(void **state)
{
	uint32_t q;
	struct world w = local_world(&q);
	struct kueue_workload *a = world_add_to(&w, q, 1, "a", 0, 1, 2000);
	double alpha = 1 - pow(0.5, 0.1);
	int64_t at = 0;

	assert_true(kueue_queues_sample_usage(w.q, S(1000)) == S(1010));
	assert_story(&w, "+a");
	near(kueue_queues_local_usage(w.q, q, 1), 2 * alpha);
	near(kueue_queues_local_consumed(w.q, q, 1, SPAN("cpu"), &at), 0);
	assert_true(kueue_queues_sample_usage(w.q, S(1100)) == S(1110));
	near(kueue_queues_local_consumed(w.q, q, 1, SPAN("cpu"), &at), 1 + 2 * alpha);
	assert_true(at == S(1100));
	kueue_queues_remove(w.q, a);
	(void)kueue_queues_sample_usage(w.q, S(1105)); /* too early: nothing is settled */
	near(kueue_queues_local_usage(w.q, q, 1), 1 + 2 * alpha);
	(void)kueue_queues_sample_usage(w.q, S(1200));
	near(kueue_queues_local_usage(w.q, q, 1), (1 + 2 * alpha) / 2);
	/* Over its weight; without one it goes last. */
	kueue_queues_set_local_weight(w.q, q, 1, 2);
	near(kueue_queues_local_usage(w.q, q, 1), (1 + 2 * alpha) / 4);
	kueue_queues_set_local_weight(w.q, q, 1, 0);
	assert_true(kueue_queues_local_usage(w.q, q, 1) > 1e300);
	/* A restart reads what was stored. */
	kueue_queues_restore_usage(w.q, q, 2, SPAN("cpu"), 3, S(1200));
	near(kueue_queues_local_usage(w.q, q, 2), 3);
	world_done(&w);
}

/* One verdict holds for the equal workloads of every LocalQueue of the queue. */
static void equal_workloads_of_all_local_queues_are_parked_together(void **state)
{
	uint32_t q;
	struct world w = local_world(&q);
	struct kueue_workload *a = world_add_to(&w, q, 1, "a", 0, 1, 200000);
	struct kueue_workload *b = world_add_to(&w, q, 2, "b", 0, 2, 200000);

	assert_story(&w, "-a");
	assert_int_equal(kueue_queues_state(a), KUEUE_INADMISSIBLE);
	assert_int_equal(kueue_queues_state(b), KUEUE_INADMISSIBLE);
	assert_string_equal(kueue_queues_parked_reason(b), "ExceedsMaxQuota");
	assert_story(&w, "");
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_lower_share_after_admission_goes_first),
	    cmocka_unit_test(equal_shares_go_by_priority),
	    cmocka_unit_test(who_stays_within_its_quota_goes_first),
	    cmocka_unit_test(cohorts_compete_before_their_queues),
	    cmocka_unit_test(two_reclaimers_take_different_victims),
	    cmocka_unit_test(who_fits_once_others_victims_are_gone_waits_for_them),
	    cmocka_unit_test(room_of_a_victim_counts_when_it_is_gone),
	    cmocka_unit_test(a_victim_does_not_take_back_what_its_preemptor_waits_for),
	    cmocka_unit_test(the_local_queue_that_consumed_less_goes_first),
	    cmocka_unit_test(consumption_decays_by_half_in_its_half_life),
	    cmocka_unit_test(equal_workloads_of_all_local_queues_are_parked_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
