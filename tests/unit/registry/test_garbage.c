#include "fixture.h"

static struct fixture f;

static int setup(void **state)
{
	fixture_open(&f);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	return 0;
}

#define OWNER(name, uid)                                                                           \
	"{'apiVersion':'batch/v1','kind':'Job','name':'" name                                      \
	"','uid':'00000000-0000-4000-8000-00000000000" #uid "','blockOwnerDeletion':true}"
#define OWNED(list) ",'ownerReferences':[" list "]"

static bool exists(const char *name)
{
	return fixture_revision(&f, &kind_job, "team", name) > 0;
}

static void children(int n)
{
	for (int i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof(name), "child-%03d", i);
		fixture_job(&f, name, 100 + i, OWNED(OWNER("owner", 1)));
	}
}

static void background_removes_dependents_in_bounded_steps(void **state)
{
	fixture_job(&f, "owner", 1, "");
	children(30);
	fixture_job(&f, "stranger", 2, "");
	fixture_delete(&f, &kind_job, "team", "owner", PROPAGATE_BACKGROUND);
	assert_false(exists("owner"));
	assert_true(exists("child-029"));
	assert_true(fixture_work(&f, 20) >= 4);
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 1);
	assert_true(exists("stranger"));
}

static void the_work_survives_a_restart(void **state)
{
	fixture_job(&f, "owner", 1, "");
	children(5);
	fixture_delete(&f, &kind_job, "team", "owner", PROPAGATE_DEFAULT);
	fixture_reopen(&f);
	fixture_work(&f, 64);
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 0);
	fixture_reopen(&f);
	assert_true(fixture_work(&f, 64) <= 1);
}

static void dependents_go_with_theirs(void **state)
{
	fixture_job(&f, "owner", 1, "");
	fixture_job(&f, "mid", 2, OWNED(OWNER("owner", 1)));
	fixture_job(&f, "leaf", 3, OWNED(OWNER("mid", 2)));
	fixture_delete(&f, &kind_job, "team", "owner", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 0);
}

static void another_living_owner_keeps_a_dependent(void **state)
{
	fixture_job(&f, "one", 1, "");
	fixture_job(&f, "two", 2, "");
	fixture_job(&f, "child", 3, OWNED(OWNER("one", 1) "," OWNER("two", 2)));
	fixture_delete(&f, &kind_job, "team", "one", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
	assert_true(exists("child"));
	assert_false(fixture_contains(&f, &kind_job, "team", "child", "'name':'one'"));
	assert_true(fixture_contains(&f, &kind_job, "team", "child", "'name':'two'"));
	fixture_delete(&f, &kind_job, "team", "two", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
	assert_false(exists("child"));
}

static void a_dependent_with_finalizers_is_only_told(void **state)
{
	fixture_job(&f, "owner", 1, "");
	fixture_job(&f, "child", 2, OWNED(OWNER("owner", 1)) ",'finalizers':['x/y']");
	fixture_delete(&f, &kind_job, "team", "owner", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
	assert_true(fixture_contains(&f, &kind_job, "team", "child", "'deletionTimestamp'"));
}

static void orphan_strips_the_reference(void **state)
{
	fixture_job(&f, "owner", 1, "");
	children(3);
	fixture_delete(&f, &kind_job, "team", "owner", PROPAGATE_ORPHAN);
	fixture_work(&f, 64);
	assert_false(exists("owner"));
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 3);
	assert_false(fixture_contains(&f, &kind_job, "team", "child-001", "ownerReferences"));
}

static void the_orphan_finalizer_of_an_update_is_served(void **state)
{
	uint64_t r = fixture_job(&f, "owner", 1, "");
	children(3);
	fixture_update(&f, &kind_job, "team", "owner",
		       "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'owner',"
		       "'namespace':'team','uid':'00000000-0000-4000-8000-000000000001',"
		       "'deletionTimestamp':'2026-01-01T00:00:00Z','finalizers':['orphan']}}",
		       r);
	assert_int_equal(f.err.kind, ERR_NONE);
	fixture_work(&f, 64);
	assert_false(exists("owner"));
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 3);
	assert_false(fixture_contains(&f, &kind_job, "team", "child-002", "ownerReferences"));
}

static void foreground_removes_the_owner_last(void **state)
{
	fixture_job(&f, "owner", 1, "");
	fixture_job(&f, "stuck", 2, OWNED(OWNER("owner", 1)) ",'finalizers':['x/y']");
	children(3);
	fixture_delete(&f, &kind_job, "team", "owner", PROPAGATE_FOREGROUND);
	assert_true(fixture_contains(&f, &kind_job, "team", "owner", "foregroundDeletion"));
	fixture_work(&f, 64);
	assert_true(exists("owner"));
	assert_false(exists("child-000"));
	fixture_reopen(&f);
	fixture_work(&f, 64);
	uint64_t r = fixture_revision(&f, &kind_job, "team", "stuck");
	fixture_update(&f, &kind_job, "team", "stuck",
		       "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'stuck',"
		       "'namespace':'team','uid':'00000000-0000-4000-8000-000000000002',"
		       "'deletionTimestamp':'2026-01-01T00:00:00Z'}}",
		       r);
	assert_int_equal(f.err.kind, ERR_NONE);
	fixture_work(&f, 64);
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 0);
}

#define OWNER_GOES(finalizers)                                                                     \
	"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'owner','namespace':'team',"     \
	"'uid':'00000000-0000-4000-8000-000000000001',"                                            \
	"'deletionTimestamp':'2026-01-01T00:00:00Z','finalizers':[" finalizers "]}}"

static void owner_says(const char *json)
{
	fixture_update(&f, &kind_job, "team", "owner", json,
		       fixture_revision(&f, &kind_job, "team", "owner"));
	assert_int_equal(f.err.kind, ERR_NONE);
}

