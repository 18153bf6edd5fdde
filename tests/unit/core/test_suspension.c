/* spec.suspend of a job in one of Kueue's queues, as its user sees it (core/suspension.h). */
#include "world.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static struct model *begin(struct world *w)
{
	struct model *m = world_join(w, "c1", 2, 8);

	m->run_time = 60 * USEC_PER_SEC;
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", 4,
			    ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	world_local_queue(w, "lq", "cq");
	return m;
}

/* A status that follows another one waits for 100 ms. */
static void settle(struct world *w)
{
	world_settle(w);
	world_advance(w, 200 * USEC_PER_MS);
	world_settle(w);
}

static void is_suspended(struct world *w, const char *job, const char *field, const char *condition)
{
	assert_string_equal(world_field(w, TYPE_JOB, "default", job, "spec.suspend"), field);
	assert_string_equal(world_condition(w, TYPE_JOB, "default", job, "Suspended", "status"),
			    condition);
}

static void a_queued_job_is_suspended_until_it_starts(void **state)
{
	struct world *w = *state;

	begin(w);
	world_queued_job(w, "first", "lq", 2, 2, "");
	world_run(w);
	is_suspended(w, "first", "true", "True");
	settle(w);
	is_suspended(w, "first", "false", "");
	world_queued_job(w, "second", "lq", 2, 2, "");
	settle(w);
	is_suspended(w, "second", "true", "True");
	assert_int_equal(world_events(w, "second", "Suspended", "Job suspended"), 1);
	world_advance(w, 70 * USEC_PER_SEC);
	settle(w);
	assert_string_equal(world_condition(w, TYPE_JOB, "default", "first", "Complete", "status"),
			    "True");
	is_suspended(w, "first", "false", "");
	is_suspended(w, "second", "false", "");
}

/* Its user says "suspend" as Kueue's examples do; what the hub makes of that is the hub's. */
static void who_starts_it_owns_the_field(void **state)
{
	struct world *w = *state;

	begin(w);
	assert_int_equal(
	    world_create(w, TYPE_JOB,
			 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'one',"
			 "'namespace':'default','labels':{'kueue.x-k8s.io/queue-name':'lq'},"
			 "'managedFields':[{'manager':'kubectl','operation':'Update','apiVersion':"
			 "'batch/v1','time':'2001-01-01T00:00:00Z','fieldsType':'FieldsV1',"
			 "'fieldsV1':{}}]},'spec':{'suspend':true,'parallelism':2,'completions':2,"
			 "'template':{'spec':{'containers':[{'name':'c','image':'i','resources':{"
			 "'requests':{'cpu':1}}}]}}}}"),
	    ERR_NONE);
	world_run(w);
	const char *owners = world_field(w, TYPE_JOB, "default", "one", "metadata.managedFields");
	assert_null(strstr(owners, "f:suspend"));
	settle(w);
	is_suspended(w, "one", "false", "");
	owners = world_field(w, TYPE_JOB, "default", "one", "metadata.managedFields");
	assert_non_null(strstr(owners, "{\"manager\":\"musterd\",\"operation\":\"Update\","));
	assert_non_null(strstr(owners, "\"fieldsV1\":{\"f:spec\":{\"f:suspend\":{}}}"));
}

static void a_job_that_is_taken_back_is_suspended_again(void **state)
{
	struct world *w = *state;

	begin(w);
	world_priority(w, "high", 10);
	world_queued_job(w, "low", "lq", 2, 2, "");
	settle(w);
	is_suspended(w, "low", "false", "");
	world_queued_job(w, "high", "lq", 2, 2, ",'kueue.x-k8s.io/priority-class':'high'");
	settle(w);
	is_suspended(w, "high", "false", "");
	is_suspended(w, "low", "true", "True");
	world_restart(w); /* the field is no user's wish */
	world_advance(w, 70 * USEC_PER_SEC);
	settle(w);
	is_suspended(w, "low", "false", "");
}

/* What it is for its user alone stays so. */
static void a_job_of_no_queue_is_left_as_its_user_wrote_it(void **state)
{
	struct world *w = *state;

	begin(w);
	assert_int_equal(world_job(w, "default", "plain", 1, 1, ""), 0);
	settle(w);
	assert_string_not_equal(world_field(w, TYPE_JOB, "default", "plain", "spec.suspend"),
				"true");
	assert_int_equal(world_events(w, "plain", "Suspended", ""), 0);
}

/* Its queue is the namespace's, or is yet to be named. */
static void a_job_that_names_no_queue_is_suspended_where_queues_take_it(void **state)
{
	struct world *w = *state;

	begin(w);
	w->kueue = "{'manageJobsWithoutQueueName':true}";
	world_restart(w);
	assert_int_equal(world_job(w, "default", "nameless", 1, 1, ""), 0);
	world_run(w);
	is_suspended(w, "nameless", "true", "True");
	assert_int_equal(world_events(w, "nameless", "Suspended", "Job suspended"), 1);
	w->kueue = "{}";
	world_restart(w);
	world_local_queue(w, "default", "cq");
	assert_int_equal(world_job(w, "default", "taken", 3, 1, ""), 0);
	world_run(w);
	is_suspended(w, "taken", "true", "True");
	settle(w);
	is_suspended(w, "taken", "false", "");
}

static void the_field_is_no_edit_of_the_job(void **state)
{
	struct world *w = *state;

	begin(w);
	world_queued_job(w, "first", "lq", 2, 2, "");
	settle(w);
	is_suspended(w, "first", "false", "");
	assert_int_equal(world_events(w, "first", "EditNotApplied", ""), 0);
	world_restart(w);
	settle(w);
	assert_string_equal(world_workload_condition(w, "first", "Admitted", "status"), "True");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_queued_job_is_suspended_until_it_starts),
	    STORY(who_starts_it_owns_the_field),
	    STORY(a_job_that_is_taken_back_is_suspended_again),
	    STORY(a_job_of_no_queue_is_left_as_its_user_wrote_it),
	    STORY(a_job_that_names_no_queue_is_suspended_where_queues_take_it),
	    STORY(the_field_is_no_edit_of_the_job),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
