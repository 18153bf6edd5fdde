/*
 * One entry of a cycle against those before it (reference/kueue.md 2.2 and 2.3): victims that
 * overlap, flavors that are kept when it is looked at again, what it tries next time, and shares
 * that change with what is held back. Numbers are milli-cpus.
 */
#include "kueue_world.h"

static const char *flavor_of(const struct world *w, const struct kueue_entry *e)
{
	return kueue_forest_flavor_name(w->f, e->assignment.choices.items[0].flavor).ptr;
}

/* A queue of cpu in the given flavors, the same quota of each. */
static uint32_t queue_in(struct world *w, const char *name, const char *cohort, size_t n_flavors,
			 int64_t nominal, const struct kueue_queue_spec *more)
{
	static const struct span names[] = {SPAN("one"), SPAN("two"), SPAN("three")};
	struct kueue_quota quotas[3] = {{nominal, NO, NO}, {nominal, NO, NO}, {nominal, NO, NO}};
	const struct kueue_group_spec group = {kt_cpu, 1, names, n_flavors, quotas};

	for (size_t i = 0; i < n_flavors; i++)
		kt_flavor(w->f, names[i].ptr);
	return kt_queue_of(w->f, name, cohort, &group, 1, more);
}

static struct kueue_entry *next_of(struct world *w, const char *name)
{
	struct kueue_entry *e;

	while ((e = kueue_cycle_next(w->q)) && !span_is(e->workload->name, name))
		if (e->kind == KUEUE_ENTRY_PREEMPTS)
			kueue_cycle_preempt(w->q, e);
		else if (e->kind == KUEUE_ENTRY_FITS)
			kueue_cycle_admit(w->q, e, false);
	return e;
}

/* Gate RecomputeAssignmentUponPreemptionTargetsOverlap off: a1 takes the victim of 10, which would
 * make room for c1's 4 as well; c1 named the same victim and is skipped. */
static void without_the_gate_who_names_the_same_victim_is_skipped(void **state)
{
	struct kueue_options options = world_options();
	const struct kueue_queue_spec spec = {
	    .weight = 1, .preemption.reclaim_within_cohort = KUEUE_PREEMPT_ANY};

	options.recompute_on_overlap = false;
	struct world w = world_with(options);
	uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){5, NO, NO}, &spec);
	uint32_t b = kt_queue(w.f, "b", "co", 0, NO, NO);
	uint32_t c = kt_queue_with(w.f, "c", "co", (struct kueue_quota){5, NO, NO}, &spec);
	world_add(&w, b, "victim", 0, 1, 10);
	assert_story(&w, "+victim");
	world_add(&w, a, "a1", 0, 2, 4);
	world_add(&w, c, "c1", 0, 3, 4);
	kueue_cycle_begin(w.q, ++w.now);
	const struct kueue_entry *e = next_of(&w, "c1");
	assert_int_equal(e->kind, KUEUE_ENTRY_WAITS);
	assert_string_equal(e->reason, "WaitingForQuota");
	assert_string_equal(e->message,
			    "Workload has overlapping preemption targets with another workload");
	(void)kueue_cycle_end(w.q);
	world_done(&w);
}

/* The same with the gate, which is on: the 10 make room for both, and c1 says so in Kueue's words.
 */
static void who_fits_once_anothers_victims_are_gone_says_so(void **state)
{
	const struct kueue_queue_spec spec = {
	    .weight = 1, .preemption.reclaim_within_cohort = KUEUE_PREEMPT_ANY};
	struct world w = world_with(world_options());
	uint32_t a = kt_queue_with(w.f, "a", "co", (struct kueue_quota){5, NO, NO}, &spec);
	uint32_t b = kt_queue(w.f, "b", "co", 0, NO, NO);
	uint32_t c = kt_queue_with(w.f, "c", "co", (struct kueue_quota){5, NO, NO}, &spec);

	world_add(&w, b, "victim", 0, 1, 10);
	assert_story(&w, "+victim");
	world_add(&w, a, "a1", 0, 2, 4);
	world_add(&w, c, "c1", 0, 3, 4);
	kueue_cycle_begin(w.q, ++w.now);
	const struct kueue_entry *e = next_of(&w, "c1");
	assert_int_equal(e->kind, KUEUE_ENTRY_WAITS);
	assert_string_equal(e->reason, "WaitingForPreemptedWorkloads");
	assert_string_equal(e->message,
			    "Workload has overlapping preemption targets with another workload, "
			    "but will fit after these preemptions complete");
	(void)kueue_cycle_end(w.q);
	world_done(&w);
}

