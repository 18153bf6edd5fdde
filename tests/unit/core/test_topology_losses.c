/*
 * Topology in the fleet when nodes are lost: who keeps to its rack, and who gets another.
 */
#include "topology_site.h"

/* Slices in r1 and r2, and r3 is large enough for one: a node of r1 goes. */
static struct model *slices_lose_a_node(struct world *w)
{
	struct model *m = site(w, "c1", 8);

	m->run_time = 100000 * USEC_PER_SEC;
	topology(w);
	return m;
}

static void wait_a_little(struct world *w)
{
	for (int i = 0; i < 10; i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
}

static void slices_that_must_leave_a_rack_start_anew_elsewhere(void **state)
{
	struct world *w = *state;
	struct model *m = slices_lose_a_node(w);

	assert_int_equal(job(w, "even", NULL, 4, 8, SLICES("2")), ERR_NONE);
	world_settle(w);
	assert_true(is_in_its_racks(m, "even"));
	model_add_node(m, "c1-n5", 8, 0);
	model_place_node(m, "c1-n5", "B", "r3");
	char *before = xstrdup(model_copy(m, "default", "even")->uid);
	model_remove_node(m, "c1-n0");
	world_settle(w);
	wait_a_little(w);
	assert_string_not_equal(model_copy(m, "default", "even")->uid, before);
	assert_string_equal(world_record(w, TYPE_JOB, "default", "even")->domains,
			    "[[{},{\"" BLOCK "\":\"A\",\"" RACK "\":\"r2\"},2,{\"" BLOCK
			    "\":\"B\",\"" RACK "\":\"r3\"},2]]");
	assert_true(is_on(m, "even", 0, "c1-n2", "c1-n3"));
	assert_true(is_on(m, "even", 2, "c1-n4", "c1-n5"));
	free(before);
}

/* Rack r1 has one node left. Two small pods still fit into it: the copy stays, with its selectors;
 * two large ones do not: the gang starts anew in r2, not in places that its copy cannot use. */
static void the_nodes_that_a_queued_gang_lost_are_shown_until_they_are_replaced(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 4);

	topology(w);
	queue(w);
	m->run_time = 100000 * USEC_PER_SEC;
	assert_int_equal(job(w, "gang", "lq", 2, 4, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	const struct model_copy *c = model_copy(m, "default", "gang");
	assert_non_null(c);
	auto_free char *lost = xstrdup(c->pods.items[0]->node);
	bool in_r1 = copy_has(m, "gang", "\"r1\"");
	model_add_node(m, "spare", 4, 0);
	model_place_node(m, "spare", "A", in_r1 ? "r1" : "r2");
	world_settle(w);
	model_remove_node(m, lost);
	world_settle(w);
	assert_string_equal(wl(w, "gang", "status.unhealthyNodes.0.name"), lost);
	assert_string_equal(wl(w, "gang", "status.unhealthyNodes.1.name"), "");
	model_recreate(m, model_copy(m, "default", "gang"), false);
	world_settle(w);
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(world_events(w, "gang", "HotSwapDone", ""), 1);
	assert_string_equal(wl(w, "gang", "status.unhealthyNodes.0.name"), "");
}

static void a_gang_that_loses_a_node_keeps_to_its_rack_or_moves_whole(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	m->run_time = 100000 * USEC_PER_SEC;
	topology(w);
	assert_int_equal(job(w, "large", NULL, 2, 5, ASK("required", RACK)), ERR_NONE);
	assert_int_equal(job(w, "small", NULL, 2, 1, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "large", "\"" RACK "\":\"r1\""));
	const char *uid = model_copy(m, "default", "large")->uid;
	char *before = xstrdup(uid);
	/* The model's scheduler knows no selectors: whichever nodes they are on, all of r1 but one
	 * goes away. */
	bool small_in_r1 = copy_has(m, "small", "\"" RACK "\":\"r1\"");
	char *small_uid = xstrdup(model_copy(m, "default", "small")->uid);
	model_remove_node(m, model_copy(m, "default", "large")->pods.items[0]->node);
	world_settle(w);
	for (int i = 0; i < 10; i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
	assert_non_null(model_copy(m, "default", "large"));
	assert_string_not_equal(model_copy(m, "default", "large")->uid, before);
	assert_false(copy_has(m, "large", "\"" RACK "\":\"r1\""));
	assert_int_equal(world_events(w, "large", "HotSwap", "its topology domain on cluster c1"),
			 1);
	if (small_in_r1)
		assert_string_equal(model_copy(m, "default", "small")->uid, small_uid);
	free(before);
	free(small_uid);
}

/* A JobSet makes all its pods anew anyway: the same copy, and other domains for them. */
static void a_job_set_gets_other_domains_in_place(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	m->run_time = 100000 * USEC_PER_SEC;
	assert_int_equal(
	    world_create(
		w, TYPE_JOB_SET,
		"{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':"
		"'set','namespace':'default'},'spec':{'replicatedJobs':[{'name':'w','replicas':2,"
		"'template':{'spec':{'parallelism':2,'completions':2,'template':{'metadata':{"
		"'annotations':{" SLICES(
		    "2") "}},'spec':{'restartPolicy':'Never','containers':[{'name':'c','image':'i',"
			 "'resources':{'requests':{'cpu':'8'}}}]}}}}}]}}"),
	    ERR_NONE);
	world_settle(w);
	struct model_copy *copy = model_copy(m, "default", "set");
	assert_non_null(copy);
	assert_true(is_in_its_racks(m, "set"));
	model_add_node(m, "c1-n5", 8, 0);
	model_place_node(m, "c1-n5", "B", "r3");
	model_remove_node(m, "c1-n0");
	world_settle(w);
	wait_a_little(w);
	assert_ptr_equal(model_copy(m, "default", "set"), copy);
	assert_string_equal(world_record(w, TYPE_JOB_SET, "default", "set")->domains,
			    "[[{},{\"" RACK "\":\"r2\"},2,{\"" RACK "\":\"r3\"},2]]");
	model_recreate(m, copy, true);
	world_settle(w);
	size_t in_r2 = 0, in_r3 = 0;
	for (int i = 0; i < 4; i++) {
		in_r2 += is_on(m, "set", i, "c1-n2", "c1-n3");
		in_r3 += is_on(m, "set", i, "c1-n4", "c1-n5");
	}
	assert_int_equal(in_r2, 2);
	assert_int_equal(in_r3, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_job_set_gets_other_domains_in_place),
	    STORY(slices_that_must_leave_a_rack_start_anew_elsewhere),
	    STORY(the_nodes_that_a_queued_gang_lost_are_shown_until_they_are_replaced),
	    STORY(a_gang_that_loses_a_node_keeps_to_its_rack_or_moves_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
