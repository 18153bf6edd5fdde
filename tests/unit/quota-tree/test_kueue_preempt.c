/*
 * Classical preemption (reference/kueue.md section 2.6), worked out by hand.
 */
#include "kueue_testing.h"

static struct kueue_queue_spec policies(enum kueue_preempt_policy within,
					enum kueue_preempt_policy reclaim)
{
	return (struct kueue_queue_spec){
	    .weight = 1,
	    .preemption = {.within_cluster_queue = within, .reclaim_within_cohort = reclaim}};
}

static uint32_t queue(struct kt_world *w, const char *name, const char *cohort, int64_t nominal,
		      struct kueue_queue_spec spec)
{
	return kt_queue_with(w->f, name, cohort, (struct kueue_quota){nominal, NO, NO}, &spec);
}

static struct kueue_queue_spec never(void)
{
	return policies(KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_NEVER);
}

#define victims(w, wl) kt_victims(w, wl, NULL)

/* ---- the own queue ---- */

static void lower_priorities_go_and_only_as_many_as_needed(void **state)
{
	/* 6, all used; 3 asked. newer (2) goes, then older (3): 5. With newer back 3 are left. */
	struct kt_world w = kt_world();
	uint32_t q =
	    queue(&w, "q", NULL, 6, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_NEVER));

	kt_hold(&w, q, "older", -1, 1, "default", 3);
	kt_hold(&w, q, "newer", -1, 2, "default", 2);
	kt_hold(&w, q, "mid", 0, 3, "default", 1);
	assert_string_equal(victims(&w, kt_workload(&w, q, "in", 1, 9, 3)), "older:InClusterQueue");
	assert_string_equal(victims(&w, kt_workload(&w, q, "in2", 1, 9, 2)),
			    "newer:InClusterQueue");
	assert_int_equal(kt_usage(w.f, q), 6);
	kt_done(&w);
}

static void fill_back_swaps_the_last_one_in(void **state)
{
	/* 10: 1 + 4 + 5; 9 asked: all three go. 4 back leaves 6, no; 1 back leaves 9: the last of
	 * the list takes its place. */
	struct kt_world w = kt_world();
	uint32_t q =
	    queue(&w, "q", NULL, 10, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_NEVER));

	kt_hold(&w, q, "v1", 0, 1, "default", 1);
	kt_hold(&w, q, "v2", 1, 1, "default", 4);
	kt_hold(&w, q, "v3", 2, 1, "default", 5);
	assert_string_equal(victims(&w, kt_workload(&w, q, "in", 3, 9, 9)),
			    "v3:InClusterQueue v2:InClusterQueue");
	kt_done(&w);
}

static void equal_priority_goes_only_when_newer_and_the_policy_says_so(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q = queue(&w, "q", NULL, 4,
			   policies(KUEUE_PREEMPT_LOWER_OR_NEWER_EQUAL, KUEUE_PREEMPT_NEVER));
	struct kueue_workload *in = kt_workload(&w, q, "in", 1, 5, 2);

	kt_hold(&w, q, "older", 1, 4, "default", 2);
	kt_hold(&w, q, "newer", 1, 6, "default", 2);
	assert_string_equal(victims(&w, in), "newer:InClusterQueue");
	in->queue_order = 4; /* not before 4, before 6 */
	assert_string_equal(victims(&w, in), "newer:InClusterQueue");
	in->queue_order = 6;
	assert_string_equal(victims(&w, in), "");
	in->queue_order = 1;
	queue(&w, "q", NULL, 4, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_NEVER));
	assert_string_equal(victims(&w, in), "");
	queue(&w, "q", NULL, 4, never());
	in->priority = 100;
	assert_string_equal(victims(&w, in), "");
	kt_done(&w);
}

