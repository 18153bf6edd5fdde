/*
 * What `why` says of a job in Kueue's queues (core/kueue/query_workload.h): every reason that can
 * keep it waiting, with its numbers.
 */
#include "world.h"

#include "base/json.h"
#include "core/kueue/kueue.h"
#include "core/kueue/workload.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static bool says(struct world *w, const char *job, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "namespaces/default/jobs/%s/why", job);
	const char *answer = world_query(w, path);
	if (strstr(answer, text))
		return true;
	print_error("%s\n", answer);
	return false;
}

/* Two flavors of 4 cpu; "one" holds 3 of the first, "two" 3 of the second, so "three" with 2 finds
 * 4 - 3 = 1 in each: 1 is missing. */
static void each_flavor_says_what_is_missing(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 4, 8);
	world_flavor(w, "a", "");
	world_flavor(w, "b", "");
	world_cluster_queue(w, "cq", "a b", 4, "");
	world_local_queue(w, "lq", "cq");
	world_queued_job(w, "one", "lq", 1, 3, "");
	world_queued_job(w, "two", "lq", 1, 3, "");
	world_queued_job(w, "three", "lq", 1, 2, "");
	world_settle(w);
	assert_true(
	    says(w, "three", "\"localQueue\":\"lq\",\"clusterQueue\":\"cq\",\"position\":1"));
	assert_true(
	    says(w, "three", "insufficient unused quota for cpu in flavor a, 1 more needed"));
	assert_true(says(w, "three",
			 "\"name\":\"b\",\"verdict\":\"NoCandidates\",\"borrows\":false,"
			 "\"reasons\":[\"insufficient unused quota for cpu in flavor b, 1 more "
			 "needed\"]"));
	assert_true(says(
	    w, "three", "\"gates\":{\"policy\":true,\"queue\":true,\"turn\":true,\"quota\":false"));
	assert_true(says(w, "three", "finds nobody that the policies allow to preempt"));
	assert_true(says(w, "three", "\"withinClusterQueue\":\"Never\""));
	/* nothing is changed by asking */
	world_advance(w, 60 * USEC_PER_SEC);
	assert_true(says(w, "three", "\"position\":1"));
}

static void what_can_never_fit_is_told_as_such(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 4, 8);
	world_flavor(w, "a", "");
	world_cluster_queue(w, "cq", "a", 4, "");
	world_local_queue(w, "lq", "cq");
	world_queued_job(w, "big", "lq", 2, 3, "");
	world_settle(w);
	assert_true(says(w, "big", "\"reason\":\"ExceedsMaxQuota\""));
	assert_true(says(w, "big", "current podset request (6) > maximum capacity (4)"));
	assert_true(says(w, "big", "cannot help: no flavor could hold the workload"));
}

/* Flavor "gpu" asks for a label that no node has; quota of it is free. */
static void quota_that_no_member_can_serve_is_told_by_member(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 2, 8);
	world_join(w, "c2", 2, 8);
	world_flavor(w, "gpu", "'nodeLabels':{'accelerator':'h100'}");
	world_cluster_queue(w, "cq", "gpu", 40, "");
	world_local_queue(w, "lq", "cq");
	world_queued_job(w, "one", "lq", 1, 2, "");
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "one", "QuotaReserved", "reason"),
			    "TopologyPlacementFailed");
	assert_true(says(w, "one",
			 "\"name\":\"gpu\",\"verdict\":\"Fit\",\"borrows\":false,\"reasons\":[],"
			 "\"clusters\":2,\"clustersThatFit\":0,\"clusterReason\":"
			 "\"AffinityMismatch\""));
	assert_true(says(w, "one", "\"quota\":true"));
	assert_true(says(w, "one", "{\"cluster\":\"c2\",\"verdict\":\"AffinityMismatch\""));
}

static void an_inactive_queue_says_why(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 2, 8);
	world_cluster_queue(w, "cq", "missing", 4, "");
	world_local_queue(w, "lq", "cq");
	world_queued_job(w, "one", "lq", 1, 2, "");
	world_settle(w);
	assert_true(says(w, "one", "\"active\":false,\"activeReason\":\"FlavorNotFound\""));
	assert_true(says(w, "one", "references missing ResourceFlavor(s): missing"));
	assert_true(says(w, "one", "\"gates\":{\"policy\":true,\"queue\":false"));
}

