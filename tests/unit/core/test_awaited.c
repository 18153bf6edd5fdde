/*
 * Who waits for whom to stop (hub/core/admission/awaited.h, stopping.h, kueue/preempted.h): the
 * job for which others were preempted, and those others, until the last pod is gone.
 */
#include "world.h"

#include "base/json.h"
#include "core/job.h"
#include "core/kueue/workload.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define HIGH	    ",'kueue.x-k8s.io/priority-class':'high'"

static bool says_of(struct world *w, const char *ns, const char *job, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "namespaces/%s/jobs/%s/why", ns, job);
	return strstr(world_query(w, path), text) != NULL;
}

static void says(struct world *w, const char *job, const char *text)
{
	if (says_of(w, "default", job, text))
		return;
	print_error("%s: no \"%s\" in %s\n", job, text, w->result);
	fail();
}

static void says_not(struct world *w, const char *job, const char *text)
{
	assert_false(says_of(w, "default", job, text));
}

/* LocalQueue lq of cq, `cpus` cpus, whose workloads preempt those of lower priority. */
static struct model *start(struct world *w, int nodes, int cpus)
{
	struct model *m = world_join(w, "c1", nodes, 4);

	m->run_time = 3600 * USEC_PER_SEC;
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", cpus,
			    ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	world_local_queue(w, "lq", "cq");
	world_priority(w, "high", 1000);
	return m;
}

/* The pods of the copy go on being there when they are deleted; their names by place. */
static const struct model_pod *hang(struct model *m, const char *job, size_t pod)
{
	const struct model_pod *p = model_copy(m, "default", job)->pods.items[pod];

	model_hang(m, p->node);
	return p;
}

static const char *told(struct world *w, const char *job)
{
	return world_workload_condition(w, job, "QuotaReserved", "message");
}

/* low has two pods, of which the first does not end. What is stored names the victim at the
 * decision and stands still while its pods end; who asks is told the pods that are left. */
static void the_preemptor_names_who_stops_and_the_pod_that_is_left(void **state)
{
	struct world *w = *state;
	struct model *m = start(w, 4, 8);
	char text[256];

	world_queued_job(w, "low", "lq", 2, 4, "");
	world_settle(w);
	world_queued_job(w, "prod", "lq", 2, 4, HIGH);
	world_run(w);
	assert_string_equal(told(w, "prod"),
			    "couldn't assign flavors to pod set main: insufficient unused quota "
			    "for cpu in flavor f, 8 more needed. Pending the preemption of 1 "
			    "workload(s): Job default/low on c1");
	says(w, "prod", "\"reason\":\"WaitingForPreemptedWorkloads\"");
	says(w, "prod", "(2 pods left)");
	auto_free char *row = xstrdup(world_workload(w, "prod", "metadata.resourceVersion"));
	const struct model_pod *p = hang(m, "low", 0);
	world_settle(w);
	assert_string_equal(world_workload(w, "prod", "metadata.resourceVersion"), row);
	(void)snprintf(text, sizeof(text),
		       "\"waitsFor\":{\"count\":1,\"message\":\"Waits for 1 preempted job to stop: "
		       "Job default/low on c1 (1 pod left; pod %s on node %s is Terminating)\"",
		       p->name, p->node);
	says(w, "prod", text);
	says(w, "prod",
	     "\"message\":\"Waits for 1 preempted job to stop: Job default/low on c1 (1 "
	     "pod left)\"");
	says(w, "prod", "\"message\":\"is under way\"");
	assert_non_null(strstr(world_query(w, "jobs"), "Job default/low on c1 (1 pod left)"));
	/* nothing is heard of its node: an admin can help */
	says(w, "prod", "\"nodeLost\":false");
	model_set_node(m, p->node, false, false);
	world_settle(w);
	world_advance(w, 6 * USEC_PER_SEC);
	says(w, "prod", "\"nodeLost\":true");
	says(w, "prod", ", and its node is lost)");
	model_unhang(m, p->node);
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "prod", "Admitted", "status"), "True");
	says_not(w, "prod", "waitsFor");
}

