/*
 * The section kueue: of the configuration, acted on (core/kueue/settings.h): each story says which
 * settings and feature gates it runs with; the others have Kueue's defaults.
 */
#include "world.h"

#include "base/json.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/workload.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

#define MINUTES (60 * USEC_PER_SEC)

/* A hub with these settings, a member of two nodes of 8 cpus, LocalQueue lq of cq with 16. */
static struct model *begin(struct world *w, const char *settings)
{
	w->kueue = settings;
	world_restart(w);
	struct model *m = world_join(w, "c1", 2, 8);
	m->run_time = 3600 * USEC_PER_SEC;
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", 16, "");
	world_local_queue(w, "lq", "cq");
	return m;
}

static bool is_admitted(struct world *w, const char *job)
{
	return strcmp(world_workload_condition(w, job, "Admitted", "status"), "True") == 0;
}

/* ---- waitForPodsReady ---- */

static void nobody_is_admitted_while_somebodys_pods_are_not_ready(void **state)
{
	struct world *w = *state;

	begin(w, "{'waitForPodsReady':{'blockAdmission':true}}");
	world_queued_job(w, "one", "lq", 2, 2, "");
	world_queued_job(w, "two", "lq", 2, 2, "");
	world_queued_job(w, "three", "lq", 1, 1, "");
	world_run(w);
	assert_true(is_admitted(w, "one"));
	assert_string_equal(world_workload_condition(w, "two", "QuotaReserved", "reason"),
			    "WaitingForPodsReady");
	assert_string_equal(world_workload_condition(w, "two", "QuotaReserved", "message"),
			    "waiting for all admitted workloads to be in PodsReady condition");
	assert_string_equal(world_workload_condition(w, "three", "QuotaReserved", "reason"), "");
	world_restart(w); /* and it is still so */
	world_run(w);
	assert_false(is_admitted(w, "two"));
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "one", "PodsReady", "status"), "True");
	assert_true(is_admitted(w, "two"));
	assert_true(is_admitted(w, "three"));
}

static void without_the_block_all_that_fit_are_admitted_at_once(void **state)
{
	struct world *w = *state;

	begin(w, "{'waitForPodsReady':{'blockAdmission':false}}");
	world_queued_job(w, "one", "lq", 2, 2, "");
	world_queued_job(w, "two", "lq", 2, 2, "");
	world_run(w);
	assert_true(is_admitted(w, "one"));
	assert_true(is_admitted(w, "two"));
}

/* A pod is lost, and its controller does not make another. */
static void lose_pods(struct world *w, struct model *m)
{
	world_queued_job(w, "one", "lq", 2, 2, "");
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "one", "PodsReady", "status"), "True");
	model_end_pod(m, model_copy(m, "default", "one")->pods.items[0]);
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "one", "PodsReady", "reason"),
			    "WaitForRecovery");
}

static void pods_that_do_not_recover_in_time_are_given_up(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w, "{'waitForPodsReady':{'timeout':'30m','recoveryTimeout':'3m'}}");

	lose_pods(w, m);
	world_advance(w, 2 * MINUTES);
	assert_string_equal(world_workload_condition(w, "one", "Evicted", "status"), "");
	world_restart(w); /* the time goes on counting from where it did */
	world_advance(w, MINUTES + USEC_PER_SEC);
	assert_string_equal(world_workload_condition(w, "one", "Evicted", "reason"),
			    "PodsReadyTimeout");
}

static void a_recovery_timeout_of_zero_waits_for_ever(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w, "{'waitForPodsReady':{'timeout':'5m','recoveryTimeout':'0s'}}");

	lose_pods(w, m);
	world_advance(w, 60 * MINUTES);
	assert_string_equal(world_workload_condition(w, "one", "Evicted", "status"), "");
}

/* Gate DisableWaitForPodsReady. */
static void the_gate_switches_pods_ready_off(void **state)
{
	struct world *w = *state;

	begin(w, "{'waitForPodsReady':{'blockAdmission':true},'featureGates':"
		 "{'DisableWaitForPodsReady':true}}");
	world_queued_job(w, "one", "lq", 2, 2, "");
	world_queued_job(w, "two", "lq", 2, 2, "");
	world_run(w);
	assert_true(is_admitted(w, "two"));
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "one", "PodsReady", "status"), "");
}

/* ---- whose jobs are managed ---- */

