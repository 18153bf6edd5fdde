/*
 * Edits of what jobs were taken in by, after their arrival: policies, priority classes, their own
 * fields, while they wait and while they run (DESIGN section 4).
 */
#include "world.h"

#include "core/member.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static void policy_of_cluster(struct world *w, const char *cluster)
{
	char more[256];

	(void)snprintf(more, sizeof(more),
		       "{'spec':{'placement':{'customSchedulingType':'Gang','clusterAffinity':{"
		       "'clusterNames':['%s']}}}}",
		       cluster);
	assert_int_equal(world_patch(w, TYPE_PROPAGATION_POLICY, "default", "p", more), ERR_NONE);
}

static const char *cluster_of(struct world *w, const char *binding)
{
	return world_field(w, TYPE_RESOURCE_BINDING, "default", binding, "spec.clusters.0.name");
}

/* ---- policies ---- */

static void a_policy_edited_while_a_job_waits_sends_it_elsewhere(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	world_policy(w, "default", "");
	policy_of_cluster(w, "nowhere");
	assert_int_equal(world_job(w, "default", "one", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Idle");
	policy_of_cluster(w, "c1");
	world_settle(w);
	assert_string_equal(cluster_of(w, "one-job"), "c1");
}

static void a_policy_edited_or_deleted_while_a_job_runs_leaves_it_alone(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8), *other = world_join(w, "c2", 1, 8);

	world_policy(w, "default", "");
	policy_of_cluster(w, "c1");
	assert_int_equal(world_job(w, "default", "one", 1, 1, ""), ERR_NONE);
	world_settle(w);
	policy_of_cluster(w, "c2");
	world_settle(w);
	assert_string_equal(cluster_of(w, "one-job"), "c1");
	assert_int_equal(world_delete(w, TYPE_PROPAGATION_POLICY, "default", "p"), ERR_NONE);
	world_settle(w);
	world_restart(w);
	world_settle(w);
	assert_string_equal(cluster_of(w, "one-job"), "c1");
	assert_int_equal(m->starts, 1);
	assert_int_equal(other->creates, 0);
	world_advance(w, 60 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Finished");
}

/* Without it the built-in one takes them: they wait in no queue any more. */
static void a_queueing_policy_that_goes_lets_its_jobs_out_of_the_queue(void **state)
{
	struct world *w = *state;

	world_teams(w, 16, 4);
	world_join(w, "c1", 2, 8);
	assert_int_equal(world_job(w, "team-a", "one", 1, 4, ""), ERR_NONE);
	assert_int_equal(world_job(w, "team-a", "two", 1, 4, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "two-job"), "Idle");
	assert_true(world_exists(w, TYPE_QUEUE_UNIT, "team-a", "two-job-rb-qu"));
	assert_int_equal(world_delete(w, TYPE_PROPAGATION_POLICY, "team-a", "p"), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "two-job"), "Suspended");
	assert_false(world_exists(w, TYPE_QUEUE_UNIT, "team-a", "two-job-rb-qu"));
	/* The one that runs was admitted by the quota, and holds it until it ends. */
	assert_int_equal(world_used(w, "a", "cpu"), 4000);
	world_restart(w);
	world_settle(w);
	assert_int_equal(world_used(w, "a", "cpu"), 4000);
	world_advance(w, 60 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(world_used(w, "a", "cpu"), 0);
}

static void a_queueing_policy_that_comes_takes_jobs_that_wait_into_the_queue(void **state)
{
	struct world *w = *state;

	world_teams(w, 16, 4);
	assert_int_equal(world_delete(w, TYPE_PROPAGATION_POLICY, "team-a", "p"), ERR_NONE);
	assert_int_equal(world_job(w, "team-a", "one", 1, 4, ""), ERR_NONE);
	assert_int_equal(world_job(w, "team-a", "two", 1, 4, ""), ERR_NONE);
	world_run(w);
	assert_false(world_exists(w, TYPE_QUEUE_UNIT, "team-a", "two-job-rb-qu"));
	world_policy(w, "team-a", ",'suspension':{'scheduling':true}");
	world_run(w);
	assert_true(world_exists(w, TYPE_QUEUE_UNIT, "team-a", "two-job-rb-qu"));
	world_join(w, "c1", 2, 8);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "one-job"), "Suspended");
	assert_string_equal(world_step(w, "team-a", "two-job"), "Idle");
	assert_int_equal(world_used(w, "a", "cpu"), 4000);
}

