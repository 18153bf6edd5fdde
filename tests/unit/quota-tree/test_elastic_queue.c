/*
 * Admission and order on literal trees. V1 to V30 are the numbered vectors of the ElasticQuotaTree
 * reference; those that evict belong to preemption.
 */
#include "fleet.h"

static const struct elastic_node_spec t40 = {
    .name = {"root", 4},
    .min = LIST(Q("cpu", CPU(40))),
    .max = LIST(Q("cpu", CPU(40))),
    CHILDREN({.name = {"a", 1},
	      .min = LIST(Q("cpu", CPU(20))),
	      .max = LIST(Q("cpu", CPU(40))),
	      CHILDREN({.name = {"a.1", 3},
			.min = LIST(Q("cpu", CPU(10))),
			.max = LIST(Q("cpu", CPU(20))),
			NAMESPACES({"namespace1", 10})},
		       {.name = {"a.2", 3},
			.min = LIST(Q("cpu", CPU(10))),
			.max = LIST(Q("cpu", CPU(20))),
			NAMESPACES({"namespace2", 10})})},
	     {.name = {"b", 1},
	      .min = LIST(Q("cpu", CPU(20))),
	      .max = LIST(Q("cpu", CPU(40))),
	      CHILDREN({.name = {"b.1", 3},
			.min = LIST(Q("cpu", CPU(10))),
			.max = LIST(Q("cpu", CPU(20))),
			NAMESPACES({"namespace3", 10})},
		       {.name = {"b.2", 3},
			.min = LIST(Q("cpu", CPU(10))),
			.max = LIST(Q("cpu", CPU(20))),
			NAMESPACES({"namespace4", 10})})}),
};

static const char *const pod_names[] = {"p0", "p1", "p2", "p3", "p4"};

static void add_five(struct fleet *f, const char *node)
{
	for (int i = 0; i < 5; i++)
		fleet_add(f,
			  (struct job){.node = node, .name = pod_names[i], .cores = 5, .time = i});
}

static void V1_a_leaf_takes_no_more_than_its_max(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&t40, NULL, false);
	add_five(&f, "a.1");
	assert_int_equal(fleet_drain(&f), 4);
	assert_int_equal(fleet_used(&f, "a.1"), 20);
	struct elastic_unit *left = elastic_queue_at(f.q, fleet_node(&f, "a.1"), 1);
	assert_string_equal(fleet_why(&f, left),
			    "Insufficient quota(cpu) in quota root/a/a.1: request 5, max 20, used "
			    "20, oversellreate 1. Wait for running jobs to complete");
	fleet_done(&f);
}

static void V2_two_leaves_fill_the_root(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&t40, NULL, false);
	add_five(&f, "a.1");
	assert_int_equal(fleet_drain(&f), 4);
	add_five(&f, "a.2");
	assert_int_equal(fleet_drain(&f), 4);
	assert_int_equal(fleet_used(&f, "root"), 40);
	/* A third leaf is refused by the root, though its own quota is empty. */
	struct elastic_unit *u =
	    fleet_add(&f, (struct job){.node = "b.1", .name = "late", .cores = 5});
	assert_null(elastic_queue_next(f.q));
	assert_string_equal(fleet_why(&f, u),
			    "Insufficient quota(cpu) in parent quota root: request 5, max 40, used "
			    "40, used+reserved 40, oversellreate 1. Wait for running jobs to "
			    "complete");
	fleet_done(&f);
}

static void V14_with_two_busy_leaves_each_reaches_its_own_max(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&t40, NULL, false);
	add_five(&f, "a.1");
	add_five(&f, "b.1");
	assert_int_equal(fleet_drain(&f), 8);
	assert_int_equal(fleet_used(&f, "a.1"), 20);
	assert_int_equal(fleet_used(&f, "b.1"), 20);
	assert_int_equal(fleet_used(&f, "a.2") + fleet_used(&f, "b.2"), 0);
	fleet_done(&f);
}

