/*
 * failover.application in the fleet, step by step (core/admission/failover.h): a job whose copy
 * failed leaves for another cluster, once for each, and its failure stands when none is left.
 */
#include "world.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define AFTER_30S                                                                                  \
	",'failover':{'application':{'decisionConditions':{'tolerationSeconds':30},"               \
	"'purgeMode':'Immediately'}}"
#define AT_ONCE                                                                                    \
	",'failover':{'application':{'decisionConditions':{'tolerationSeconds':0},"                \
	"'purgeMode':'Directly'}}"

/* c1 and c2 of the same size; their jobs run for an hour. */
static void two_members(struct world *w)
{
	world_join(w, "c1", 2, 4)->run_time = 3600 * USEC_PER_SEC;
	world_join(w, "c2", 2, 4)->run_time = 3600 * USEC_PER_SEC;
}

/* Two members, a policy with this failover, and the job one: so many pods of so many cpus. */
static void begin(struct world *w, const char *failover, int pods, int cpus)
{
	two_members(w);
	world_policy(w, "default", failover);
	assert_int_equal(world_job(w, "default", "one", pods, cpus, ""), ERR_NONE);
}

/* The same policy for team-a, whose jobs go through its queue. */
#define begin_with_teams(w, failover)                                                              \
	begin_with_policy(w, ",'suspension':{'scheduling':true}" failover)
static void begin_with_policy(struct world *w, const char *policy)
{
	two_members(w);
	world_teams(w, 12, 4);
	assert_int_equal(world_delete(w, TYPE_PROPAGATION_POLICY, "team-a", "p"), ERR_NONE);
	world_policy(w, "team-a", policy);
}

/* Where a copy of it is that is not suspended; NULL: nowhere, and nowhere twice. */
static struct model *runs_on(struct world *w, const char *ns, const char *job)
{
	struct model *on = NULL;

	for (size_t i = 0; i < w->n_members; i++) {
		const struct model_copy *copy = model_copy(w->members[i], ns, job);
		if (!copy || copy->suspended)
			continue;
		assert_null(on);
		on = w->members[i];
	}
	return on;
}

static size_t copies_of(struct world *w, const char *ns, const char *job)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n_members; i++)
		n += model_copy(w->members[i], ns, job) != NULL;
	return n;
}

/* It fails where it runs. */
static struct model *fails(struct world *w, const char *ns, const char *job)
{
	struct model *m = runs_on(w, ns, job);

	assert_non_null(m);
	model_finish(m, model_copy(m, ns, job), true);
	world_settle(w);
	return m;
}

static struct model *runs(struct world *w, const char *ns, const char *job)
{
	world_settle(w);
	struct model *m = runs_on(w, ns, job);
	assert_non_null(m);
	return m;
}

static const char *failed(struct world *w, const char *ns, const char *job)
{
	return world_condition(w, TYPE_JOB, ns, job, "Failed", "status");
}

static void later(struct world *w, int seconds)
{
	world_advance(w, seconds * USEC_PER_SEC);
	world_settle(w);
}

static void a_failed_job_leaves_after_its_toleration(void **state)
{
	struct world *w = *state;

	begin(w, AFTER_30S, 2, 2);
	const struct model *first = runs(w, "default", "one");
	assert_ptr_equal(fails(w, "default", "one"), first);
	assert_string_equal(failed(w, "default", "one"), "");
	assert_string_equal(world_field(w, TYPE_RESOURCE_BINDING, "default", "one-job",
					"status.aggregatedStatus.0.health"),
			    "Unhealthy");
	assert_int_equal(world_events(w, "one", "ApplicationFailure", "taken back at"), 1);
	later(w, 29);
	assert_ptr_equal(runs_on(w, "default", "one"), first);
	later(w, 2);
	struct model *second = runs(w, "default", "one");
	assert_ptr_not_equal(second, first);
	assert_int_equal(copies_of(w, "default", "one"), 1);
	assert_int_equal(world_events(w, "one", "EvictWorkloadFromClusterSucceed", first->name), 1);
	assert_string_equal(failed(w, "default", "one"), "");
	model_finish(second, model_copy(second, "default", "one"), false);
	later(w, 1);
	assert_string_equal(world_condition(w, TYPE_JOB, "default", "one", "Complete", "status"),
			    "True");
}

