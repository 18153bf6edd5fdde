/*
 * Kueue's queues in the fleet, step by step (DESIGN section 4; reference/kueue.md 2): what waits
 * for what, what is taken together, where it goes, and what a restart remembers.
 */
#include "kueue_words.h"

/* ---- one queue ---- */

static void a_queued_job_takes_quota_and_a_member_in_one_commit(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	flavor(w, "default-flavor", "");
	cluster_queue(w, "cq", "default-flavor", 10, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	assert_false(model_copy(m, "default", "one")->suspended);
	assert_int_equal(used(w, "cq", "default-flavor"), 6000);
	assert_string_equal(of_job(w, "one", "QuotaReserved", "status"), "True");
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "True");
	assert_string_equal(wl(w, "one", "status.admission.clusterQueue"), "cq");
	assert_string_equal(wl(w, "one", "status.admission.podSetAssignments.0.flavors.cpu"),
			    "default-flavor");
	assert_string_equal(wl(w, "one", "status.admission.podSetAssignments.0.resourceUsage.cpu"),
			    "6");
	assert_string_equal(wl(w, "one", "spec.podSets.0.name"), "main");
	assert_string_equal(wl(w, "one", "spec.queueName"), "lq");
	assert_string_equal(wl(w, "one", "metadata.finalizers.0"),
			    "kueue.x-k8s.io/resource-in-use");
	assert_string_equal(wl(w, "one", "metadata.ownerReferences.0.kind"), "Job");
	assert_int_equal(
	    world_events(w, "one", "CreatedWorkload", "Created Workload: default/job-one-"), 1);
	assert_int_equal(world_events(w, "one", "Started", "Admitted by clusterQueue cq"), 1);
}

static void the_next_job_waits_for_quota_and_starts_when_the_first_has_ended(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	queued_job(w, "two", "lq", 1, 3);
	world_settle(w);
	assert_null(model_copy(m, "default", "two"));
	assert_string_equal(of_job(w, "two", "QuotaReserved", "status"), "False");
	assert_string_equal(of_job(w, "two", "QuotaReserved", "reason"), "WaitingForQuota");
	assert_string_equal(world_step(w, "default", "two-job"), "Idle");
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "two"));
	assert_string_equal(of_job(w, "two", "Admitted", "status"), "True");
	assert_int_equal(used(w, "cq", "f"), 3000);
}

static void queues_count_who_waits_in_them(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8)->run_time = 600 * USEC_PER_SEC;
	flavor(w, "default-flavor", "");
	cluster_queue(w, "cq", "default-flavor", 4, "");
	local_queue(w, "q", "cq");
	queued_job(w, "one", "q", 1, 4);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	queued_job(w, "two", "q", 1, 4);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	assert_string_equal(
	    world_field(w, TYPE_LOCAL_QUEUE, "default", "q", "status.pendingWorkloads"), "1");
	assert_string_equal(world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.pendingWorkloads"),
			    "1");
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.admittedWorkloads"), "1");
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "two"), ERR_NONE);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	assert_string_equal(world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.pendingWorkloads"),
			    "0");
}

static void pods_that_all_run_are_ready_and_not_timed_out(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	m->run_time = 24 * 3600 * USEC_PER_SEC;
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "PodsReady", "status"), "True");
	assert_string_equal(of_job(w, "one", "PodsReady", "reason"), "Started");
	world_restart(w);
	world_settle(w);
	world_advance(w, 31 * 60 * USEC_PER_SEC); /* past waitForPodsReady.timeout */
	world_settle(w);
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "True");
	assert_non_null(model_copy(m, "default", "one"));
}

static void a_finished_jobs_workload_says_so_and_holds_nothing(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);
	char name[STORE_MAX_NAME + 1];

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 3);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	assert_string_equal(condition(w, "default", name, "Finished", "status"), "True");
	assert_string_equal(condition(w, "default", name, "Finished", "reason"), "Succeeded");
	assert_string_equal(condition(w, "default", name, "Finished", "message"),
			    "Reached expected number of succeeded pods");
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_int_equal(w->core->kueue->workloads.len, 0);
	world_restart(w);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
}

