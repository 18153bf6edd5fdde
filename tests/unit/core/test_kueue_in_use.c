/*
 * Flavors, AdmissionChecks and Topologies that are deleted while somebody names them
 * (core/kueue/in_use.h), as Kueue's controllers have it.
 */
#include "kueue_words.h"

static bool leaves(struct world *w, uint16_t type, const char *name)
{
	return world_field(w, type, "", name, "metadata.deletionTimestamp")[0] != '\0';
}

static void group_of(struct world *w, const char *queue, const char *flavor_name)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'spec':{'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':'%s',"
		 "'resources':[{'name':'cpu','nominalQuota':4}]}]}]}}",
		 flavor_name);
	assert_int_equal(world_patch(w, TYPE_CLUSTER_QUEUE, "", queue, b.ptr), ERR_NONE);
}

static void a_flavor_stays_while_a_queue_names_it(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	flavor(w, "f", "");
	flavor(w, "g", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	assert_string_equal(world_field(w, TYPE_RESOURCE_FLAVOR, "", "f", "metadata.finalizers.0"),
			    "kueue.x-k8s.io/resource-in-use");
	assert_int_equal(world_delete(w, TYPE_RESOURCE_FLAVOR, "", "f"), ERR_NONE);
	world_settle(w);
	assert_true(leaves(w, TYPE_RESOURCE_FLAVOR, "f"));
	/* It goes on meaning what it means, after a restart too. */
	assert_string_equal(world_condition(w, TYPE_CLUSTER_QUEUE, "", "cq", "Active", "reason"),
			    "Ready");
	world_restart(w);
	world_queued_job(w, "one", "lq", 2, 1, "");
	world_settle(w);
	assert_false(model_copy(m, "default", "one")->suspended);
	assert_true(leaves(w, TYPE_RESOURCE_FLAVOR, "f"));
	group_of(w, "cq", "g");
	world_settle(w);
	assert_false(world_exists(w, TYPE_RESOURCE_FLAVOR, "", "f"));
	/* The other one is its queue's now, and goes with it. */
	assert_int_equal(world_delete(w, TYPE_RESOURCE_FLAVOR, "", "g"), ERR_NONE);
	assert_int_equal(world_delete(w, TYPE_CLUSTER_QUEUE, "", "cq"), ERR_NONE);
	world_settle(w);
	assert_true(leaves(w, TYPE_RESOURCE_FLAVOR, "g"));
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	for (int i = 0; i < 4; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	assert_false(world_exists(w, TYPE_CLUSTER_QUEUE, "", "cq"));
	assert_false(world_exists(w, TYPE_RESOURCE_FLAVOR, "", "g"));
}

static void a_flavor_that_nobody_names_goes_at_once(void **state)
{
	struct world *w = *state;

	flavor(w, "f", "");
	assert_int_equal(world_delete(w, TYPE_RESOURCE_FLAVOR, "", "f"), ERR_NONE);
	world_settle(w);
	assert_false(world_exists(w, TYPE_RESOURCE_FLAVOR, "", "f"));
}

static void a_check_stays_while_a_queue_names_it(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_create(w, TYPE_ADMISSION_CHECK,
				      "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':"
				      "'AdmissionCheck','metadata':{'name':'c'},'spec':{"
				      "'controllerName':'example.com/c'}}"),
			 ERR_NONE);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4,
		      ",'admissionChecksStrategy':{'admissionChecks':[{'name':'c'}]}");
	assert_int_equal(world_delete(w, TYPE_ADMISSION_CHECK, "", "c"), ERR_NONE);
	world_settle(w);
	assert_true(leaves(w, TYPE_ADMISSION_CHECK, "c"));
	assert_int_equal(world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq",
				     "{'spec':{'admissionChecksStrategy':null}}"),
			 ERR_NONE);
	world_settle(w);
	assert_false(world_exists(w, TYPE_ADMISSION_CHECK, "", "c"));
}

static void a_topology_stays_while_a_flavor_names_it(void **state)
{
	struct world *w = *state;

	assert_int_equal(world_create(w, TYPE_TOPOLOGY,
				      "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Topology',"
				      "'metadata':{'name':'t'},'spec':{'levels':[{'nodeLabel':"
				      "'rack'}]}}"),
			 ERR_NONE);
	flavor(w, "f", "'nodeLabels':{'a':'b'},'topologyName':'t'");
	cluster_queue(w, "cq", "f", 4, "");
	assert_int_equal(world_delete(w, TYPE_TOPOLOGY, "", "t"), ERR_NONE);
	assert_int_equal(world_delete(w, TYPE_RESOURCE_FLAVOR, "", "f"), ERR_NONE);
	world_settle(w);
	assert_true(leaves(w, TYPE_TOPOLOGY, "t"));
	assert_true(leaves(w, TYPE_RESOURCE_FLAVOR, "f"));
	assert_int_equal(world_delete(w, TYPE_CLUSTER_QUEUE, "", "cq"), ERR_NONE);
	for (int i = 0; i < 4; i++) {
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	assert_false(world_exists(w, TYPE_RESOURCE_FLAVOR, "", "f"));
	assert_false(world_exists(w, TYPE_TOPOLOGY, "", "t"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_flavor_stays_while_a_queue_names_it),
	    STORY(a_flavor_that_nobody_names_goes_at_once),
	    STORY(a_check_stays_while_a_queue_names_it),
	    STORY(a_topology_stays_while_a_flavor_names_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