static void a_job_that_fails_everywhere_has_failed(void **state)
{
	struct world *w = *state;

	begin(w, AT_ONCE, 2, 2);
	world_settle(w);
	const struct model *first = fails(w, "default", "one");
	const struct model *second = runs(w, "default", "one");
	assert_ptr_not_equal(first, second);
	fails(w, "default", "one");
	later(w, 1);
	assert_string_equal(failed(w, "default", "one"), "True");
	assert_int_equal(world_events(w, "one", "ApplicationFailure", "that stands"), 1);
	assert_null(world_record(w, TYPE_JOB, "default", "one"));
	assert_int_equal(first->starts + second->starts, 2);
}

static void without_another_cluster_a_failure_stands_at_once(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 4);
	world_join(w, "tiny", 1, 1); /* can never take it */
	world_policy(w, "default", AFTER_30S);
	assert_int_equal(world_job(w, "default", "one", 1, 2, ""), ERR_NONE);
	world_settle(w);
	fails(w, "default", "one");
	assert_string_equal(failed(w, "default", "one"), "True");
	assert_int_equal(
	    world_events(w, "one", "ApplicationFailure", "no other cluster can ever take it"), 1);
}

static void what_succeeds_is_not_asked(void **state)
{
	struct world *w = *state;

	begin(w, AT_ONCE, 1, 2);
	struct model *m = runs(w, "default", "one");
	model_finish(m, model_copy(m, "default", "one"), false);
	later(w, 1);
	assert_string_equal(world_condition(w, TYPE_JOB, "default", "one", "Complete", "status"),
			    "True");
	assert_int_equal(world_events(w, "one", "ApplicationFailure", ""), 0);
}

static void a_copy_that_recovers_stays(void **state)
{
	struct world *w = *state;

	begin(w, AFTER_30S, 1, 2);
	struct model *m = runs(w, "default", "one");
	struct model_copy *copy = model_copy(m, "default", "one");
	fails(w, "default", "one");
	later(w, 20);
	copy->phase = COPY_RUNNING;
	model_set_status(m, copy, "{'active':1}");
	world_settle(w);
	later(w, 20);
	assert_ptr_equal(runs_on(w, "default", "one"), m);
	/* The next failure is tolerated as long as the first. */
	fails(w, "default", "one");
	later(w, 29);
	assert_ptr_equal(runs_on(w, "default", "one"), m);
	later(w, 2);
	assert_ptr_not_equal(runs(w, "default", "one"), m);
}

/* ---- its queue ---- */