static void evicted_ones_come_first_whatever_their_priority(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q =
	    queue(&w, "q", NULL, 4, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_NEVER));
	struct kueue_workload *leaving = kt_hold(&w, q, "leaving", 4, 1, "default", 2);

	kt_hold(&w, q, "low", 0, 2, "default", 2);
	kueue_holders_unfile(w.f, leaving);
	leaving->state = KUEUE_EVICTED;
	kueue_holders_file(w.f, leaving);
	assert_string_equal(victims(&w, kt_workload(&w, q, "in", 5, 9, 2)),
			    "leaving:InClusterQueue");
	kt_done(&w);
}

static void the_uid_is_the_last_word(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q =
	    queue(&w, "q", NULL, 4, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_NEVER));

	kt_hold(&w, q, "b", 0, 7, "default", 2);
	kt_hold(&w, q, "a", 0, 7, "default", 2);
	assert_string_equal(victims(&w, kt_workload(&w, q, "in", 5, 9, 2)), "a:InClusterQueue");
	kt_done(&w);
}

static void only_holders_of_what_is_short_are_candidates(void **state)
{
	/* low holds another flavor: its leaving helps nobody. */
	static const struct span flavors[] = {SPAN("one"), SPAN("two")};
	static const struct kueue_quota quotas[] = {{4, NO, NO}, {2, NO, NO}};
	const struct kueue_group_spec group = {kt_cpu, 1, flavors, 2, quotas};
	struct kueue_queue_spec spec = policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_NEVER);
	struct kt_world w = kt_world();
	uint32_t q;

	kt_flavor(w.f, "one");
	kt_flavor(w.f, "two");
	q = kt_queue_of(w.f, "q", NULL, &group, 1, &spec);
	kt_hold(&w, q, "low", -5, 1, "two", 2);
	kt_hold(&w, q, "mid", 0, 1, "one", 4);
	assert_string_equal(victims(&w, kt_workload(&w, q, "in", 5, 9, 3)), "mid:InClusterQueue");
	kt_done(&w);
}

static void one_that_is_taken_already_is_no_candidate(void **state)
{
	struct kt_world w = kt_world();
	uint32_t q =
	    queue(&w, "q", NULL, 4, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_NEVER));
	struct kueue_workload *low = kt_hold(&w, q, "low", 0, 1, "default", 2);

	kt_hold(&w, q, "mid", 1, 1, "default", 2);
	kueue_holders_set_taken(low, true);
	assert_string_equal(victims(&w, kt_workload(&w, q, "in", 5, 9, 2)), "mid:InClusterQueue");
	kt_done(&w);
}

static void admission_fair_sharing_takes_from_the_heavier_local_queue(void **state)
{
	static const double usage[] = {10.0, 30.0, 0};
	struct kueue_queue_spec spec = policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_NEVER);
	struct kt_world w = kt_world();
	uint32_t q = queue(&w, "q", NULL, 4, spec);

	kt_hold(&w, q, "light", 0, 1, "default", 2)->local_queue = 0;
	kt_hold(&w, q, "heavy", 3, 1, "default", 2)->local_queue = 1;
	struct kueue_workload *in = kt_workload(&w, q, "in", 5, 9, 2);
	kueue_forest_set_local_usage(w.f, usage, ARRAY_LEN(usage));
	assert_string_equal(victims(&w, in), "light:InClusterQueue"); /* not on in this queue */
	spec.admission_fair_sharing = true;
	queue(&w, "q", NULL, 4, spec);
	assert_string_equal(victims(&w, in), "heavy:InClusterQueue");
	kt_done(&w);
}

/* ---- reclaim ---- */

static void quota_is_taken_back_from_who_borrows_it(void **state)
{
	/* 4 + 4; b holds 6, two of them a's. a asks 4, 2 are free: the newest of b's lowest. */
	struct kt_world w = kt_world();
	uint32_t a = queue(&w, "a", "co", 4, policies(KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_ANY));
	uint32_t b = queue(&w, "b", "co", 4, never());

	kt_hold(&w, b, "b1", 0, 1, "default", 3);
	kt_hold(&w, b, "b2", 0, 2, "default", 2);
	kt_hold(&w, b, "b3", 5, 3, "default", 1);
	struct kueue_workload *in = kt_workload(&w, a, "in", -9, 9, 4);
	assert_string_equal(victims(&w, in), "b2:InCohortReclamation");
	/* LowerPriority: nobody of b is below -9. */
	queue(&w, "a", "co", 4, policies(KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_LOWER_PRIORITY));
	assert_string_equal(victims(&w, in), "");
	in->priority = 1;
	assert_string_equal(victims(&w, in), "b2:InCohortReclamation");
	kt_done(&w);
}