static void V15_max_jobs_lets_one_job_run_and_the_next_when_it_is_done(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(999900)), Q("kube-queue/max-jobs", 10000000000)),
	    CHILDREN({.name = SPAN("child-2"),
		      .max = LIST(Q("kube-queue/max-jobs", 1), Q("cpu", CPU(10000))),
		      NAMESPACES(SPAN("default"))}),
	};
	struct fleet f = fleet_make(&root, NULL, false);
	struct elastic_unit *j1 =
	    fleet_add(&f, (struct job){.node = "child-2", .name = "J1", .cores = 3, .time = 1});
	struct elastic_unit *j2 =
	    fleet_add(&f, (struct job){.node = "child-2", .name = "J2", .cores = 3, .time = 2});
	assert_ptr_equal(elastic_queue_next(f.q), j1);
	assert_int_equal(fleet_drain(&f), 1);
	assert_true(elastic_unit_is_admitted(j1));
	assert_int_equal(fleet_standing(&f, j2).state, ELASTIC_QUOTA);
	assert_string_equal(fleet_why(&f, j2),
			    "Insufficient quota(jobs) in quota root/child-2: request 1, max 1, "
			    "used 1, oversellreate 1. Wait for running jobs to complete");
	elastic_queue_remove(f.q, j1);
	assert_ptr_equal(elastic_queue_next(f.q), j2);
	fleet_done(&f);
}

static void V16_a_parent_refuses_what_the_leaf_would_allow(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(10))),
	    CHILDREN({.name = SPAN("a"), .max = LIST(Q("cpu", CPU(8)))},
		     {.name = SPAN("b"), .max = LIST(Q("cpu", CPU(8)))}),
	};
	struct fleet f = fleet_make(&root, NULL, false);
	fleet_run(&f, (struct job){.node = "a", .name = "running", .cores = 6});
	struct elastic_unit *five =
	    fleet_add(&f, (struct job){.node = "b", .name = "x", .cores = 5});
	assert_null(elastic_queue_next(f.q));
	struct elastic_standing s = fleet_standing(&f, five);
	assert_int_equal(s.state, ELASTIC_QUOTA);
	assert_int_equal(s.verdict.node, fleet_node(&f, "root"));
	struct elastic_unit *four =
	    fleet_add(&f, (struct job){.node = "b", .name = "y", .cores = 4});
	assert_ptr_equal(elastic_queue_next(f.q), four);
	fleet_done(&f);
}

static const struct elastic_node_spec one_leaf = {
    .name = {"root", 4},
    .max = LIST(Q("cpu", CPU(100))),
    .min = LIST(Q("cpu", CPU(100))),
    CHILDREN({.name = {"a", 1}, .min = LIST(Q("cpu", CPU(4))), .max = LIST(Q("cpu", CPU(10)))}),
};

static void V17_nonpreemptible_jobs_are_held_to_min(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&one_leaf, NULL, false);
	fleet_run(&f, (struct job){.node = "a", .name = "r1", .cores = 5});
	fleet_run(&f, (struct job){.node = "a", .name = "r2", .cores = 3, .nonpreemptible = true});
	struct elastic_unit *two = fleet_add(
	    &f, (struct job){.node = "a", .name = "two", .cores = 2, .nonpreemptible = true});
	assert_null(elastic_queue_next(f.q));
	assert_string_equal(fleet_why(&f, two),
			    "Insufficient quota(cpu) in quota root/a: request 2, min 4, used 3, "
			    "preempt 0, oversellreate 1. Wait for running jobs to complete");
	struct elastic_unit *one = fleet_add(
	    &f, (struct job){.node = "a", .name = "one", .cores = 1, .nonpreemptible = true});
	assert_ptr_equal(elastic_queue_next(f.q), one);
	assert_int_equal(elastic_queue_admit(f.q, one, NULL), 0);
	fleet_done(&f);
}

