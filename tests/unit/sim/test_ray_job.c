#include "member-sync/sim/ray_job.h"
#include "sim_test.h"

struct world {
	struct ray_job_spec spec;
	struct ray_job_state state;
	struct pod_view pods[16];
	size_t n;
	struct plan plan;
	usec now;
};

static struct world w;

static int setup(void **state)
{
	w = (struct world){.now = T0};
	w.spec = (struct ray_job_spec){
	    .pods = {1, 2}, .n_sets = 2, .active_deadline = -1, .duration = 30 * S};
	w.state = (struct ray_job_state){.job = "", .deployment = "", .reason = "", .message = ""};
	return 0;
}

static int teardown(void **state)
{
	plan_done(&w.plan);
	return 0;
}

static void decide(void)
{
	plan_done(&w.plan);
	w.plan = (struct plan){0};
	ray_job_decide(&w.spec, w.pods, w.n, w.now, &w.state, &w.plan);
}

static void obey(void)
{
	vec_foreach (&w.plan.creates, c)
		w.pods[w.n++] = (struct pod_view){
		    .set = c->set, .index = c->index, .attempt = c->attempt, .phase = POD_RUNNING};
}

static void a_job_initializes_runs_and_completes(void **state)
{
	decide();
	assert_string_equal(w.state.deployment, "Initializing");
	assert_int_equal(w.plan.creates.len, 3);
	obey();
	decide();
	assert_string_equal(w.state.deployment, "Running");
	assert_string_equal(w.state.job, "RUNNING");
	assert_int_equal(w.plan.again, T0 + 30 * S);
	w.now += 30 * S;
	decide();
	assert_string_equal(w.state.deployment, "Complete");
	assert_string_equal(w.state.job, "SUCCEEDED");
	assert_int_equal(w.plan.deletes.len, 0); /* pods live until shutdown */
	assert_int_equal(w.state.ended, T0 + 30 * S);
}

static void shutdown_takes_the_cluster_after_its_time(void **state)
{
	w.spec.shutdown = true;
	w.spec.ttl = 5;
	decide();
	obey();
	decide();
	w.now += 30 * S;
	decide();
	assert_int_equal(w.plan.again, T0 + 35 * S);
	w.now += 5 * S;
	decide();
	assert_int_equal(w.plan.deletes.len, 3);
}

static void a_failing_entrypoint_fails_the_job(void **state)
{
	w.spec.exit_code = 1;
	decide();
	obey();
	decide();
	w.now += 30 * S;
	decide();
	assert_string_equal(w.state.deployment, "Failed");
	assert_string_equal(w.state.job, "FAILED");
	assert_string_equal(w.state.reason, "AppFailed");
}

static void a_retry_makes_another_cluster(void **state)
{
	w.spec.exit_code = 1;
	w.spec.backoff_limit = 1;
	decide();
	obey();
	decide();
	w.now += 30 * S;
	decide();
	assert_string_equal(w.state.deployment, "Retrying");
	assert_int_equal(w.plan.deletes.len, 3);
	w.n = 0;
	decide();
	assert_int_equal(w.plan.creates.items[0].attempt, 1);
	assert_string_equal(w.state.deployment, "Initializing");
	obey();
	decide();
	w.now += 30 * S;
	decide();
	assert_string_equal(w.state.deployment, "Failed");
	assert_int_equal(w.state.failed, 2);
}

static void suspend_takes_the_cluster_and_resume_makes_one(void **state)
{
	decide();
	obey();
	decide();
	w.spec.suspend = true;
	decide();
	assert_string_equal(w.state.deployment, "Suspending");
	assert_int_equal(w.plan.deletes.len, 3);
	w.n = 0;
	decide();
	assert_string_equal(w.state.deployment, "Suspended");
	assert_string_equal(w.state.job, "");
	w.spec.suspend = false;
	decide();
	assert_string_equal(w.state.deployment, "Initializing");
	assert_int_equal(w.plan.creates.items[0].attempt, 1);
}

static void a_lost_pod_fails_it(void **state)
{
	decide();
	obey();
	decide();
	w.pods[1].phase = POD_FAILED;
	decide();
	assert_string_equal(w.state.job, "FAILED");
}

static void the_submitter_comes_when_the_cluster_runs_and_stays(void **state)
{
	w.spec.submission = RAY_K8S_JOB;
	w.spec.shutdown = true;
	decide();
	assert_int_equal(w.plan.creates.len, 3);
	obey();
	decide();
	assert_string_equal(w.state.deployment, "Running");
	assert_string_equal(w.state.job, ""); /* nothing is submitted yet */
	assert_int_equal(w.plan.creates.len, 1);
	assert_int_equal(w.plan.creates.items[0].set, 2);
	obey();
	decide();
	assert_string_equal(w.state.job, "RUNNING");
	w.now += 30 * S;
	decide();
	assert_string_equal(w.state.job, "RUNNING"); /* its log is followed to the end */
	w.pods[3].phase = POD_SUCCEEDED;
	decide();
	assert_string_equal(w.state.job, "SUCCEEDED");
	decide();
	assert_int_equal(w.plan.deletes.len, 3);
	for (size_t i = 0; i < w.plan.deletes.len; i++)
		assert_int_not_equal(w.plan.deletes.items[i], 3);
}

static void submitters_that_fail_are_replaced_twice(void **state)
{
	w.spec.submission = RAY_K8S_JOB;
	decide();
	obey();
	for (int32_t i = 0; i < 3; i++) {
		decide();
		assert_int_equal(w.plan.creates.len, 1);
		assert_int_equal(w.plan.creates.items[0].index, i);
		obey();
		w.pods[w.n - 1].phase = POD_FAILED;
	}
	decide();
	assert_string_equal(w.state.deployment, "Failed");
	assert_string_equal(w.state.reason, "SubmissionFailed");
	assert_int_equal(w.plan.deletes.len, 3); /* the cluster; their logs are left */
}

static void suspension_takes_the_submitter_too(void **state)
{
	w.spec.submission = RAY_K8S_JOB;
	decide();
	obey();
	decide();
	obey();
	w.spec.suspend = true;
	decide();
	assert_int_equal(w.plan.deletes.len, 4);
}

static void an_interactive_job_waits_for_a_person(void **state)
{
	w.spec.submission = RAY_INTERACTIVE;
	decide();
	obey();
	decide();
	assert_string_equal(w.state.deployment, "Waiting");
	assert_string_equal(w.state.job, "");
	w.spec.submitted = true;
	decide();
	assert_string_equal(w.state.deployment, "Running");
	assert_string_equal(w.state.job, "RUNNING");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_job_initializes_runs_and_completes),
	    T(shutdown_takes_the_cluster_after_its_time),
	    T(a_failing_entrypoint_fails_the_job),
	    T(a_retry_makes_another_cluster),
	    T(suspend_takes_the_cluster_and_resume_makes_one),
	    T(a_lost_pod_fails_it),
	    T(the_submitter_comes_when_the_cluster_runs_and_stays),
	    T(submitters_that_fail_are_replaced_twice),
	    T(suspension_takes_the_submitter_too),
	    T(an_interactive_job_waits_for_a_person),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
