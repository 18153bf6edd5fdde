#include "base/buf.h"
#include "member-sync/sim/batch_job.h"
#include "sim_test.h"

struct world {
	struct batch_job_spec spec;
	struct batch_job_state state;
	struct pod_view pods[16];
	size_t n;
	struct plan plan;
	bool changed;
	usec now;
};

static struct world w;
static struct batch_policy policy;
static char main_name[] = "main", main_image[] = "img";
static const struct sim_container main_container = {main_name, main_image};

static int setup(void **state)
{
	w = (struct world){.now = T0};
	w.spec = (struct batch_job_spec){.parallelism = 2,
					 .completions = 3,
					 .backoff_limit = 6,
					 .active_deadline = -1,
					 .ttl = -1,
					 .time_scale = 1};
	policy = (struct batch_policy){.limit_per_index = -1, .max_failed_indexes = -1};
	return 0;
}

static int teardown(void **state)
{
	plan_done(&w.plan);
	batch_job_state_done(&w.state);
	return 0;
}

static void decide(void)
{
	plan_done(&w.plan);
	w.plan = (struct plan){0};
	w.changed = batch_job_decide(&w.spec, w.pods, w.n, w.now, &w.state, &w.plan);
}

/* Makes the pods that the plan asks for. */
static void obey(enum pod_phase phase)
{
	vec_foreach (&w.plan.creates, c)
		w.pods[w.n++] = (struct pod_view){.index = c->index,
						  .attempt = c->attempt,
						  .phase = phase,
						  .ready = true,
						  .ns = SPAN("team"),
						  .name = SPAN("job-x7k2p"),
						  .containers = &main_container,
						  .n_containers = 1};
}

static bool is(const char *type)
{
	return conditions_true(&w.state.conditions, type);
}

static void pods_come_in_waves_until_complete(void **state)
{
	decide();
	assert_int_equal(w.plan.creates.len, 2);
	assert_int_equal(w.state.started, T0);
	obey(POD_RUNNING);
	decide();
	assert_int_equal(w.state.active, 2);
	assert_int_equal(w.state.ready, 2);
	assert_int_equal(w.plan.creates.len, 0);
	w.pods[0].phase = w.pods[1].phase = POD_SUCCEEDED;
	decide();
	assert_int_equal(w.state.succeeded, 2);
	assert_int_equal(w.plan.creates.len, 1);
	assert_int_equal(w.plan.creates.items[0].attempt, 2);
	obey(POD_SUCCEEDED);
	decide();
	assert_true(is("SuccessCriteriaMet"));
	assert_true(is("Complete"));
	assert_string_equal(w.state.conditions.items[0].type, "SuccessCriteriaMet");
	assert_int_equal(w.state.completed, T0);
	assert_true(batch_job_finished(&w.state));
}

static void an_indexed_job_runs_each_index_once(void **state)
{
	w.spec.indexed = true;
	decide();
	assert_int_equal(w.plan.creates.items[0].index, 0);
	assert_int_equal(w.plan.creates.items[1].index, 1);
	obey(POD_RUNNING);
	w.pods[1].phase = POD_SUCCEEDED;
	decide();
	assert_int_equal(w.plan.creates.len, 1);
	assert_int_equal(w.plan.creates.items[0].index, 2);
	w.pods[0].phase = POD_FAILED;
	w.pods[0].finished = w.now;
	obey(POD_RUNNING);
	decide();
	assert_int_equal(w.plan.creates.len, 0); /* waits 10 s */
	assert_int_equal(w.plan.again, T0 + 10 * S);
	w.now += 10 * S;
	decide();
	assert_int_equal(w.plan.creates.len, 1);
	assert_int_equal(w.plan.creates.items[0].index, 0);
}

static void a_deleting_pod_keeps_its_index(void **state)
{
	w.spec.indexed = true;
	w.spec.parallelism = w.spec.completions = 1;
	decide();
	obey(POD_RUNNING);
	w.pods[0].deleting = true;
	decide();
	assert_int_equal(w.plan.creates.len, 0);
	w.n = 0;
	decide();
	assert_int_equal(w.plan.creates.len, 1);
}