static void a_policy_that_is_required_and_goes_leaves_its_waiting_jobs_unplaced(void **state)
{
	struct world *w = *state;

	world_policy(w, "default", "");
	assert_int_equal(world_job(w, "default", "one", 1, 1, ""), ERR_NONE);
	world_run(w);
	assert_int_equal(world_delete(w, TYPE_PROPAGATION_POLICY, "default", "p"), ERR_NONE);
	struct model *m = world_join(w, "c1", 1, 8);
	world_settle(w);
	assert_int_equal(m->creates, 0);
	assert_non_null(strstr(world_query(w, "jobs"), "\"reason\":\"NoPolicy\""));
	world_restart(w);
	world_settle(w);
	assert_int_equal(m->creates, 0);
	world_policy(w, "default", "");
	world_settle(w);
	assert_int_equal(m->starts, 1);
}

static void dispatching_that_a_policy_suspends_and_resumes(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	world_policy(w, "default", ",'suspension':{'dispatching':true}");
	assert_int_equal(world_job(w, "default", "one", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(m->creates, 0);
	assert_int_equal(
	    world_patch(w, TYPE_PROPAGATION_POLICY, "default", "p", "{'spec':{'suspension':null}}"),
	    ERR_NONE);
	world_settle(w);
	assert_int_equal(m->starts, 1);
	/* It holds back what is not there yet; it stops nothing. */
	assert_int_equal(world_patch(w, TYPE_PROPAGATION_POLICY, "default", "p",
				     "{'spec':{'suspension':{'dispatching':true}}}"),
			 ERR_NONE);
	world_settle(w);
	assert_int_equal(m->deletes, 0);
}

/* ---- priorities ---- */

static void class(struct world *w, const char *name, int value)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass','metadata':{"
		       "'name':'%s'},'value':%d}",
		       name, value);
	assert_int_equal(world_create(w, TYPE_PRIORITY_CLASS, text), ERR_NONE);
}

static void training(struct world *w, const char *name)
{
	char text[640];

	(void)snprintf(
	    text, sizeof(text),
	    "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'%s',"
	    "'namespace':'team-a'},'spec':{'pytorchReplicaSpecs':{'Master':{'template':{'spec':{"
	    "'priorityClassName':'low','containers':[{'name':'pytorch','image':'i','resources':{"
	    "'requests':{'cpu':4}}}]}}}}}}",
	    name);
	assert_int_equal(world_create(w, TYPE_PYTORCH_JOB, text), ERR_NONE);
}

static enum err_kind promote(struct world *w, const char *name)
{
	return world_patch(w, TYPE_PYTORCH_JOB, "team-a", name,
			   "{'spec':{'pytorchReplicaSpecs':{'Master':{'template':{'spec':{"
			   "'priorityClassName':'high'}}}}}}");
}

static void trainings(struct world *w)
{
	world_teams(w, 16, 4);
	assert_int_equal(world_patch(w, TYPE_PROPAGATION_POLICY, "team-a", "p",
				     "{'spec':{'resourceSelectors':[{'apiVersion':"
				     "'kubeflow.org/v1','kind':'PyTorchJob'}]}}"),
			 ERR_NONE);
	class(w, "low", 10);
	class(w, "high", 100);
	training(w, "one");
	training(w, "two");
	training(w, "three");
	world_run(w);
}

static void a_waiting_job_of_another_class_overtakes(void **state)
{
	struct world *w = *state;

	trainings(w);
	assert_int_equal(promote(w, "three"), ERR_NONE);
	world_run(w);
	assert_string_equal(
	    world_field(w, TYPE_QUEUE_UNIT, "team-a", "three-pytorchjob-rb-qu", "spec.priority"),
	    "100");
	assert_string_equal(world_field(w, TYPE_RESOURCE_BINDING, "team-a", "three-pytorchjob",
					"spec.schedulePriority.priority"),
			    "100");
	world_restart(w);
	world_run(w);
	world_join(w, "c1", 1, 8);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "three-pytorchjob"), "Suspended");
	assert_string_equal(world_step(w, "team-a", "one-pytorchjob"), "Idle");
}

static void a_running_job_of_another_class_goes_on_and_shows_it(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	trainings(w);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "one-pytorchjob"), "Suspended");
	assert_int_equal(promote(w, "one"), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_record(w, TYPE_PYTORCH_JOB, "team-a", "one")->priority, 100);
	assert_string_equal(
	    world_field(w, TYPE_QUEUE_UNIT, "team-a", "one-pytorchjob-rb-qu", "spec.priority"),
	    "100");
	assert_string_equal(world_field(w, TYPE_RESOURCE_BINDING, "team-a", "one-pytorchjob",
					"spec.schedulePriority.priority"),
			    "100");
	assert_int_equal(m->deletes, 0);
	assert_int_equal(world_used(w, "a", "cpu"), 4000);
	world_restart(w);
	world_settle(w);
	assert_int_equal(world_record(w, TYPE_PYTORCH_JOB, "team-a", "one")->priority, 100);
}