static void a_queue_at_its_nominal_gives_nobody_up(void **state)
{
	/* 6 + 4 + 1 = 11. b holds 2 + 2 + 2, c 2; a asks 6, 3 are free. b3 goes, b is at its 4 and
	 * out of it, c1 goes: 7. Nothing can come back: 5 < 6. */
	struct kt_world w = kt_world();
	uint32_t a = queue(&w, "a", "co", 6, policies(KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_ANY));
	uint32_t b = queue(&w, "b", "co", 4, never()), c = queue(&w, "c", "co", 1, never());

	kt_hold(&w, b, "b1", 0, 1, "default", 2);
	kt_hold(&w, b, "b2", 0, 2, "default", 2);
	kt_hold(&w, b, "b3", 0, 3, "default", 2);
	kt_hold(&w, c, "c1", 9, 1, "default", 2);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 0, 9, 6)),
			    "b3:InCohortReclamation c1:InCohortReclamation");
	kt_done(&w);
}

static void others_go_before_one_s_own_and_without_borrowing_first(void **state)
{
	/* 4 + 4. a holds low 3 and asks 4, which its quota does not hold beside 3: no advantage. b
	 * holds 5. Below nominal (3 < 4), borrowing forbidden: first without borrowing. b1 leaves b
	 * at 4; low leaves a at 0. b1 back would leave 3. */
	struct kt_world w = kt_world();
	uint32_t a =
	    queue(&w, "a", "co", 4, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_ANY));
	uint32_t b = queue(&w, "b", "co", 4, never());

	kt_hold(&w, a, "low", -1, 1, "default", 3);
	kt_hold(&w, b, "b1", 0, 2, "default", 1);
	kt_hold(&w, b, "b2", 0, 1, "default", 4);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 3, 9, 4)),
			    "b1:InCohortReclamation low:InClusterQueue");
	kt_done(&w);
}

static void at_nominal_others_are_left_alone(void **state)
{
	/* As before, but low holds all 4 of a: not strictly below nominal, so only the own queue,
	 * with borrowing. 8 - 5 = 3 are left without low: 4 do not fit, 3 do. */
	struct kt_world w = kt_world();
	uint32_t a =
	    queue(&w, "a", "co", 4, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_ANY));
	uint32_t b = queue(&w, "b", "co", 4, never());

	kt_hold(&w, a, "low", -1, 1, "default", 4);
	kt_charge(w.f, b, 4);
	kt_hold(&w, b, "b1", 0, 2, "default", 1);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 3, 9, 4)), "");
	assert_string_equal(victims(&w, kt_workload(&w, a, "in3", 3, 9, 3)), "low:InClusterQueue");
	kt_release(w.f, b, 4);
	kt_done(&w);
}

