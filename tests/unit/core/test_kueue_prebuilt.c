/*
 * Jobs that name a Workload which their user made (kueue.x-k8s.io/prebuilt-workload-name): in
 * either order, with quota and without, and what becomes of both.
 */
#include "kueue_words.h"

#define PREBUILT "kueue.x-k8s.io/prebuilt-workload-name"

/* The Workload `name` of such pods, in queue "lq"; `more` goes on with its spec. */
static void user_workload(struct world *w, const char *name, int pods, int cpus, const char *more)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':{'name':'%s',"
		 "'namespace':'default'},'spec':{'queueName':'lq','podSets':[{'name':'main','count'"
		 ":%d,'template':{'spec':{'containers':[{'name':'c','image':'i','resources':{"
		 "'requests':{'cpu':'%d'}}}]}}}]%s}}",
		 name, pods, cpus, more);
	assert_int_equal(world_create(w, TYPE_WORKLOAD, b.ptr), ERR_NONE);
}

static enum err_kind create_job(struct world *w, const char *name, const char *workload, int pods,
				int cpus, const char *labels)
{
	char more[384];

	(void)snprintf(more, sizeof(more),
		       ",'labels':{'kueue.x-k8s.io/queue-name':'lq','" PREBUILT "':'%s'%s}",
		       workload, labels);
	return world_job(w, "default", name, pods, cpus, more);
}

static void job_of(struct world *w, const char *name, const char *workload, int pods, int cpus)
{
	assert_int_equal(create_job(w, name, workload, pods, cpus, ""), ERR_NONE);
}

/* Queue "lq" before 8 cpus of quota, and member c1 with so many nodes of 8. */
static struct model *scene(struct world *w, int nodes)
{
	struct model *m = nodes ? world_join(w, "c1", nodes, 8) : NULL;

	if (m)
		m->run_time = 3600 * USEC_PER_SEC;
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 8, "");
	local_queue(w, "lq", "cq");
	return m;
}

static const char *field(struct world *w, const char *workload, const char *path)
{
	return world_field(w, TYPE_WORKLOAD, "default", workload, path);
}

static const char *says(struct world *w, const char *workload, const char *type, const char *key)
{
	return condition(w, "default", workload, type, key);
}

static bool why(struct world *w, const char *job, const char *text)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "namespaces/default/jobs/%s/why", job);
	const char *answer = world_query(w, path);
	if (strstr(answer, text))
		return true;
	print_message("%s\n", answer);
	return false;
}

static void expect_running(struct world *w, const char *job, const char *workload)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);

	assert_non_null(j);
	assert_true(j->holds);
	assert_string_equal(says(w, workload, "Admitted", "status"), "True");
	assert_string_equal(field(w, workload, "metadata.ownerReferences.0.name"), job);
	assert_string_equal(field(w, workload, "metadata.ownerReferences.0.controller"), "true");
	assert_string_equal(field(w, workload, "metadata.ownerReferences.0.uid"), j->uid_text);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 1);
}

/* ---- which comes first ---- */

static void a_job_waits_for_the_workload_that_it_names(void **state)
{
	struct world *w = *state;

	scene(w, 1);
	job_of(w, "one", "mine", 2, 3);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
	assert_true(why(w, "one", "prebuilt workload not found: default/mine"));
	assert_true(why(w, "one", "PrebuiltWorkloadNotFound"));
	world_restart(w);
	world_settle(w);
	assert_true(why(w, "one", "prebuilt workload not found: default/mine"));
	user_workload(w, "mine", 2, 3, "");
	world_settle(w);
	expect_running(w, "one", "mine");
	assert_int_equal(used(w, "cq", "f"), 6000);
	world_restart(w);
	world_settle(w);
	expect_running(w, "one", "mine");
	assert_int_equal(used(w, "cq", "f"), 6000);
}

/* Behind one that holds all quota: both wait, and it starts when there is some. */
static void a_workload_that_waits_gets_its_job(void **state)
{
	struct world *w = *state;

	scene(w, 2);
	queued_job(w, "first", "lq", 2, 4);
	world_settle(w);
	user_workload(w, "mine", 2, 3, "");
	world_settle(w);
	assert_string_equal(says(w, "mine", "QuotaReserved", "status"), "False");
	job_of(w, "one", "mine", 2, 3);
	world_settle(w);
	assert_string_equal(field(w, "mine", "metadata.ownerReferences.0.name"), "one");
	assert_true(why(w, "one", "\"workload\":\"mine\""));
	assert_true(why(w, "one", "\"reason\":\"WaitingForQuota\""));
	world_restart(w);
	world_settle(w);
	assert_true(why(w, "one", "\"reason\":\"WaitingForQuota\""));
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "first"), ERR_NONE);
	world_settle(w);
	expect_running(w, "one", "mine");
}

