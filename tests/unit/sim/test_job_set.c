#include "member-sync/sim/job_set.h"
#include "sim_test.h"

struct world {
	struct job_set_spec spec;
	struct job_set_state state;
	struct job_set_child kids[16];
	size_t n;
	struct job_set_plan plan;
	bool changed;
	usec now;
};

static struct world w;

static int setup(void **state)
{
	memset(&w, 0, sizeof(w));
	w.now = T0;
	w.state.terminal = "";
	w.spec.n_jobs = 2;
	w.spec.jobs[0] = (struct job_set_replicated){
	    .name = "leader", .replicas = 1, .parallelism = 1, .completions = 1, .depends_on = -1};
	w.spec.jobs[1] = (struct job_set_replicated){
	    .name = "workers", .replicas = 2, .parallelism = 2, .completions = 2, .depends_on = -1};
	return 0;
}

static int teardown(void **state)
{
	job_set_plan_done(&w.plan);
	job_set_state_done(&w.state);
	return 0;
}

static void decide(void)
{
	job_set_plan_done(&w.plan);
	w.plan = (struct job_set_plan){0};
	w.changed = job_set_decide(&w.spec, w.kids, w.n, w.now, &w.state, &w.plan);
	w.now += S;
}

static void obey(void)
{
	vec_foreach (&w.plan.creates, c)
		w.kids[w.n++] = (struct job_set_child){.set = c->set,
						       .index = c->index,
						       .attempt = c->attempt,
						       .job_attempt = c->job_attempt,
						       .suspended = w.spec.suspend,
						       .name = "js-workers-0"};
}

static bool told(const char *reason, bool warning, const char *message)
{
	vec_foreach (&w.plan.events, e)
		if (strcmp(e->reason, reason) == 0 && strcmp(e->message, message) == 0)
			return e->warning == warning;
	return false;
}

static const struct condition *condition(const char *type)
{
	return conditions_get(&w.state.conditions, type);
}

static bool is(const char *type)
{
	return conditions_true(&w.state.conditions, type);
}

static void every_replica_becomes_a_job(void **state)
{
	decide();
	assert_int_equal(w.plan.creates.len, 3);
	obey();
	w.kids[1].active = 2;
	w.kids[1].ready = 2;
	decide();
	assert_int_equal(w.plan.creates.len, 0);
	assert_int_equal(w.state.counts[1].ready, 1);
	assert_int_equal(w.state.counts[1].active, 1);
	assert_int_equal(w.state.conditions.n, 0); /* none is true yet */
}

static void all_jobs_complete_completes_it(void **state)
{
	decide();
	obey();
	w.kids[0].complete = w.kids[1].complete = true;
	decide();
	assert_false(job_set_finished(&w.state));
	w.kids[2].complete = true;
	decide();
	assert_true(is("Completed"));
	assert_string_equal(w.state.terminal, "Completed");
	assert_string_equal(w.state.conditions.items[0].reason, "AllJobsCompleted");
	assert_string_equal(w.state.conditions.items[0].message, "jobset completed successfully");
	assert_int_equal(w.state.counts[1].succeeded, 2);
	decide();
	assert_false(w.changed);
}

static void any_success_of_the_target_completes_it(void **state)
{
	w.spec.any_success = true;
	w.spec.success_targets = 1u << 0;
	decide();
	obey();
	w.kids[1].complete = true;
	decide();
	assert_false(job_set_finished(&w.state));
	w.kids[0].complete = true;
	decide();
	assert_true(is("Completed"));
	assert_int_equal(w.plan.deletes.len, 1); /* the one that still ran */
}

static void without_a_policy_the_first_failure_ends_it(void **state)
{
	decide();
	obey();
	w.kids[2].failed = true;
	w.kids[2].failed_at = T0;
	decide();
	assert_true(is("Failed"));
	assert_string_equal(w.state.terminal, "Failed");
	assert_string_equal(w.state.conditions.items[0].reason, "FailedJobs");
	assert_string_equal(w.state.conditions.items[0].message,
			    "jobset failed due to one or more job failures (first failed job: "
			    "js-workers-0)");
}