static void borrow_within_cohort_takes_those_below_the_threshold(void **state)
{
	/* 2 + 8. a asks 5 at 10: three of them borrowed. b holds 10. Threshold 3: b1 (0) may go
	 * while a borrows, b2 (5) only if a did not. */
	struct kueue_queue_spec spec = policies(KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_LOWER_PRIORITY);
	struct kt_world w = kt_world();
	uint32_t a, b;

	spec.preemption.borrow_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY;
	spec.preemption.has_max_priority_threshold = true;
	spec.preemption.max_priority_threshold = 3;
	a = queue(&w, "a", "co", 2, spec);
	b = queue(&w, "b", "co", 8, never());
	struct kueue_workload *b1 = kt_hold(&w, b, "b1", 0, 1, "default", 6);
	kt_hold(&w, b, "b2", 5, 1, "default", 4);
	struct kueue_workload *in = kt_workload(&w, a, "in", 10, 9, 5);
	assert_string_equal(victims(&w, in), "b1:InCohortReclaimWhileBorrowing");
	assert_true(w.v.borrows);
	kueue_holders_unfile(w.f, b1);
	b1->priority = 4; /* above the threshold too */
	kueue_holders_file(w.f, b1);
	assert_string_equal(victims(&w, in), "");
	spec.preemption.has_max_priority_threshold = false;
	queue(&w, "a", "co", 2, spec);
	assert_string_equal(victims(&w, in), "b1:InCohortReclaimWhileBorrowing");
	in->priority = 4; /* not above b1 */
	assert_string_equal(victims(&w, in), "");
	/* Without borrowWithinCohort 5 of 2 cannot be had by preemption at all. */
	queue(&w, "a", "co", 2, policies(KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_ANY));
	assert_string_equal(victims(&w, in), "NoFit");
	kt_done(&w);
}

static void a_subtree_takes_back_what_it_lent_even_when_the_queue_borrows(void **state)
{
	/* left (a 4, b 4) and right (c 0): c holds all 8 of left's. a asks 6: above its own 4, but
	 * left holds it: advantage over c, whatever its priority and though a borrows from b. */
	struct kt_world w = kt_world();
	uint32_t a, c;

	kt_cohort(w.f, "left", "root", 0, NO, NO);
	kt_cohort(w.f, "right", "root", 0, NO, NO);
	a = queue(&w, "a", "left", 4, policies(KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_ANY));
	queue(&w, "b", "left", 4, never());
	c = queue(&w, "c", "right", 0, never());
	kt_hold(&w, c, "c1", 9, 1, "default", 2);
	kt_hold(&w, c, "c2", 9, 2, "default", 6);
	struct kueue_workload *in = kt_workload(&w, a, "in", 0, 9, 6);
	assert_string_equal(victims(&w, in), "c2:InCohortReclamation");
	assert_true(w.v.borrows);
	kt_done(&w);
}

static void a_cohort_within_its_quota_shields_its_queues(void **state)
{
	/* right owns 8, and c (0) holds them: above its own, but right lends nobody's. Left's 8 are
	 * all held in b. a asks its own 4: only b's may go. */
	struct kt_world w = kt_world();
	uint32_t a, b, c;

	kt_cohort(w.f, "left", "root", 0, NO, NO);
	kt_cohort(w.f, "right", "root", 8, NO, NO);
	a = queue(&w, "a", "left", 4, policies(KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_ANY));
	b = queue(&w, "b", "left", 4, never());
	c = queue(&w, "c", "right", 0, never());
	kt_hold(&w, c, "c1", -9, 1, "default", 8);
	kt_charge(w.f, b, 8);
	struct kueue_workload *in = kt_workload(&w, a, "in", 0, 9, 4);
	assert_string_equal(victims(&w, in), "");
	kt_charge(w.f, c, 1); /* now right borrows 1, of the root that has none: c1 may go */
	assert_string_equal(victims(&w, in), "c1:InCohortReclamation");
	kt_release(w.f, c, 1);
	kt_release(w.f, b, 8);
	kt_done(&w);
}

static void hierarchical_candidates_go_before_those_by_priority(void **state)
{
	/*
	 * left (a 2, b 2, own 2) and c 4 beside it: 10. b holds 3 (above its 2), c holds 7 (above
	 * 4). a asks 3 at 5: its 2 do not hold it, so b's are by priority; left's 6 hold 3 + 3: c's
	 * are hierarchical. borrowWithinCohort on: c1 goes first though b1 has the lower priority.
	 */
	struct kueue_queue_spec spec = policies(KUEUE_PREEMPT_NEVER, KUEUE_PREEMPT_ANY);
	struct kt_world w = kt_world();
	uint32_t a, b, c;

	spec.preemption.borrow_within_cohort = KUEUE_PREEMPT_LOWER_PRIORITY;
	kt_cohort(w.f, "left", "root", 2, NO, NO);
	a = queue(&w, "a", "left", 2, spec);
	b = queue(&w, "b", "left", 2, never());
	c = queue(&w, "c", "root", 4, never());
	kt_hold(&w, b, "b1", 0, 1, "default", 3);
	kt_hold(&w, c, "c1", 3, 1, "default", 3);
	kt_hold(&w, c, "c2", 4, 1, "default", 4);
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 5, 9, 3)),
			    "c1:InCohortReclamation");
	kt_done(&w);
}

