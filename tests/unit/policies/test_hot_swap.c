/* Where a gang that lost nodes goes on: spare nodes, somebody's room, another member, or nowhere.
 */
#include "fixture.h"
#include "policies/hot_swap.h"

enum { MAX_JOBS = 6, MAX_PODS = 4 };

/* Nodes of 8 devices; every pod takes a whole node. The gang is job 1. */
struct scene {
	struct world w;
	uint32_t cluster, other; /* the other has no nodes until it gets some */
	struct hot_swap_job jobs[MAX_JOBS];
	struct evict_pods pods[MAX_JOBS + 1][MAX_PODS];
	struct amount amounts[2];
	struct pod_usage usage;
	size_t n_jobs;
	struct hot_swap_gang gang;
	struct evict_fit trial;
	struct hot_swap_plan plan;
};

static void scene_begin(struct scene *s, int nodes)
{
	*s = (struct scene){.w = world_create()};
	s->cluster = add_cluster(&s->w, "c1");
	s->other = add_cluster(&s->w, "c2");
	add_nodes(&s->w, s->cluster, nodes, 8000, 8);
	s->amounts[0] = (struct amount){RESOURCE_CPU, 1000};
	s->amounts[1] = (struct amount){s->w.gpu, 8};
	s->usage = (struct pod_usage){s->amounts, 2, false};
	s->gang = (struct hot_swap_gang){
	    .cluster = s->cluster, .priority = 100, .own.number = 1, .own.pods = s->pods[0]};
}

static void bind(struct scene *s, struct evict_pods *pods, size_t *n, uint32_t node)
{
	pods[(*n)++] = (struct evict_pods){node, 1, &s->usage};
	cluster_view_pod_charge(s->w.f, s->cluster, node, &s->usage);
}

/* The gang asks for `count` pods; those that it still has stand on nodes[]; `missing` of them are
 * to be found room for. */
static void gang_has(struct scene *s, int64_t count, int64_t missing, const uint32_t *nodes,
		     size_t n_nodes)
{
	struct shape *whole = gang(&s->w, count, 1000, 8);
	s->gang.ask = ask_of(&s->w, whole, NULL);
	fleet_shape_unref(s->w.f, whole);
	if (missing) {
		struct shape *part = gang(&s->w, missing, 1000, 8);
		s->gang.missing = ask_of(&s->w, part, NULL);
		fleet_shape_unref(s->w.f, part);
	}
	for (size_t i = 0; i < n_nodes; i++)
		bind(s, s->pods[0], &s->gang.own.n_pods, nodes[i]);
}

/* Another job of one pod on each of the nodes. */
static void job(struct scene *s, int32_t priority, int64_t lost_us, uint32_t first, uint32_t n)
{
	struct hot_swap_job *j = &s->jobs[s->n_jobs++];
	*j = (struct hot_swap_job){.pods.number = 1 + s->n_jobs,
				   .pods.pods = s->pods[s->n_jobs],
				   .priority = priority,
				   .lost_us = lost_us};
	for (uint32_t i = 0; i < n; i++)
		bind(s, s->pods[s->n_jobs], &j->pods.n_pods, first + i);
}

/* The gang's node is gone, with its pods or without. */
static void lose(struct scene *s, uint32_t node)
{
	cluster_view_node_remove(s->w.f, s->cluster, node);
}

static enum hot_swap_action decide_swap(struct scene *s)
{
	const struct hot_swap_fleet fleet = {s->w.f, s->w.l, s->w.p, &s->trial};
	uint64_t version = cluster_view_version(s->w.f, s->cluster);
	hot_swap_decide(&fleet, &s->gang, s->jobs, s->n_jobs, NULL, 0, 0, &s->plan);
	assert_int_equal(cluster_view_version(s->w.f, s->cluster), version);
	assert_null(fleet_verify(s->w.f));
	return s->plan.action;
}

static void scene_end(struct scene *s)
{
	hot_swap_plan_done(&s->plan);
	evict_fit_done(&s->trial);
	placer_ask_unref(s->w.p, s->gang.ask);
	placer_ask_unref(s->w.p, s->gang.missing);
	world_done(&s->w);
}

#define NODES(...) ((const uint32_t[]){__VA_ARGS__}), ARRAY_LEN(((const uint32_t[]){__VA_ARGS__}))