/* ---- time to live ---- */

/* A job that is over as of now. */
static struct model *over(struct world *w, const char *patch)
{
	struct model *m = world_join(w, "c1", 1, 8);

	assert_int_equal(world_job(w, "default", "one", 1, 1, ""), ERR_NONE);
	if (patch)
		assert_int_equal(world_patch(w, TYPE_JOB, "default", "one", patch), ERR_NONE);
	world_settle(w);
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	assert_null(world_record(w, TYPE_JOB, "default", "one"));
	return m;
}

static void later(struct world *w, int seconds)
{
	world_advance(w, seconds * USEC_PER_SEC);
	world_settle(w);
}

static bool is_there(struct world *w)
{
	return world_exists(w, TYPE_JOB, "default", "one");
}

static enum err_kind live_for(struct world *w, const char *seconds)
{
	char patch[96];

	(void)snprintf(patch, sizeof(patch), "{'spec':{'ttlSecondsAfterFinished':%s}}", seconds);
	return world_patch(w, TYPE_JOB, "default", "one", patch);
}

static void a_finished_job_goes_at_the_end_of_its_time_to_live(void **state)
{
	struct world *w = *state;
	struct model *m = over(w, "{'spec':{'ttlSecondsAfterFinished':100}}");

	later(w, 95);
	assert_true(is_there(w));
	world_restart(w);
	later(w, 10);
	assert_false(is_there(w));
	assert_false(world_exists(w, TYPE_RESOURCE_BINDING, "default", "one-job"));
	assert_int_equal(model_left(m), 1); /* the namespace */
	assert_int_equal(world_count(w, TYPE_POD, "default"), 0);
}

static void no_time_to_live_at_all_takes_a_job_at_once(void **state)
{
	struct world *w = *state;
	struct model *m = over(w, "{'spec':{'ttlSecondsAfterFinished':0}}");

	world_settle(w);
	assert_false(is_there(w));
	assert_int_equal(model_left(m), 1);
}

static void a_longer_time_to_live_keeps_a_finished_job(void **state)
{
	struct world *w = *state;

	over(w, "{'spec':{'ttlSecondsAfterFinished':100}}");
	later(w, 50);
	assert_int_equal(live_for(w, "200"), ERR_NONE);
	later(w, 100);
	assert_true(is_there(w));
	later(w, 60);
	assert_false(is_there(w));
}

static void a_shorter_time_to_live_counts_from_the_end_of_the_job(void **state)
{
	struct world *w = *state;

	over(w, "{'spec':{'ttlSecondsAfterFinished':1000}}");
	later(w, 50);
	assert_int_equal(live_for(w, "60"), ERR_NONE);
	later(w, 5);
	assert_true(is_there(w));
	later(w, 10);
	assert_false(is_there(w));
}

static void a_time_to_live_may_come_and_go_after_the_end(void **state)
{
	struct world *w = *state;

	over(w, NULL);
	later(w, 500);
	assert_true(is_there(w));
	assert_int_equal(live_for(w, "600"), ERR_NONE);
	world_settle(w);
	world_restart(w);
	world_settle(w);
	assert_int_equal(live_for(w, "null"), ERR_NONE);
	later(w, 3600);
	assert_true(is_there(w));
	/* Its time has been over for long. */
	assert_int_equal(live_for(w, "10"), ERR_NONE);
	later(w, 1);
	assert_false(is_there(w));
}

static int setup_required(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->require_policy = true;
	world_open(w);
	w->after_turn = world_check;
	*state = w;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_policy_edited_while_a_job_waits_sends_it_elsewhere),
	    STORY(a_policy_edited_or_deleted_while_a_job_runs_leaves_it_alone),
	    STORY(a_queueing_policy_that_goes_lets_its_jobs_out_of_the_queue),
	    STORY(a_queueing_policy_that_comes_takes_jobs_that_wait_into_the_queue),
	    cmocka_unit_test_setup_teardown(
		a_policy_that_is_required_and_goes_leaves_its_waiting_jobs_unplaced, setup_required,
		world_teardown),
	    STORY(dispatching_that_a_policy_suspends_and_resumes),
	    STORY(a_waiting_job_of_another_class_overtakes),
	    STORY(a_running_job_of_another_class_goes_on_and_shows_it),
	    STORY(a_finished_job_goes_at_the_end_of_its_time_to_live),
	    STORY(no_time_to_live_at_all_takes_a_job_at_once),
	    STORY(a_longer_time_to_live_keeps_a_finished_job),
	    STORY(a_shorter_time_to_live_counts_from_the_end_of_the_job),
	    STORY(a_time_to_live_may_come_and_go_after_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