static void the_backoff_limit_fails_it(void **state)
{
	w.spec.backoff_limit = 0;
	decide();
	obey(POD_RUNNING);
	w.pods[0].phase = POD_FAILED;
	decide();
	assert_true(is("FailureTarget"));
	assert_false(is("Failed")); /* one pod still runs */
	assert_int_equal(w.plan.deletes.len, 1);
	w.n = 1;
	decide();
	assert_true(is("Failed"));
	assert_string_equal(conditions_get(&w.state.conditions, "Failed")->reason,
			    "BackoffLimitExceeded");
	assert_int_equal(w.state.failed, 1);
}

static void a_failure_rule_fails_the_job_at_once(void **state)
{
	w.spec.policy = &policy;
	policy.n_failure = 1;
	policy.failure[0] = (struct batch_failure_rule){
	    .action = BATCH_FAIL_JOB, .by_exit_code = true, .codes = {(uint64_t)1 << 42}};
	decide();
	obey(POD_RUNNING);
	w.pods[0].phase = w.pods[1].phase = POD_FAILED;
	w.pods[0].exit_code = 42;
	w.pods[1].exit_code = 1;
	decide();
	assert_true(is("FailureTarget"));
	const struct condition *failed = conditions_get(&w.state.conditions, "Failed");
	assert_string_equal(failed->reason, "PodFailurePolicy");
	assert_string_equal(failed->message,
			    "Container main for pod team/job-x7k2p failed with exit code 42 "
			    "matching FailJob rule at index 0");
}

static void an_ignored_failure_does_not_count(void **state)
{
	w.spec.policy = &policy;
	w.spec.backoff_limit = 0;
	policy.n_failure = 1;
	policy.failure[0] =
	    (struct batch_failure_rule){.action = BATCH_IGNORE, .by_disruption = true};
	decide();
	obey(POD_RUNNING);
	w.pods[0].phase = POD_FAILED;
	w.pods[0].disrupted = true;
	decide();
	assert_int_equal(w.state.failed, 0);
	assert_false(is("FailureTarget"));
	assert_int_equal(w.plan.creates.len, 1);
	w.pods[1].phase = POD_FAILED; /* on its own account */
	decide();
	assert_true(is("FailureTarget"));
}

static void an_index_that_failed_too_often_is_given_up(void **state)
{
	w.spec.indexed = true;
	w.spec.policy = &policy;
	w.spec.backoff_limit = INT32_MAX;
	w.spec.parallelism = 3;
	policy.limit_per_index = 0;
	decide();
	obey(POD_RUNNING);
	w.pods[1].phase = POD_FAILED;
	decide();
	assert_true(w.state.failed_indexes[1]);
	assert_int_equal(w.plan.creates.len, 0); /* not tried again, not even later */
	assert_int_equal(w.plan.again, 0);
	assert_false(is("FailureTarget"));
	w.pods[0].phase = w.pods[2].phase = POD_SUCCEEDED;
	decide();
	assert_string_equal(conditions_get(&w.state.conditions, "Failed")->reason, "FailedIndexes");
	assert_string_equal(conditions_get(&w.state.conditions, "Failed")->message,
			    "Job has failed indexes");
}

