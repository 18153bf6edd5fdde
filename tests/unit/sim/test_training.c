#include "training_world.h"

static int setup(void **state)
{
	training_setup(TRAINING_PYTORCH, (struct training_replica){"Master", 1, RESTART_ON_FAILURE},
		       (struct training_replica){"Worker", 2, RESTART_ON_FAILURE});
	return 0;
}

static void decide(void)
{
	struct training_view v = next_view("train");

	w.changed = training_decide(&v, &w.state, &w.plan, &w.services);
}

/* "Created Running=False Succeeded": the list as it stands. */
static const char *conditions(void)
{
	static char text[256];
	text[0] = '\0';
	for (size_t i = 0; i < w.state.conditions.n; i++) {
		const struct condition *c = &w.state.conditions.items[i];
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%s%s%s", i ? " " : "", c->type,
			 c->status ? "" : "=False");
	}
	return text;
}

static void a_job_goes_created_running_succeeded(void **state)
{
	decide();
	assert_true(w.changed && w.services);
	assert_string_equal(conditions(), "Created");
	assert_int_equal(w.plan.creates.len, 3);
	assert_int_equal(w.state.started, T0);
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_PENDING);
	pod(1, 1, POD_RUNNING);
	decide();
	assert_string_equal(conditions(), "Created Running");
	assert_string_equal(w.state.conditions.items[1].reason, "PyTorchJobRunning");
	assert_string_equal(w.state.conditions.items[1].message, "PyTorchJob train is running.");
	assert_int_equal(w.state.replicas[0].active, 1);
	assert_int_equal(w.state.replicas[1].active, 1);
	assert_int_equal(w.plan.creates.len, 0);
	pod(0, 0, POD_SUCCEEDED);
	decide();
	assert_string_equal(conditions(), "Created Running=False Succeeded");
	assert_string_equal(w.state.conditions.items[2].message,
			    "PyTorchJob train is successfully completed.");
	assert_int_equal(w.state.replicas[0].succeeded, 1);
	assert_true(w.state.completed > w.state.started);
	assert_true(training_finished(&w.state));
	assert_int_equal(w.plan.deletes.len, 0); /* cleanPodPolicy None */
	decide();
	assert_false(w.changed);
}

static void a_job_born_suspended_waits_and_resumes(void **state)
{
	w.spec.suspend = true;
	decide();
	assert_string_equal(conditions(), "Created Suspended");
	assert_int_equal(w.plan.creates.len, 0);
	assert_int_equal(w.state.started, 0);
	assert_false(w.services);
	decide();
	assert_false(w.changed);
	w.spec.suspend = false;
	decide();
	assert_string_equal(conditions(), "Created Suspended=False");
	assert_string_equal(w.state.conditions.items[1].reason, "PyTorchJobResumed");
	assert_int_equal(w.plan.creates.len, 3);
	pod(0, 0, POD_RUNNING);
	decide();
	assert_string_equal(conditions(), "Created Suspended=False Running");
}

static void suspending_a_running_job_takes_its_pods(void **state)
{
	decide();
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_RUNNING);
	decide();
	w.spec.suspend = true;
	decide();
	assert_string_equal(conditions(), "Created Running=False Suspended");
	assert_int_equal(w.plan.deletes.len, 3);
	assert_int_equal(w.state.replicas[1].active, 0);
	assert_int_equal(w.state.started, 0);
}

static void a_failed_pod_is_tried_again(void **state)
{
	decide();
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_FAILED);
	decide();
	assert_string_equal(conditions(), "Created Restarting");
	assert_int_equal(w.plan.deletes.len, 1);
	assert_int_equal(w.plan.deletes.items[0], 2);
	w.n = 2; /* it is gone */
	decide();
	assert_int_equal(w.plan.creates.len, 1);
	assert_int_equal(w.plan.creates.items[0].set, 1);
	assert_int_equal(w.plan.creates.items[0].index, 1);
	assert_string_equal(conditions(), "Created Running");
}