/* Its own side: for whom it stops, which pods are left; then, in the queue again, who it was. */
static void the_victim_is_told_for_whom_and_what_it_waits_for(void **state)
{
	struct world *w = *state;
	struct model *m = start(w, 4, 8);

	world_queued_job(w, "low", "lq", 2, 4, "");
	world_settle(w);
	says_not(w, "low", "preemptedBy");
	world_queued_job(w, "prod", "lq", 2, 4, HIGH);
	const struct model_pod *p = hang(m, "low", 1);
	world_settle(w);
	says(w, "low", "\"status\":\"Stopping\"");
	says(w, "low",
	     "\"reason\":\"Preempted\",\"message\":\"Gives way to Job default/prod: 1 pod "
	     "left");
	says(w, "low", "\"preemptedBy\":{\"reason\":\"InClusterQueue\",\"at\":\"");
	says(w, "low", "\"kind\":\"Job\",\"namespace\":\"default\",\"name\":\"prod\"}");
	says(w, "low",
	     "\"stops\":{\"kind\":\"Job\",\"namespace\":\"default\",\"name\":\"low\","
	     "\"cluster\":\"c1\",\"since\":\"");
	says(w, "low", "\"podsLeft\":1,\"pods\":[{\"name\":\"");
	says(w, "low", p->name);
	/* deletionTimestamp is when its grace period of 30 s is over */
	says(w, "low", "\"state\":\"Terminating\",\"since\":\"2023-11-14T22:13:00Z\"");
	model_unhang(m, p->node);
	world_settle(w);
	says(w, "low", "\"status\":\"Queued\"");
	says_not(w, "low", "\"stops\"");
	says(w, "low", "\"namespace\":\"default\",\"name\":\"prod\"}");
	/* It runs again: that is over. */
	model_finish(m, model_copy(m, "default", "prod"), false);
	world_settle(w);
	says_not(w, "low", "preemptedBy");
}

static void both_sides_are_told_after_a_restart(void **state)
{
	struct world *w = *state;
	struct model *m = start(w, 4, 8);

	world_queued_job(w, "low", "lq", 2, 4, "");
	world_settle(w);
	world_queued_job(w, "prod", "lq", 2, 4, HIGH);
	hang(m, "low", 0);
	world_settle(w);
	world_restart(w);
	world_settle(w);
	says(w, "prod",
	     "Waits for 1 preempted job to stop: Job default/low on c1 (1 pod left; pod ");
	says(w, "low", "Gives way to Job default/prod: 1 pod left");
	says(w, "low", "\"preemptedBy\":{\"reason\":\"InClusterQueue\"");
}

/* 20 cpus of 4 each: prod asks all. Three are named, the others counted. */
static void of_many_victims_three_are_named(void **state)
{
	struct world *w = *state;
	struct model *m = start(w, 10, 20);
	char name[16];

	for (int i = 0; i < 5; i++) {
		(void)snprintf(name, sizeof(name), "low%d", i);
		world_queued_job(w, name, "lq", 1, 4, "");
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	world_queued_job(w, "prod", "lq", 5, 4, HIGH);
	world_run(w);
	assert_non_null(strstr(told(w, "prod"), "Pending the preemption of 5 workload(s): Job "
						"default/low"));
	assert_non_null(strstr(told(w, "prod"), " on c1 and 2 more"));
	says(w, "prod", "\"count\":5");
	says(w, "prod", " (1 pod left) and 2 more\"");
	hang(m, "low0", 0);
	world_settle(w);
	says(w, "prod", "Waits for 1 preempted job to stop: Job default/low0 on c1 (1 pod left)");
}

/* More than an answer names: 22, of which 20 are listed. */
static void of_very_many_victims_the_answer_lists_twenty(void **state)
{
	struct world *w = *state;
	char name[16];

	start(w, 22, 22 * 4);
	for (int i = 0; i < 22; i++) {
		(void)snprintf(name, sizeof(name), "low%d", i);
		world_queued_job(w, name, "lq", 1, 4, "");
	}
	world_settle(w);
	world_queued_job(w, "prod", "lq", 22, 4, HIGH);
	world_run(w);
	says(w, "prod", "\"waitsFor\":{\"count\":22,");
	size_t listed = 0;
	for (const char *at = w->result; (at = strstr(at, "\"podsLeft\":1,")); at++)
		listed++;
	assert_int_equal(listed, 20);
}

/* Quota shrinks while the first victim stops: the other one has to go too, and that is told. */
static void more_victims_are_told_anew(void **state)
{
	struct world *w = *state;
	struct model *m = start(w, 4, 8);

	world_queued_job(w, "low1", "lq", 1, 4, "");
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	world_queued_job(w, "low2", "lq", 1, 4, "");
	world_settle(w);
	world_queued_job(w, "prod", "lq", 1, 4, HIGH);
	world_run(w);
	assert_non_null(strstr(told(w, "prod"), "of 1 workload(s): Job default/low2 on c1"));
	hang(m, "low1", 0);
	hang(m, "low2", 0);
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq",
			"{'spec':{'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':"
			"'f','resources':[{'name':'cpu','nominalQuota':'4'}]}]}]}}"),
	    ERR_NONE);
	world_settle(w);
	assert_non_null(strstr(told(w, "prod"), "Pending the preemption of 2 workload(s): Job "));
	assert_non_null(strstr(told(w, "prod"), "Job default/low1 on c1"));
	says(w, "prod", "Waits for 2 preempted jobs to stop: ");
}