static void evicted_ones_of_every_list_go_first(void **state)
{
	struct kt_world w = kt_world();
	uint32_t a =
	    queue(&w, "a", "co", 6, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_ANY));
	uint32_t b = queue(&w, "b", "co", 2, never());
	struct kueue_workload *own = kt_hold(&w, a, "own", 0, 1, "default", 2);

	kt_hold(&w, b, "b1", 0, 1, "default", 6);
	kueue_holders_unfile(w.f, own);
	own->state = KUEUE_EVICTED;
	kueue_holders_file(w.f, own);
	/* 2 more needed: what is leaving anyway gives them. */
	assert_string_equal(victims(&w, kt_workload(&w, a, "in", 5, 9, 2)), "own:InClusterQueue");
	kt_done(&w);
}

/* ---- the oracle ---- */

static void the_oracle_tells_reclaim_from_preemption(void **state)
{
	struct kt_world w = kt_world();
	uint32_t a =
	    queue(&w, "a", "co", 4, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_ANY));
	uint32_t b = queue(&w, "b", "co", 4, never());
	struct kueue_use use = kt_use(w.f, "default", "cpu", 0);
	struct kueue_workload *in = kt_workload(&w, a, "in", 3, 9, 1);
	uint32_t level;

	kt_hold(&w, a, "low", -1, 1, "default", 2);
	kt_hold(&w, b, "b1", 0, 2, "default", 6);
	/* 2 more: b's 2 above its quota are enough, and are within a's own quota. */
	assert_int_equal(kueue_preempt_possible(w.f, in, use.flavor, use.resource, 2, &level),
			 KUEUE_RECLAIM);
	assert_int_equal(level, 0);
	/* 4: low has to go as well. */
	assert_int_equal(kueue_preempt_possible(w.f, in, use.flavor, use.resource, 4, &level),
			 KUEUE_PREEMPT);
	assert_int_equal(level, 0);
	/* 9 of 8: nobody can help; the level is that of the whole tree. */
	assert_int_equal(kueue_preempt_possible(w.f, in, use.flavor, use.resource, 9, &level),
			 KUEUE_NO_CANDIDATES);
	assert_int_equal(level, 1);
	kt_check(w.f);
	kt_done(&w);
}

/* ---- nodes ---- */

struct nodes { /* each holder of a name below "n" sits on one node of the member */
	int free, needed;
	int taken, given;
};

static bool sits_there(const struct kueue_workload *w)
{
	return w->name.ptr[0] < 'n';
}

static bool useful(void *context, const struct kueue_workload *w)
{
	(void)context;
	return sits_there(w);
}

static void take(void *context, const struct kueue_workload *w)
{
	struct nodes *n = context;

	n->free += sits_there(w);
	n->taken++;
}

static void give_back(void *context, const struct kueue_workload *w)
{
	struct nodes *n = context;

	n->free -= sits_there(w);
	n->given++;
}

static bool fits(void *context)
{
	const struct nodes *n = context;

	return n->free >= n->needed;
}