/* It was admitted at second 0; the job that comes 100 seconds later takes over the quota, the time
 * at which it was given, and a member, in one commit. */
static void a_workload_that_has_quota_keeps_it_for_its_job(void **state)
{
	struct world *w = *state;
	auto_free char *since = NULL;

	scene(w, 1);
	user_workload(w, "mine", 2, 3, "");
	world_settle(w);
	assert_string_equal(says(w, "mine", "Admitted", "status"), "True");
	since = xstrdup(says(w, "mine", "Admitted", "lastTransitionTime"));
	world_advance(w, 100 * USEC_PER_SEC);
	job_of(w, "one", "mine", 2, 3);
	world_settle(w);
	expect_running(w, "one", "mine");
	assert_string_equal(says(w, "mine", "Admitted", "lastTransitionTime"), since);
	assert_int_equal(used(w, "cq", "f"), 6000);
	world_restart(w);
	world_settle(w);
	expect_running(w, "one", "mine");
}

/* No member is there: it says so, keeps its quota, and takes the first that comes. */
static void with_quota_and_no_member_it_waits_for_one(void **state)
{
	struct world *w = *state;

	scene(w, 0);
	user_workload(w, "mine", 2, 3, "");
	world_settle(w);
	world_advance(w, 100 * USEC_PER_SEC);
	job_of(w, "one", "mine", 2, 3);
	world_settle(w);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(says(w, "mine", "QuotaReserved", "status"), "True");
		assert_string_equal(says(w, "mine", "Admitted", "status"), "False");
		assert_string_equal(says(w, "mine", "Admitted", "reason"), "PendingPlacement");
		assert_int_equal(used(w, "cq", "f"), 6000);
		assert_true(why(w, "one", "TopologyPlacementFailed"));
		world_restart(w);
		world_settle(w);
	}
	world_join(w, "c1", 1, 8);
	world_settle(w);
	expect_running(w, "one", "mine");
}

/* ---- what both must agree on ---- */

static void the_queue_is_the_jobs_and_the_priority_the_workloads(void **state)
{
	struct world *w = *state;

	scene(w, 1);
	world_priority(w, "high", 1000);
	queued_job(w, "first", "lq", 2, 4);
	world_settle(w);
	user_workload(w, "mine", 2, 3, ",'priority':7,'maximumExecutionTimeSeconds':900");
	user_workload(w, "other", 2, 3, ",'priority':7");
	job_of(w, "one", "mine", 2, 3);
	assert_int_equal(
	    create_job(w, "two", "other", 2, 3, ",'kueue.x-k8s.io/priority-class':'high'"),
	    ERR_NONE);
	world_settle(w);
	assert_string_equal(field(w, "mine", "spec.priority"), "7");
	assert_string_equal(field(w, "mine", "spec.maximumExecutionTimeSeconds"), "900");
	assert_string_equal(field(w, "other", "spec.priority"), "1000");
	assert_string_equal(field(w, "other", "spec.priorityClassRef.name"), "high");
	local_queue(w, "lq2", "cq");
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one",
				     "{'metadata':{'labels':{'kueue.x-k8s.io/queue-name':'lq2'}}}"),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(field(w, "mine", "spec.queueName"), "lq2");
}

/* While it has quota its queue stays, not its class; without, the queue is the job's at once. */
static void what_comes_with_quota_follows_its_job(void **state)
{
	struct world *w = *state;

	scene(w, 0);
	world_priority(w, "high", 1000);
	local_queue(w, "lq2", "cq");
	user_workload(w, "mine", 2, 3, ",'priority':7");
	world_settle(w);
	assert_int_equal(world_job(w, "default", "one", 2, 3,
				   ",'labels':{'kueue.x-k8s.io/queue-name':'lq2','" PREBUILT
				   "':'mine','kueue.x-k8s.io/priority-class':'high'}"),
			 ERR_NONE);
	world_settle(w);
	assert_string_equal(field(w, "mine", "spec.queueName"), "lq");
	assert_string_equal(field(w, "mine", "spec.priority"), "1000");
	assert_int_equal(used(w, "cq", "f"), 6000);
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", "mine", "{'spec':{'active':false}}"),
	    ERR_NONE);
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_string_equal(field(w, "mine", "spec.queueName"), "lq2");
}