static void a_failure_policy_restarts_everything(void **state)
{
	w.spec.has_failure_policy = true;
	w.spec.max_restarts = 1;
	decide();
	obey();
	w.kids[1].failed = true;
	decide();
	assert_int_equal(w.state.restarts, 1);
	assert_int_equal(w.state.restarts_counted, 1);
	decide();
	assert_int_equal(w.plan.deletes.len, 3);
	assert_int_equal(w.plan.creates.len, 0); /* names are still taken */
	w.n = 0;
	decide();
	assert_int_equal(w.plan.creates.len, 3);
	assert_int_equal(w.plan.creates.items[0].attempt, 1);
	obey();
	w.kids[0].failed = true;
	decide();
	assert_true(is("Failed"));
	assert_string_equal(condition("Failed")->reason, "ReachedMaxRestarts");
	assert_string_equal(condition("Failed")->message,
			    "jobset failed due to reaching max number of restarts (first failed "
			    "job: js-workers-0)");
}

/* The condition of kubernetes-api.md 4.1, and the words of JobSet's own Events. */
static void a_restart_is_shown_until_all_jobs_are_ready(void **state)
{
	w.spec.has_failure_policy = true;
	w.spec.max_restarts = 1;
	decide();
	obey();
	w.kids[1].failed = true;
	decide();
	assert_true(is("RestartingJobSet"));
	assert_string_equal(condition("RestartingJobSet")->reason, "DefaultFailurePolicy");
	assert_int_equal(w.plan.events.len, 2);
	assert_true(told("RestartJobSetFailurePolicyAction", true,
			 "applying RestartJobSet failure policy action (first failed job: "
			 "js-workers-0)"));
	w.n = 0;
	decide();
	obey();
	w.kids[0].ready = 1;
	w.kids[1].ready = 2;
	decide();
	assert_true(is("RestartingJobSet"));
	w.kids[2].ready = 2;
	decide();
	assert_false(is("RestartingJobSet"));
	assert_string_equal(condition("RestartingJobSet")->reason, "JobsReady");
	assert_int_equal(w.plan.events.len, 1);
	/* Nothing is left of the budget: it fails, and was not restarting. */
	w.kids[0].failed = true;
	decide();
	assert_string_equal(condition("RestartingJobSet")->reason, "JobsReady");
	assert_true(told("ReachedMaxRestarts", true,
			 "jobset failed due to reaching max number of restarts (first failed job: "
			 "js-workers-0)"));
}

static void a_restart_names_the_rule_that_asked_for_it(void **state)
{
	w.spec.has_failure_policy = true;
	w.spec.n_rules = 1;
	w.spec.rules[0] = (struct job_set_rule){
	    .name = "hostMaintenance", .action = ACTION_RESTART_FREE, .targets = 1u << 1};
	decide();
	obey();
	w.kids[1].failed = true;
	decide();
	assert_string_equal(condition("RestartingJobSet")->reason, "FailurePolicy_hostMaintenance");
	assert_true(told("RestartJobSetAndIgnoreMaxRestartsFailurePolicyAction", true,
			 "applying RestartJobSetAndIgnoreMaxRestarts failure policy action (first "
			 "failed job: js-workers-0)"));
	w.spec.suspend = true; /* taken back by a queue while it restarts */
	w.n = 0;
	decide();
	assert_false(is("RestartingJobSet"));
	assert_string_equal(condition("RestartingJobSet")->reason, "JobSetSuspended");
	assert_true(told("SuspendedJobs", false, "jobset is suspended"));
}