static void V18_within_min_a_nonpreemptible_job_passes_a_full_max(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&one_leaf, NULL, false);
	fleet_run(&f, (struct job){.node = "a", .name = "r1", .cores = 8});
	fleet_run(&f, (struct job){.node = "a", .name = "r2", .cores = 2, .nonpreemptible = true});
	struct job two = {.node = "a", .name = "two", .cores = 2, .nonpreemptible = true};
	struct elastic_unit *u = fleet_add(&f, two);
	assert_ptr_equal(elastic_queue_next(f.q), u);
	assert_int_equal(elastic_queue_admit(f.q, u, NULL), 0);
	assert_int_equal(fleet_used(&f, "a"), 12);
	fleet_done(&f);

	/* The switch that holds everything to max. */
	const struct elastic_options bound = {.max_binds_all = true};
	f = fleet_make(&one_leaf, &bound, false);
	fleet_run(&f, (struct job){.node = "a", .name = "r1", .cores = 10});
	fleet_add(&f, two);
	assert_null(elastic_queue_next(f.q));
	fleet_done(&f);
}

static void V19_a_lendlimit_holds_a_floor_for_its_owner(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(10))),
	    CHILDREN({.name = SPAN("a"),
		      .min = LIST(Q("cpu", CPU(6))),
		      .max = LIST(Q("cpu", CPU(10))),
		      .lendlimit = LIST(Q("cpu", CPU(2)))},
		     {.name = SPAN("b"), .max = LIST(Q("cpu", CPU(10)))}),
	};
	struct fleet f = fleet_make(&root, NULL, false);
	struct elastic_unit *in_b =
	    fleet_add(&f, (struct job){.node = "b", .name = "x", .cores = 7});
	assert_null(elastic_queue_next(f.q));
	assert_string_equal(fleet_why(&f, in_b),
			    "Insufficient quota(cpu) in parent quota root: request 7, max 10, used "
			    "0, used+reserved 4, oversellreate 1. Wait for running jobs to "
			    "complete");
	elastic_queue_remove(f.q, in_b);
	struct elastic_unit *in_a =
	    fleet_add(&f, (struct job){.node = "a", .name = "y", .cores = 7});
	assert_ptr_equal(elastic_queue_next(f.q), in_a);
	elastic_queue_remove(f.q, in_a);
	in_b = fleet_add(&f, (struct job){.node = "b", .name = "z", .cores = 6});
	assert_ptr_equal(elastic_queue_next(f.q), in_b);
	fleet_done(&f);
}

static void V20_the_oversold_check_protects_a_min_that_is_waited_for(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(20))),
	    CHILDREN(
		{.name = SPAN("a"), .min = LIST(Q("cpu", CPU(4))), .max = LIST(Q("cpu", CPU(20)))},
		{.name = SPAN("b"), .min = LIST(Q("cpu", CPU(4))), .max = LIST(Q("cpu", CPU(20)))}),
	};
	struct fleet f = fleet_make(&root, NULL, true);
	fleet_run(&f, (struct job){.node = "a", .name = "running", .cores = 6});
	struct elastic_unit *mine =
	    fleet_add(&f, (struct job){.node = "a", .name = "mine", .cores = 1, .time = 1});
	/* b has nothing pending: nobody's min is in the way. */
	assert_ptr_equal(elastic_queue_next(f.q), mine);
	struct elastic_unit *theirs =
	    fleet_add(&f, (struct job){.node = "b", .name = "theirs", .cores = 3, .time = 2});
	assert_ptr_equal(elastic_queue_next(f.q), theirs);
	elastic_queue_park(f.q, theirs);
	assert_null(elastic_queue_next(f.q));
	struct elastic_standing s = fleet_standing(&f, mine);
	assert_int_equal(s.state, ELASTIC_MIN);
	assert_int_equal(s.blocker, fleet_node(&f, "b"));
	assert_string_equal(fleet_why(&f, mine),
			    "root/a(used:{cpu:6},min:{cpu:4}) is blocked by quota "
			    "root/b(used:{cpu:0},min:{cpu:4}) because of Min.");
	elastic_queue_remove(f.q, theirs);
	assert_ptr_equal(elastic_queue_next(f.q), mine);
	fleet_done(&f);
}

