/*
 * What a queued job hears of its Workload beside its admission and its end, and what both say
 * while they wait, in Kueue's words (pkg/controller/jobframework/reconciler.go and events.go,
 * pkg/controller/core/workload_controller.go).
 */
#include "base/clock.h"
#include "kueue_words.h"

/* Queue lq of cq with 4 cpus, checked by `budget` when `checked`, and a member with 8. */
static struct model *begin(struct world *w, bool checked)
{
	struct model *m = world_join(w, "c1", 1, 8);

	flavor(w, "f", "");
	if (checked)
		assert_int_equal(
		    world_create(w, TYPE_ADMISSION_CHECK,
				 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck',"
				 "'metadata':{'name':'budget'},'spec':{'controllerName':'a.b/c'},"
				 "'status':{'conditions':[{'type':'Active','status':'True',"
				 "'reason':'Active','message':'','lastTransitionTime':"
				 "'2026-01-01T00:00:00Z'}]}}"),
		    ERR_NONE);
	cluster_queue(w, "cq", "f", 4,
		      checked ? ",'admissionChecksStrategy':{'admissionChecks':[{'name':'budget'}]}"
			      : ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	return m;
}

static void patch_job(struct world *w, const char *job, const char *text)
{
	assert_int_equal(world_patch(w, TYPE_JOB, "default", job, text), ERR_NONE);
	world_settle(w);
}

static void patch_workload(struct world *w, const char *job, const char *text)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);
	char name[STORE_MAX_NAME + 1];

	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name, text), ERR_NONE);
	world_settle(w);
}

static void an_edit_of_a_waiting_job_updates_its_workload(void **state)
{
	struct world *w = *state;
	static const char updated[] = "Updated not matching Workload for suspended job: "
				      "default/job-two-";

	begin(w, false);
	queued_job(w, "one", "lq", 1, 4);
	queued_job(w, "two", "lq", 1, 4);
	world_settle(w);
	patch_job(w, "two", "{'metadata':{'labels':{'team':'a'}}}");
	assert_int_equal(world_events(w, "two", "UpdatedWorkload", ""), 0);
	patch_job(w, "two", "{'spec':{'parallelism':3,'completions':3}}");
	assert_string_equal(wl(w, "two", "spec.podSets.0.count"), "3");
	assert_int_equal(world_events(w, "two", "UpdatedWorkload", updated), 1);
	/* Another policy, or another queue, is no edit of its pod sets. */
	patch_job(w, "two", "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'other'}}}");
	assert_string_equal(wl(w, "two", "spec.queueName"), "other");
	assert_int_equal(world_events(w, "two", "UpdatedWorkload", ""), 1);
}

static void another_priority_class_is_told_also_where_the_value_is_the_same(void **state)
{
	struct world *w = *state;

	begin(w, false);
	world_priority(w, "first", 10);
	world_priority(w, "second", 10);
	world_priority(w, "high", 100);
	world_queued_job(w, "one", "lq", 1, 4, ",'kueue.x-k8s.io/priority-class':'high'");
	queued_job(w, "two", "lq", 1, 4);
	world_settle(w);
	patch_job(w, "two", "{'metadata':{'labels':{'kueue.x-k8s.io/priority-class':'first'}}}");
	assert_string_equal(wl(w, "two", "spec.priorityClassRef.name"), "first");
	assert_int_equal(world_events(w, "two", "UpdatedWorkload",
				      "Updated workload priority class: default/job-two-"),
			 1);
	patch_job(w, "two", "{'metadata':{'labels':{'kueue.x-k8s.io/priority-class':'second'}}}");
	assert_string_equal(wl(w, "two", "spec.priorityClassRef.name"), "second");
	assert_string_equal(wl(w, "two", "spec.priority"), "10");
}

static void the_job_hears_what_its_checks_wait_for(void **state)
{
	struct world *w = *state;
	char text[512], when[CLOCK_TEXT_MAX];

	begin(w, true);
	queued_job(w, "one", "lq", 1, 2);
	world_settle(w);
	assert_int_equal(world_events(w, "one", "UpdatedAdmissionCheck", ""), 0);
	(void)snprintf(text, sizeof(text),
		       "{'status':{'admissionChecks':[{'name':'budget','state':'Pending',"
		       "'message':'asking for money','lastTransitionTime':'%s'}]}}",
		       clock_format(w->now, when));
	patch_workload(w, "one", text);
	assert_int_equal(
	    world_events(w, "one", "UpdatedAdmissionCheck", "budget: asking for money"), 1);
	patch_workload(w, "one", "{'metadata':{'annotations':{'a':'b'}}}");
	assert_int_equal(world_events(w, "one", "UpdatedAdmissionCheck", ""), 1);
}