static void quota_is_given_back_once_and_taken_again(void **state)
{
	struct world *w = *state;

	begin_with_teams(w, AFTER_30S);
	assert_int_equal(world_job(w, "team-a", "one", 2, 2, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
	struct model *m = fails(w, "team-a", "one");
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
	world_advance(w, 31 * USEC_PER_SEC);
	/* Withdrawn, and not gone yet: it holds what it held. */
	assert_string_equal(world_step(w, "team-a", "one-job"), "Withdrawing");
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
	assert_string_equal(world_field(w, TYPE_RESOURCE_BINDING, "team-a", "one-job",
					"spec.gracefulEvictionTasks.0.fromCluster"),
			    m->name);
	assert_string_equal(world_field(w, TYPE_RESOURCE_BINDING, "team-a", "one-job",
					"spec.gracefulEvictionTasks.0.reason"),
			    "ApplicationFailure");
	world_settle(w);
	assert_ptr_not_equal(runs(w, "team-a", "one"), m);
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
	assert_string_equal(world_field(w, TYPE_RESOURCE_BINDING, "team-a", "one-job",
					"spec.gracefulEvictionTasks.0.fromCluster"),
			    "");
	assert_string_equal(
	    world_field(w, TYPE_QUEUE_UNIT, "team-a", "one-job-rb-qu", "status.attempts"), "2");
}

static void one_that_left_goes_back_to_its_place_in_the_queue(void **state)
{
	struct world *w = *state;

	begin_with_teams(w, AT_ONCE);
	assert_int_equal(world_job(w, "team-a", "one", 2, 2, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_job(w, "team-a", "two", 2, 2, ""), ERR_NONE);
	world_settle(w);
	assert_null(runs_on(w, "team-a", "two"));
	fails(w, "team-a", "one");
	world_settle(w);
	/* First come: it takes its quota again before the second. */
	assert_non_null(runs_on(w, "team-a", "one"));
	assert_null(runs_on(w, "team-a", "two"));
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
}

static void its_workload_is_evicted_and_requeued(void **state)
{
	struct world *w = *state;

	two_members(w);
	world_policy(w, "default", AT_ONCE);
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", 4, "");
	world_local_queue(w, "lq", "cq");
	world_queued_job(w, "one", "lq", 2, 2, "");
	world_settle(w);
	world_queued_job(w, "two", "lq", 2, 2, "");
	world_settle(w);
	const struct model *m = fails(w, "default", "one");
	assert_ptr_not_equal(runs(w, "default", "one"), m);
	assert_null(runs_on(w, "default", "two")); /* it kept its place */
	assert_string_equal(world_workload_condition(w, "one", "Requeued", "reason"),
			    "ApplicationFailure");
	assert_string_equal(world_workload_condition(w, "one", "Requeued", "status"), "True");
	assert_string_equal(world_workload_condition(w, "one", "Admitted", "status"), "True");
	assert_string_equal(world_workload_condition(w, "one", "Finished", "status"), "");
	assert_string_equal(world_workload(w, "one", "status.schedulingStats.evictions.0.reason"),
			    "ApplicationFailure");
	fails(w, "default", "one");
	later(w, 1);
	assert_string_equal(failed(w, "default", "one"), "True");
	assert_int_equal(world_events(w, "one", "FinishedWorkload", ""), 1);
	assert_non_null(runs_on(w, "default", "two"));
}

/* ---- what waits ---- */

static void it_waits_for_a_cluster_that_is_full_and_says_where_it_failed(void **state)
{
	struct world *w = *state;

	begin(w, AT_ONCE, 2, 4);
	const struct model *first = runs(w, "default", "one");
	assert_int_equal(world_job(w, "default", "other", 2, 4, ""), ERR_NONE);
	struct model *second = runs(w, "default", "other");
	assert_ptr_not_equal(first, second);
	fails(w, "default", "one");
	later(w, 600);
	assert_int_equal(copies_of(w, "default", "one"), 0);
	assert_string_equal(failed(w, "default", "one"), "");
	const char *why = world_query(w, "namespaces/default/Job/one/why");
	assert_non_null(strstr(why, "\"verdict\":\"ApplicationFailure\""));
	assert_non_null(strstr(why, "\"verdict\":\"InsufficientFree\""));
	assert_non_null(strstr(why, "\"failover\":{\"clusters\":[{\"cluster\":"));
	/* Others of its kind do not wait behind it. */
	assert_int_equal(world_job(w, "default", "third", 2, 4, ""), ERR_NONE);
	assert_ptr_equal(runs(w, "default", "third"), first);
	model_finish(second, model_copy(second, "default", "other"), false);
	assert_ptr_equal(runs(w, "default", "one"), second);
}

static void an_edit_of_the_job_forgets_where_it_failed(void **state)
{
	struct world *w = *state;

	begin(w, AT_ONCE, 2, 4);
	const struct model *first = runs(w, "default", "one");
	assert_int_equal(world_job(w, "default", "other", 2, 4, ""), ERR_NONE);
	world_settle(w);
	fails(w, "default", "one");
	later(w, 60);
	assert_null(runs_on(w, "default", "one"));
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one",
				     "{'metadata':{'generation':2},'spec':{'backoffLimit':2}}"),
			 ERR_NONE);
	world_settle(w);
	assert_ptr_equal(runs(w, "default", "one"), first);
}

static void a_policy_without_failover_forgets_it_too(void **state)
{
	struct world *w = *state;

	begin(w, AT_ONCE, 2, 4);
	const struct model *first = runs(w, "default", "one");
	assert_int_equal(world_job(w, "default", "other", 2, 4, ""), ERR_NONE);
	world_settle(w);
	fails(w, "default", "one");
	assert_null(runs_on(w, "default", "one"));
	assert_int_equal(
	    world_patch(w, TYPE_PROPAGATION_POLICY, "default", "p", "{'spec':{'failover':null}}"),
	    ERR_NONE);
	assert_ptr_equal(runs(w, "default", "one"), first);
}

/* ---- meanwhile ---- */

static void a_policy_that_is_edited_while_it_tolerates_counts_at_once(void **state)
{
	struct world *w = *state;

	begin(w, AFTER_30S, 2, 2);
	assert_int_equal(world_job(w, "default", "two", 2, 2, ""), ERR_NONE);
	const struct model *one = runs(w, "default", "one");
	fails(w, "default", "one");
	assert_int_equal(world_patch(w, TYPE_PROPAGATION_POLICY, "default", "p",
				     "{'spec':{'failover':{'application':{'decisionConditions':"
				     "{'tolerationSeconds':0}}}}}"),
			 ERR_NONE);
	assert_ptr_not_equal(runs(w, "default", "one"), one);
	assert_int_equal(world_patch(w, TYPE_PROPAGATION_POLICY, "default", "p",
				     "{'spec':{'failover':{'application':{'decisionConditions':"
				     "{'tolerationSeconds':300}}}}}"),
			 ERR_NONE);
	fails(w, "default", "two");
	assert_string_equal(failed(w, "default", "two"), "");
	world_restart(w); /* the status that was held back is lost */
	world_settle(w);
	assert_int_equal(
	    world_patch(w, TYPE_PROPAGATION_POLICY, "default", "p", "{'spec':{'failover':null}}"),
	    ERR_NONE);
	later(w, 1);
	assert_string_equal(failed(w, "default", "two"), "True");
}

static void one_that_is_deleted_meanwhile_is_deleted(void **state)
{
	struct world *w = *state;

	two_members(w);
	world_policy(w, "default", AFTER_30S);
	for (int withdrawing = 0; withdrawing < 2; withdrawing++) {
		assert_int_equal(world_job(w, "default", "one", 2, 2, ""), ERR_NONE);
		world_settle(w);
		fails(w, "default", "one");
		if (withdrawing)
			world_advance(w, 31 * USEC_PER_SEC);
		assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
		world_settle(w);
		assert_false(world_exists(w, TYPE_JOB, "default", "one"));
		assert_int_equal(copies_of(w, "default", "one"), 0);
		assert_null(world_record(w, TYPE_JOB, "default", "one"));
	}
}

static void its_time_to_live_does_not_begin(void **state)
{
	struct world *w = *state;

	two_members(w);
	world_policy(w, "default", AFTER_30S);
	auto_free char *text = world_job_text("default", "one", 2, 2, "");
	auto_buf b = BUF_INIT;
	char *spec = strstr(text, "'parallelism'");
	buf_add(&b, text, (size_t)(spec - text));
	buf_addf(&b, "'ttlSecondsAfterFinished':10,%s", spec);
	assert_int_equal(world_create(w, TYPE_JOB, b.ptr), ERR_NONE);
	world_settle(w);
	fails(w, "default", "one");
	later(w, 29);
	later(w, 30);
	assert_true(world_exists(w, TYPE_JOB, "default", "one"));
	assert_non_null(runs_on(w, "default", "one"));
	fails(w, "default", "one");
	later(w, 11);
	assert_false(world_exists(w, TYPE_JOB, "default", "one"));
}

static void one_that_is_suspended_while_its_copy_is_failed_leaves_it(void **state)
{
	struct world *w = *state;

	begin(w, AFTER_30S, 2, 2);
	world_settle(w);
	fails(w, "default", "one");
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one", "{'spec':{'suspend':true}}"),
			 ERR_NONE);
	world_settle(w);
	assert_int_equal(copies_of(w, "default", "one"), 0);
	assert_int_equal(world_patch(w, TYPE_JOB, "default", "one", "{'spec':{'suspend':false}}"),
			 ERR_NONE);
	assert_non_null(runs(w, "default", "one"));
}