static void a_job_without_a_queue_waits_until_it_names_one(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w, "{'manageJobsWithoutQueueName':true}");

	assert_int_equal(world_job(w, "default", "one", 1, 2, ""), ERR_NONE);
	world_settle(w);
	assert_null(model_copy(m, "default", "one"));
	assert_string_equal(world_workload_condition(w, "one", "QuotaReserved", "reason"),
			    "Misconfigured");
	assert_string_equal(world_workload_condition(w, "one", "QuotaReserved", "message"),
			    "The workload names no LocalQueue");
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one",
				     "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'lq'}}}"),
			 ERR_NONE);
	world_settle(w);
	assert_true(is_admitted(w, "one"));
	assert_non_null(model_copy(m, "default", "one"));
}

/* managedJobsNamespaceSelector; Kueue respects it also for jobs that name a queue. */
static void namespaces_that_are_not_selected_are_none_of_kueues_business(void **state)
{
	struct world *w = *state;
	struct model *m =
	    begin(w, "{'manageJobsWithoutQueueName':true,"
		     "'managedJobsNamespaceSelector':{'matchLabels':{'kueue':'on'}}}");

	assert_int_equal(world_job(w, "default", "one", 1, 2, ""), ERR_NONE);
	world_queued_job(w, "named", "lq", 1, 2, "");
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	assert_non_null(model_copy(m, "default", "named"));
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
	assert_int_equal(
	    world_patch(w, TYPE_NAMESPACE, "", "default", "{'metadata':{'labels':{'kueue':'on'}}}"),
	    ERR_NONE);
	assert_int_equal(world_job(w, "default", "two", 1, 2, ""), ERR_NONE);
	world_settle(w);
	assert_null(model_copy(m, "default", "two"));
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 1);
}

/* ---- objectRetentionPolicies ---- */

static void a_finished_workload_goes_after_its_time_and_its_job_stays(void **state)
{
	struct world *w = *state;
	struct model *m =
	    begin(w, "{'objectRetentionPolicies':{'workloads':{'afterFinished':'1m'}}}");

	world_queued_job(w, "one", "lq", 1, 2, "");
	world_settle(w);
	assert_int_equal(
	    world_create(w, TYPE_WORKLOAD,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':{"
			 "'name':'own','namespace':'default'},'spec':{'active':true,'queueName':"
			 "'lq','podSets':[{'name':'main','count':1,'template':{'spec':{'containers'"
			 ":[{'name':'c','resources':{'requests':{'cpu':1}}}]}}}]}}"),
	    ERR_NONE);
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", "own",
			"{'status':{'conditions':[{'type':'Finished','status':'True','reason':"
			"'ByTest','message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}"),
	    ERR_NONE);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 2);
	world_advance(w, 50 * USEC_PER_SEC);
	world_restart(w);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 2);
	world_advance(w, 15 * USEC_PER_SEC);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
	assert_true(world_exists(w, TYPE_JOB, "default", "one"));
}

static const char *of_workload(struct world *w, const char *job, char out[STORE_MAX_NAME + 1])
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);

	(void)snprintf(out, STORE_MAX_NAME + 1, "%.*s", SPAN_ARGS(j->workload->name));
	return out;
}

/* Two finish under no policy, the second a minute after the first; one runs. */
static void finish_two(struct world *w, char names[3][STORE_MAX_NAME + 1])
{
	static const char *const jobs[] = {"one", "two", "three"};
	struct model *m = begin(w, "{}");

	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		world_queued_job(w, jobs[i], "lq", 1, 2, "");
		world_settle(w);
		(void)of_workload(w, jobs[i], names[i]);
	}
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	world_advance(w, MINUTES);
	model_finish(m, model_copy(m, "default", "two"), false);
	world_settle(w);
}

static void what_finished_before_retention_was_turned_on_goes_in_its_time_too(void **state)
{
	struct world *w = *state;
	char names[3][STORE_MAX_NAME + 1];

	finish_two(w, names);
	w->kueue = "{'objectRetentionPolicies':{'workloads':{'afterFinished':'90s'}}}";
	world_restart(w);
	world_settle(w);
	/* The first finished a minute ago. */
	world_advance(w, 32 * USEC_PER_SEC);
	world_settle(w);
	assert_false(world_exists(w, TYPE_WORKLOAD, "default", names[0]));
	assert_true(world_exists(w, TYPE_WORKLOAD, "default", names[1]));
	assert_int_equal(world_events(w, names[0], "Deleted",
				      "Deleted finished workload due to elapsed retention"),
			 1);
	world_restart(w);
	world_settle(w);
	world_advance(w, 60 * USEC_PER_SEC);
	world_settle(w);
	assert_false(world_exists(w, TYPE_WORKLOAD, "default", names[1]));
	assert_true(world_exists(w, TYPE_WORKLOAD, "default", names[2]));
}

