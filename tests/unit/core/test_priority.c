/*
 * Priorities: resolved when a job comes, shown as they are, and who goes first by them.
 */
#include "world.h"

#include "kube/object.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static enum err_kind class(struct world *w, const char *name, int value, bool is_default) {
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass','metadata':{"
		       "'name':'%s'},'value':%d,'globalDefault':%s}",
		       name, value, is_default ? "true" : "false");
	return world_create(w, TYPE_PRIORITY_CLASS, text);
}

/* A Job of one pod of 4 cpus; class NULL: none. */
static void job(struct world *w, const char *name, const char *priority_class)
{
	char class_text[128] = "";
	auto_buf b = BUF_INIT;

	if (priority_class)
		(void)snprintf(class_text, sizeof(class_text), "'priorityClassName':'%s',",
			       priority_class);
	buf_addf(&b,
		 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s','namespace':"
		 "'team-a'},'spec':{'parallelism':1,'completions':1,'template':{'spec':{%s"
		 "'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':4}}}]}}}}",
		 name, class_text);
	assert_int_equal(world_create(w, TYPE_JOB, b.ptr), ERR_NONE);
}

static const char *shown(struct world *w, const char *name)
{
	char unit[64];

	(void)snprintf(unit, sizeof(unit), "%s-job-rb-qu", name);
	const char *in_unit = world_field(w, TYPE_QUEUE_UNIT, "team-a", unit, "spec.priority");
	(void)snprintf(unit, sizeof(unit), "%s-job", name);
	assert_string_equal(in_unit, world_field(w, TYPE_RESOURCE_BINDING, "team-a", unit,
						 "spec.schedulePriority.priority"));
	return in_unit;
}

static void a_class_that_goes_changes_nothing_for_those_who_have_its_value(void **state)
{
	struct world *w = *state;

	world_teams(w, 16, 16);
	assert_int_equal(class(w, "high", 100, false), ERR_NONE);
	job(w, "one", "high");
	assert_string_equal(shown(w, "one"), "100");
	assert_int_equal(world_delete(w, TYPE_PRIORITY_CLASS, "", "high"), ERR_NONE);
	assert_int_equal(world_patch(w, TYPE_JOB, "team-a", "one", "{'spec':{'parallelism':1}}"),
			 ERR_NONE);
	world_restart(w);
	world_run(w);
	assert_int_equal(world_record(w, TYPE_JOB, "team-a", "one")->priority, 100);
	assert_string_equal(shown(w, "one"), "100");
	/* It means nothing to those who come later. */
	job(w, "two", "high");
	assert_string_equal(shown(w, "two"), "0");
}

static void the_default_is_for_those_who_come_while_it_is_one(void **state)
{
	struct world *w = *state;

	world_teams(w, 16, 16);
	assert_int_equal(class(w, "usual", 10, true), ERR_NONE);
	job(w, "before", NULL);
	assert_int_equal(world_delete(w, TYPE_PRIORITY_CLASS, "", "usual"), ERR_NONE);
	job(w, "without", NULL);
	assert_int_equal(class(w, "other", 20, true), ERR_NONE);
	job(w, "after", NULL);
	assert_int_equal(
	    world_patch(w, TYPE_PRIORITY_CLASS, "", "other", "{'globalDefault':false}"), ERR_NONE);
	job(w, "last", NULL);
	world_restart(w);
	world_run(w);
	assert_string_equal(shown(w, "before"), "10");
	assert_string_equal(shown(w, "without"), "0");
	assert_string_equal(shown(w, "after"), "20");
	assert_string_equal(shown(w, "last"), "0");
	assert_int_equal(world_record(w, TYPE_JOB, "team-a", "before")->priority, 10);
	assert_int_equal(world_record(w, TYPE_JOB, "team-a", "without")->priority, 0);
}

static void a_second_default_is_refused(void **state)
{
	struct world *w = *state;

	assert_int_equal(class(w, "usual", 10, true), ERR_NONE);
	assert_int_equal(class(w, "other", 20, true), ERR_FORBIDDEN);
	assert_string_equal(w->err.text, "PriorityClass usual is already marked as default. Only "
					 "one default can exist");
	assert_int_equal(world_patch(w, TYPE_PRIORITY_CLASS, "", "usual", "{'description':'x'}"),
			 ERR_NONE);
}

static void a_class_that_comes_later_lifts_the_jobs_that_name_it(void **state)
{
	struct world *w = *state;

	world_teams(w, 16, 4);
	job(w, "old", NULL);
	job(w, "new", "high");
	world_restart(w);
	world_run(w);
	assert_string_equal(shown(w, "new"), "0");
	assert_int_equal(class(w, "high", 100, false), ERR_NONE);
	assert_string_equal(shown(w, "new"), "100");
	world_join(w, "c1", 1, 16);
	assert_string_equal(world_step(w, "team-a", "new-job"), "Decided");
	assert_string_equal(world_step(w, "team-a", "old-job"), "Idle");
}

static void higher_priority_goes_first_and_age_decides_between_equals(void **state)
{
	struct world *w = *state;

	world_teams(w, 16, 4);
	assert_int_equal(class(w, "high", 100, false), ERR_NONE);
	job(w, "first", NULL);
	job(w, "second", NULL);
	job(w, "urgent", "high");
	struct model *m = world_join(w, "c1", 1, 16);
	static const char *const order[] = {"urgent", "first", "second"};
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		world_settle(w);
		assert_non_null(model_copy(m, "team-a", order[i]));
		assert_int_equal(m->starts, i + 1);
		model_finish(m, model_copy(m, "team-a", order[i]), false);
	}
	world_settle(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_class_that_goes_changes_nothing_for_those_who_have_its_value),
	    STORY(the_default_is_for_those_who_come_while_it_is_one),
	    STORY(a_second_default_is_refused),
	    STORY(a_class_that_comes_later_lifts_the_jobs_that_name_it),
	    STORY(higher_priority_goes_first_and_age_decides_between_equals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