static void one_whose_queue_is_drained_while_its_copy_is_failed_leaves_it(void **state)
{
	struct world *w = *state;

	two_members(w);
	world_policy(w, "default", AFTER_30S);
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", 4, "");
	world_local_queue(w, "lq", "cq");
	world_queued_job(w, "one", "lq", 2, 2, "");
	world_settle(w);
	const struct model *m = fails(w, "default", "one");
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'HoldAndDrain'}}"),
	    ERR_NONE);
	world_settle(w);
	later(w, 2);
	assert_int_equal(copies_of(w, "default", "one"), 0);
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'None'}}"),
	    ERR_NONE);
	assert_ptr_not_equal(runs(w, "default", "one"), m);
	assert_int_equal(world_events(w, "one", "ApplicationFailure", "is taken back, to be"), 1);
}

static void what_its_operator_declared_dead_failed_it(void **state)
{
	struct world *w = *state;

	begin(w, AFTER_30S, 2, 2);
	world_settle(w);
	const struct model *m = fails(w, "default", "one");
	assert_int_equal(world_patch(w, TYPE_CLUSTER, "", m->name,
				     "{'metadata':{'annotations':{'muster.dev/dead':'true'}}}"),
			 ERR_NONE);
	world_settle(w);
	const struct model_copy *other = NULL;
	for (size_t i = 0; i < w->n_members; i++)
		if (w->members[i] != m)
			other = model_copy(w->members[i], "default", "one");
	assert_non_null(other);
}