static void expect_out_of_sync(struct world *w, const char *job, const char *workload)
{
	assert_string_equal(says(w, workload, "Finished", "status"), "True");
	assert_string_equal(says(w, workload, "Finished", "reason"), "OutOfSync");
	assert_string_equal(says(w, workload, "Finished", "message"),
			    "The prebuilt workload is out of sync with its user job");
	assert_string_equal(field(w, workload, "metadata.ownerReferences.0.name"), job);
	assert_true(why(w, job, "The prebuilt workload is out of sync with its user job"));
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_null(world_record(w, TYPE_JOB, "default", job)->workload);
}

/* 2 pods of 3 against 2 pods of 2, and against 3 of 3: with quota, and without. */
static void one_made_for_another_job_ends_out_of_sync(void **state)
{
	struct world *w = *state;

	scene(w, 1);
	job_of(w, "one", "small", 2, 3);
	user_workload(w, "small", 2, 2, "");
	world_settle(w);
	expect_out_of_sync(w, "one", "small");
	user_workload(w, "few", 2, 3, "");
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 6000);
	job_of(w, "two", "few", 3, 3);
	world_settle(w);
	expect_out_of_sync(w, "two", "few");
	world_restart(w);
	world_settle(w);
	expect_out_of_sync(w, "two", "few");
	/* Deleted and made as it should be. */
	assert_int_equal(world_delete(w, TYPE_WORKLOAD, "default", "small"), ERR_NONE);
	user_workload(w, "small", 2, 3, "");
	world_settle(w);
	assert_true(world_record(w, TYPE_JOB, "default", "one")->holds);
}

/* While its pods run it holds its quota; then it ends. */
static void a_running_job_that_becomes_another_stops(void **state)
{
	struct world *w = *state;

	scene(w, 1);
	user_workload(w, "mine", 2, 3, "");
	job_of(w, "one", "mine", 2, 3);
	world_settle(w);
	expect_running(w, "one", "mine");
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one", "{'spec':{'parallelism':1}}"),
			 ERR_NONE);
	assert_int_equal(used(w, "cq", "f"), 6000);
	world_settle(w);
	expect_out_of_sync(w, "one", "mine");
	assert_true(world_events(w, "one", "Stopped", "out of sync") > 0);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 1);
}

/* ---- one Workload, several jobs ---- */

static void of_two_jobs_one_gets_it(void **state)
{
	struct world *w = *state;

	scene(w, 2);
	job_of(w, "one", "mine", 2, 3);
	job_of(w, "two", "mine", 2, 3);
	world_settle(w);
	user_workload(w, "mine", 2, 3, "");
	world_settle(w);
	expect_running(w, "one", "mine");
	for (int i = 0; i < 2; i++) {
		assert_true(why(w, "two",
				"The workload is already controlled by another object: "
				"default/mine"));
		world_restart(w);
		world_settle(w);
	}
	/* It goes with its job; the other one waits for the next. */
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	world_settle(w);
	assert_false(world_exists(w, TYPE_WORKLOAD, "default", "mine"));
	assert_true(why(w, "two", "prebuilt workload not found: default/mine"));
	user_workload(w, "mine", 2, 3, "");
	world_settle(w);
	expect_running(w, "two", "mine");
}

static void what_a_job_has_made_is_no_other_jobs(void **state)
{
	struct world *w = *state;
	char name[STORE_MAX_NAME + 1];

	scene(w, 1);
	queued_job(w, "first", "lq", 1, 1);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "first");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	job_of(w, "one", name, 1, 1);
	world_settle(w);
	assert_true(why(w, "one", "already controlled by another object"));
	assert_true(j->holds);
}

/* ---- how it ends ---- */

static void it_finishes_with_its_job(void **state)
{
	struct world *w = *state;
	struct model *m = scene(w, 1);

	m->run_time = USEC_PER_SEC;
	user_workload(w, "mine", 2, 3, "");
	job_of(w, "one", "mine", 2, 3);
	world_settle(w);
	world_advance(w, 5 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(says(w, "mine", "Finished", "reason"), "Succeeded");
	assert_int_equal(used(w, "cq", "f"), 0);
	/* A job that names it now finds it so. */
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	world_settle(w);
	user_workload(w, "done", 2, 3, "");
	world_settle(w);
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", "done",
			"{'status':{'conditions':[{'type':'Finished','status':'True','reason':"
			"'ByTest','message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}"),
	    ERR_NONE);
	job_of(w, "two", "done", 2, 3);
	world_settle(w);
	assert_true(why(w, "two", "The prebuilt workload is already finished: default/done"));
}

