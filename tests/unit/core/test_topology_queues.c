/*
 * Topology in the fleet, for jobs in a queue: what the Workload says, and which quota is none
 * without a rack.
 */
#include "topology_site.h"

static void a_queued_gang_gets_an_assignment_that_is_true(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	queue(w);
	assert_int_equal(job(w, "one", "lq", 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "one", "\"" BLOCK "\":\"A\",\"" RACK "\":\"r1\""));
#define ASSIGNMENT "status.admission.podSetAssignments.0.topologyAssignment."
	assert_string_equal(wl(w, "one", ASSIGNMENT "levels.0"), BLOCK);
	assert_string_equal(wl(w, "one", ASSIGNMENT "levels.1"), RACK);
	assert_string_equal(wl(w, "one", ASSIGNMENT "slices.0.domainCount"), "1");
	assert_string_equal(wl(w, "one", ASSIGNMENT "slices.0.valuesPerLevel.0.universalValue"),
			    "A");
	assert_string_equal(wl(w, "one", ASSIGNMENT "slices.0.valuesPerLevel.1.universalValue"),
			    "r1");
	assert_string_equal(wl(w, "one", ASSIGNMENT "slices.0.universalPodCount"), "2");
	assert_string_equal(wl(w, "one", "spec.podSets.0.topologyRequest.required"), RACK);
	/* One that asks for nothing in a queue of such flavors is unconstrained. */
	assert_int_equal(job(w, "plain", "lq", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "plain", "\"nodeSelector\":{\"" BLOCK "\":\"A\"}"));
	assert_string_equal(wl(w, "plain", ASSIGNMENT "levels.0"), "");
}

static void quota_without_a_rack_is_a_placement_that_failed(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	queue(w);
	assert_int_equal(job(w, "one", "lq", 2, 5, ASK("required", RACK)), ERR_NONE);
	assert_int_equal(job(w, "two", "lq", 2, 5, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	/* Block A has 3 free cpus on each of four nodes: no rack holds three pods of 3. */
	assert_int_equal(job(w, "three", "lq", 3, 3, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_null(model_copy(m, "default", "three"));
	assert_string_equal(reason_of(w, "three"), "TopologyPlacementFailed");
	bool told = false;
	for (int i = 0; i < 4; i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "status.conditions.%d.message", i);
		told |=
		    strstr(wl(w, "three", path), "had room for 2 of 3 pods in one " RACK) != NULL;
	}
	assert_true(told);
	model_finish(m, model_copy(m, "default", "two"), false);
	world_settle(w);
	assert_true(copy_has(m, "three", "\"" RACK "\":\"r2\""));
}

static void a_flavor_without_its_topology_makes_the_queue_inactive(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	queue(w);
	world_advance(w, 200 * 1000);
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.conditions.0.reason"),
	    "TopologyNotFound");
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.conditions.0.message"),
	    "Can't admit new workloads: there is no Topology \"site\" for TAS flavor "
	    "\"tas\".");
	assert_int_equal(job(w, "one", "lq", 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	assert_null(model_copy(m, "default", "one"));
	topology(w);
	world_settle(w);
	assert_true(copy_has(m, "one", "\"" RACK "\":\"r1\""));
}

static void a_level_that_is_not_in_the_topology_is_no_flavor(void **state)
{
	struct world *w = *state;

	site(w, "c1", 8);
	topology(w);
	queue(w);
	assert_int_equal(job(w, "one", "lq", 1, 1, ASK("required", "cloud.example.com/hall")),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(reason_of(w, "one"), "NoMatchingFlavor");
}

static void an_evicted_gang_may_get_another_rack(void **state)
{
	struct world *w = *state;
	struct model *m = site(w, "c1", 8);

	topology(w);
	queue(w);
	assert_int_equal(job(w, "one", "lq", 2, 8, ASK("required", RACK)), ERR_NONE);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	char name[STORE_MAX_NAME + 1];
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':false}}"), ERR_NONE);
	world_settle(w);
	assert_null(world_record(w, TYPE_JOB, "default", "one")->domains);
	assert_string_equal(wl(w, "one", "status.admission"), "");
	model_remove_node(m, "c1-n0");
	world_settle(w);
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':true}}"),
			 ERR_NONE);
	world_settle(w);
	assert_true(copy_has(m, "one", "\"" RACK "\":\"r2\""));
	assert_string_equal(wl(w, "one", ASSIGNMENT "slices.0.valuesPerLevel.1.universalValue"),
			    "r2");
}

static void an_assignment_names_every_domain(void **state)
{
	struct world *w = *state;

	site(w, "c1", 8);
	topology(w);
	queue(w);
	assert_int_equal(job(w, "even", "lq", 4, 8, SLICES("2")), ERR_NONE);
	world_settle(w);
	assert_string_equal(wl(w, "even", ASSIGNMENT "levels.1"), RACK);
	assert_string_equal(wl(w, "even", ASSIGNMENT "slices.0.domainCount"), "2");
	assert_string_equal(wl(w, "even", ASSIGNMENT "slices.0.valuesPerLevel.0.universalValue"),
			    "A");
	assert_string_equal(wl(w, "even", ASSIGNMENT "slices.0.valuesPerLevel.1.prefix"), "r");
	assert_string_equal(wl(w, "even", ASSIGNMENT "slices.0.valuesPerLevel.1.roots.1"), "2");
	assert_string_equal(wl(w, "even", ASSIGNMENT "slices.0.universalPodCount"), "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(an_assignment_names_every_domain),
	    STORY(a_queued_gang_gets_an_assignment_that_is_true),
	    STORY(quota_without_a_rack_is_a_placement_that_failed),
	    STORY(a_flavor_without_its_topology_makes_the_queue_inactive),
	    STORY(a_level_that_is_not_in_the_topology_is_no_flavor),
	    STORY(an_evicted_gang_may_get_another_rack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