static void never_restart_fails_the_job(void **state)
{
	w.spec.types[1].restart = RESTART_NEVER;
	w.spec.clean = CLEAN_RUNNING;
	decide();
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_FAILED);
	decide();
	assert_string_equal(conditions(), "Created Running=False Failed");
	assert_string_equal(w.state.conditions.items[2].message,
			    "PyTorchJob train is failed because 1 Worker replica(s) failed.");
	assert_int_equal(w.plan.deletes.len, 2); /* the running ones */
}

static void exit_codes_below_128_are_permanent(void **state)
{
	w.spec.types[0].restart = RESTART_EXIT_CODE;
	decide();
	pod(0, 0, POD_FAILED);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_RUNNING);
	w.pods[0].exit_code = 137;
	decide();
	assert_string_equal(conditions(), "Created Restarting");
	assert_int_equal(w.plan.deletes.len, 1);
	w.pods[0].exit_code = 1;
	decide();
	assert_true(conditions_true(&w.state.conditions, "Failed"));
}

static void the_backoff_limit_counts_restarts_in_place(void **state)
{
	w.spec.backoff_limit = 2;
	decide();
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_RUNNING);
	w.pods[2].restarts = 1;
	decide();
	assert_false(training_finished(&w.state));
	w.pods[1].restarts = 1;
	decide();
	assert_string_equal(conditions_get(&w.state.conditions, "Failed")->message,
			    "Job train has failed because it has reached the specified backoff "
			    "limit");
	assert_int_equal(w.plan.deletes.len, 3); /* whatever cleanPodPolicy says */
	assert_false(w.services);
}

static void a_backoff_limit_of_0_forgives_no_failed_pod(void **state)
{
	w.spec.backoff_limit = 0;
	decide();
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_RUNNING);
	decide();
	assert_false(training_finished(&w.state));
	pod(1, 1, POD_FAILED);
	decide();
	assert_true(conditions_true(&w.state.conditions, "Failed"));
	assert_int_equal(w.plan.deletes.len, 3);
}

static void success_counts_what_still_runs_as_succeeded(void **state)
{
	decide();
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_RUNNING);
	decide();
	pod(0, 0, POD_SUCCEEDED);
	decide();
	assert_int_equal(w.state.replicas[1].active, 0);
	assert_int_equal(w.state.replicas[1].succeeded, 2);
	decide();
	assert_false(w.changed);
	assert_true(w.services); /* cleanPodPolicy None leaves pods and services */
}

static void failure_leaves_the_counts_as_they_were(void **state)
{
	w.spec.types[1].restart = RESTART_NEVER;
	decide();
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_FAILED);
	decide();
	assert_true(conditions_true(&w.state.conditions, "Failed"));
	assert_int_equal(w.state.replicas[0].active, 1);
	assert_int_equal(w.state.replicas[1].active, 1);
	assert_int_equal(w.state.replicas[1].failed, 1);
}

static void the_master_role_is_worker_zeros_without_a_master(void **state)
{
	assert_true(training_is_master(&w.spec, 0, 0));
	assert_false(training_is_master(&w.spec, 1, 0));
	w.spec.types[0] = w.spec.types[1];
	w.spec.n_types = 1;
	assert_true(training_is_master(&w.spec, 0, 0));
	assert_false(training_is_master(&w.spec, 0, 1));
	w.spec.kind = TRAINING_TENSORFLOW;
	w.spec.types[0] = (struct training_replica){"Chief", 1, RESTART_NEVER};
	w.spec.types[1] = (struct training_replica){"Master", 1, RESTART_NEVER};
	w.spec.n_types = 2;
	assert_true(training_is_master(&w.spec, 0, 0));
	assert_true(training_is_master(&w.spec, 1, 0));
}