static void deleted_it_stops_its_job_and_is_not_made_again(void **state)
{
	struct world *w = *state;

	scene(w, 1);
	user_workload(w, "mine", 2, 3, "");
	job_of(w, "one", "mine", 2, 3);
	world_settle(w);
	expect_running(w, "one", "mine");
	assert_int_equal(world_delete(w, TYPE_WORKLOAD, "default", "mine"), ERR_NONE);
	assert_int_equal(used(w, "cq", "f"), 6000); /* its pods run */
	assert_true(world_exists(w, TYPE_WORKLOAD, "default", "mine"));
	world_restart(w);
	world_settle(w);
	assert_false(world_exists(w, TYPE_WORKLOAD, "default", "mine"));
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_false(world_record(w, TYPE_JOB, "default", "one")->holds);
	assert_true(why(w, "one", "prebuilt workload not found: default/mine"));
	user_workload(w, "mine", 2, 3, "");
	world_settle(w);
	expect_running(w, "one", "mine");
}

/* Whoever takes the finalizer off does not free its quota while the pods run. */
static void its_row_taken_away_frees_nothing_at_once(void **state)
{
	struct world *w = *state;

	scene(w, 1);
	user_workload(w, "mine", 2, 3, "");
	job_of(w, "one", "mine", 2, 3);
	world_settle(w);
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", "mine", "{'metadata':{'finalizers':null}}"),
	    ERR_NONE);
	assert_int_equal(world_delete(w, TYPE_WORKLOAD, "default", "mine"), ERR_NONE);
	world_run(w);
	assert_false(world_exists(w, TYPE_WORKLOAD, "default", "mine"));
	assert_int_equal(used(w, "cq", "f"), 6000);
	user_workload(w, "mine", 2, 3, "");
	world_settle(w);
	expect_running(w, "one", "mine");
	assert_int_equal(used(w, "cq", "f"), 6000);
}

/* The quota of one that waits for its turn, or runs, is given back when its job goes. */
static void it_goes_with_its_job(void **state)
{
	struct world *w = *state;

	scene(w, 1);
	user_workload(w, "mine", 2, 3, "");
	job_of(w, "one", "mine", 2, 3);
	user_workload(w, "next", 2, 3, "");
	job_of(w, "two", "next", 2, 3);
	world_settle(w);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "two"), ERR_NONE);
	world_settle(w);
	assert_false(world_exists(w, TYPE_WORKLOAD, "default", "next"));
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_int_equal(w->core->kueue->workloads.len, 0);
	assert_int_equal(w->core->kueue->awaited.len, 0);
}

/* It is evicted as any other: its job stops, and starts again in its turn. */
static void evicted_it_keeps_its_job(void **state)
{
	struct world *w = *state;

	scene(w, 1);
	user_workload(w, "mine", 2, 3, "");
	job_of(w, "one", "mine", 2, 3);
	world_settle(w);
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", "mine", "{'spec':{'active':false}}"),
	    ERR_NONE);
	world_settle(w);
	assert_string_equal(says(w, "mine", "Evicted", "reason"), "Deactivated");
	assert_int_equal(used(w, "cq", "f"), 0);
	world_restart(w);
	world_settle(w);
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", "mine", "{'spec':{'active':true}}"), ERR_NONE);
	world_settle(w);
	expect_running(w, "one", "mine");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_job_waits_for_the_workload_that_it_names),
	    STORY(a_workload_that_waits_gets_its_job),
	    STORY(a_workload_that_has_quota_keeps_it_for_its_job),
	    STORY(with_quota_and_no_member_it_waits_for_one),
	    STORY(the_queue_is_the_jobs_and_the_priority_the_workloads),
	    STORY(what_comes_with_quota_follows_its_job),
	    STORY(one_made_for_another_job_ends_out_of_sync),
	    STORY(a_running_job_that_becomes_another_stops),
	    STORY(of_two_jobs_one_gets_it),
	    STORY(what_a_job_has_made_is_no_other_jobs),
	    STORY(it_finishes_with_its_job),
	    STORY(deleted_it_stops_its_job_and_is_not_made_again),
	    STORY(its_row_taken_away_frees_nothing_at_once),
	    STORY(it_goes_with_its_job),
	    STORY(evicted_it_keeps_its_job),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