static void rules_are_asked_in_order(void **state)
{
	w.spec.has_failure_policy = true;
	w.spec.n_rules = 2;
	w.spec.rules[0] = (struct job_set_rule){
	    .action = ACTION_FAIL, .n_reasons = 1, .reasons = {"DeadlineExceeded"}};
	w.spec.rules[1] = (struct job_set_rule){.action = ACTION_RESTART_FREE, .targets = 1u << 1};
	decide();
	obey();
	w.kids[1].failed = true;
	snprintf(w.kids[1].reason, sizeof(w.kids[1].reason), "BackoffLimitExceeded");
	decide();
	assert_int_equal(w.state.restarts, 1);
	assert_int_equal(w.state.restarts_counted, 0);
	w.n = 0;
	decide();
	obey();
	w.kids[1].failed = w.kids[2].failed = true;
	w.kids[1].failed_at = T0;
	w.kids[2].failed_at = T0 + S;
	w.kids[2].name = "js-workers-1";
	snprintf(w.kids[2].reason, sizeof(w.kids[2].reason), "DeadlineExceeded");
	decide();
	assert_string_equal(condition("Failed")->reason, "FailJobSetFailurePolicyAction");
	/* the job that the rule speaks of, not the one that failed first of all */
	assert_string_equal(condition("Failed")->message,
			    "applying FailJobSet failure policy action (first failed job: "
			    "js-workers-1)");
}

static void a_rule_may_ask_for_words_of_the_failure(void **state)
{
	static char cuda[] = "CUDA|NCCL", limit[] = "^Job has reached";
	w.spec.has_failure_policy = true;
	w.spec.n_rules = 2;
	w.spec.rules[0] =
	    (struct job_set_rule){.action = ACTION_FAIL, .n_patterns = 1, .patterns = {cuda}};
	w.spec.rules[1] = (struct job_set_rule){.action = ACTION_RESTART_FREE,
						.n_patterns = 2,
						.patterns = {cuda, limit},
						.n_reasons = 1,
						.reasons = {"BackoffLimitExceeded"}};
	decide();
	obey();
	w.kids[1].failed = true;
	w.kids[1].message = "Job has reached the specified backoff limit";
	snprintf(w.kids[1].reason, sizeof(w.kids[1].reason), "BackoffLimitExceeded");
	decide();
	assert_int_equal(w.state.restarts, 1);
	assert_false(is("Failed"));
	w.n = 0;
	decide();
	obey();
	w.kids[1].failed = true;
	w.kids[1].message = "an NCCL error";
	snprintf(w.kids[1].reason, sizeof(w.kids[1].reason), "PodFailurePolicy");
	decide();
	assert_true(is("Failed"));
	assert_int_equal(w.state.restarts, 1);
}

static void restarting_one_job_leaves_the_others(void **state)
{
	w.spec.has_failure_policy = w.spec.restarts_jobs = true;
	w.spec.max_restarts = 1;
	w.spec.n_rules = 1;
	w.spec.rules[0] = (struct job_set_rule){.action = ACTION_RESTART_JOB};
	decide();
	obey();
	w.kids[2].failed = true; /* workers-1 */
	decide();
	assert_true(w.plan.restarted);
	assert_int_equal(w.state.restarts, 0);
	assert_int_equal(job_set_job_restarts(&w.state, 1, 1).all, 1);
	assert_int_equal(job_set_job_restarts(&w.state, 1, 0).all, 0);
	decide();
	assert_int_equal(w.plan.deletes.len, 1);
	assert_int_equal(w.plan.deletes.items[0], 2);
	w.n = 2;
	decide();
	assert_int_equal(w.plan.creates.len, 1);
	assert_int_equal(w.plan.creates.items[0].index, 1);
	assert_int_equal(w.plan.creates.items[0].job_attempt, 1);
	assert_int_equal(w.plan.creates.items[0].attempt, 0);
	obey();
	decide();
	assert_int_equal(w.plan.deletes.len, 0); /* it is of the present attempt */
	/* what single Jobs used up of the budget is used up */
	w.kids[0].failed = true;
	decide();
	assert_string_equal(w.state.conditions.items[0].reason, "ReachedMaxRestarts");
}