static void pods_of_who_waits_are_not_ready(void **state)
{
	struct world *w = *state;

	begin(w, false);
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'Hold'}}"),
	    ERR_NONE);
	queued_job(w, "one", "lq", 1, 4);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "PodsReady", "status"), "False");
	assert_string_equal(of_job(w, "one", "PodsReady", "reason"), "WaitForStart");
	assert_string_equal(of_job(w, "one", "PodsReady", "message"),
			    "Not all pods are ready or succeeded");
	/* The time they have counts from its admission, also over a restart. */
	world_advance(w, 29 * 60 * USEC_PER_SEC);
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'None'}}"),
	    ERR_NONE);
	world_run(w);
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "True");
	world_restart(w);
	world_advance(w, 20 * 60 * USEC_PER_SEC);
	assert_string_equal(of_job(w, "one", "Evicted", "status"), "");
	world_advance(w, 11 * 60 * USEC_PER_SEC);
	assert_string_equal(of_job(w, "one", "Evicted", "reason"), "PodsReadyTimeout");
}

static void the_wait_of_who_was_preempted_begins_anew(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w, false);
	char name[STORE_MAX_NAME + 1];

	m->run_time = 3600 * USEC_PER_SEC;
	queued_job(w, "one", "lq", 1, 4);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	world_advance(w, 100 * USEC_PER_SEC);
	world_priority(w, "prod", 1000);
	world_queued_job(w, "prod", "lq", 1, 4, ",'kueue.x-k8s.io/priority-class':'prod'");
	world_settle(w);
	assert_string_equal(of_job(w, "one", "Requeued", "reason"), "Preempted");
	assert_string_equal(of_job(w, "one", "PodsReady", "reason"), "WaitForStart");
	world_advance(w, 7 * USEC_PER_SEC);
	model_finish(m, model_copy(m, "default", "prod"), false);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "True");
	assert_int_equal(world_events(w, name, "QuotaReserved",
				      "Quota reserved in ClusterQueue cq, wait time since queued "
				      "was 7s"),
			 1);
}

/* Two cpus of flavor f and 4 of g are there for each of two queues that share them. */
static void the_event_of_a_reservation_says_which_flavors_were_passed_over(void **state)
{
	struct world *w = *state;
	char name[STORE_MAX_NAME + 1];

	world_join(w, "c1", 1, 16);
	flavor(w, "f", "");
	flavor(w, "g", "");
	assert_int_equal(
	    world_create(w, TYPE_CLUSTER_QUEUE,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{"
			 "'name':'cq'},'spec':{'namespaceSelector':{},'cohortName':'co',"
			 "'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{'name':'f',"
			 "'resources':[{'name':'cpu','nominalQuota':2}]},{'name':'g','resources':[{"
			 "'name':'cpu','nominalQuota':4}]}]}]}}"),
	    ERR_NONE);
	cluster_queue(w, "lender", "g", 4, ",'cohortName':'co'");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 6);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_string_equal(of_job(w, "one", "QuotaReserved", "message"),
			    "Quota reserved in ClusterQueue cq");
	assert_int_equal(
	    world_events(
		w, name, "QuotaReserved",
		"Quota reserved in ClusterQueue cq, wait time since queued was 0s; "
		"Flavors considered: main: f(NoFit;insufficient quota for cpu in flavor f, "
		"previously considered podsets requests (0) + current podset request (6) > "
		"maximum capacity (2)), g(Fit;borrow=1)"),
	    1);
}

