/*
 * What a Workload says at each of its transitions: conditions with reason and message, events, and
 * what is counted, in Kueue's words (reference/kueue.md 1.4, 1.5, 2.8; pkg/workload,
 * pkg/controller/core/workload_controller.go, pkg/controller/jobframework/reconciler.go).
 */
#include "base/clock.h"
#include "kueue_words.h"

#define MINUTES (60 * USEC_PER_SEC)

/* One condition of the Workload of a Job; "" as message: any. */
static void says(struct world *w, const char *job, const char *type, const char *status,
		 const char *reason, const char *message)
{
	assert_string_equal(of_job(w, job, type, "status"), status);
	assert_string_equal(of_job(w, job, type, "reason"), reason);
	if (message[0])
		assert_string_equal(of_job(w, job, type, "message"), message);
}

/* Events of the Workload of a Job. */
static size_t events(struct world *w, const char *job, const char *reason, const char *text)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);
	char name[STORE_MAX_NAME + 1];

	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	return world_events(w, name, reason, text);
}

static void patch_workload(struct world *w, const char *job, const char *text)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);
	char name[STORE_MAX_NAME + 1];

	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name, text), ERR_NONE);
	world_settle(w);
}

/* Queue lq of cq with 4 cpus, a member with 8, and job `one` of 2 that runs. */
static void begin(struct world *w, const char *settings)
{
	w->kueue = settings;
	world_restart(w);
	world_join(w, "c1", 1, 8)->run_time = 3600 * USEC_PER_SEC;
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 2);
	world_settle(w);
}

static void stop_queue(struct world *w, uint16_t type, const char *ns, const char *name,
		       const char *policy)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "{'spec':{'stopPolicy':'%s'}}", policy);
	assert_int_equal(world_patch(w, type, ns, name, text), ERR_NONE);
	world_settle(w);
}

/* What it says once its quota is given back: who evicted it, in the same sentence everywhere. */
static void says_released(struct world *w, const char *job, const char *why, const char *sentence)
{
	says(w, job, "Evicted", "True", why, sentence);
	says(w, job, "QuotaReserved", "False", "PendingEvaluation", sentence);
	says(w, job, "Admitted", "False", "NoReservation", "The workload has no reservation");
	assert_string_equal(wl(w, job, "status.admission.clusterQueue"), "");
}

static void admission_is_told(void **state)
{
	struct world *w = *state;

	begin(w, "{}");
	says(w, "one", "QuotaReserved", "True", "QuotaReserved",
	     "Quota reserved in ClusterQueue cq");
	says(w, "one", "Admitted", "True", "Admitted", "The workload is admitted");
	says(w, "one", "Evicted", "", "", "");
	says(w, "one", "Requeued", "", "", "");
	says(w, "one", "PodsReady", "True", "Started",
	     "All pods reached readiness and the workload is running");
	assert_int_equal(events(w, "one", "QuotaReserved",
				"Quota reserved in ClusterQueue cq, wait time since queued was 0s"),
			 1);
	assert_int_equal(events(w, "one", "Admitted",
				"Admitted by ClusterQueue cq, wait time since reservation was 0s"),
			 1);
	assert_int_equal(
	    world_events(w, "one", "CreatedWorkload", "Created Workload: default/job-one-"), 1);
	assert_int_equal(world_events(w, "one", "Started", "Admitted by clusterQueue cq"), 1);
}