static void a_longer_retention_counts_for_what_finished_under_a_shorter_one(void **state)
{
	struct world *w = *state;
	char names[3][STORE_MAX_NAME + 1];

	finish_two(w, names);
	w->kueue = "{'objectRetentionPolicies':{'workloads':{'afterFinished':'2m'}}}";
	world_restart(w);
	world_settle(w);
	w->kueue = "{'objectRetentionPolicies':{'workloads':{'afterFinished':'10m'}}}";
	world_restart(w);
	world_settle(w);
	world_advance(w, 5 * MINUTES);
	world_settle(w);
	assert_true(world_exists(w, TYPE_WORKLOAD, "default", names[0]));
	world_advance(w, 4 * MINUTES + 30 * USEC_PER_SEC);
	world_settle(w);
	assert_false(world_exists(w, TYPE_WORKLOAD, "default", names[0]));
	/* And none at all for what is left. */
	assert_true(world_exists(w, TYPE_WORKLOAD, "default", names[1]));
	w->kueue = "{}";
	world_restart(w);
	world_advance(w, 20 * MINUTES);
	world_settle(w);
	assert_true(world_exists(w, TYPE_WORKLOAD, "default", names[1]));
}

/* More of them than one batch walks, and a hub that is killed on the way. */
static void many_that_finished_before_are_all_found(void **state)
{
	struct world *w = *state;
	char text[600];

	begin(w, "{}");
	for (int i = 0; i < 150; i++) {
		(void)snprintf(text, sizeof(text),
			       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata'"
			       ":{'name':'w%d','namespace':'default'},'spec':{'active':true,"
			       "'queueName':'lq','podSets':[{'name':'main','count':1,'template':{"
			       "'spec':{'containers':[{'name':'c'}]}}}]}}",
			       i);
		assert_int_equal(world_create(w, TYPE_WORKLOAD, text), ERR_NONE);
		(void)snprintf(text, sizeof(text), "w%d", i);
		assert_int_equal(
		    world_patch(w, TYPE_WORKLOAD, "default", text,
				"{'status':{'conditions':[{'type':'Finished','status':'True',"
				"'reason':'ByTest','message':'','lastTransitionTime':"
				"'2020-01-01T00:00:00Z'}]}}"),
		    ERR_NONE);
	}
	world_settle(w);
	w->kueue = "{'objectRetentionPolicies':{'workloads':{'afterFinished':'1m'}}}";
	world_restart(w);
	world_turn(w);
	world_restart(w);
	for (int i = 0; i < 20 && world_count(w, TYPE_WORKLOAD, "default"); i++) {
		world_advance(w, USEC_PER_SEC);
		world_settle(w);
	}
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
}

static void workloads_stay_for_ever_unless_a_time_is_set(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w, "{}");

	world_queued_job(w, "one", "lq", 1, 2, "");
	world_settle(w);
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	world_advance(w, 60 * MINUTES);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 1);
}

#define LIMITED ",'kueue.x-k8s.io/max-exec-time-seconds':'60'"

static void a_job_that_the_hub_deactivated_goes_after_its_time(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w, "{'objectRetentionPolicies':{'workloads':{"
				   "'afterDeactivatedByKueue':'5m'}}}");

	world_queued_job(w, "one", "lq", 1, 2, LIMITED);
	world_settle(w);
	world_advance(w, 61 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "one", "Evicted", "reason"),
			    "DeactivatedDueToMaximumExecutionTimeExceeded");
	world_advance(w, 4 * MINUTES);
	world_settle(w);
	assert_true(world_exists(w, TYPE_JOB, "default", "one"));
	world_advance(w, 2 * MINUTES);
	world_settle(w);
	assert_false(world_exists(w, TYPE_JOB, "default", "one"));
	assert_null(model_copy(m, "default", "one"));
	assert_int_equal(
	    world_events(w, "one", "Deleted", "Deleted job: deactivation retention period expired"),
	    1);
}

/* Deactivated while jobs of that kind were kept for ever. */
static void a_job_that_was_deactivated_before_goes_after_its_time_too(void **state)
{
	struct world *w = *state;

	begin(w, "{}");
	world_queued_job(w, "one", "lq", 1, 2, LIMITED);
	world_settle(w);
	world_advance(w, 61 * USEC_PER_SEC);
	world_settle(w);
	world_advance(w, 4 * MINUTES);
	w->kueue = "{'objectRetentionPolicies':{'workloads':{'afterDeactivatedByKueue':'5m'}}}";
	world_restart(w);
	world_settle(w);
	assert_true(world_exists(w, TYPE_JOB, "default", "one"));
	world_advance(w, 70 * USEC_PER_SEC);
	world_settle(w);
	assert_false(world_exists(w, TYPE_JOB, "default", "one"));
}