static void a_stopped_local_queue_is_named_first(void **state)
{
	struct world *w = *state;

	begin(w, false);
	assert_int_equal(
	    world_patch(w, TYPE_LOCAL_QUEUE, "default", "lq", "{'spec':{'stopPolicy':'Hold'}}"),
	    ERR_NONE);
	assert_int_equal(world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq",
				     "{'spec':{'stopPolicy':'Hold','namespaceSelector':{"
				     "'matchLabels':{'a':'b'}}}}"),
			 ERR_NONE);
	queued_job(w, "one", "lq", 1, 4);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "QuotaReserved", "reason"), "Suspended");
	assert_string_equal(of_job(w, "one", "QuotaReserved", "message"),
			    "LocalQueue lq is inactive");
	assert_int_equal(
	    world_patch(w, TYPE_LOCAL_QUEUE, "default", "lq", "{'spec':{'stopPolicy':'None'}}"),
	    ERR_NONE);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "QuotaReserved", "message"),
			    "ClusterQueue cq is inactive");
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'None'}}"),
	    ERR_NONE);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "QuotaReserved", "reason"), "Misconfigured");
	assert_string_equal(of_job(w, "one", "QuotaReserved", "message"),
			    "workload namespace doesn't match ClusterQueue selector");
}

/* Under StrictFIFO who stands behind the head is not tried: what it was told is over all the same.
 */
static void who_is_held_back_no_more_waits_to_be_tried(void **state)
{
	struct world *w = *state;

	begin(w, false);
	assert_int_equal(world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq",
				     "{'spec':{'queueingStrategy':'StrictFIFO'}}"),
			 ERR_NONE);
	queued_job(w, "one", "lq", 1, 4);
	queued_job(w, "two", "lq", 1, 4);
	world_settle(w);
	queued_job(w, "three", "lq", 1, 1);
	world_settle(w);
	patch_workload(w, "three", "{'spec':{'active':false}}");
	assert_string_equal(of_job(w, "three", "QuotaReserved", "reason"), "Deactivated");
	world_restart(w);
	patch_workload(w, "three", "{'spec':{'active':true}}");
	assert_string_equal(of_job(w, "three", "QuotaReserved", "reason"), "PendingEvaluation");
	assert_string_equal(of_job(w, "three", "QuotaReserved", "message"),
			    "Workload is pending evaluation in the scheduling queue");
}

static void answer(struct world *w, const char *state, const char *more)
{
	char text[512], when[CLOCK_TEXT_MAX];

	(void)snprintf(text, sizeof(text),
		       "{'status':{'admissionChecks':[{'name':'budget','state':'%s','message':'m',"
		       "'lastTransitionTime':'%s'%s}]}}",
		       state, clock_format(w->now, when), more);
	patch_workload(w, "one", text);
}

/* Kueue's resetChecksOnEviction is part of the eviction; Admitted, and with it the time that it
 * ran, ends when the pods are gone. */
static void checks_begin_anew_when_the_eviction_is_told(void **state)
{
	struct world *w = *state;

	begin(w, true)->run_time = 3600 * USEC_PER_SEC;
	queued_job(w, "one", "lq", 1, 2);
	world_settle(w);
	answer(w, "Retry", ",'requeueAfterSeconds':1");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.retryCount"), "1");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.requeueAfterSeconds"), "1");
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.retryCount"), "1");
	answer(w, "Ready", ",'retryCount':1");
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "True");
	world_advance(w, 100 * USEC_PER_SEC);
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'HoldAndDrain'}}"),
	    ERR_NONE);
	world_run(w);
	assert_string_equal(of_job(w, "one", "Evicted", "reason"), "ClusterQueueStopped");
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "True");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.state"), "Pending");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.message"),
			    "Reset to Pending after eviction. Previously: Ready");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.retryCount"), "");
	assert_string_equal(wl(w, "one", "status.accumulatedPastExecutionTimeSeconds"), "");
	world_advance(w, 20 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "False");
	assert_string_equal(wl(w, "one", "status.accumulatedPastExecutionTimeSeconds"), "120");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.message"),
			    "Reset to Pending after eviction. Previously: Ready");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(an_edit_of_a_waiting_job_updates_its_workload),
	    STORY(another_priority_class_is_told_also_where_the_value_is_the_same),
	    STORY(the_job_hears_what_its_checks_wait_for),
	    STORY(pods_of_who_waits_are_not_ready),
	    STORY(the_wait_of_who_was_preempted_begins_anew),
	    STORY(the_event_of_a_reservation_says_which_flavors_were_passed_over),
	    STORY(a_stopped_local_queue_is_named_first),
	    STORY(who_is_held_back_no_more_waits_to_be_tried),
	    STORY(checks_begin_anew_when_the_eviction_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