/* Evicted and Preempted at once; the rest when the pods are gone; taken back when it runs again. */
static void preemption_is_told_to_both(void **state)
{
	struct world *w = *state;
	char sentence[512], previously[1024];

	begin(w, "{}");
	world_priority(w, "prod", 1000);
	assert_int_equal(world_job(w, "default", "prod", 1, 4,
				   ",'labels':{'kueue.x-k8s.io/queue-name':'lq',"
				   "'kueue.x-k8s.io/priority-class':'prod'}"),
			 ERR_NONE);
	const struct job *prod = world_record(w, TYPE_JOB, "default", "prod");
	const struct job *one = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(
	    sentence, sizeof(sentence),
	    "Preempted to accommodate a workload (UID: %s, JobUID: %s) due to "
	    "prioritization in the ClusterQueue; preemptor path: /cq; preemptee path: /cq",
	    prod->workload->uid_text, prod->uid_text);
	says(w, "one", "Evicted", "True", "Preempted", sentence);
	says(w, "one", "Preempted", "True", "InClusterQueue", sentence);
	says(w, "one", "QuotaReserved", "True", "QuotaReserved", "");
	says(w, "one", "Requeued", "", "", "");
	says(w, "prod", "QuotaReserved", "False", "WaitingForPreemptedWorkloads", "");
	world_settle(w);
	says(w, "one", "QuotaReserved", "False", "WaitingForQuota", ""); /* it was tried again */
	says(w, "one", "Admitted", "False", "NoReservation", "The workload has no reservation");
	says(w, "one", "Requeued", "True", "Preempted", sentence);
	assert_string_equal(wl(w, "one", "status.schedulingStats.evictions.0.reason"), "Preempted");
	assert_string_equal(wl(w, "one", "status.schedulingStats.evictions.0.count"), "1");
	assert_int_equal(events(w, "one", "EvictedDueToPreempted", sentence), 1);
	assert_int_equal(events(w, "one", "Preempted",
				"preemptor effective priority: 1000 (base: 1000, boost: 0); "
				"preemptee effective priority: 0 (base: 0, boost: 0)"),
			 1);
	char preempted[256];
	(void)snprintf(preempted, sizeof(preempted),
		       "Preempted workload %s (UID: %s) in ClusterQueue cq; preemptor effective",
		       one->workload->key, one->workload->uid_text);
	assert_int_equal(events(w, "prod", "PreemptedWorkload", preempted), 1);
	assert_int_equal(world_events(w, "one", "Stopped", sentence), 1);
	/* Admitted again. */
	struct model *m = w->members[0];
	model_finish(m, model_copy(m, "default", "prod"), false);
	world_settle(w);
	(void)snprintf(previously, sizeof(previously), "Previously: %s", sentence);
	says(w, "one", "Evicted", "False", "QuotaReserved", previously);
	says(w, "one", "Preempted", "False", "QuotaReserved", previously);
	says(w, "one", "Admitted", "True", "Admitted", "The workload is admitted");
	says(w, "one", "Requeued", "True", "Preempted", sentence);
}

/* 60 s of back-off the first time, held back until then, also over restarts. */
static void a_timeout_of_pods_backs_off(void **state)
{
	struct world *w = *state;
	char sentence[512];

	w->kueue = "{'waitForPodsReady':{'timeout':'5m'}}";
	world_restart(w);
	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 2);
	world_run(w);
	says(w, "one", "PodsReady", "False", "WaitForStart", "Not all pods are ready or succeeded");
	const struct job *one = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(sentence, sizeof(sentence), "Exceeded the PodsReady timeout %s",
		       one->workload->key);
	world_advance(w, 5 * MINUTES);
	says(w, "one", "Evicted", "True", "PodsReadyTimeout", sentence);
	world_restart(w); /* told, and not given back yet */
	world_settle(w);
	says_released(w, "one", "PodsReadyTimeout", sentence);
	says(w, "one", "Requeued", "False", "PodsReadyTimeout", sentence);
	assert_string_equal(wl(w, "one", "status.requeueState.count"), "1");
	assert_true(strlen(wl(w, "one", "status.requeueState.requeueAt")) > 0);
	assert_int_equal(events(w, "one", "EvictedDueToPodsReadyTimeout", sentence), 1);
	assert_string_equal(wl(w, "one", "status.schedulingStats.evictions.0.underlyingCause"),
			    "WaitForStart");
	world_advance(w, 50 * USEC_PER_SEC);
	world_restart(w);
	world_settle(w);
	says(w, "one", "Requeued", "False", "PodsReadyTimeout", sentence);
	world_advance(w, 11 * USEC_PER_SEC);
	world_settle(w);
	says(w, "one", "Requeued", "True", "BackoffFinished", "The workload backoff was finished");
	says(w, "one", "Admitted", "True", "Admitted", "");
	assert_string_equal(wl(w, "one", "status.requeueState.count"), "1");
	assert_string_equal(wl(w, "one", "status.requeueState.requeueAt"), "");
}

/* The back-off ends while nobody is there to see it. */
static void a_back_off_that_ended_while_the_hub_was_down_is_over(void **state)
{
	struct world *w = *state;

	w->kueue = "{'waitForPodsReady':{'timeout':'5m'}}";
	world_restart(w);
	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 2);
	world_run(w);
	world_advance(w, 5 * MINUTES);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "Requeued", "status"), "False");
	w->now += 10 * MINUTES;
	world_restart(w);
	world_settle(w);
	says(w, "one", "Requeued", "True", "BackoffFinished", "The workload backoff was finished");
	says(w, "one", "Admitted", "True", "Admitted", "");
}