static void a_job_that_its_user_activated_again_stays(void **state)
{
	struct world *w = *state;
	char name[STORE_MAX_NAME + 1];

	begin(w, "{'objectRetentionPolicies':{'workloads':{'afterDeactivatedByKueue':'5m'}}}");
	world_queued_job(w, "one", "lq", 1, 2, LIMITED);
	world_settle(w);
	world_advance(w, 61 * USEC_PER_SEC);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name,
			"{'spec':{'active':true,'maximumExecutionTimeSeconds':86400}}"),
	    ERR_NONE);
	world_settle(w);
	world_advance(w, 6 * MINUTES);
	world_settle(w);
	assert_true(world_exists(w, TYPE_JOB, "default", "one"));
}

/* ---- admissionFairSharing ---- */

#define FAIR ",'admissionScope':{'admissionMode':'UsageBasedAdmissionFairSharing'}"

/* Of 16 cpus LocalQueue a has used 16 for an hour; then a's next job is older than b's. */
static void use_as_a(struct world *w, const char *settings)
{
	w->kueue = settings;
	world_restart(w);
	struct model *m = world_join(w, "c1", 2, 8);
	m->run_time = 3600 * USEC_PER_SEC;
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", 16, FAIR);
	world_local_queue(w, "a", "cq");
	world_local_queue(w, "b", "cq");
	world_queued_job(w, "first", "a", 2, 8, "");
	world_settle(w);
	assert_true(is_admitted(w, "first"));
	world_advance(w, 30 * MINUTES);
	world_queued_job(w, "of-a", "a", 2, 8, "");
	world_advance(w, USEC_PER_SEC);
	world_queued_job(w, "of-b", "b", 2, 8, "");
	world_settle(w);
}

/* The job of 16 cpus ends; one of the two that wait gets its place. */
static void free_room(struct world *w)
{
	for (int i = 0; i < 40 && !is_admitted(w, "of-a") && !is_admitted(w, "of-b"); i++) {
		world_advance(w, MINUTES);
		world_settle(w);
	}
}

/* Gate AdmissionFairSharing, on by default. Half-life 1 h: after half an hour of 16 cpus
 * 16 x (1 - 0.5^0.5) = 4.686 cpus have been consumed, settled every 5 min. */
static void who_used_less_goes_first(void **state)
{
	struct world *w = *state;

	use_as_a(w, "{'admissionFairSharing':{'usageHalfLifeTime':'1h'}}");
	const char *cpu =
	    world_field(w, TYPE_LOCAL_QUEUE, "default", "a",
			"status.fairSharing.admissionFairSharingStatus.consumedResources.cpu");
	assert_true(strtod(cpu, NULL) > 4000 && strtod(cpu, NULL) < 6000); /* "4686m" and penalty */
	world_restart(w);
	world_settle(w);
	const struct kueue *k = w->core->kueue;
	double after = kueue_queues_local_consumed(
	    k->queues, kueue_forest_queue(k->forest, SPAN("cq")),
	    local_queue_find(w->core, SPAN("default"), SPAN("a"))->number, SPAN("cpu"), NULL);
	assert_true(after > 4 && after < 6);
	free_room(w);
	assert_true(is_admitted(w, "of-b"));
	assert_false(is_admitted(w, "of-a"));
}

static void a_resource_without_weight_does_not_count(void **state)
{
	struct world *w = *state;

	use_as_a(w, "{'admissionFairSharing':{'usageHalfLifeTime':'1h','resourceWeights':"
		    "{'cpu':0}}}");
	free_room(w);
	assert_true(is_admitted(w, "of-a"));
	assert_false(is_admitted(w, "of-b"));
}

static void without_the_gate_age_decides(void **state)
{
	struct world *w = *state;

	use_as_a(w, "{'admissionFairSharing':{'usageHalfLifeTime':'1h'},'featureGates':"
		    "{'AdmissionFairSharing':false}}");
	free_room(w);
	assert_true(is_admitted(w, "of-a"));
}

/* ---- gates ---- */