static void the_oversold_check_ends_when_the_owner_falls_below_its_own_min(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(20))),
	    CHILDREN({.name = SPAN("a"), .min = LIST(Q("cpu", CPU(4)))},
		     {.name = SPAN("b"), .min = LIST(Q("cpu", CPU(4)))}),
	};
	struct fleet f = fleet_make(&root, NULL, true);
	struct elastic_unit *running =
	    fleet_run(&f, (struct job){.node = "a", .name = "running", .cores = 4});
	struct elastic_unit *mine =
	    fleet_add(&f, (struct job){.node = "a", .name = "mine", .cores = 1, .time = 9});
	/* Waits for ever: larger than the root. */
	fleet_add(&f, (struct job){.node = "b", .name = "theirs", .cores = 30});
	assert_null(elastic_queue_next(f.q));
	assert_int_equal(fleet_standing(&f, mine).state, ELASTIC_MIN);
	elastic_queue_remove(f.q, running);
	assert_ptr_equal(elastic_queue_next(f.q), mine);
	fleet_done(&f);
}

static const struct elastic_node_spec free_four = {
    .name = {"root", 4},
    .max = LIST(Q("cpu", CPU(100))),
    CHILDREN({.name = {"a", 1}, .max = LIST(Q("cpu", CPU(4)))}),
};

static void V21_block_stops_priority_passes_intelligent_stops_high_priorities(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&free_four, NULL, false);
	struct elastic_unit *p10 =
	    fleet_add(&f, (struct job){.node = "a", .name = "P10", .cores = 8, .priority = 10});
	struct elastic_unit *p5 =
	    fleet_add(&f, (struct job){.node = "a", .name = "P5", .cores = 2, .priority = 5});
	fleet_policy(&f, "a", ELASTIC_BLOCK);
	assert_null(elastic_queue_next(f.q));
	struct elastic_standing s = fleet_standing(&f, p5);
	assert_int_equal(s.state, ELASTIC_BEHIND);
	assert_ptr_equal(s.ahead, p10);
	assert_string_equal(fleet_why(&f, p5), "Waiting in queue root/a at position 2 behind P10");
	fleet_policy(&f, "a", ELASTIC_INTELLIGENT);
	assert_null(elastic_queue_next(f.q));
	fleet_policy(&f, "a", ELASTIC_PRIORITY);
	assert_ptr_equal(elastic_queue_next(f.q), p5);
	assert_int_equal(fleet_drain(&f), 1);
	assert_false(elastic_unit_is_admitted(p10));
	fleet_done(&f);
}

static void V22_below_the_threshold_intelligent_moves_on(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&free_four, NULL, false);
	fleet_policy(&f, "a", ELASTIC_INTELLIGENT);
	fleet_add(&f, (struct job){.node = "a", .name = "first", .cores = 8, .priority = 3});
	struct elastic_unit *second =
	    fleet_add(&f, (struct job){.node = "a", .name = "second", .cores = 2, .priority = 2});
	assert_ptr_equal(elastic_queue_next(f.q), second);
	/* A waiting unit of high priority stands before all low ones. */
	struct elastic_unit *high =
	    fleet_add(&f, (struct job){.node = "a", .name = "high", .cores = 9, .priority = 4});
	assert_null(elastic_queue_next(f.q));
	elastic_queue_remove(f.q, high);
	assert_ptr_equal(elastic_queue_next(f.q), second);
	fleet_done(&f);
}

static void V30_a_lowered_max_evicts_nothing_and_admits_nothing_until_usage_falls(void **state)
{
	(void)state;
	struct elastic_node_spec leaf = {.name = SPAN("a"), .max = LIST(Q("cpu", CPU(20)))};
	const struct elastic_node_spec root = {
	    .name = SPAN("root"), .children = &leaf, .n_children = 1};
	struct fleet before = fleet_make(&root, NULL, false);
	fleet_add(&before, (struct job){.node = "a", .name = "r1", .cores = 8});
	fleet_add(&before, (struct job){.node = "a", .name = "r2", .cores = 7});
	assert_int_equal(fleet_drain(&before), 2);
	fleet_done(&before);

	leaf.max = (struct elastic_list)LIST(Q("cpu", CPU(10)));
	struct fleet f = fleet_make(&root, NULL, false);
	struct elastic_unit *r1 =
	    fleet_run(&f, (struct job){.node = "a", .name = "r1", .cores = 8});
	fleet_run(&f, (struct job){.node = "a", .name = "r2", .cores = 7});
	assert_int_equal(fleet_used(&f, "a"), 15);
	struct elastic_unit *next =
	    fleet_add(&f, (struct job){.node = "a", .name = "next", .cores = 3});
	struct elastic_unit *four =
	    fleet_add(&f, (struct job){.node = "a", .name = "four", .cores = 4});
	assert_null(elastic_queue_next(f.q));
	assert_string_equal(fleet_why(&f, next),
			    "Insufficient quota(cpu) in quota root/a: request 3, max 10, used 15, "
			    "oversellreate 1. Wait for running jobs to complete");
	elastic_queue_remove(f.q, r1);
	assert_ptr_equal(elastic_queue_next(f.q), next);
	assert_int_equal(fleet_drain(&f), 1);
	assert_int_equal(fleet_standing(&f, four).state, ELASTIC_QUOTA);
	fleet_done(&f);
}