/* A user's own Workload holds quota without a job: it is named as such. */
static void a_victim_that_is_no_job_is_named_as_a_workload(void **state)
{
	struct world *w = *state;

	start(w, 2, 4);
	assert_int_equal(
	    world_create(
		w, TYPE_WORKLOAD,
		"{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':{'name':'own',"
		"'namespace':'default'},'spec':{'queueName':'lq','podSets':[{'name':'main','count':"
		"1,'template':{'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'4'"
		"}}}]}}}]}}"),
	    ERR_NONE);
	world_settle(w);
	world_queued_job(w, "prod", "lq", 1, 4, HIGH);
	world_run(w);
	assert_non_null(strstr(told(w, "prod"), "1 workload(s): Workload default/own"));
}

/* ---- who else takes back jobs for another ---- */

/* b takes back its min from a, whose job does not end. */
static void the_owner_of_a_quota_names_who_gives_it_back(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 4);

	m->run_time = 3600 * USEC_PER_SEC;
	world_teams(w, 8, 8);
	assert_int_equal(world_patch(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree",
				     "{'spec':{'root':{'attributes':{'reclaim-policy':'ReclaimMin',"
				     "'reclaim-protect-time':'0s'}}}}"),
			 ERR_NONE);
	for (int i = 0; i < 2; i++) {
		world_job(w, "team-a", i ? "a1" : "a0", 1, 4, "");
		world_settle(w);
		world_advance(w, USEC_PER_SEC);
	}
	const char *node = model_copy(m, "team-a", "a1")->pods.items[0]->node;
	assert_non_null(node);
	model_hang(m, node);
	world_job(w, "team-b", "b0", 1, 4, "");
	for (int i = 0; i < 4; i++) {
		world_settle(w);
		world_advance(w, 200 * USEC_PER_MS);
	}
	world_settle(w);
	assert_true(says_of(w, "team-b", "b0", "\"reason\":\"WaitingForReclaim\""));
	assert_true(says_of(w, "team-b", "b0",
			    "when 1 job(s) there have stopped. Waits for 1 preempted job to stop: "
			    "Job team-a/a1 on c1 (1 pod left)\""));
	assert_true(says_of(w, "team-b", "b0", " is Terminating)\",\"jobs\":[{\"kind\":\"Job\""));
	assert_true(says_of(w, "team-a", "a1",
			    "\"reason\":\"Preempted\",\"message\":\"Gives way to "
			    "Job team-b/b0: 1 pod left"));
	assert_true(says_of(w, "team-a", "a1",
			    "\"preemptedBy\":{\"reason\":\"Preempted\",\"kind\":"
			    "\"Job\",\"namespace\":\"team-b\",\"name\":\"b0\"}"));
	model_unhang(m, node);
	world_settle(w);
	assert_false(says_of(w, "team-b", "b0", "waitsFor"));
	assert_false(says_of(w, "team-a", "a1", "preemptedBy"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(the_preemptor_names_who_stops_and_the_pod_that_is_left),
	    STORY(the_victim_is_told_for_whom_and_what_it_waits_for),
	    STORY(both_sides_are_told_after_a_restart),
	    STORY(of_many_victims_three_are_named),
	    STORY(of_very_many_victims_the_answer_lists_twenty),
	    STORY(more_victims_are_told_anew),
	    STORY(a_victim_that_is_no_job_is_named_as_a_workload),
	    STORY(the_owner_of_a_quota_names_who_gives_it_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