static void a_deadline_ends_the_job(void **state)
{
	w.spec.active_deadline = 60;
	decide();
	assert_int_equal(w.plan.again, T0 + 60 * S);
	pod(0, 0, POD_RUNNING);
	w.now = T0 + 60 * S;
	decide();
	assert_true(conditions_true(&w.state.conditions, "Failed"));
}

static void clean_all_takes_every_pod(void **state)
{
	w.spec.clean = CLEAN_ALL;
	decide();
	pod(0, 0, POD_SUCCEEDED);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_SUCCEEDED);
	decide();
	assert_int_equal(w.plan.deletes.len, 3);
}

static void without_a_master_all_workers_decide(void **state)
{
	w.spec.types[0] = (struct training_replica){"Worker", 2, RESTART_ON_FAILURE};
	w.spec.n_types = 1;
	decide();
	pod(0, 0, POD_SUCCEEDED);
	pod(0, 1, POD_RUNNING);
	decide();
	assert_string_equal(conditions(), "Created Running");
	assert_string_equal(w.state.conditions.items[1].message,
			    "PyTorchJob team/train is running.");
	pod(0, 1, POD_SUCCEEDED);
	decide();
	assert_true(conditions_true(&w.state.conditions, "Succeeded"));
	assert_string_equal(conditions_get(&w.state.conditions, "Succeeded")->message,
			    "PyTorchJob team/train successfully completed.");
}

static void a_tf_job_ends_with_worker_zero(void **state)
{
	w.spec.kind = TRAINING_TENSORFLOW;
	w.spec.types[0] = (struct training_replica){"PS", 1, RESTART_NEVER};
	decide();
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_RUNNING);
	decide();
	assert_string_equal(w.state.conditions.items[1].reason, "TFJobRunning");
	assert_string_equal(w.state.conditions.items[1].message, "TFJob team/train is running.");
	pod(1, 0, POD_SUCCEEDED);
	decide();
	assert_true(conditions_true(&w.state.conditions, "Succeeded"));
}

static void an_mpi_job_follows_its_launcher(void **state)
{
	w.spec.kind = TRAINING_MPI;
	w.spec.types[0] = (struct training_replica){"Launcher", 1, RESTART_NEVER};
	decide();
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_RUNNING);
	pod(0, 0, POD_PENDING);
	decide();
	assert_string_equal(conditions(), "Created");
	pod(0, 0, POD_RUNNING);
	decide();
	assert_string_equal(conditions(), "Created Running");
	pod(0, 0, POD_SUCCEEDED);
	decide();
	assert_true(conditions_true(&w.state.conditions, "Succeeded"));
}

static void a_failed_pod_of_a_tf_job_that_never_restarts_ends_it(void **state)
{
	w.spec.kind = TRAINING_TENSORFLOW;
	w.spec.types[0] = (struct training_replica){"PS", 1, RESTART_NEVER};
	decide();
	pod(0, 0, POD_FAILED);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_RUNNING);
	decide();
	assert_string_equal(conditions_get(&w.state.conditions, "Failed")->message,
			    "TFJob team/train has failed because 1 PS replica(s) failed.");
}

static void a_failed_worker_ends_an_mpi_job_unless_its_exit_code_may_be_tried_again(void **state)
{
	w.spec.kind = TRAINING_MPI;
	w.spec.types[0] = (struct training_replica){"Launcher", 1, RESTART_NEVER};
	w.spec.types[1].restart = RESTART_EXIT_CODE;
	decide();
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_FAILED);
	w.pods[2].exit_code = 137;
	decide();
	assert_true(conditions_true(&w.state.conditions, "Restarting"));
	w.spec.types[1].restart = RESTART_ON_FAILURE;
	decide();
	assert_string_equal(conditions_get(&w.state.conditions, "Failed")->message,
			    "MPIJob train is failed because 1 Worker replica(s) failed.");
}