static void units_go_by_priority_then_age_then_name(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&t40, NULL, false);
	const struct job jobs[] = {
	    {.node = "a.1", .name = "late", .cores = 1, .priority = 1, .time = 9},
	    {.node = "a.1", .name = "b-name", .cores = 1, .priority = 1, .time = 5},
	    {.node = "a.1", .name = "a-name", .cores = 2, .priority = 1, .time = 5},
	    {.node = "a.1", .name = "high", .cores = 1, .priority = 7, .time = 99},
	    {.node = "a.1", .name = "low", .cores = 1, .priority = -1, .time = 0},
	};
	static const char *const order[] = {"high", "a-name", "b-name", "late", "low"};
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
		fleet_add(&f, jobs[i]);
	uint32_t node = fleet_node(&f, "a.1");
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		struct elastic_unit *u = elastic_queue_at(f.q, node, i + 1);
		assert_true(span_is(elastic_unit_name(u), order[i]));
		assert_int_equal(elastic_queue_position(f.q, u), i + 1);
	}
	assert_null(elastic_queue_at(f.q, node, 0));
	assert_null(elastic_queue_at(f.q, node, 6));
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		struct elastic_unit *u = elastic_queue_next(f.q);
		assert_true(span_is(elastic_unit_name(u), order[i]));
		assert_int_equal(elastic_queue_admit(f.q, u, NULL), 0);
		assert_int_equal(elastic_queue_position(f.q, u), 0);
	}
	fleet_done(&f);
}

static void the_order_holds_between_queues_and_a_queues_priority_goes_first(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&t40, NULL, false);
	struct elastic_unit *in_a =
	    fleet_add(&f, (struct job){.node = "a.1", .name = "x", .cores = 1, .priority = 1});
	struct elastic_unit *in_b =
	    fleet_add(&f, (struct job){.node = "b.1", .name = "y", .cores = 1, .priority = 2});
	assert_ptr_equal(elastic_queue_next(f.q), in_b);
	const struct elastic_queue_config first = {.policy = ELASTIC_PRIORITY, .priority = 1};
	elastic_queue_configure(f.q, fleet_node(&f, "a.1"), &first);
	assert_ptr_equal(elastic_queue_next(f.q), in_a);
	assert_int_equal(elastic_queue_config_of(f.q, fleet_node(&f, "a.1")).priority, 1);
	fleet_done(&f);
}

static void in_intelligent_nonpreemptible_units_go_first_at_equal_priority(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&one_leaf, NULL, false);
	fleet_policy(&f, "a", ELASTIC_INTELLIGENT);
	fleet_add(&f, (struct job){.node = "a", .name = "old", .cores = 1, .time = 1});
	struct elastic_unit *np = fleet_add(
	    &f,
	    (struct job){.node = "a", .name = "np", .cores = 1, .time = 2, .nonpreemptible = true});
	assert_ptr_equal(elastic_queue_next(f.q), np);
	fleet_policy(&f, "a", ELASTIC_PRIORITY);
	assert_ptr_not_equal(elastic_queue_next(f.q), np);
	fleet_done(&f);
}