/* Of flavor one the cohort has 6: v (3, priority 0) and x (3, 9) hold them. a1 and c1 (5) both need
 * v, and stop at one since they can preempt there. Once a1 has v, c1 is looked at again on flavor
 * one alone: nobody is left for it; flavor two, which is free, is for its next attempt. */
static void flavors_are_kept_when_it_is_looked_at_again(void **state)
{
	const struct kueue_queue_spec spec = {.weight = 1,
					      .when_can_preempt = KUEUE_MAY_STOP_SEARCH,
					      .preemption.reclaim_within_cohort =
						  KUEUE_PREEMPT_LOWER_PRIORITY};
	struct world w = world_with(world_options());
	uint32_t a = queue_in(&w, "a", "co", 2, 3, &spec);
	uint32_t b = queue_in(&w, "b", "co", 1, 0, NULL);
	uint32_t c = queue_in(&w, "c", "co", 2, 3, &spec);

	world_add(&w, b, "v", 0, 1, 3);
	world_add(&w, b, "x", 9, 2, 3);
	assert_story(&w, "+x");
	assert_story(&w, "+v");
	world_add(&w, a, "a1", 5, 3, 3);
	world_add(&w, c, "c1", 5, 4, 3);
	kueue_cycle_begin(w.q, ++w.now);
	const struct kueue_entry *e = next_of(&w, "c1");
	assert_int_equal(e->kind, KUEUE_ENTRY_WAITS);
	assert_string_equal(e->reason, "WaitingForQuota");
	assert_int_equal(e->assignment.mode, KUEUE_NO_CANDIDATES);
	(void)kueue_cycle_end(w.q);
	world_done(&w);
}

/* Placement takes no workload on flavor one. */
static bool is_not_one(const struct kueue_entry *e)
{
	const struct kueue_forest *f = e->workload->owner;

	return !span_is(kueue_forest_flavor_name(f, e->assignment.choices.items[0].flavor), "one");
}

/* Flavor one is free, but placement refuses it; in flavor two `low` has to go for it. */
static void a_refused_flavor_gives_way_to_one_with_victims(void **state)
{
	const struct kueue_queue_spec spec = {
	    .weight = 1, .preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY};
	struct world w = world_with(world_options());
	uint32_t q = queue_in(&w, "q", NULL, 2, 4, &spec);

	w.places = is_not_one;
	world_add(&w, q, "low", 0, 1, 4)->owner = w.f;
	assert_story(&w, "+low"); /* on two */
	world_add(&w, q, "high", 9, 2, 4)->owner = w.f;
	assert_story(&w, "!low");
	world_done(&w);
}

/* One is full of higher priorities, two can be had by preemption, three is full again. Who waits
 * for its victim of flavor two begins anew with flavor one in its next cycle (Kueue drops the
 * progress of a preemptor): there is room now. */
static void who_preempts_begins_with_the_first_flavor_again(void **state)
{
	const struct kueue_queue_spec spec = {.weight = 1,
					      .when_can_preempt = KUEUE_MAY_STOP_SEARCH,
					      .preemption.within_cluster_queue =
						  KUEUE_PREEMPT_LOWER_PRIORITY};
	struct world w = world_with(world_options());
	uint32_t q = queue_in(&w, "q", NULL, 3, 4, &spec);
	struct kueue_workload *one = world_add(&w, q, "h1", 9, 1, 4);

	assert_story(&w, "+h1");
	world_add(&w, q, "low", 0, 2, 4);
	assert_story(&w, "+low");
	struct kueue_workload *three = world_add(&w, q, "h2", 0, 3, 4);
	assert_story(&w, "+h2");
	kueue_queues_set_priority(w.q, three, 9);
	world_add(&w, q, "in", 5, 4, 4);
	assert_story(&w, "!low");
	kueue_queues_remove(w.q, one);
	kueue_cycle_begin(w.q, ++w.now);
	struct kueue_entry *e = kueue_cycle_next(w.q);
	assert_int_equal(e->kind, KUEUE_ENTRY_FITS);
	assert_string_equal(flavor_of(&w, e), "one");
	kueue_cycle_admit(w.q, e, false);
	(void)kueue_cycle_end(w.q);
	world_done(&w);
}