static void nothing_follows_failed(void **state)
{
	never_restart_fails_the_job(state);
	assert_false(conditions_set_last(&w.state.conditions, "Running", true, "x", "y", w.now));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- the siblings: who decides, and the words ---- */

static void an_xgboost_job_is_its_masters(void **state)
{
	w.spec.kind = TRAINING_XGBOOST;
	w.spec.types[0].restart = w.spec.types[1].restart = RESTART_NEVER; /* its default */
	decide();
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_RUNNING);
	decide();
	assert_string_equal(w.state.conditions.items[1].reason, "XGBoostJobRunning");
	assert_string_equal(w.state.conditions.items[1].message, "XGBoostJob train is running.");
	pod(1, 0, POD_SUCCEEDED);
	pod(1, 1, POD_SUCCEEDED);
	decide();
	assert_false(training_finished(&w.state));
	pod(0, 0, POD_SUCCEEDED);
	decide();
	assert_string_equal(w.state.conditions.items[2].message,
			    "XGBoostJob train is successfully completed.");
}

static void a_paddle_job_without_a_master_is_its_workers(void **state)
{
	w.spec = (struct training_spec){.kind = TRAINING_PADDLE,
					.types = {{"Worker", 2, RESTART_ON_FAILURE}},
					.n_types = 1,
					.backoff_limit = -1,
					.active_deadline = -1,
					.ttl = -1};
	decide();
	pod(0, 0, POD_RUNNING);
	pod(0, 1, POD_RUNNING);
	decide();
	assert_string_equal(w.state.conditions.items[1].message,
			    "PaddleJob team/train is running.");
	pod(0, 0, POD_SUCCEEDED);
	decide();
	assert_false(training_finished(&w.state)); /* all of them, not worker 0 */
	pod(0, 1, POD_SUCCEEDED);
	decide();
	assert_string_equal(conditions(), "Created Running=False Succeeded");
	assert_string_equal(w.state.conditions.items[2].reason, "PaddleJobSucceeded");
}

static void a_jax_job_fails_with_a_worker_that_may_not_restart(void **state)
{
	w.spec = (struct training_spec){.kind = TRAINING_JAX,
					.types = {{"Worker", 2, RESTART_NEVER}},
					.n_types = 1,
					.backoff_limit = -1,
					.active_deadline = -1,
					.ttl = -1};
	decide();
	pod(0, 0, POD_RUNNING);
	pod(0, 1, POD_FAILED);
	decide();
	assert_string_equal(w.state.conditions.items[w.state.conditions.n - 1].type, "Failed");
	assert_string_equal(w.state.conditions.items[w.state.conditions.n - 1].message,
			    "JAXJob train is failed because 1 Worker replica(s) failed.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_job_goes_created_running_succeeded),
	    T(a_job_born_suspended_waits_and_resumes),
	    T(suspending_a_running_job_takes_its_pods),
	    T(a_failed_pod_is_tried_again),
	    T(never_restart_fails_the_job),
	    T(exit_codes_below_128_are_permanent),
	    T(the_backoff_limit_counts_restarts_in_place),
	    T(a_backoff_limit_of_0_forgives_no_failed_pod),
	    T(success_counts_what_still_runs_as_succeeded),
	    T(failure_leaves_the_counts_as_they_were),
	    T(the_master_role_is_worker_zeros_without_a_master),
	    T(a_failed_pod_of_a_tf_job_that_never_restarts_ends_it),
	    T(a_failed_worker_ends_an_mpi_job_unless_its_exit_code_may_be_tried_again),
	    T(a_deadline_ends_the_job),
	    T(clean_all_takes_every_pod),
	    T(without_a_master_all_workers_decide),
	    T(a_tf_job_ends_with_worker_zero),
	    T(an_mpi_job_follows_its_launcher),
	    T(nothing_follows_failed),
	    T(an_xgboost_job_is_its_masters),
	    T(a_paddle_job_without_a_master_is_its_workers),
	    T(a_jax_job_fails_with_a_worker_that_may_not_restart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