static void a_failed_jobs_workload_repeats_what_the_job_said(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);
	char name[STORE_MAX_NAME + 1];

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 3);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	model_finish(m, model_copy(m, "default", "one"), true);
	world_settle(w);
	assert_string_equal(condition(w, "default", name, "Finished", "reason"), "Failed");
	assert_string_equal(condition(w, "default", name, "Finished", "message"),
			    "Job has reached the specified backoff limit");
	assert_string_equal(condition(w, "default", name, "Admitted", "status"), "True");
	assert_int_equal(world_events(w, "one", "FinishedWorkload", "is declared finished"), 1);
}

static void a_queue_that_comes_later_takes_the_jobs_that_waited_for_it(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	queued_job(w, "one", "lq", 1, 3);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "QuotaReserved", "reason"), "Misconfigured");
	assert_string_equal(of_job(w, "one", "QuotaReserved", "message"),
			    "LocalQueue lq doesn't exist");
	local_queue(w, "lq", "cq");
	world_settle(w);
	assert_null(model_copy(m, "default", "one"));
	cluster_queue(w, "cq", "f", 6, "");
	world_settle(w);
	assert_null(model_copy(m, "default", "one"));
	world_advance(w, USEC_PER_SEC);
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.conditions.0.reason"),
	    "FlavorNotFound");
	flavor(w, "f", "");
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	world_advance(w, USEC_PER_SEC);
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.conditions.0.reason"), "Ready");
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.admittedWorkloads"), "1");
	assert_string_equal(
	    world_field(w, TYPE_CLUSTER_QUEUE, "", "cq", "status.flavorsUsage.0.resources.0.total"),
	    "3");
	assert_string_equal(
	    world_field(w, TYPE_LOCAL_QUEUE, "default", "lq", "status.admittedWorkloads"), "1");
}

/* ---- placement ---- */

static void quota_without_a_member_is_not_taken(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 4);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 100, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "large", "lq", 1, 6);
	queued_job(w, "small", "lq", 1, 2);
	world_settle(w);
	assert_null(model_copy(m, "default", "large"));
	assert_non_null(model_copy(m, "default", "small"));
	assert_int_equal(used(w, "cq", "f"), 2000);
	assert_string_equal(of_job(w, "large", "QuotaReserved", "reason"),
			    "TopologyPlacementFailed");
	/* A node that is large enough wakes it. */
	model_add_node(m, "more", 8, 0);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "large"));
	assert_int_equal(used(w, "cq", "f"), 8000);
}

static void a_job_without_a_queue_is_not_counted(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 1, "");
	local_queue(w, "lq", "cq");
	assert_int_equal(world_job(w, "default", "free", 1, 4, ""), ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "free"));
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
}

static void a_local_queue_named_default_takes_jobs_that_name_none(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 5, "");
	local_queue(w, "default", "cq");
	assert_int_equal(world_job(w, "default", "one", 1, 4, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 4000);
	assert_string_equal(wl(w, "one", "spec.queueName"), "default");
}

/* Two flavors by node label; each member has nodes of one of them. Quota of the first is there, its
 * nodes are full: the job gets the second flavor, and its pods the second's label. */
