/*
 * A multislice gang that lost a node: two slices of two pods, each in a pool of its own, as job 1.
 * Nodes have 8 devices, every pod takes a whole one.
 */
#include "fixture.h"
#include "policies/hot_swap.h"

#define POOL "cloud.google.com/gke-nodepool"

enum { MAX_PODS = 8 };

struct scene {
	struct world w;
	uint32_t cluster;
	struct amount amounts[2];
	struct pod_usage usage, plain; /* of a pod of such a gang; of another */
	struct fit_slot standing[MAX_PODS];
	struct evict_pods pods[MAX_PODS], others[MAX_PODS];
	struct hot_swap_job jobs[1];
	size_t n_jobs;
	struct hot_swap_gang gang;
	struct hot_swap_groups groups;
	struct evict_fit trial;
	struct hot_swap_plan plan;
};

static void pool_node(struct scene *s, const char *pool, const char *name)
{
	struct label label = {SPAN(POOL), span_of(pool)};
	struct node_spec more = {.ready = true, .labels = &label, .n_labels = 1};

	add_node(&s->w, s->cluster, name, 8000, 8, &more);
}

static uint32_t node(const struct scene *s, const char *name)
{
	return cluster_view_node_find(s->w.f, s->cluster, span_of(name));
}

/* Pools a, b and c of two nodes: a0, a1, b0 and so on. */
static void scene_begin(struct scene *s)
{
	struct request buf[2];

	*s = (struct scene){.w = world_create()};
	s->cluster = add_cluster(&s->w, "c1");
	pool_node(s, "a", "a0");
	pool_node(s, "a", "a1");
	pool_node(s, "b", "b0");
	pool_node(s, "b", "b1");
	pool_node(s, "c", "c0");
	pool_node(s, "c", "c1");
	s->amounts[0] = (struct amount){RESOURCE_CPU, 1000};
	s->amounts[1] = (struct amount){s->w.gpu, 8};
	s->usage = (struct pod_usage){s->amounts, 2, true};
	s->plain = (struct pod_usage){s->amounts, 2, false};
	struct pod_set set = pods(&s->w, "slice", 4, 1000, 8, buf);
	set.groups = 2;
	struct shape *whole = shape_of(&s->w, &set, 1, POOL);
	s->gang = (struct hot_swap_gang){.cluster = s->cluster,
					 .priority = 100,
					 .own.number = 1,
					 .own.pods = s->pods,
					 .restarts_whole = true};
	s->gang.ask = ask_of(&s->w, whole, NULL);
	fleet_shape_unref(s->w.f, whole);
}

static void stands(struct scene *s, const char *name)
{
	size_t n = s->gang.own.n_pods++;

	s->pods[n] = (struct evict_pods){node(s, name), 1, &s->usage};
	s->standing[n] = (struct fit_slot){node(s, name), 0, 1};
	cluster_view_pod_charge(s->w.f, s->cluster, node(s, name), &s->usage);
}

/* Its pod on that node is gone, and its place is kept for the next one. */
static void awaits(struct scene *s, const char *name)
{
	assert_int_equal(ledger_await(s->w.l, 1, ask_shape(s->gang.ask), s->cluster, 0,
				      node(s, name), &s->w.err),
			 0);
}

/* A job of lower priority with a pod on each of the two nodes. */
static void lower(struct scene *s, const char *one, const char *two)
{
	s->others[0] = (struct evict_pods){node(s, one), 1, &s->plain};
	s->others[1] = (struct evict_pods){node(s, two), 1, &s->plain};
	for (int i = 0; i < 2; i++)
		cluster_view_pod_charge(s->w.f, s->cluster, s->others[i].node, &s->plain);
	s->jobs[s->n_jobs++] = (struct hot_swap_job){
	    .pods = {.number = 2, .pods = s->others, .n_pods = 2}, .priority = 10};
}

static void lose(struct scene *s, const char *name)
{
	cluster_view_node_remove(s->w.f, s->cluster, node(s, name));
}

static enum hot_swap_action decide_swap(struct scene *s)
{
	const struct hot_swap_fleet fleet = {s->w.f, s->w.l, s->w.p, &s->trial};
	uint64_t version;

	hot_swap_groups_find(s->w.p, s->w.f, s->w.l, s->gang.ask, s->cluster, 1, s->standing,
			     s->gang.own.n_pods, &s->groups);
	s->gang.groups = &s->groups;
	version = cluster_view_version(s->w.f, s->cluster);
	hot_swap_decide(&fleet, &s->gang, s->jobs, s->n_jobs, NULL, 0, 0, &s->plan);
	assert_int_equal(cluster_view_version(s->w.f, s->cluster), version);
	assert_null(fleet_verify(s->w.f));
	return s->plan.action;
}