static void victims_serve_nodes_where_quota_is_free(void **state)
{
	/* Quota holds 2 more; the member lacks a node. zz sits elsewhere: not taken. */
	struct nodes nodes = {.needed = 1};
	const struct kueue_room room = {&nodes, useful, take, give_back, fits};
	struct kt_world w = kt_world();
	uint32_t q =
	    queue(&w, "q", NULL, 6, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_NEVER));
	struct kueue_workload *in = kt_workload(&w, q, "in", 5, 9, 2);

	kt_hold(&w, q, "zz", 0, 1, "default", 2);
	kt_hold(&w, q, "aa", 1, 1, "default", 2);
	assert_string_equal(victims(&w, in), ""); /* quota alone asks for nobody */
	assert_string_equal(kt_victims(&w, in, &room), "aa:InClusterQueue");
	assert_int_equal(nodes.free, 0);
	assert_int_equal(nodes.taken, nodes.given);
	nodes.needed = 2; /* nobody has a second node */
	assert_string_equal(kt_victims(&w, in, &room), "");
	assert_int_equal(nodes.free, 0);
	kt_done(&w);
}

static void victims_serve_quota_and_nodes_together(void **state)
{
	/* 4, all used; 2 asked and a node. zz frees quota alone, aa both: zz is taken first (lower
	 * priority), then aa, and zz comes back since aa's quota is enough. */
	struct nodes nodes = {.needed = 1};
	const struct kueue_room room = {&nodes, useful, take, give_back, fits};
	struct kt_world w = kt_world();
	uint32_t q =
	    queue(&w, "q", NULL, 4, policies(KUEUE_PREEMPT_LOWER_PRIORITY, KUEUE_PREEMPT_NEVER));
	struct kueue_workload *in = kt_workload(&w, q, "in", 5, 9, 2);

	kt_hold(&w, q, "zz", 0, 1, "default", 2);
	kt_hold(&w, q, "aa", 1, 1, "default", 2);
	assert_string_equal(victims(&w, in), "zz:InClusterQueue");
	assert_string_equal(kt_victims(&w, in, &room), "aa:InClusterQueue");
	assert_int_equal(nodes.free, 0);
	assert_int_equal(nodes.taken, nodes.given);
	kt_done(&w);
}

static void the_words_of_preemption(void **state)
{
	assert_string_equal(kueue_message_preemption(KUEUE_IN_CLUSTER_QUEUE),
			    "prioritization in the ClusterQueue");
	assert_string_equal(kueue_message_preemption(KUEUE_IN_COHORT_RECLAIM_WHILE_BORROWING),
			    "reclamation within the cohort while borrowing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lower_priorities_go_and_only_as_many_as_needed),
	    cmocka_unit_test(fill_back_swaps_the_last_one_in),
	    cmocka_unit_test(equal_priority_goes_only_when_newer_and_the_policy_says_so),
	    cmocka_unit_test(evicted_ones_come_first_whatever_their_priority),
	    cmocka_unit_test(the_uid_is_the_last_word),
	    cmocka_unit_test(only_holders_of_what_is_short_are_candidates),
	    cmocka_unit_test(one_that_is_taken_already_is_no_candidate),
	    cmocka_unit_test(admission_fair_sharing_takes_from_the_heavier_local_queue),
	    cmocka_unit_test(quota_is_taken_back_from_who_borrows_it),
	    cmocka_unit_test(a_queue_at_its_nominal_gives_nobody_up),
	    cmocka_unit_test(others_go_before_one_s_own_and_without_borrowing_first),
	    cmocka_unit_test(at_nominal_others_are_left_alone),
	    cmocka_unit_test(borrow_within_cohort_takes_those_below_the_threshold),
	    cmocka_unit_test(a_subtree_takes_back_what_it_lent_even_when_the_queue_borrows),
	    cmocka_unit_test(a_cohort_within_its_quota_shields_its_queues),
	    cmocka_unit_test(hierarchical_candidates_go_before_those_by_priority),
	    cmocka_unit_test(evicted_ones_of_every_list_go_first),
	    cmocka_unit_test(the_oracle_tells_reclaim_from_preemption),
	    cmocka_unit_test(victims_serve_nodes_where_quota_is_free),
	    cmocka_unit_test(victims_serve_quota_and_nodes_together),
	    cmocka_unit_test(the_words_of_preemption),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