static void too_many_timeouts_deactivate_until_somebody_says_otherwise(void **state)
{
	static const char sentence[] = "The workload is deactivated due to exceeding the maximum "
				       "number of re-queuing retries";
	struct world *w = *state;

	w->kueue = "{'waitForPodsReady':{'timeout':'5m','requeuingStrategy':"
		   "{'backoffLimitCount':0}}}";
	world_restart(w);
	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 2);
	world_run(w);
	world_advance(w, 5 * MINUTES);
	world_settle(w);
	says(w, "one", "Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded", sentence);
	says(w, "one", "Requeued", "False", "DeactivatedDueToRequeuingLimitExceeded", sentence);
	assert_int_equal(
	    events(w, "one", "EvictedDueToDeactivatedDueToRequeuingLimitExceeded", sentence), 1);
	assert_string_equal(wl(w, "one", "spec.active"), "false");
	assert_string_equal(wl(w, "one", "status.requeueState.count"), "");
	assert_string_equal(wl(w, "one", "status.schedulingStats.evictions.0.reason"),
			    "Deactivated");
	assert_string_equal(wl(w, "one", "status.schedulingStats.evictions.0.underlyingCause"),
			    "RequeuingLimitExceeded");
	world_advance(w, 60 * MINUTES);
	world_restart(w);
	world_settle(w);
	says(w, "one", "Requeued", "False", "DeactivatedDueToRequeuingLimitExceeded", sentence);
	patch_workload(w, "one", "{'spec':{'active':true}}");
	says(w, "one", "Requeued", "True", "Reactivated", "The workload was reactivated");
	says(w, "one", "Admitted", "True", "Admitted", "");
}

static void a_user_deactivates_and_activates(void **state)
{
	static const char sentence[] = "The workload is deactivated";
	struct world *w = *state;

	begin(w, "{}");
	patch_workload(w, "one", "{'spec':{'active':false}}");
	says(w, "one", "Evicted", "True", "Deactivated", sentence);
	says(w, "one", "Requeued", "False", "Deactivated", sentence);
	says(w, "one", "Admitted", "False", "NoReservation", "");
	assert_int_equal(events(w, "one", "EvictedDueToDeactivated", sentence), 1);
	patch_workload(w, "one", "{'spec':{'active':true}}");
	says(w, "one", "Requeued", "True", "Reactivated", "The workload was reactivated");
	says(w, "one", "Admitted", "True", "Admitted", "");
}

/* Who was never evicted is not said to be requeued. */
static void who_waits_may_be_deactivated_too(void **state)
{
	struct world *w = *state;

	begin(w, "{}");
	queued_job(w, "two", "lq", 1, 4);
	world_settle(w);
	says(w, "two", "QuotaReserved", "False", "WaitingForQuota", "");
	patch_workload(w, "two", "{'spec':{'active':false}}");
	says(w, "two", "QuotaReserved", "False", "Deactivated", "The workload is deactivated");
	/* Kueue tells the eviction of one that holds nothing too, without an event. */
	says(w, "two", "Evicted", "True", "Deactivated", "The workload is deactivated");
	assert_string_equal(wl(w, "two", "status.schedulingStats.evictions.0.reason"),
			    "Deactivated");
	assert_int_equal(events(w, "two", "EvictedDueToDeactivated", ""), 0);
	patch_workload(w, "two", "{'spec':{'active':true}}");
	says(w, "two", "QuotaReserved", "False", "WaitingForQuota", "");
	patch_workload(w, "two", "{'spec':{'active':false}}");
	assert_string_equal(wl(w, "two", "status.schedulingStats.evictions.0.count"), "1");
	patch_workload(w, "two", "{'spec':{'active':true}}");
	assert_string_equal(of_job(w, "two", "Requeued", "status"), "");
}