static void a_parked_shape_is_passed_over_until_it_is_woken(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&t40, NULL, false);
	struct elastic_unit *big1 = fleet_add(
	    &f, (struct job){.node = "a.1", .name = "big1", .cores = 4, .time = 1, .shape = 7});
	struct elastic_unit *big2 = fleet_add(
	    &f, (struct job){.node = "b.1", .name = "big2", .cores = 4, .time = 2, .shape = 7});
	struct elastic_unit *small = fleet_add(
	    &f, (struct job){.node = "a.1", .name = "small", .cores = 1, .time = 3, .shape = 8});
	assert_ptr_equal(elastic_queue_next(f.q), big1);
	elastic_queue_park(f.q, big1);
	assert_true(elastic_queue_shape_is_parked(f.q, 7));
	/* big2 has the same shape: core is not asked again. */
	assert_ptr_equal(elastic_queue_next(f.q), small);
	assert_int_equal(fleet_drain(&f), 1);
	assert_int_equal(fleet_standing(&f, big1).state, ELASTIC_PLACEMENT);
	assert_int_equal(fleet_standing(&f, big2).state, ELASTIC_PLACEMENT);
	assert_string_equal(fleet_why(&f, big1), "");
	elastic_queue_wake_shape(f.q, 8);
	assert_null(elastic_queue_next(f.q));
	elastic_queue_wake_shape(f.q, 7);
	assert_ptr_equal(elastic_queue_next(f.q), big1);
	assert_int_equal(elastic_queue_admit(f.q, big1, NULL), 0);
	/* Woken, the rest of the shape is offered until core parks it again. */
	assert_ptr_equal(elastic_queue_next(f.q), big2);
	elastic_queue_park(f.q, big2);
	assert_null(elastic_queue_next(f.q));
	elastic_queue_wake_all_shapes(f.q);
	assert_ptr_equal(elastic_queue_next(f.q), big2);
	fleet_done(&f);
}

static void under_block_a_unit_without_a_cluster_blocks_its_queue_only(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&t40, NULL, false);
	fleet_policy(&f, "a.1", ELASTIC_BLOCK);
	struct elastic_unit *big = fleet_add(
	    &f, (struct job){.node = "a.1", .name = "big", .cores = 4, .time = 1, .shape = 7});
	struct elastic_unit *behind = fleet_add(
	    &f, (struct job){.node = "a.1", .name = "behind", .cores = 1, .time = 2, .shape = 8});
	struct elastic_unit *other = fleet_add(
	    &f, (struct job){.node = "a.2", .name = "other", .cores = 1, .time = 3, .shape = 8});
	assert_ptr_equal(elastic_queue_next(f.q), big);
	elastic_queue_park(f.q, big);
	assert_ptr_equal(elastic_queue_next(f.q), other);
	assert_int_equal(fleet_drain(&f), 1);
	assert_int_equal(fleet_standing(&f, behind).state, ELASTIC_BEHIND);
	/* Overtaken by a unit that fits, the queue moves. */
	struct elastic_unit *urgent = fleet_add(
	    &f,
	    (struct job){.node = "a.1", .name = "urgent", .cores = 1, .priority = 9, .shape = 8});
	assert_ptr_equal(elastic_queue_next(f.q), urgent);
	assert_int_equal(fleet_drain(&f), 1);
	/* The blocking head is deleted: the queue must not hang. */
	elastic_queue_remove(f.q, big);
	assert_ptr_equal(elastic_queue_next(f.q), behind);
	fleet_done(&f);
}

static void a_skipped_unit_comes_back_with_the_next_pass(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&t40, NULL, false);
	struct elastic_unit *x =
	    fleet_add(&f, (struct job){.node = "a.1", .name = "x", .cores = 1, .time = 1});
	struct elastic_unit *y =
	    fleet_add(&f, (struct job){.node = "a.1", .name = "y", .cores = 2, .time = 2});
	assert_ptr_equal(elastic_queue_next(f.q), x);
	elastic_queue_skip(f.q, x);
	assert_ptr_equal(elastic_queue_next(f.q), y);
	assert_int_equal(fleet_standing(&f, x).state, ELASTIC_SKIPPED);
	elastic_queue_rewind(f.q);
	assert_ptr_equal(elastic_queue_next(f.q), x);
	fleet_done(&f);
}

