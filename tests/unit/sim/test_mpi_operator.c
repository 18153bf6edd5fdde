/* MPIJob of kubeflow.org/v2beta1: what the mpi-operator's controller decides. */
#include "member-sync/sim/mpi_operator.h"
#include "training_world.h"

static int setup(void **state)
{
	training_setup(TRAINING_MPI_BETA,
		       (struct training_replica){"Launcher", 1, RESTART_ON_FAILURE},
		       (struct training_replica){"Worker", 2, RESTART_NEVER});
	return 0;
}

static void decide(void)
{
	struct training_view v = next_view("pi");

	w.changed = mpi_operator_decide(&v, &w.state, &w.plan);
}

/* The pod of a set that stands first is gone. */
static void gone(int32_t set)
{
	for (size_t i = 0; i < w.n; i++)
		if (w.pods[i].set == set) {
			memmove(&w.pods[i], &w.pods[i + 1], (w.n - i - 1) * sizeof(w.pods[0]));
			w.n--;
			return;
		}
}

static void expect(const char *type, bool status, const char *reason, const char *message)
{
	const struct condition *c = conditions_get(&w.state.conditions, type);

	assert_non_null(c);
	assert_int_equal(c->status, status);
	assert_string_equal(c->reason, reason);
	assert_string_equal(c->message, message);
}

static bool creates(int32_t set)
{
	vec_foreach (&w.plan.creates, p)
		if (p->set == set)
			return true;
	return false;
}

static void all_run(void)
{
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_RUNNING);
}

static void a_job_runs_when_its_launcher_and_all_workers_do(void **state)
{
	decide();
	expect("Created", true, "MPIJobCreated", "MPIJob team/pi is created.");
	assert_int_equal(w.plan.creates.len, 3);
	pod(0, 0, POD_RUNNING);
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_PENDING);
	decide();
	assert_null(conditions_get(&w.state.conditions, "Running"));
	pod(1, 1, POD_RUNNING);
	decide();
	expect("Running", true, "MPIJobRunning", "MPIJob team/pi is running.");
	assert_int_equal(w.state.replicas[0].active, 1);
	assert_int_equal(w.state.replicas[1].active, 2);
}

static void the_launchers_end_is_the_jobs(void **state)
{
	decide();
	all_run();
	decide();
	pod(0, 0, POD_SUCCEEDED);
	decide();
	expect("Succeeded", true, "MPIJobSucceeded", "MPIJob team/pi successfully completed.");
	assert_false(conditions_true(&w.state.conditions, "Running"));
	assert_int_equal(w.state.replicas[0].succeeded, 1);
	assert_int_equal(w.plan.deletes.len, 0); /* cleanPodPolicy None: the workers go on */
	w.spec.clean = CLEAN_RUNNING;
	decide();
	assert_int_equal(w.plan.deletes.len, 2);
}

static void a_launcher_that_waits_for_the_workers_is_made_when_all_run(void **state)
{
	w.spec.wait_for_workers = true;
	decide();
	assert_false(creates(0));
	assert_true(creates(1));
	pod(1, 0, POD_RUNNING);
	pod(1, 1, POD_PENDING);
	decide();
	assert_false(creates(0));
	pod(1, 1, POD_RUNNING);
	decide();
	assert_true(creates(0));
}

static void a_failed_launcher_is_made_again_until_its_limit(void **state)
{
	w.spec.backoff_limit = 1;
	decide();
	all_run();
	decide();
	pod(0, 0, POD_FAILED);
	decide();
	assert_int_equal(w.plan.deletes.len, 1);
	assert_int_equal(w.state.replicas[0].failed, 1);
	gone(0);
	decide();
	assert_true(creates(0));
	assert_false(training_finished(&w.state));
	pod(0, 0, POD_FAILED);
	decide();
	expect("Failed", true, "BackoffLimitExceeded/",
	       "Job has reached the specified backoff limit: ");
	assert_int_equal(w.state.replicas[0].failed, 2);
}

static void a_failed_worker_is_counted_and_ends_nothing(void **state)
{
	decide();
	all_run();
	decide();
	pod(1, 1, POD_FAILED);
	decide();
	assert_false(training_finished(&w.state));
	assert_int_equal(w.state.replicas[1].failed, 1);
	assert_int_equal(w.plan.deletes.len + w.plan.creates.len, 0);
}

static void suspension_takes_the_pods_and_resuming_starts_the_clock_again(void **state)
{
	decide();
	all_run();
	decide();
	w.spec.suspend = true;
	decide();
	assert_int_equal(w.plan.deletes.len, 3);
	expect("Suspended", true, "MPIJobSuspended", "MPIJob suspended");
	expect("Running", false, "MPIJobSuspended", "MPIJob team/pi is suspended.");
	assert_int_equal(w.state.replicas[1].active, 0);
	w.n = 0;
	w.spec.suspend = false;
	usec at = w.now;
	decide();
	expect("Suspended", false, "MPIJobResumed", "MPIJob resumed");
	assert_int_equal(w.state.started, at);
	assert_int_equal(w.plan.creates.len, 3);
}

static void a_job_ends_at_its_deadline(void **state)
{
	w.spec.active_deadline = 3;
	decide();
	assert_int_equal(w.plan.again, T0 + 3 * S);
	all_run();
	w.now = T0 + 3 * S;
	decide();
	expect("Failed", true, "DeadlineExceeded", "Job was active longer than specified deadline");
}

static void nothing_is_written_twice(void **state)
{
	decide();
	all_run();
	decide();
	decide();
	assert_false(w.changed);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_job_runs_when_its_launcher_and_all_workers_do),
	    T(the_launchers_end_is_the_jobs),
	    T(a_launcher_that_waits_for_the_workers_is_made_when_all_run),
	    T(a_failed_launcher_is_made_again_until_its_limit),
	    T(a_failed_worker_is_counted_and_ends_nothing),
	    T(suspension_takes_the_pods_and_resuming_starts_the_clock_again),
	    T(a_job_ends_at_its_deadline),
	    T(nothing_is_written_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