static void a_flavor_that_no_member_can_serve_now_is_passed_over(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 4), *b = world_join(w, "c2", 1, 8);

	model_label_nodes(a, "pool", "reserved");
	model_label_nodes(b, "pool", "spot");
	world_settle(w);
	flavor(w, "reserved", "'nodeLabels':{'pool':'reserved'}");
	flavor(w, "spot",
	       "'nodeLabels':{'pool':'spot'},'tolerations':[{'key':'spot','operator':"
	       "'Exists'}]");
	assert_int_equal(
	    world_create(
		w, TYPE_CLUSTER_QUEUE,
		"{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{"
		"'name':'cq'},'spec':{'namespaceSelector':{},'resourceGroups':[{"
		"'coveredResources':['cpu'],'flavors':[{'name':'reserved','resources':[{"
		"'name':'cpu','nominalQuota':8}]},{'name':'spot','resources':[{'name':'cpu'"
		",'nominalQuota':8}]}]}]}}"),
	    ERR_NONE);
	local_queue(w, "lq", "cq");
	queued_job(w, "first", "lq", 1, 3);
	world_settle(w);
	assert_non_null(model_copy(a, "default", "first"));
	assert_int_equal(used(w, "cq", "reserved"), 3000);
	queued_job(w, "second", "lq", 1, 3);
	world_settle(w);
	assert_non_null(model_copy(b, "default", "second"));
	assert_string_equal(wl(w, "second", "status.admission.podSetAssignments.0.flavors.cpu"),
			    "spot");
	assert_int_equal(used(w, "cq", "reserved"), 3000);
	assert_int_equal(used(w, "cq", "spot"), 3000);
	/* What the copy's pods ask and carry. */
	const char *body = model_copy(b, "default", "second")->body;
	assert_non_null(strstr(body, "\"nodeSelector\":{\"pool\":\"spot\"}"));
	assert_non_null(strstr(body, "\"kueue.x-k8s.io/podset\":\"main\""));
	assert_non_null(strstr(body, "\"kueue.x-k8s.io/cluster-queue-name\":\"cq\""));
	assert_non_null(strstr(body, "\"kueue.x-k8s.io/local-queue-name\":\"lq\""));
	assert_non_null(
	    strstr(body, "\"tolerations\":[{\"key\":\"spot\",\"operator\":\"Exists\"}]"));
	world_restart(w);
	world_settle(w);
	assert_int_equal(used(w, "cq", "spot"), 3000);
	/* More of each: neither has nodes for it. */
	queued_job(w, "third", "lq", 1, 5);
	world_settle(w);
	model_finish(b, model_copy(b, "default", "second"), false);
	world_settle(w);
	assert_non_null(model_copy(b, "default", "third"));
}

static void who_waits_is_told_in_order(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 2, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 2);
	queued_job(w, "two", "lq", 1, 2);
	queued_job(w, "three", "lq", 1, 1);
	world_settle(w);
	const char *all = world_query(w, "kueue/v1beta2/clusterqueues/cq/pendingworkloads");
	const char *two = strstr(all, "job-two-"), *three = strstr(all, "job-three-");
	assert_null(strstr(all, "job-one-"));
	assert_non_null(two);
	assert_true(two < three);
	assert_non_null(strstr(all, "\"positionInClusterQueue\":0,\"positionInLocalQueue\":0"));
	const char *second = world_query(
	    w, "kueue/v1beta1/namespaces/default/localqueues/lq/pendingworkloads?offset=1&limit=1");
	assert_null(strstr(second, "job-two-"));
	assert_non_null(strstr(second, "job-three-"));
	const char *why = world_query(w, "namespaces/default/jobs/three/why");
	assert_non_null(strstr(why, "\"position\":2,\"reason\":\"WaitingForQuota\""));
	const char *queues = world_query(w, "queues");
	assert_non_null(strstr(queues, "\"name\":\"cq\""));
	assert_non_null(strstr(queues, "\"pending\":2"));
}

/* ---- restart ---- */

static void a_restart_counts_what_workloads_hold_again(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	queued_job(w, "two", "lq", 1, 3);
	world_settle(w);
	world_restart(w);
	assert_int_equal(used(w, "cq", "f"), 6000);
	world_settle(w);
	assert_null(model_copy(m, "default", "two"));
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "two"));
	assert_int_equal(used(w, "cq", "f"), 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_queued_job_takes_quota_and_a_member_in_one_commit),
	    STORY(the_next_job_waits_for_quota_and_starts_when_the_first_has_ended),
	    STORY(queues_count_who_waits_in_them),
	    STORY(pods_that_all_run_are_ready_and_not_timed_out),
	    STORY(a_finished_jobs_workload_says_so_and_holds_nothing),
	    STORY(a_failed_jobs_workload_repeats_what_the_job_said),
	    STORY(a_queue_that_comes_later_takes_the_jobs_that_waited_for_it),
	    STORY(quota_without_a_member_is_not_taken),
	    STORY(a_job_without_a_queue_is_not_counted),
	    STORY(a_local_queue_named_default_takes_jobs_that_name_none),
	    STORY(a_flavor_that_no_member_can_serve_now_is_passed_over),
	    STORY(who_waits_is_told_in_order),
	    STORY(a_restart_counts_what_workloads_hold_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