/* ---- restarts ---- */

/* From the failure on, `turns` turns, orders and stream facts, then a restart; whatever is lost by
 * it, the job comes to run on the other cluster, once. */
static bool survives_a_restart_after(struct world *w, int steps)
{
	char name[32];
	int n = 0;

	(void)snprintf(name, sizeof(name), "job%d", steps);
	assert_int_equal(world_job(w, "team-a", name, 2, 2, ""), ERR_NONE);
	const struct model *first = runs(w, "team-a", name);
	model_finish(runs_on(w, "team-a", name),
		     model_copy(runs_on(w, "team-a", name), "team-a", name), true);
	world_streams(w);
	world_run(w);
	world_advance(w, 31 * USEC_PER_SEC);
	while (n < steps && w->orders.len > 0) {
		world_answer(w, w->orders.items[0]);
		world_run(w);
		n++;
		for (size_t i = 0; n < steps && i < w->n_members; i++)
			(void)model_step(w->members[i], w->now);
		if (n++ < steps)
			world_streams(w);
	}
	world_restart(w);
	for (int i = 0; i < 5; i++)
		later(w, 10);
	assert_ptr_not_equal(runs(w, "team-a", name), first);
	assert_int_equal(copies_of(w, "team-a", name), 1);
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
	assert_int_equal(world_events(w, name, "ApplicationFailure", "unless it recovers"), 1);
	assert_int_equal(world_delete(w, TYPE_JOB, "team-a", name), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
	return n < steps;
}

static void a_restart_at_any_step_loses_nothing(void **state)
{
	struct world *w = *state;

	begin_with_teams(w, AFTER_30S);
	int steps = 0;
	while (!survives_a_restart_after(w, steps))
		steps++;
	assert_in_range(steps, 6, 60);
}

static void a_restart_does_not_begin_the_toleration_anew(void **state)
{
	struct world *w = *state;

	begin(w, AFTER_30S, 2, 2);
	world_settle(w);
	const struct model *first = fails(w, "default", "one");
	later(w, 20);
	auto_free char *before = world_memory(w);
	world_restart(w);
	world_settle(w);
	auto_free char *after = world_memory(w);
	assert_string_equal(before, after);
	later(w, 9);
	assert_ptr_equal(runs_on(w, "default", "one"), first);
	later(w, 2);
	assert_ptr_not_equal(runs(w, "default", "one"), first);
	/* Nor is it forgotten where it failed. */
	world_restart(w);
	world_settle(w);
	fails(w, "default", "one");
	later(w, 1);
	assert_string_equal(failed(w, "default", "one"), "True");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_failed_job_leaves_after_its_toleration),
	    STORY(a_job_that_fails_everywhere_has_failed),
	    STORY(without_another_cluster_a_failure_stands_at_once),
	    STORY(what_succeeds_is_not_asked),
	    STORY(a_copy_that_recovers_stays),
	    STORY(quota_is_given_back_once_and_taken_again),
	    STORY(one_that_left_goes_back_to_its_place_in_the_queue),
	    STORY(its_workload_is_evicted_and_requeued),
	    STORY(it_waits_for_a_cluster_that_is_full_and_says_where_it_failed),
	    STORY(an_edit_of_the_job_forgets_where_it_failed),
	    STORY(a_policy_without_failover_forgets_it_too),
	    STORY(a_policy_that_is_edited_while_it_tolerates_counts_at_once),
	    STORY(one_that_is_deleted_meanwhile_is_deleted),
	    STORY(its_time_to_live_does_not_begin),
	    STORY(one_that_is_suspended_while_its_copy_is_failed_leaves_it),
	    STORY(one_whose_queue_is_drained_while_its_copy_is_failed_leaves_it),
	    STORY(what_its_operator_declared_dead_failed_it),
	    STORY(a_restart_at_any_step_loses_nothing),
	    STORY(a_restart_does_not_begin_the_toleration_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
