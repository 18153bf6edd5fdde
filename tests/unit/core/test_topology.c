/*
 * Topology in the fleet, for jobs outside any queue: racks and blocks by Kueue's annotations, what
 * reaches the member, and why a gang waits.
 */
#include "topology_site.h"

/* ---- outside any queue ---- */

static void a_required_rack_is_chosen_and_written_into_the_copy(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	/* Two pods of 8 fill a rack; r3 has room for one only. No Topology object is needed. */
	assert_int_equal(job(w, "one", NULL, 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "one", "\"nodeSelector\":{\"" RACK "\":\"r1\"}"));
	/* The next one gets the other rack, a third none: r3 is too small. */
	assert_int_equal(job(w, "two", NULL, 2, 8, ASK("required", RACK)), ERR_NONE);
	assert_int_equal(job(w, "three", NULL, 2, 4, ASK("required", RACK)), ERR_NONE);
	assert_int_equal(job(w, "four", NULL, 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "two", "\"nodeSelector\":{\"" RACK "\":\"r2\"}"));
	assert_true(copy_has(m, "three", "\"nodeSelector\":{\"" RACK "\":\"r3\"}"));
	assert_null(model_copy(m, "default", "four"));
}

static void a_topology_object_gives_the_levels_above(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	assert_int_equal(job(w, "one", NULL, 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(
	    copy_has(m, "one", "\"nodeSelector\":{\"" BLOCK "\":\"A\",\"" RACK "\":\"r1\"}"));
	/* Preferred: no rack has room for three of 8 cpus, nor block A any more. */
	assert_int_equal(job(w, "wide", NULL, 3, 8, ASK("preferred", RACK)), ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "wide"));
	assert_false(copy_has(m, "wide", "nodeSelector"));
}

static void preferred_keeps_to_the_narrowest_domain_that_was_found(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	assert_int_equal(job(w, "block", NULL, 4, 8, ASK("preferred", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "block", "\"nodeSelector\":{\"" BLOCK "\":\"A\"}"));
}

static void a_gang_waits_for_room_in_one_rack_and_is_told_so(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	assert_int_equal(job(w, "first", NULL, 2, 5, ASK("required", RACK)), ERR_NONE);
	assert_int_equal(job(w, "second", NULL, 2, 5, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_int_equal(job(w, "waits", NULL, 2, 4, ASK("required", BLOCK)), ERR_NONE);
	assert_int_equal(job(w, "none", NULL, 3, 4, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	/* r3, in B, still has 8 cpus on one node. */
	assert_non_null(model_copy(m, "default", "waits"));
	assert_int_equal(world_events(w, "none", "ScheduleBindingFailed", ""), 1);
	model_finish(m, model_copy(m, "default", "first"), false);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "none"));
	assert_true(copy_has(m, "none", "\"" RACK "\":\"r1\""));
}

static void what_was_chosen_is_remembered_by_a_restart(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	assert_int_equal(job(w, "one", NULL, 2, 8, ASK("required", RACK)), ERR_NONE);
	world_run(w);
	/* Decided and committed, not one order answered. */
	char *before = xstrdup(world_record(w, TYPE_JOB, "default", "one")->domains);
	assert_string_equal(before, "[{\"" BLOCK "\":\"A\",\"" RACK "\":\"r1\"}]");
	world_restart(w);
	assert_string_equal(world_record(w, TYPE_JOB, "default", "one")->domains, before);
	free(before);
	world_settle(w);
	assert_true(copy_has(m, "one", "\"" RACK "\":\"r1\""));
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
}

static void a_level_that_the_topology_lacks_holds_nobody_up(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	/* Slices of 2 of 3 pods cannot be: the job is held and told, others go on. */
	assert_int_equal(job(w, "odd", NULL, 3, 1,
			     "'kueue.x-k8s.io/podset-slice-required-topology':'" RACK
			     "','kueue.x-k8s.io/podset-slice-size':'2'"),
			 ERR_NONE);
	assert_int_equal(job(w, "even", NULL, 4, 1,
			     "'kueue.x-k8s.io/podset-slice-required-topology':'" RACK
			     "','kueue.x-k8s.io/podset-slice-size':'2'"),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(reason_of(w, "odd"), "TopologyPlacementFailed");
	assert_int_equal(world_events(w, "odd", "ScheduleBindingFailed",
				      "3 pods cannot be split into slices of 2"),
			 1);
	assert_non_null(model_copy(m, "default", "even"));
	/* Both of its slices are in one rack: its template names that. */
	assert_true(copy_has(m, "even", "\"nodeSelector\":{\"" RACK "\":\"r"));
	assert_false(copy_has(m, "even", "schedulingGates"));
}

/* ---- in several domains: pod by pod ---- */

static void each_of_several_slices_is_held_to_its_rack(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	m->binds_from = 1;
	topology(w);
	assert_int_equal(job(w, "even", NULL, 4, 8, SLICES("2")), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_record(w, TYPE_JOB, "default", "even")->domains,
			    "[[{\"" BLOCK "\":\"A\"},{\"" RACK "\":\"r1\"},2,{\"" RACK
			    "\":\"r2\"},2]]");
	assert_true(copy_has(m, "even", "\"nodeSelector\":{\"" BLOCK "\":\"A\"}"));
	assert_true(
	    copy_has(m, "even", "\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/topology\"}]"));
	assert_true(is_in_its_racks(m, "even"));
	assert_int_equal(m->ungated, 4);
	/* Made anew, they go where those before them were. */
	m->binds_from = 2;
	model_recreate(m, model_copy(m, "default", "even"), true);
	world_settle(w);
	assert_true(is_in_its_racks(m, "even"));
	assert_int_equal(m->ungated, 8);
}

static void pods_of_a_preferred_rack_that_was_not_are_held_where_they_were_planned(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	m->binds_from = 2;
	assert_int_equal(job(w, "wide", NULL, 3, 8, ASK("preferred", RACK)), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_record(w, TYPE_JOB, "default", "wide")->domains,
			    "[[{},{\"" RACK "\":\"r1\"},2,{\"" RACK "\":\"r3\"},1]]");
	assert_true(is_on(m, "wide", 0, "c1-n0", "c1-n1"));
	assert_true(is_on(m, "wide", 1, "c1-n0", "c1-n1"));
	assert_true(is_on(m, "wide", 2, "c1-n4", "c1-n4"));
}

/* Of four patches one is answered, one is carried out and lost, the others never arrive. */
static void a_restart_lets_go_of_those_that_are_left(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);
	struct order *o;

	m->binds_from = 1;
	topology(w);
	assert_int_equal(job(w, "even", NULL, 4, 8, SLICES("2")), ERR_NONE);
	world_run(w);
	while (!world_find(w, "PATCH", "/pods/")) {
		for (size_t i = 0; i < w->orders.len; i++)
			world_answer(w, w->orders.items[0]);
		world_streams(w);
		(void)model_step(m, w->now);
		world_streams(w);
	}
	world_answer(w, world_find(w, "PATCH", "/pods/"));
	o = world_find(w, "PATCH", "/pods/");
	world_lose(w, o, true);
	world_streams(w);
	world_restart(w);
	world_settle(w);
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_true(is_in_its_racks(m, "even"));
	assert_int_equal(m->ungated, 4);
}

static void a_member_that_refuses_to_let_go_is_told_of(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	m->no_patches = true;
	assert_int_equal(job(w, "even", NULL, 4, 8, SLICES("2")), ERR_NONE);
	world_settle(w);
	for (int i = 0; i < 8; i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
	assert_int_equal(world_events(w, "even", "TopologyUngateFailed", "pods is forbidden"), 1);
	assert_null(model_pod_node(model_copy(m, "default", "even"), 0));
	m->no_patches = false;
	world_advance(w, 40 * USEC_PER_SEC);
	world_settle(w);
	assert_true(is_in_its_racks(m, "even"));
}

static void a_leader_and_its_workers_share_a_rack(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);
	auto_buf b = BUF_INIT;

#define ROLE(n)                                                                                    \
	"{'replicas':" n ",'template':{'metadata':{'annotations':{" ASK(                           \
	    "required", RACK) ",'kueue.x-k8s.io/podset-group-name':'gang'}},'spec':{'containers':" \
			      "[{'name':'pytorch','image':'i','resources':{'requests':{'cpu':4}}}" \
			      "]}}}"
	/* r3 would be the tightest rack for the master alone; r1 holds it and three workers. */
	buf_add_str(&b, "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':"
			"'p','namespace':'default'},'spec':{'pytorchReplicaSpecs':{'Master':" ROLE(
			    "1") ",'Worker':" ROLE("3") "}}}");
	assert_int_equal(world_create(w, TYPE_PYTORCH_JOB, b.ptr), ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "p"));
	assert_string_equal(world_record(w, TYPE_PYTORCH_JOB, "default", "p")->domains,
			    "[{\"" RACK "\":\"r1\"},{\"" RACK "\":\"r1\"}]");
}

static void slices_inside_slices_are_read_from_their_annotation(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	/* Four in one block, of which each two in one rack: all of A's racks, one pod each too few.
	 */
	assert_int_equal(job(w, "layers", NULL, 4, 8,
			     "'kueue.x-k8s.io/podset-slice-required-topology-constraints':"
			     "'[{\\\"topology\\\":\\\"" BLOCK "\\\",\\\"size\\\":4},"
			     "{\\\"topology\\\":\\\"" RACK "\\\",\\\"size\\\":2}]'"),
			 ERR_NONE);
	world_settle(w);
	/* One slice is the whole set: its block is enforced. */
	assert_true(copy_has(m, "layers", "\"nodeSelector\":{\"" BLOCK "\":\"A\"}"));
	const struct job *j = world_record(w, TYPE_JOB, "default", "layers");
	const struct pod_topology *t = &shape_spec(j->shape)->sets[0].topology;
	assert_int_equal(t->slice_size, 4);
	assert_int_equal(t->n_inner, 1);
	assert_int_equal(t->inner[0].size, 2);
	assert_int_equal(t->inner[0].level, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_required_rack_is_chosen_and_written_into_the_copy),
	    STORY(a_topology_object_gives_the_levels_above),
	    STORY(preferred_keeps_to_the_narrowest_domain_that_was_found),
	    STORY(a_gang_waits_for_room_in_one_rack_and_is_told_so),
	    STORY(what_was_chosen_is_remembered_by_a_restart),
	    STORY(each_of_several_slices_is_held_to_its_rack),
	    STORY(pods_of_a_preferred_rack_that_was_not_are_held_where_they_were_planned),
	    STORY(a_restart_lets_go_of_those_that_are_left),
	    STORY(a_member_that_refuses_to_let_go_is_told_of),
	    STORY(a_level_that_the_topology_lacks_holds_nobody_up),
	    STORY(a_leader_and_its_workers_share_a_rack),
	    STORY(slices_inside_slices_are_read_from_their_annotation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