/* Who waits for victims is first of a BestEffortFIFO queue whatever comes; once the queue is
 * StrictFIFO, and it has been tried again, priority orders them all. */
static void a_strict_queue_has_no_head_that_stays(void **state)
{
	struct kueue_queue_spec spec = {
	    .weight = 1, .preemption.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY};
	struct world w = world_with(world_options());
	uint32_t q = kt_queue_with(w.f, "q", NULL, (struct kueue_quota){4, NO, NO}, &spec);

	world_add(&w, q, "low", 0, 1, 4);
	assert_story(&w, "+low");
	struct kueue_workload *in = world_add(&w, q, "in", 5, 2, 4);
	assert_story(&w, "!low");
	struct kueue_workload *high = world_add(&w, q, "high", 9, 3, 4);
	assert_int_equal(kueue_queues_position(w.q, in), 0);
	spec.strategy = KUEUE_STRICT_FIFO;
	kt_queue_with(w.f, "q", NULL, (struct kueue_quota){4, NO, NO}, &spec);
	kueue_queues_edited(w.q, q);
	assert_int_equal(kueue_queues_position(w.q, in), 0);
	assert_story(&w, ""); /* its victim is on its way */
	assert_int_equal(kueue_queues_position(w.q, high), 0);
	assert_int_equal(kueue_queues_position(w.q, in), 1);
	world_done(&w);
}

/*
 * Fair sharing: what a blocked head holds back counts in the shares of those after it. The root
 * owns 150: filler 35, a0 30, c0 45, 40 are free. Shares at the root, after admission:
 *	left with a1 (30):	(30 + 30) / 150 = 400	right with c1 (20):	(45 + 20) / 150 =
 *433 so that left goes first; within it a (weight 10: 40) before b (20 / 150 = 133). a1 may use 50
 *at most and is blocked: it holds back min(30, 50 - 30) = 20 of the 40. Now left with b1 (20) is
 * (30 + 20 + 20) / 150 = 466: c1 goes before b1, and takes the last 20.
 */
static void what_is_held_back_counts_in_the_shares(void **state)
{
	struct kueue_options options = world_options();
	const struct kueue_queue_spec blocked = {
	    .weight = 10, .preemption.reclaim_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY};

	options.fair_sharing = true;
	struct world w = world_with(options);
	kt_cohort(w.f, "root", NULL, 150, NO, NO);
	kt_cohort(w.f, "left", "root", 0, NO, NO);
	kt_cohort(w.f, "right", "root", 0, NO, NO);
	uint32_t a = kt_queue_with(w.f, "a", "left", (struct kueue_quota){0, 50, NO}, &blocked);
	uint32_t b = kt_queue(w.f, "b", "left", 0, NO, NO);
	uint32_t c = kt_queue(w.f, "c", "right", 0, NO, NO);
	uint32_t f = kt_queue(w.f, "f", "root", 0, NO, NO);
	world_add(&w, a, "a0", 9, 1, 30);
	world_add(&w, c, "c0", 9, 1, 45);
	world_add(&w, f, "f0", 9, 1, 35);
	world_cycle(&w);
	assert_int_equal(kt_usage(w.f, kueue_forest_root(w.f, a)), 110);
	world_add(&w, a, "a1", 0, 2, 30);
	world_add(&w, b, "b1", 0, 3, 20);
	world_add(&w, c, "c1", 0, 4, 20);
	assert_story(&w, "-a1 +c1 -b1");
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(without_the_gate_who_names_the_same_victim_is_skipped),
	    cmocka_unit_test(who_fits_once_anothers_victims_are_gone_says_so),
	    cmocka_unit_test(flavors_are_kept_when_it_is_looked_at_again),
	    cmocka_unit_test(a_refused_flavor_gives_way_to_one_with_victims),
	    cmocka_unit_test(who_preempts_begins_with_the_first_flavor_again),
	    cmocka_unit_test(a_strict_queue_has_no_head_that_stays),
	    cmocka_unit_test(what_is_held_back_counts_in_the_shares),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