static void a_spare_node_is_taken_before_anybody_goes(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 4);
	gang_has(&s, 2, 1, NODES(0)); /* n1 is lost, n3 is free */
	job(&s, 0, 0, 2, 1);
	lose(&s, 1);
	assert_int_equal(decide_swap(&s), HOT_SWAP_SPARE);
	assert_false(s.plan.whole);
	assert_int_equal(s.plan.slots.len, 1);
	assert_int_equal(s.plan.slots.items[0].node, 3);
	assert_int_equal(s.plan.victims.len, 0);
	scene_end(&s);
}

static void a_gang_that_restarts_as_a_whole_may_use_what_it_has(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 3);
	gang_has(&s, 2, 0, NODES(0)); /* n1 is lost: n0, which it has, and n2 */
	s.gang.restarts_whole = true;
	lose(&s, 1);
	assert_int_equal(decide_swap(&s), HOT_SWAP_SPARE);
	assert_true(s.plan.whole);
	assert_int_equal(s.plan.slots.len, 2);
	scene_end(&s);
}

static void the_lowest_priority_goes(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 4);
	gang_has(&s, 2, 1, NODES(0));
	job(&s, 50, 0, 2, 1);
	job(&s, 10, 9000, 3, 1);
	lose(&s, 1);
	assert_int_equal(decide_swap(&s), HOT_SWAP_PREEMPT);
	assert_int_equal(s.plan.victims.len, 1);
	assert_int_equal(s.plan.victims.items[0], 1);
	assert_int_equal(s.plan.slots.items[0].node, 3);
	scene_end(&s);
}

static void of_equal_ones_the_least_work_is_lost_then_the_youngest_goes(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 5);
	gang_has(&s, 2, 1, NODES(0));
	job(&s, 10, 500, 2, 1);
	job(&s, 10, 500, 3, 1);
	job(&s, 10, 9000, 4, 1); /* younger still, and with more to lose */
	lose(&s, 1);
	assert_int_equal(decide_swap(&s), HOT_SWAP_PREEMPT);
	assert_int_equal(s.plan.victims.items[0], 1);
	scene_end(&s);
}

static void one_large_victim_is_fewer_than_two_small_ones(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 7);
	gang_has(&s, 3, 2, NODES(0)); /* n1 and n2 are lost */
	job(&s, 10, 0, 3, 1);
	job(&s, 10, 0, 4, 1);
	job(&s, 20, 0, 5, 2);
	lose(&s, 1);
	lose(&s, 2);
	assert_int_equal(decide_swap(&s), HOT_SWAP_PREEMPT);
	assert_int_equal(s.plan.victims.len, 1);
	assert_int_equal(s.plan.victims.items[0], 2);
	scene_end(&s);
}

static void who_is_not_needed_after_all_stays(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 8);
	/* Three nodes are missing. 10, 20 and 30 give one, one and two: all go, and then 20 need
	 * not. */
	gang_has(&s, 4, 3, NODES(0));
	job(&s, 10, 0, 4, 1);
	job(&s, 20, 0, 5, 1);
	job(&s, 30, 0, 6, 2);
	for (uint32_t n = 1; n <= 3; n++)
		lose(&s, n);
	assert_int_equal(decide_swap(&s), HOT_SWAP_PREEMPT);
	assert_int_equal(s.plan.n_lower, 3);
	assert_int_equal(s.plan.victims.len, 2);
	assert_int_equal(s.plan.victims.items[0], 0);
	assert_int_equal(s.plan.victims.items[1], 2);
	scene_end(&s);
}

static void equal_and_higher_priorities_stay(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 4);
	gang_has(&s, 2, 1, NODES(0));
	job(&s, 100, 0, 2, 1);
	job(&s, 101, 0, 3, 1);
	lose(&s, 1);
	assert_int_equal(decide_swap(&s), HOT_SWAP_WAIT);
	assert_int_equal(s.plan.n_lower, 0);
	scene_end(&s);
}

static void nobody_goes_for_a_gang_that_then_cannot_start(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 4);
	gang_has(&s, 3, 2, NODES(0)); /* two are missing, one could be had */
	job(&s, 10, 0, 2, 1);
	job(&s, 200, 0, 3, 1);
	lose(&s, 1);
	assert_int_equal(decide_swap(&s), HOT_SWAP_WAIT);
	assert_int_equal(s.plan.n_lower, 1);
	assert_int_equal(s.plan.victims.len, 0);
	scene_end(&s);
}