/* Both kinds of queue: drained, and open again. */
static void a_drained_queue_holds_back_until_it_restarts(void **state)
{
	static const struct {
		uint16_t type;
		const char *ns, *name, *evicted, *sentence, *inactive, *restarted, *back;
	} queues[] = {
	    {TYPE_CLUSTER_QUEUE, "", "cq", "ClusterQueueStopped", "The ClusterQueue is stopped",
	     "ClusterQueue cq is inactive", "ClusterQueueRestarted",
	     "The ClusterQueue was restarted after being stopped"},
	    {TYPE_LOCAL_QUEUE, "default", "lq", "LocalQueueStopped", "The LocalQueue is stopped",
	     "LocalQueue lq is inactive", "LocalQueueRestarted",
	     "The LocalQueue was restarted after being stopped"},
	};
	struct world *w = *state;
	char event[64];

	begin(w, "{}");
	for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
		stop_queue(w, queues[i].type, queues[i].ns, queues[i].name, "HoldAndDrain");
		says(w, "one", "Evicted", "True", queues[i].evicted, queues[i].sentence);
		says(w, "one", "Requeued", "False", queues[i].evicted, queues[i].sentence);
		says(w, "one", "QuotaReserved", "False", "Suspended", queues[i].inactive);
		(void)snprintf(event, sizeof(event), "EvictedDueTo%s", queues[i].evicted);
		assert_int_equal(events(w, "one", event, queues[i].sentence), 1);
		world_restart(w);
		world_settle(w);
		says(w, "one", "Requeued", "False", queues[i].evicted, queues[i].sentence);
		stop_queue(w, queues[i].type, queues[i].ns, queues[i].name, "None");
		says(w, "one", "Requeued", "True", queues[i].restarted, queues[i].back);
		says(w, "one", "Admitted", "True", "Admitted", "");
	}
}

/* Equal ones are not tried one by one (equivalence hashing): they hear of the one that was, within
 * a second, once, also those that come later; and it is told only what their rows do not say. */
static void a_twin_of_who_waits_is_told_so(void **state)
{
	static const char bypassed[] =
	    "Bypassed scheduling evaluation because an equivalent workload recently failed";
	struct world *w = *state;
	char first[512];

	begin(w, "{}");
	queued_job(w, "two", "lq", 1, 4);
	queued_job(w, "three", "lq", 1, 4);
	world_settle(w);
	says(w, "two", "QuotaReserved", "False", "WaitingForQuota", "");
	says(w, "three", "QuotaReserved", "", "", "");
	(void)snprintf(first, sizeof(first), "%s", of_job(w, "two", "QuotaReserved", "message"));
	world_advance(w, 2 * USEC_PER_SEC);
	says(w, "three", "QuotaReserved", "False", "WaitingForQuota", bypassed);
	says(w, "three", "Admitted", "False", "NoReservation", "The workload has no reservation");
	assert_int_equal(events(w, "three", "WaitingForQuota", ""), 0);
	queued_job(w, "four", "lq", 1, 4);
	world_advance(w, 2 * USEC_PER_SEC);
	says(w, "four", "QuotaReserved", "False", "WaitingForQuota", bypassed);
	world_restart(w);
	world_advance(w, 5 * USEC_PER_SEC);
	world_settle(w);
	says(w, "two", "QuotaReserved", "False", "WaitingForQuota", first);
	assert_true(w->core->kueue->bypass_at == INT64_MAX); /* nobody is left */
}

static void the_end_of_its_time_is_told(void **state)
{
	static const char sentence[] =
	    "The workload is deactivated due to exceeding the maximum execution time";
	struct world *w = *state;

	begin(w, "{}");
	assert_int_equal(world_job(w, "default", "two", 1, 2,
				   ",'labels':{'kueue.x-k8s.io/queue-name':'lq',"
				   "'kueue.x-k8s.io/max-exec-time-seconds':'60'}"),
			 ERR_NONE);
	world_settle(w);
	world_advance(w, 61 * USEC_PER_SEC);
	world_settle(w);
	says(w, "two", "Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded", sentence);
	says(w, "two", "Requeued", "False", "DeactivatedDueToMaximumExecutionTimeExceeded",
	     sentence);
	assert_int_equal(events(w, "two", "MaximumExecutionTimeExceeded",
				"The maximum execution time (60s) exceeded"),
			 1);
	assert_int_equal(
	    events(w, "two", "EvictedDueToDeactivatedDueToMaximumExecutionTimeExceeded", sentence),
	    1);
}

/* ---- checks ---- */

/* cq asks a check of somebody else's controller, example.com/budget. */
static void begin_with_check(struct world *w, const char *settings)
{
	w->kueue = settings;
	world_restart(w);
	world_join(w, "c1", 1, 8);
	assert_int_equal(
	    world_create(
		w, TYPE_ADMISSION_CHECK,
		"{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata':"
		"{'name':'budget'},'spec':{'controllerName':'example.com/budget'},"
		"'status':{'conditions':[{'type':'Active','status':'True','reason':'Active'"
		",'message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}"),
	    ERR_NONE);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4,
		      ",'admissionChecksStrategy':{'admissionChecks':[{'name':'budget'}]}");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 2);
	world_settle(w);
}