static void a_free_restart_of_one_job_uses_up_nothing(void **state)
{
	w.spec.has_failure_policy = w.spec.restarts_jobs = true;
	w.spec.n_rules = 1;
	w.spec.rules[0] = (struct job_set_rule){.action = ACTION_RESTART_JOB_FREE};
	decide();
	obey();
	for (int i = 1; i <= 3; i++) {
		w.kids[2].failed = true;
		decide();
		assert_false(job_set_finished(&w.state));
		assert_int_equal(job_set_job_restarts(&w.state, 1, 1).all, i);
		assert_int_equal(job_set_job_restarts(&w.state, 1, 1).counted, 0);
		w.n = 2;
		decide();
		obey();
	}
}

static void blocking_recreate_waits_until_all_are_gone(void **state)
{
	w.spec.has_failure_policy = true;
	w.spec.max_restarts = 3;
	decide();
	obey();
	w.kids[0].failed = true;
	decide();
	w.kids[1].deleting = w.kids[2].deleting = true;
	w.kids[0] = w.kids[--w.n]; /* the failed one's name is free */
	decide();
	assert_int_equal(w.plan.creates.len, 1); /* Recreate: each as soon as it can */
	w.spec.blocking = true;
	decide();
	assert_int_equal(w.plan.creates.len, 0);
	w.n = 0;
	decide();
	assert_int_equal(w.plan.creates.len, 3);
}

static void suspend_and_resume_reach_the_jobs(void **state)
{
	w.spec.suspend = true;
	decide();
	assert_true(is("Suspended"));
	assert_int_equal(w.plan.creates.len, 3);
	obey();
	decide();
	assert_int_equal(w.state.counts[1].suspended, 2);
	w.spec.suspend = false;
	decide();
	assert_false(is("Suspended"));
	assert_string_equal(w.state.conditions.items[0].reason, "ResumeJobs");
	assert_string_equal(w.state.conditions.items[0].message, "jobset is resumed");
	assert_int_equal(w.plan.suspends.len, 3);
}

static void a_dependent_job_waits(void **state)
{
	w.spec.jobs[1].depends_on = 0;
	w.spec.jobs[1].depends_complete = true;
	decide();
	assert_int_equal(w.plan.creates.len, 1);
	obey();
	w.kids[0].ready = w.kids[0].active = 1;
	decide();
	assert_int_equal(w.plan.creates.len, 0);
	w.kids[0].complete = true;
	decide();
	assert_int_equal(w.plan.creates.len, 2);
}

static void startup_in_order_reports_its_progress(void **state)
{
	w.spec.in_order = true;
	decide();
	assert_int_equal(w.plan.creates.len, 1);
	assert_true(is("StartupPolicyInProgress"));
	obey();
	w.kids[0].ready = w.kids[0].active = 1;
	decide();
	assert_int_equal(w.plan.creates.len, 2);
	obey();
	for (size_t i = 1; i < w.n; i++)
		w.kids[i].ready = w.kids[i].active = 2;
	decide();
	assert_false(is("StartupPolicyInProgress"));
	assert_true(is("StartupPolicyCompleted"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(every_replica_becomes_a_job),
	    T(all_jobs_complete_completes_it),
	    T(any_success_of_the_target_completes_it),
	    T(without_a_policy_the_first_failure_ends_it),
	    T(a_failure_policy_restarts_everything),
	    T(a_restart_is_shown_until_all_jobs_are_ready),
	    T(a_restart_names_the_rule_that_asked_for_it),
	    T(rules_are_asked_in_order),
	    T(a_rule_may_ask_for_words_of_the_failure),
	    T(restarting_one_job_leaves_the_others),
	    T(a_free_restart_of_one_job_uses_up_nothing),
	    T(blocking_recreate_waits_until_all_are_gone),
	    T(suspend_and_resume_reach_the_jobs),
	    T(a_dependent_job_waits),
	    T(startup_in_order_reports_its_progress),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