static void a_skipped_unit_may_be_parked(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&t40, NULL, false);
	struct elastic_unit *x = fleet_add(
	    &f, (struct job){.node = "a.1", .name = "x", .cores = 1, .time = 1, .shape = 7});
	assert_ptr_equal(elastic_queue_next(f.q), x);
	elastic_queue_skip(f.q, x);
	elastic_queue_park(f.q, x);
	assert_int_equal(fleet_standing(&f, x).state, ELASTIC_PLACEMENT);
	elastic_queue_rewind(f.q);
	assert_null(elastic_queue_next(f.q));
	elastic_queue_wake_shape(f.q, 7);
	assert_ptr_equal(elastic_queue_next(f.q), x);
	fleet_done(&f);
}

static void a_requeued_unit_keeps_its_place(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&free_four, NULL, false);
	struct elastic_unit *x =
	    fleet_add(&f, (struct job){.node = "a", .name = "x", .cores = 4, .time = 1});
	struct elastic_unit *y =
	    fleet_add(&f, (struct job){.node = "a", .name = "y", .cores = 4, .time = 2});
	assert_int_equal(fleet_drain(&f), 1);
	elastic_queue_requeue(f.q, x);
	assert_int_equal(fleet_used(&f, "a"), 0);
	assert_int_equal(elastic_queue_position(f.q, x), 1);
	assert_int_equal(elastic_queue_position(f.q, y), 2);
	assert_ptr_equal(elastic_queue_next(f.q), x);
	fleet_done(&f);
}

static void a_release_within_a_floor_wakes_who_waits_above_it(void **state)
{
	(void)state;
	/* a holds 4 for itself. Its job of 3 waits at the root; when another job of a ends, the
	 * root's numbers stay, but 2 of the 3 now fit into a's own floor. */
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(10))),
	    CHILDREN(
		{.name = SPAN("a"), .min = LIST(Q("cpu", CPU(4))), .lendlimit = LIST(Q("cpu", 0))},
		{.name = SPAN("b")}),
	};
	struct fleet f = fleet_make(&root, NULL, false);
	struct elastic_unit *r1 =
	    fleet_run(&f, (struct job){.node = "a", .name = "r1", .cores = 2});
	fleet_run(&f, (struct job){.node = "a", .name = "r2", .cores = 2});
	fleet_run(&f, (struct job){.node = "b", .name = "r3", .cores = 5});
	struct elastic_unit *u = fleet_add(&f, (struct job){.node = "a", .name = "u", .cores = 3});
	assert_null(elastic_queue_next(f.q));
	elastic_queue_remove(f.q, r1);
	assert_ptr_equal(elastic_queue_next(f.q), u);
	fleet_done(&f);
}

static void a_release_offers_only_what_its_room_could_hold(void **state)
{
	(void)state;
	/* Ten thousand units of ten thousand shapes wait at one leaf. Every core that comes free
	 * admits one, and nothing may look at the rest: counted by time it would be seconds. */
	enum { MANY = 10000, TURNS = 2000 };
	struct fleet f = fleet_make(&free_four, NULL, false);
	static char names[MANY][12];
	struct elastic_unit *running =
	    fleet_run(&f, (struct job){.node = "a", .name = "r", .cores = 4});
	for (int i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "u%05d", i);
		fleet_add(&f, (struct job){.node = "a",
					   .name = names[i],
					   .cores = 4 + i % 3,
					   .time = i,
					   .shape = (uint32_t)i + 1});
	}
	assert_null(elastic_queue_next(f.q));
	for (int i = 0; i < TURNS; i++) {
		elastic_queue_remove(f.q, running);
		running = elastic_queue_next(f.q);
		assert_non_null(running);
		assert_true(span_is(elastic_unit_name(running), names[i * 3]));
		assert_int_equal(elastic_queue_admit(f.q, running, NULL), 0);
		assert_null(elastic_queue_next(f.q));
	}
	assert_int_equal(elastic_queue_pending_total(f.q), MANY - TURNS);
	assert_int_equal(elastic_queue_admitted_total(f.q), 1);
	fleet_done(&f);
}