static void who_is_leaving_already_is_no_victim(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 4);
	gang_has(&s, 2, 1, NODES(0));
	job(&s, 10, 0, 2, 1);
	job(&s, 500, 0, 3, 1);
	s.jobs[1].leaving = true;
	lose(&s, 1);
	assert_int_equal(decide_swap(&s), HOT_SWAP_SPARE);
	assert_int_equal(s.plan.slots.items[0].node, 3);
	scene_end(&s);
}

static void another_member_is_the_last_resort(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 3);
	gang_has(&s, 2, 1, NODES(0));
	job(&s, 10, 0, 2, 1);
	lose(&s, 1);
	add_node(&s.w, s.other, "o0", 8000, 8, NULL);
	add_node(&s.w, s.other, "o1", 8000, 8, NULL);
	assert_int_equal(decide_swap(&s), HOT_SWAP_PREEMPT); /* it could stay */
	s.jobs[0].priority = 100;
	assert_int_equal(decide_swap(&s), HOT_SWAP_MOVE);
	assert_int_equal(s.plan.cluster, s.other);
	scene_end(&s);
}

static void another_member_must_take_the_whole_gang(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 2);
	gang_has(&s, 2, 1, NODES(0));
	lose(&s, 1);
	add_node(&s.w, s.other, "o0", 8000, 8, NULL);
	assert_int_equal(decide_swap(&s), HOT_SWAP_WAIT);
	scene_end(&s);
}

static void what_the_ledger_holds_for_the_gang_is_its_own(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s, 3);
	gang_has(&s, 2, 1, NODES(0));
	lose(&s, 1);
	assert_int_equal(ledger_await(s.w.l, 1, ask_shape(s.gang.ask), s.cluster, 0, 2, &s.w.err),
			 0);
	assert_int_equal(decide_swap(&s), HOT_SWAP_SPARE);
	assert_int_equal(s.plan.slots.items[0].node, 2);
	ledger_drop(s.w.l, 1);
	scene_end(&s);
}

/* ---- nodes ---- */

