/*
 * The quota tree through the core: who is admitted, what is given back and when, and what edits of
 * the tree do to those who wait and those who run (DESIGN sections 4 and 5).
 */
#include "world.h"

#include "kube/object.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* ---- one tree ---- */

static void of_two_trees_in_one_batch_the_second_is_refused(void **state)
{
	struct world *w = *state;
	auto_free char *one = world_tree_text("one", 16, 12), *two = world_tree_text("two", 16, 12);

	world_send_create(w, TYPE_ELASTIC_QUOTA_TREE, one);
	world_send_create(w, TYPE_ELASTIC_QUOTA_TREE, two);
	world_run(w);
	assert_int_equal(w->waiting, 0);
	assert_int_equal(w->answered, 1);
	assert_int_equal(w->refused, 1);
	assert_int_equal(w->err.kind, ERR_INVALID);
	assert_non_null(strstr(w->err.text, "only one may exist"));
	assert_int_equal(world_count(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system"), 1);
	assert_true(world_exists(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "one"));
}

static void a_tree_may_follow_one_that_is_gone(void **state)
{
	struct world *w = *state;
	auto_free char *one = world_tree_text("one", 16, 12), *two = world_tree_text("two", 16, 12);

	assert_int_equal(world_create(w, TYPE_ELASTIC_QUOTA_TREE, one), ERR_NONE);
	assert_int_equal(world_create(w, TYPE_ELASTIC_QUOTA_TREE, two), ERR_INVALID);
	assert_int_equal(world_delete(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "one"), ERR_NONE);
	assert_int_equal(world_create(w, TYPE_ELASTIC_QUOTA_TREE, two), ERR_NONE);
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
}

/* ---- edits ---- */

static void an_edit_keeps_the_charge_of_a_job_that_is_being_deleted(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 16);
	world_teams(w, 16, 4);
	assert_int_equal(world_job(w, "team-a", "old", 4, 1, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
	assert_int_equal(world_delete(w, TYPE_JOB, "team-a", "old"), ERR_NONE);
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
	assert_int_equal(world_edit_tree(w, 15, 4), ERR_NONE);
	/* Its pods still run: another one of the team has to wait. */
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
	assert_int_equal(world_job(w, "team-a", "new", 4, 1, ""), ERR_NONE);
	assert_string_equal(world_step(w, "team-a", "new-job"), "Idle");
	world_settle(w);
	assert_false(world_exists(w, TYPE_JOB, "team-a", "old"));
	assert_string_equal(world_step(w, "team-a", "new-job"), "Suspended");
	assert_int_equal(world_used(w, "root/a", "cpu"), 4000);
}

static void nobody_is_admitted_by_a_tree_that_the_same_commit_replaces(void **state)
{
	struct world *w = *state;
	auto_free char *job = world_job_text("team-a", "one", 8, 1, "");

	world_join(w, "c1", 1, 16);
	world_teams(w, 16, 8);
	world_send_create(w, TYPE_JOB, job);
	world_turn(w);
	world_send_patch(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree",
			 "{'spec':{'root':{'name':'root','min':{'cpu':16},'max':{'cpu':16},"
			 "'children':[{'name':'a','namespaces':['team-a'],'min':{'cpu':4},'max':{"
			 "'cpu':4}},{'name':'b','namespaces':['team-b'],'min':{'cpu':4},'max':{"
			 "'cpu':12}}]}}}");
	world_run(w);
	assert_string_equal(world_step(w, "team-a", "one-job"), "Idle");
	assert_int_equal(world_used(w, "root/a", "cpu"), 0);
}

/* A batch holds fewer rows than a turn may decide: what is decided comes before the edit. */
static void an_edit_waits_for_the_rows_of_what_was_admitted_before(void **state)
{
	struct world *w = *state;
	char name[32];

	world_teams(w, 60, 60);
	for (int i = 0; i < 60; i++) {
		(void)snprintf(name, sizeof(name), "j%d", i);
		assert_int_equal(world_job(w, "team-a", name, 1, 1, ""), ERR_NONE);
	}
	/* All of them fit at once; one turn later comes the edit. */
	struct model *m = world_join(w, "c1", 0, 0);
	model_add_node(m, "big", 64, 0);
	world_push(w, model_next_fact(m));
	assert_true(world_turn(w));
	world_send_patch(w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree",
			 "{'spec':{'root':{'name':'root','min':{'cpu':60},'max':{'cpu':60},"
			 "'children':[{'name':'a','namespaces':['team-a'],'min':{'cpu':4},'max':{"
			 "'cpu':4}},{'name':'b','namespaces':['team-b'],'min':{'cpu':4},'max':{"
			 "'cpu':12}}]}}}");
	world_run(w);
}

/* ---- parking ---- */

/* Asks have small numbers that are used again. */
static void a_job_is_not_parked_by_one_that_is_gone(void **state)
{
	struct world *w = *state;

	world_teams(w, 16, 12);
	world_join(w, "c1", 1, 8);
	assert_int_equal(world_job(w, "team-a", "large", 1, 10, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_events(w, "large", "ScheduleBindingFailed", ""), 1);
	assert_int_equal(world_delete(w, TYPE_JOB, "team-a", "large"), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_job(w, "team-a", "small", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "small-job"), "Suspended");
}

/* ---- giving back ---- */

static void a_deleted_job_gives_back_with_its_unit_when_its_pods_are_gone(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 16);
	world_teams(w, 16, 4);
	assert_int_equal(world_job(w, "team-a", "old", 4, 1, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(world_job(w, "team-a", "new", 4, 1, ""), ERR_NONE);
	assert_int_equal(world_delete(w, TYPE_JOB, "team-a", "old"), ERR_NONE);
	world_answer(w, world_find(w, "DELETE", "/jobs/old"));
	assert_string_equal(world_step(w, "team-a", "new-job"), "Idle");
	/* world_check() follows the units' rows. */
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "new-job"), "Suspended");
	assert_false(world_exists(w, TYPE_QUEUE_UNIT, "team-a", "old-job-rb-qu"));
	assert_false(world_exists(w, TYPE_RESOURCE_BINDING, "team-a", "old-job"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(of_two_trees_in_one_batch_the_second_is_refused),
	    STORY(a_tree_may_follow_one_that_is_gone),
	    STORY(an_edit_keeps_the_charge_of_a_job_that_is_being_deleted),
	    STORY(nobody_is_admitted_by_a_tree_that_the_same_commit_replaces),
	    STORY(an_edit_waits_for_the_rows_of_what_was_admitted_before),
	    STORY(a_job_is_not_parked_by_one_that_is_gone),
	    STORY(a_deleted_job_gives_back_with_its_unit_when_its_pods_are_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