/* Gate WorkloadPriorityClassDefaulting. */
static void the_class_named_default_is_that_of_jobs_without_one(void **state)
{
	struct world *w = *state;

	begin(w, "{'featureGates':{'WorkloadPriorityClassDefaulting':true}}");
	world_priority(w, "default", 7);
	world_queued_job(w, "one", "lq", 1, 1, "");
	world_settle(w);
	assert_string_equal(world_workload(w, "one", "spec.priority"), "7");
	assert_string_equal(world_workload(w, "one", "spec.priorityClassRef.name"), "default");
}

static void without_the_gate_no_class_is_assumed(void **state)
{
	struct world *w = *state;

	begin(w, "{'featureGates':{'WorkloadPriorityClassDefaulting':false}}");
	world_priority(w, "default", 7);
	world_queued_job(w, "one", "lq", 1, 1, "");
	world_settle(w);
	assert_string_equal(world_workload(w, "one", "spec.priorityClassRef.name"), "");
}

/* Gate UnadmittedWorkloadsObservability off: reasons as Kueue had them before. */
static void without_observability_there_are_three_reasons(void **state)
{
	struct world *w = *state;

	begin(w, "{'featureGates':{'UnadmittedWorkloadsObservability':false}}");
	world_queued_job(w, "big", "lq", 1, 17, "");
	world_queued_job(w, "lost", "nowhere", 1, 1, "");
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "big", "QuotaReserved", "reason"),
			    "Pending");
	assert_string_equal(world_workload_condition(w, "lost", "QuotaReserved", "reason"),
			    "Inadmissible");
}

/* Gate ReclaimablePods: of 4 pods of 2 cpus 3 are reclaimable, 8 - 6 = 2 stay charged. */
static void reclaim_three_of_four(struct world *w, int64_t want)
{
	struct kueue_forest *f;

	assert_int_equal(
	    world_create(w, TYPE_WORKLOAD,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':"
			 "{'name':'own','namespace':'default'},'spec':{'queueName':'lq','podSets':"
			 "[{'name':'main','count':4,'template':{'spec':{'containers':[{'name':'c',"
			 "'resources':{'requests':{'cpu':2}}}]}}}]}}"),
	    ERR_NONE);
	world_settle(w);
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", "own",
				     "{'status':{'reclaimablePods':[{'name':'main','count':3}]}}"),
			 ERR_NONE);
	world_settle(w);
	f = w->core->kueue->forest;
	assert_int_equal(kueue_forest_usage(f, kueue_forest_queue(f, SPAN("cq")),
					    kueue_forest_flavor(f, SPAN("f")),
					    kueue_forest_find_resource(f, SPAN("cpu"))),
			 want);
}

static void reclaimable_pods_give_their_quota_back(void **state)
{
	struct world *w = *state;

	begin(w, "{'featureGates':{'ReclaimablePods':true}}");
	reclaim_three_of_four(w, 2000);
}

static void without_the_gate_reclaimable_pods_stay_charged(void **state)
{
	struct world *w = *state;

	begin(w, "{'featureGates':{'ReclaimablePods':false}}");
	reclaim_three_of_four(w, 8000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(nobody_is_admitted_while_somebodys_pods_are_not_ready),
	    STORY(without_the_block_all_that_fit_are_admitted_at_once),
	    STORY(pods_that_do_not_recover_in_time_are_given_up),
	    STORY(a_recovery_timeout_of_zero_waits_for_ever),
	    STORY(the_gate_switches_pods_ready_off),
	    STORY(a_job_without_a_queue_waits_until_it_names_one),
	    STORY(namespaces_that_are_not_selected_are_none_of_kueues_business),
	    STORY(a_finished_workload_goes_after_its_time_and_its_job_stays),
	    STORY(what_finished_before_retention_was_turned_on_goes_in_its_time_too),
	    STORY(a_longer_retention_counts_for_what_finished_under_a_shorter_one),
	    STORY(many_that_finished_before_are_all_found),
	    STORY(workloads_stay_for_ever_unless_a_time_is_set),
	    STORY(a_job_that_the_hub_deactivated_goes_after_its_time),
	    STORY(a_job_that_was_deactivated_before_goes_after_its_time_too),
	    STORY(a_job_that_its_user_activated_again_stays),
	    STORY(who_used_less_goes_first),
	    STORY(a_resource_without_weight_does_not_count),
	    STORY(without_the_gate_age_decides),
	    STORY(the_class_named_default_is_that_of_jobs_without_one),
	    STORY(without_the_gate_no_class_is_assumed),
	    STORY(without_observability_there_are_three_reasons),
	    STORY(reclaimable_pods_give_their_quota_back),
	    STORY(without_the_gate_reclaimable_pods_stay_charged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