static void a_node_is_lost_when_it_is_gone_not_ready_or_tainted(void **state)
{
	(void)state;
	static const struct taint off = {SPAN("maintenance"), SPAN(""), TAINT_NO_EXECUTE},
				  sched = {SPAN("maintenance"), SPAN(""), TAINT_NO_SCHEDULE},
				  mark = {SPAN("node.kubernetes.io/unreachable"), SPAN(""),
					  TAINT_NO_EXECUTE};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 1, 1000, 1);
	struct node_spec ok = {.ready = true}, down = {.ready = false},
			 tainted = {.ready = true, .taints = &off, .n_taints = 1},
			 closed = {.ready = true, .taints = &sched, .n_taints = 1},
			 marked = {.ready = true, .taints = &mark, .n_taints = 1},
			 cordoned = {.ready = true, .unschedulable = true};
	const struct {
		const struct node_spec *spec;
		enum hot_swap_node want;
	} nodes[] = {{&ok, HOT_SWAP_NODE_OK},		{&down, HOT_SWAP_NODE_NOT_READY},
		     {&tainted, HOT_SWAP_NODE_TAINTED}, {&closed, HOT_SWAP_NODE_OK},
		     {&marked, HOT_SWAP_NODE_OK},	{&cordoned, HOT_SWAP_NODE_OK}};
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		uint32_t n = add_node(&w, c, "n", 8000, 8, nodes[i].spec);
		assert_int_equal(hot_swap_node(w.f, c, n, s, UINT32_MAX), nodes[i].want);
	}
	assert_int_equal(hot_swap_node(w.f, c, NODE_NONE, s, 0), HOT_SWAP_NODE_GONE);
	uint32_t unknown;
	assert_int_equal(cluster_view_node_ref(w.f, c, SPAN("ghost"), &unknown, &w.err), 0);
	assert_int_equal(hot_swap_node(w.f, c, unknown, s, 0), HOT_SWAP_NODE_GONE);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void a_tolerated_taint_is_none(void **state)
{
	(void)state;
	static const struct taint off = {SPAN("maintenance"), SPAN("x"), TAINT_NO_EXECUTE};
	static const struct toleration t = {.key = SPAN("maintenance"), .exists = true};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2][2];
	struct pod_set sets[] = {pods(&w, "a", 1, 1000, 0, buf[0]),
				 pods(&w, "b", 1, 1000, 0, buf[1])};
	sets[0].tolerations = &t;
	sets[0].n_tolerations = 1;
	struct shape *s = shape_of(&w, sets, 2, NULL);
	struct node_spec spec = {.ready = true, .taints = &off, .n_taints = 1};
	uint32_t n = add_node(&w, c, "n", 8000, 8, &spec);
	assert_int_equal(hot_swap_node(w.f, c, n, s, 0), HOT_SWAP_NODE_OK);
	assert_int_equal(hot_swap_node(w.f, c, n, s, 1), HOT_SWAP_NODE_TAINTED);
	assert_int_equal(hot_swap_node(w.f, c, n, s, UINT32_MAX), HOT_SWAP_NODE_TAINTED);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void a_taint_that_is_tolerated_for_a_time_is_no_place_to_go_to(void **state)
{
	(void)state;
	static const struct taint off[] = {{SPAN("maintenance"), SPAN("x"), TAINT_NO_EXECUTE},
					   {SPAN("repair"), SPAN(""), TAINT_NO_EXECUTE}};
	static const struct toleration t[] = {
	    {.key = SPAN("maintenance"), .exists = true, .limited = true, .seconds = 90},
	    {.key = SPAN("repair"), .exists = true, .limited = true, .seconds = 30},
	};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2];
	struct pod_set set = pods(&w, "a", 1, 1000, 0, buf);
	set.tolerations = t;
	set.n_tolerations = 2;
	struct shape *s = shape_of(&w, &set, 1, NULL);
	struct node_spec one = {.ready = true, .taints = off, .n_taints = 1},
			 two = {.ready = true, .taints = off, .n_taints = 2},
			 fine = {.ready = true};
	uint32_t n = add_node(&w, c, "n", 8000, 8, &one);
	assert_int_equal(hot_swap_node(w.f, c, n, s, 0), HOT_SWAP_NODE_TAINTED);
	assert_int_equal(hot_swap_time(w.f, c, n, s, 0), 90);
	uint32_t both = add_node(&w, c, "both", 8000, 8, &two);
	assert_int_equal(hot_swap_time(w.f, c, both, s, UINT32_MAX), 30);
	uint32_t ok = add_node(&w, c, "ok", 8000, 8, &fine);
	assert_int_equal(hot_swap_time(w.f, c, ok, s, 0), INT64_MAX);
	/* The scheduler would bind there; a gang that has to leave again is not sent. */
	struct ask *a = ask_of(&w, s, NULL);
	struct placement_decision d;
	assert_true(placement_decide(w.p, a, NULL, 0, 0, &d));
	assert_int_equal(d.n_slots, 1);
	assert_int_equal(d.slots[0].node, ok);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_spare_node_is_taken_before_anybody_goes),
	    cmocka_unit_test(a_gang_that_restarts_as_a_whole_may_use_what_it_has),
	    cmocka_unit_test(the_lowest_priority_goes),
	    cmocka_unit_test(of_equal_ones_the_least_work_is_lost_then_the_youngest_goes),
	    cmocka_unit_test(one_large_victim_is_fewer_than_two_small_ones),
	    cmocka_unit_test(who_is_not_needed_after_all_stays),
	    cmocka_unit_test(equal_and_higher_priorities_stay),
	    cmocka_unit_test(nobody_goes_for_a_gang_that_then_cannot_start),
	    cmocka_unit_test(who_is_leaving_already_is_no_victim),
	    cmocka_unit_test(another_member_is_the_last_resort),
	    cmocka_unit_test(another_member_must_take_the_whole_gang),
	    cmocka_unit_test(what_the_ledger_holds_for_the_gang_is_its_own),
	    cmocka_unit_test(a_node_is_lost_when_it_is_gone_not_ready_or_tainted),
	    cmocka_unit_test(a_tolerated_taint_is_none),
	    cmocka_unit_test(a_taint_that_is_tolerated_for_a_time_is_no_place_to_go_to),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