/* 4 cpu, held by dev jobs of 2 each; prod asks 2 where nodes have no room for it until one of
 * them goes, which takes its pods' time: meanwhile who gives way is told by name. */
static void whom_preemption_would_hit_is_told(void **state)
{
	struct world *w = *state;

	struct model *m = world_join(w, "c1", 1, 4);
	m->run_time = 3600 * USEC_PER_SEC;
	world_flavor(w, "a", "");
	world_cluster_queue(w, "cq", "a", 4,
			    ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	world_local_queue(w, "lq", "cq");
	world_priority(w, "prod", 1000);
	world_priority(w, "dev", 100);
	world_queued_job(w, "dev1", "lq", 1, 2, ",'kueue.x-k8s.io/priority-class':'dev'");
	world_settle(w);
	world_advance(w, USEC_PER_SEC); /* the later one goes first */
	world_queued_job(w, "dev2", "lq", 1, 2, ",'kueue.x-k8s.io/priority-class':'dev'");
	world_settle(w);
	world_queued_job(w, "prod1", "lq", 1, 2, ",'kueue.x-k8s.io/priority-class':'prod'");
	world_run(w);
	assert_true(says(w, "prod1", "\"withinClusterQueue\":\"LowerPriority\""));
	assert_true(
	    says(w, "prod1", "\"victimCount\":1,\"victims\":[{\"workload\":\"default/job-dev2-"));
	assert_true(says(w, "prod1", "\"priority\":100,\"reason\":\"InClusterQueue\"}"));
	/* the class of the workload is what a queue looks at, and what lists show */
	assert_non_null(strstr(world_query(w, "jobs"), "\"name\":\"prod1\",\"kind\":\"Job\""));
	assert_true(says(w, "prod1", "\"priority\":1000,\"pods\":1"));
	assert_true(says(w, "prod1", "\"queue\":\"lq\""));
}

static void checks_that_are_not_ready_are_told(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 2, 8);
	assert_int_equal(
	    world_create(
		w, TYPE_ADMISSION_CHECK,
		"{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata'"
		":{'name':'capacity'},'spec':{'controllerName':'example.com/capacity'},"
		"'status':{'conditions':[{'type':'Active','status':'True','reason':'Active'"
		",'message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}"),
	    ERR_NONE);
	world_flavor(w, "a", "");
	world_cluster_queue(w, "cq", "a", 4,
			    ",'admissionChecksStrategy':{'admissionChecks':[{'name':'capacity'}]}");
	world_local_queue(w, "lq", "cq");
	world_queued_job(w, "one", "lq", 1, 2, "");
	world_settle(w);
	assert_true(says(w, "one", "\"checks\":[{\"name\":\"capacity\",\"state\":\"Pending\""));
	assert_true(says(w, "one", "\"quota\":true,\"checks\":false,\"placement\":false"));
}

/* Its pods did not come back within waitForPodsReady's 30 minutes: it waits 60 s, its first wait.
 */
static void when_it_may_come_back_is_told(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	m->run_time = 7200 * USEC_PER_SEC;
	world_flavor(w, "a", "");
	world_cluster_queue(w, "cq", "a", 4, "");
	world_local_queue(w, "lq", "cq");
	world_queued_job(w, "one", "lq", 1, 2, "");
	world_settle(w);
	model_end_pod(m, model_copy(m, "default", "one")->pods.items[0]);
	world_settle(w);
	world_advance(w, 1801 * USEC_PER_SEC);
	world_settle(w);
	assert_true(says(w, "one", "\"requeues\":1,\"backoffUntil\":\""));
	assert_true(says(w, "one", "\"gates\":{\"policy\":true,\"queue\":false"));
	world_advance(w, 61 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "one", "Admitted", "status"), "True");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(each_flavor_says_what_is_missing),
	    STORY(what_can_never_fit_is_told_as_such),
	    STORY(quota_that_no_member_can_serve_is_told_by_member),
	    STORY(an_inactive_queue_says_why),
	    STORY(whom_preemption_would_hit_is_told),
	    STORY(checks_that_are_not_ready_are_told),
	    STORY(when_it_may_come_back_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