static void each_index_waits_for_itself(void **state)
{
	w.spec.indexed = true;
	w.spec.policy = &policy;
	w.spec.backoff_limit = INT32_MAX;
	w.spec.parallelism = 2;
	policy.limit_per_index = 5;
	decide();
	obey(POD_RUNNING);
	/* Index 0 fails twice, the second time 20 s after the first. */
	w.pods[0].phase = POD_FAILED;
	w.pods[0].finished = w.now;
	decide();
	/* Meanwhile there is room for another one, which nothing holds up. */
	assert_int_equal(w.plan.creates.len, 1);
	assert_int_equal(w.plan.creates.items[0].index, 2);
	assert_int_equal(w.plan.again, T0 + 10 * S);
	obey(POD_SUCCEEDED);
	w.now += 10 * S;
	decide();
	assert_int_equal(w.plan.creates.len, 1);
	assert_int_equal(w.plan.creates.items[0].index, 0);
	obey(POD_FAILED);
	w.now += 10 * S;
	w.pods[3].finished = w.now;
	/* Index 1 fails for the first time: it waits 10 s, the other one 20 s. */
	w.pods[1].phase = POD_FAILED;
	w.pods[1].finished = w.now;
	decide();
	assert_int_equal(w.plan.creates.len, 0);
	assert_int_equal(w.plan.again, T0 + 30 * S);
	w.now += 10 * S;
	decide();
	assert_int_equal(w.plan.creates.len, 1);
	assert_int_equal(w.plan.creates.items[0].index, 1);
	obey(POD_SUCCEEDED);
	decide();
	assert_int_equal(w.plan.creates.len, 0);
	assert_int_equal(w.plan.again, T0 + 40 * S);
	w.now += 10 * S;
	decide();
	assert_int_equal(w.plan.creates.items[0].index, 0);
}

static void too_many_failed_indexes_fail_the_job(void **state)
{
	w.spec.indexed = true;
	w.spec.policy = &policy;
	w.spec.parallelism = 3;
	policy.limit_per_index = 5;
	policy.max_failed_indexes = 0;
	policy.n_failure = 1;
	policy.failure[0] = (struct batch_failure_rule){
	    .action = BATCH_FAIL_INDEX, .by_exit_code = true, .not_in = true};
	decide();
	obey(POD_RUNNING);
	w.pods[2].phase = POD_FAILED;
	w.pods[2].exit_code = 9;
	decide();
	assert_string_equal(conditions_get(&w.state.conditions, "FailureTarget")->reason,
			    "MaxFailedIndexesExceeded");
	assert_int_equal(w.plan.deletes.len, 2);
}

static void a_success_rule_ends_the_job_early(void **state)
{
	bool leader[3] = {true};
	w.spec.indexed = true;
	w.spec.policy = &policy;
	w.spec.parallelism = 3;
	policy.n_success = 2;
	policy.success[0] = (struct batch_success_rule){.count = 3};
	policy.success[1] = (struct batch_success_rule){.indexes = leader, .count = -1};
	decide();
	obey(POD_RUNNING);
	w.pods[1].phase = POD_SUCCEEDED;
	decide();
	assert_false(is("SuccessCriteriaMet"));
	w.pods[0].phase = POD_SUCCEEDED;
	decide();
	assert_true(is("SuccessCriteriaMet"));
	assert_false(is("Complete")); /* a pod still runs */
	assert_int_equal(w.plan.deletes.len, 1);
	w.n = 2;
	decide();
	const struct condition *complete = conditions_get(&w.state.conditions, "Complete");
	assert_string_equal(complete->reason, "SuccessPolicy");
	assert_string_equal(complete->message, "Matched rules at index 1");
}

static void a_rule_about_another_container_does_not_match(void **state)
{
	struct pod_view p = {.exit_code = 7, .containers = &main_container, .n_containers = 1};
	size_t rule = 9;
	policy.n_failure = 2;
	policy.failure[0] = (struct batch_failure_rule){
	    .action = BATCH_FAIL_JOB, .by_exit_code = true, .container = "sidecar", .not_in = true};
	policy.failure[1] = (struct batch_failure_rule){
	    .action = BATCH_IGNORE, .by_exit_code = true, .container = "main", .not_in = true};
	assert_int_equal(batch_policy_judge(&policy, &p, &rule), BATCH_IGNORE);
	assert_int_equal(rule, 1);
	p.exit_code = 0; /* never asked about */
	assert_int_equal(batch_policy_judge(&policy, &p, &rule), BATCH_COUNT);
	assert_int_equal(batch_policy_judge(NULL, &p, &rule), BATCH_COUNT);
}