static void policies_have_the_names_of_the_queue_object(void **state)
{
	(void)state;
	enum elastic_policy p = ELASTIC_BLOCK;
	assert_int_equal(elastic_policy_from_string(SPAN(""), &p), 0);
	assert_int_equal(p, ELASTIC_PRIORITY);
	for (int i = 0; i < ELASTIC_POLICY_MAX; i++) {
		assert_int_equal(elastic_policy_from_string(
				     span_of(elastic_policy_to_string((enum elastic_policy)i)), &p),
				 0);
		assert_int_equal(p, i);
	}
	assert_true(elastic_policy_from_string(SPAN("FIFO"), &p) < 0);
	assert_true(elastic_policy_from_string(SPAN("block"), &p) < 0);
}

/* One of each lane, best first, whatever refuses it; of a queue that stands still its head. */
static void heads_are_the_first_of_each_lane(void **state)
{
	(void)state;
	struct fleet f = fleet_make(&t40, NULL, false);
	struct elastic_unit *out[4];
	add_five(&f, "a.1");
	fleet_add(&f, (struct job){.node = "a.1", .name = "big", .cores = 30, .priority = 1});
	fleet_add(&f, (struct job){.node = "b.1", .name = "first", .cores = 1, .priority = 9});
	assert_int_equal(elastic_queue_heads(f.q, out, 4), 3);
	assert_true(span_is(elastic_unit_name(out[0]), "first"));
	assert_true(span_is(elastic_unit_name(out[1]), "big"));
	assert_true(span_is(elastic_unit_name(out[2]), "p0"));
	assert_int_equal(elastic_queue_heads(f.q, out, 2), 2);
	assert_true(span_is(elastic_unit_name(out[1]), "big"));
	elastic_queue_configure(f.q, fleet_node(&f, "a.1"),
				&(struct elastic_queue_config){.policy = ELASTIC_BLOCK});
	assert_int_equal(elastic_queue_heads(f.q, out, 4), 2);
	fleet_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(heads_are_the_first_of_each_lane),
	    cmocka_unit_test(V1_a_leaf_takes_no_more_than_its_max),
	    cmocka_unit_test(V2_two_leaves_fill_the_root),
	    cmocka_unit_test(V14_with_two_busy_leaves_each_reaches_its_own_max),
	    cmocka_unit_test(V15_max_jobs_lets_one_job_run_and_the_next_when_it_is_done),
	    cmocka_unit_test(V16_a_parent_refuses_what_the_leaf_would_allow),
	    cmocka_unit_test(V17_nonpreemptible_jobs_are_held_to_min),
	    cmocka_unit_test(V18_within_min_a_nonpreemptible_job_passes_a_full_max),
	    cmocka_unit_test(V19_a_lendlimit_holds_a_floor_for_its_owner),
	    cmocka_unit_test(V20_the_oversold_check_protects_a_min_that_is_waited_for),
	    cmocka_unit_test(the_oversold_check_ends_when_the_owner_falls_below_its_own_min),
	    cmocka_unit_test(V21_block_stops_priority_passes_intelligent_stops_high_priorities),
	    cmocka_unit_test(V22_below_the_threshold_intelligent_moves_on),
	    cmocka_unit_test(V30_a_lowered_max_evicts_nothing_and_admits_nothing_until_usage_falls),
	    cmocka_unit_test(units_go_by_priority_then_age_then_name),
	    cmocka_unit_test(the_order_holds_between_queues_and_a_queues_priority_goes_first),
	    cmocka_unit_test(in_intelligent_nonpreemptible_units_go_first_at_equal_priority),
	    cmocka_unit_test(a_parked_shape_is_passed_over_until_it_is_woken),
	    cmocka_unit_test(under_block_a_unit_without_a_cluster_blocks_its_queue_only),
	    cmocka_unit_test(a_skipped_unit_comes_back_with_the_next_pass),
	    cmocka_unit_test(a_skipped_unit_may_be_parked),
	    cmocka_unit_test(a_requeued_unit_keeps_its_place),
	    cmocka_unit_test(a_release_within_a_floor_wakes_who_waits_above_it),
	    cmocka_unit_test(a_release_offers_only_what_its_room_could_hold),
	    cmocka_unit_test(policies_have_the_names_of_the_queue_object),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