static void orphans_are_made_while_the_owner_waits_for_others(void **state)
{
	fixture_job(&f, "owner", 1, ",'finalizers':['x/y']");
	children(3);
	owner_says(OWNER_GOES("'x/y','orphan'"));
	fixture_work(&f, 64);
	assert_true(exists("owner"));
	assert_false(fixture_contains(&f, &kind_job, "team", "owner", "orphan"));
	assert_false(fixture_contains(&f, &kind_job, "team", "child-001", "ownerReferences"));
	owner_says(OWNER_GOES(""));
	fixture_work(&f, 64);
	assert_false(exists("owner"));
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 3);
}

static void a_deletion_may_change_its_mind(void **state)
{
	fixture_job(&f, "owner", 1, ",'finalizers':['x/y']");
	children(3);
	owner_says(OWNER_GOES("'x/y','foregroundDeletion'"));
	owner_says(OWNER_GOES("'x/y','orphan'"));
	fixture_work(&f, 64);
	owner_says(OWNER_GOES(""));
	fixture_work(&f, 64);
	assert_false(exists("owner"));
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 3);
	fixture_reopen(&f);
	assert_true(fixture_work(&f, 64) <= 1);
}

#define TRAINING(more)                                                                             \
	"{'apiVersion':'example.com/v1','kind':'Training','metadata':{'name':'owner',"             \
	"'namespace':'team','uid':'00000000-0000-4000-8000-000000000001'," more "}}"
#define OF_TRAINING(more)                                                                          \
	OWNED("{'apiVersion':'example.com/v1','kind':'Training','name':'owner',"                   \
	      "'uid':'00000000-0000-4000-8000-000000000001'" more "}")

static void records_of_an_orphaning_job_go_with_it(void **state)
{
	uint64_t r = fixture_create(&f, &kind_training, "team", "owner",
				    TRAINING("'finalizers':['muster.dev/dispatch']"));
	fixture_job(&f, "record", 2, OF_TRAINING(",'controller':true"));
	fixture_job(&f, "other", 3, OF_TRAINING(""));
	fixture_update(&f, &kind_training, "team", "owner",
		       TRAINING("'deletionTimestamp':'2026-01-01T00:00:00Z',"
				"'finalizers':['muster.dev/dispatch','orphan']"),
		       r);
	fixture_work(&f, 64);
	assert_true(fixture_contains(&f, &kind_job, "team", "record", "ownerReferences"));
	assert_false(fixture_contains(&f, &kind_job, "team", "other", "ownerReferences"));
	r = fixture_revision(&f, &kind_training, "team", "owner");
	fixture_update(&f, &kind_training, "team", "owner",
		       TRAINING("'deletionTimestamp':'2026-01-01T00:00:00Z'"), r);
	fixture_work(&f, 64);
	assert_int_equal(fixture_revision(&f, &kind_training, "team", "owner"), 0);
	assert_false(exists("record"));
	assert_true(exists("other"));
}

static void a_job_that_may_run_keeps_what_depends_on_it(void **state)
{
	fixture_job(&f, "owner", 1, ",'finalizers':['muster.dev/dispatch']");
	children(3);
	owner_says(OWNER_GOES("'muster.dev/dispatch','foregroundDeletion'"));
	fixture_work(&f, 64);
	assert_true(exists("child-000"));
	fixture_reopen(&f);
	fixture_work(&f, 64);
	assert_true(exists("child-000"));
	owner_says(OWNER_GOES("'foregroundDeletion'"));
	fixture_work(&f, 64);
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 0);
}

static void foreground_without_dependents_is_immediate(void **state)
{
	fixture_job(&f, "owner", 1, "");
	fixture_delete(&f, &kind_job, "team", "owner", PROPAGATE_FOREGROUND);
	assert_false(exists("owner"));
}

static void a_child_of_an_absent_owner_is_collected(void **state)
{
	fixture_job(&f, "child", 2, OWNED(OWNER("owner", 1)));
	assert_true(exists("child"));
	fixture_work(&f, 64);
	assert_false(exists("child"));
}

static void a_child_of_a_recreated_owner_is_collected(void **state)
{
	fixture_job(&f, "owner", 3, ""); /* same name, another uid */
	fixture_job(&f, "child", 2, OWNED(OWNER("owner", 1)));
	fixture_work(&f, 64);
	assert_false(exists("child"));
	assert_true(exists("owner"));
}

static void an_owner_of_an_unserved_kind_is_left_alone(void **state)
{
	fixture_job(&f, "child", 2,
		    ",'ownerReferences':[{'apiVersion':'x/v1','kind':'Y','name':'z',"
		    "'uid':'00000000-0000-4000-8000-000000000009'}]");
	fixture_work(&f, 64);
	assert_true(exists("child"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(background_removes_dependents_in_bounded_steps),
	    T(the_work_survives_a_restart),
	    T(dependents_go_with_theirs),
	    T(another_living_owner_keeps_a_dependent),
	    T(a_dependent_with_finalizers_is_only_told),
	    T(orphan_strips_the_reference),
	    T(the_orphan_finalizer_of_an_update_is_served),
	    T(orphans_are_made_while_the_owner_waits_for_others),
	    T(a_deletion_may_change_its_mind),
	    T(records_of_an_orphaning_job_go_with_it),
	    T(a_job_that_may_run_keeps_what_depends_on_it),
	    T(foreground_removes_the_owner_last),
	    T(foreground_without_dependents_is_immediate),
	    T(a_child_of_an_absent_owner_is_collected),
	    T(a_child_of_a_recreated_owner_is_collected),
	    T(an_owner_of_an_unserved_kind_is_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