static void suspend_takes_pods_and_resume_starts_anew(void **state)
{
	decide();
	obey(POD_RUNNING);
	w.spec.suspend = true;
	decide();
	assert_true(is("Suspended"));
	assert_int_equal(w.plan.deletes.len, 2);
	assert_int_equal(w.state.started, 0);
	w.n = 0;
	w.now += S;
	decide();
	assert_int_equal(w.state.active, 0);
	w.spec.suspend = false;
	decide();
	assert_false(is("Suspended"));
	assert_string_equal(w.state.conditions.items[0].reason, "JobResumed");
	assert_int_equal(w.state.started, T0 + S);
	assert_int_equal(w.plan.creates.len, 2);
}

static void a_job_born_suspended_says_so_at_once(void **state)
{
	w.spec.suspend = true;
	decide();
	assert_true(w.changed);
	assert_true(is("Suspended"));
	assert_int_equal(w.plan.creates.len, 0);
	decide();
	assert_false(w.changed);
}

static void a_deadline_fails_it(void **state)
{
	w.spec.active_deadline = 5;
	decide();
	assert_int_equal(w.plan.again, T0 + 5 * S);
	w.now += 5 * S;
	decide();
	assert_string_equal(conditions_get(&w.state.conditions, "Failed")->reason,
			    "DeadlineExceeded");
}

static void pods_that_are_gone_still_count(void **state)
{
	decide();
	w.state.gone_succeeded = 2;
	decide();
	assert_int_equal(w.state.succeeded, 2);
	assert_int_equal(w.plan.creates.len, 1);
}

static void a_smaller_parallelism_takes_pods_away(void **state)
{
	decide();
	obey(POD_RUNNING);
	w.spec.parallelism = 1;
	decide();
	assert_int_equal(w.plan.deletes.len, 1);
}

static void without_completions_one_success_is_enough(void **state)
{
	w.spec.completions = -1;
	decide();
	assert_int_equal(w.plan.creates.len, 2);
	obey(POD_RUNNING);
	w.pods[0].phase = POD_SUCCEEDED;
	decide();
	assert_false(is("Complete"));
	assert_int_equal(w.plan.creates.len, 0);
	w.pods[1].phase = POD_SUCCEEDED;
	decide();
	assert_true(is("Complete"));
}

static void indexes_are_printed_and_read_back(void **state)
{
	bool done[10] = {[0] = true, [1] = true, [2] = true, [5] = true, [7] = true, [8] = true};
	bool back[10] = {0};
	auto_buf out = BUF_INIT;
	batch_job_print_indexes(done, 10, &out);
	assert_string_equal(out.ptr, "0-2,5,7,8");
	assert_int_equal(batch_job_parse_indexes(buf_span(&out), back, 10), 0);
	assert_memory_equal(done, back, sizeof(done));
	assert_int_equal(batch_job_parse_indexes(SPAN("3-1"), back, 10), -EINVAL);
	assert_int_equal(batch_job_parse_indexes(SPAN("10"), back, 10), -EINVAL);
	assert_int_equal(batch_job_parse_indexes(SPAN("x"), back, 10), -EINVAL);
	assert_int_equal(batch_job_parse_indexes(SPAN(""), back, 10), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(pods_come_in_waves_until_complete),
	    T(an_indexed_job_runs_each_index_once),
	    T(a_deleting_pod_keeps_its_index),
	    T(the_backoff_limit_fails_it),
	    T(a_failure_rule_fails_the_job_at_once),
	    T(an_ignored_failure_does_not_count),
	    T(an_index_that_failed_too_often_is_given_up),
	    T(each_index_waits_for_itself),
	    T(too_many_failed_indexes_fail_the_job),
	    T(a_success_rule_ends_the_job_early),
	    T(a_rule_about_another_container_does_not_match),
	    T(suspend_takes_pods_and_resume_starts_anew),
	    T(a_job_born_suspended_says_so_at_once),
	    T(a_deadline_fails_it),
	    T(pods_that_are_gone_still_count),
	    T(a_smaller_parallelism_takes_pods_away),
	    T(without_completions_one_success_is_enough),
	    T(indexes_are_printed_and_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