static void answer(struct world *w, const char *state, const char *more)
{
	char text[512], when[CLOCK_TEXT_MAX];

	(void)snprintf(text, sizeof(text),
		       "{'status':{'admissionChecks':[{'name':'budget','state':'%s','message':"
		       "'because','lastTransitionTime':'%s'%s}]}}",
		       state, clock_format(w->now, when), more);
	patch_workload(w, "one", text);
}

static void a_check_that_says_retry_backs_off(void **state)
{
	static const char sentence[] =
	    "Evicted due to AdmissionCheck in Retry state: \"budget\" (because)";
	struct world *w = *state;

	begin_with_check(w, "{}");
	says(w, "one", "QuotaReserved", "True", "QuotaReserved", "");
	says(w, "one", "Admitted", "False", "UnsatisfiedAdmissionChecks",
	     "The workload has not all checks ready");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.state"), "Pending");
	answer(w, "Retry", ",'requeueAfterSeconds':120");
	says_released(w, "one", "AdmissionCheck", sentence);
	says(w, "one", "Requeued", "False", "AdmissionCheck", sentence);
	assert_int_equal(events(w, "one", "EvictedDueToAdmissionCheck", sentence), 1);
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.state"), "Pending");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.message"),
			    "Reset to Pending after eviction. Previously: Retry");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.retryCount"), "1");
	world_advance(w, 119 * USEC_PER_SEC);
	world_settle(w);
	says(w, "one", "Requeued", "False", "AdmissionCheck", sentence);
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	says(w, "one", "Requeued", "True", "BackoffFinished", "The workload backoff was finished");
	says(w, "one", "QuotaReserved", "True", "QuotaReserved", "");
	/* Without a time it is tried again at once. */
	answer(w, "Retry", "");
	says(w, "one", "Requeued", "True", "BackoffFinished", "The workload backoff was finished");
	says(w, "one", "QuotaReserved", "True", "QuotaReserved", "");
	answer(w, "Ready", "");
	says(w, "one", "Admitted", "True", "Admitted", "The workload is admitted");
}

static void a_check_that_rejects_deactivates(void **state)
{
	static const char sentence[] =
	    "The workload is deactivated due to AdmissionCheck in Rejected state: "
	    "\"budget\" (because)";
	struct world *w = *state;

	begin_with_check(w, "{}");
	answer(w, "Rejected", "");
	says(w, "one", "Evicted", "True", "DeactivatedDueToAdmissionCheck", sentence);
	says(w, "one", "Requeued", "False", "DeactivatedDueToAdmissionCheck", sentence);
	assert_int_equal(events(w, "one", "AdmissionCheckRejected",
				"Deactivated due to AdmissionCheck in Rejected state: \"budget\" "
				"(because)"),
			 1);
	assert_string_equal(wl(w, "one", "spec.active"), "false");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.message"),
			    "Reset to Pending after eviction. Previously: Rejected");
	assert_string_equal(wl(w, "one", "status.admissionChecks.0.retryCount"), "");
	patch_workload(w, "one", "{'spec':{'active':true}}");
	says(w, "one", "Requeued", "True", "Reactivated", "The workload was reactivated");
	says(w, "one", "QuotaReserved", "True", "QuotaReserved", "");
}

/* Gate UnadmittedWorkloadsObservability off: the older words. */
static void without_the_gate_the_checks_are_told_of_too(void **state)
{
	struct world *w = *state;

	begin_with_check(w, "{'featureGates':{'UnadmittedWorkloadsObservability':false}}");
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "");
	answer(w, "Ready", "");
	says(w, "one", "Admitted", "True", "Admitted", "");
	answer(w, "Retry", ",'requeueAfterSeconds':120");
	says(w, "one", "QuotaReserved", "False", "Pending",
	     "Evicted due to AdmissionCheck in Retry state: \"budget\" (because)");
	says(w, "one", "Admitted", "False", "NoReservationUnsatisfiedChecks",
	     "The workload has no reservation and not all checks ready");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(admission_is_told),
	    STORY(preemption_is_told_to_both),
	    STORY(a_timeout_of_pods_backs_off),
	    STORY(a_back_off_that_ended_while_the_hub_was_down_is_over),
	    STORY(too_many_timeouts_deactivate_until_somebody_says_otherwise),
	    STORY(a_user_deactivates_and_activates),
	    STORY(who_waits_may_be_deactivated_too),
	    STORY(a_drained_queue_holds_back_until_it_restarts),
	    STORY(a_twin_of_who_waits_is_told_so),
	    STORY(the_end_of_its_time_is_told),
	    STORY(a_check_that_says_retry_backs_off),
	    STORY(a_check_that_rejects_deactivates),
	    STORY(without_the_gate_the_checks_are_told_of_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