static bool keeps(const struct scene *s, const char *name)
{
	vec_foreach (&s->groups.kept, slot)
		if (slot->node == node(s, name))
			return true;
	return false;
}

static bool plans(const struct scene *s, const char *name)
{
	vec_foreach (&s->plan.slots, slot)
		if (slot->node == node(s, name))
			return true;
	return false;
}

static void scene_end(struct scene *s)
{
	hot_swap_groups_done(s->w.p, &s->groups);
	hot_swap_plan_done(&s->plan);
	evict_fit_done(&s->trial);
	placer_ask_unref(s->w.p, s->gang.ask);
	world_done(&s->w);
}

static void the_broken_slice_gets_a_pool_and_the_other_one_keeps_its_own(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	stands(&s, "a1"); /* a0 is lost: a has room for one of two */
	stands(&s, "b0");
	stands(&s, "b1");
	lose(&s, "a0");
	assert_int_equal(decide_swap(&s), HOT_SWAP_SPARE);
	assert_false(s.plan.whole);
	assert_int_equal(s.groups.kept.len, 2);
	assert_true(keeps(&s, "b0") && keeps(&s, "b1"));
	assert_int_equal(s.plan.slots.len, 2);
	assert_true(plans(&s, "c0") && plans(&s, "c1"));
	scene_end(&s);
}

/* As a controller that restarts the whole set leaves them: no pod stands, three places are kept. */
static void slices_whose_pods_are_being_made_anew_keep_their_pool(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	awaits(&s, "a1");
	awaits(&s, "b0");
	awaits(&s, "b1");
	lose(&s, "a0");
	assert_int_equal(decide_swap(&s), HOT_SWAP_SPARE);
	assert_false(s.plan.whole);
	assert_true(keeps(&s, "b0") && keeps(&s, "b1"));
	assert_true(plans(&s, "c0") && plans(&s, "c1"));
	scene_end(&s);
}

static void a_spare_node_of_the_pool_itself_comes_first(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	pool_node(&s, "a", "a2");
	stands(&s, "a1");
	stands(&s, "b0");
	stands(&s, "b1");
	lose(&s, "a0");
	assert_int_equal(decide_swap(&s), HOT_SWAP_SPARE);
	assert_true(plans(&s, "a1") && plans(&s, "a2"));
	scene_end(&s);
}

static void a_lower_job_goes_from_a_whole_pool(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	stands(&s, "a1");
	stands(&s, "b0");
	stands(&s, "b1");
	lower(&s, "c0", "c1");
	lose(&s, "a0");
	assert_int_equal(decide_swap(&s), HOT_SWAP_PREEMPT);
	assert_int_equal(s.plan.victims.len, 1);
	assert_false(s.plan.whole);
	assert_true(keeps(&s, "b0") && plans(&s, "c0") && plans(&s, "c1"));
	scene_end(&s);
}

/* One node of c is free, and one of a: together they are no domain. */
static void half_pools_make_no_slice(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	stands(&s, "a1");
	stands(&s, "b0");
	stands(&s, "b1");
	lose(&s, "a0");
	lose(&s, "c1");
	assert_int_equal(decide_swap(&s), HOT_SWAP_WAIT);
	scene_end(&s);
}

static void without_a_whole_slice_the_gang_is_placed_anew(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	pool_node(&s, "d", "d0");
	pool_node(&s, "d", "d1");
	stands(&s, "a1");
	stands(&s, "b0");
	lose(&s, "a0");
	lose(&s, "b1");
	assert_int_equal(decide_swap(&s), HOT_SWAP_SPARE);
	assert_true(s.plan.whole);
	assert_int_equal(s.groups.kept.len, 0);
	assert_int_equal(s.plan.slots.len, 4);
	assert_true(plans(&s, "c0") && plans(&s, "d0"));
	scene_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_broken_slice_gets_a_pool_and_the_other_one_keeps_its_own),
	    cmocka_unit_test(slices_whose_pods_are_being_made_anew_keep_their_pool),
	    cmocka_unit_test(a_spare_node_of_the_pool_itself_comes_first),
	    cmocka_unit_test(a_lower_job_goes_from_a_whole_pool),
	    cmocka_unit_test(half_pools_make_no_slice),
	    cmocka_unit_test(without_a_whole_slice_the_gang_is_placed_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
