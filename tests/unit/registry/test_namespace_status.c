/*
 * The conditions of a namespace that goes: what it waits for, counted anew when that changes.
 */
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

static bool says(const char *words)
{
	return fixture_contains(&f, &kind_namespace, "", "team", words);
}

static void remove_namespace(void)
{
	fixture_delete(&f, &kind_namespace, "", "team", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
}

/* Its last finalizer goes, and with it the job. */
static void let_go(const char *name, int uid)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s',"
		       "'namespace':'team','uid':'%s','deletionTimestamp':'2026-01-01T00:00:00Z'}}",
		       name, fixture_uid(uid));
	fixture_update(&f, &kind_job, "team", name, text,
		       fixture_revision(&f, &kind_job, "team", name));
}

static void it_says_what_remains_and_which_finalizers_hold_it(void **state)
{
	fixture_job(&f, "one", 5, ",'finalizers':['x/y','a/b']");
	fixture_job(&f, "two", 6, ",'finalizers':['x/y']");
	fixture_create(
	    &f, &kind_config_map, "team", "c",
	    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c','namespace':"
	    "'team','uid':'00000000-0000-4000-8000-000000000009','finalizers':['x/y']}}");
	remove_namespace();
	assert_true(says("'reason':'SomeResourcesRemain','status':'True',"
			 "'type':'NamespaceContentRemaining'"));
	assert_true(says("'Some resources are remaining: configmaps. has 1 resource instances, "
			 "jobs.batch has 2 resource instances'"));
	assert_true(says("'Some finalizers are remaining: a/b in 1 resource instances, "
			 "x/y in 3 resource instances'"));
	assert_true(says("'reason':'SomeFinalizerRemain','status':'True'"));
	assert_true(says("'reason':'ResourcesDiscovered','status':'False',"
			 "'type':'NamespaceDeletionDiscoveryFailure'"));
	assert_true(says("'reason':'ParsedGroupVersions','status':'False'"));
	assert_true(says("'reason':'ContentDeleted','status':'False'"));
}

static void who_says_so_is_among_its_managers(void **state)
{
	fixture_job(&f, "one", 5, ",'finalizers':['x/y']");
	remove_namespace();
	assert_true(says("'manager':'musterd','operation':'Update','apiVersion':'v1'"));
	assert_true(says("'f:conditions'"));
	assert_true(says("'subresource':'status'"));
}

static void it_counts_anew_some_time_after_something_went(void **state)
{
	fixture_job(&f, "one", 5, ",'finalizers':['x/y']");
	fixture_job(&f, "two", 6, ",'finalizers':['x/y']");
	remove_namespace();
	let_go("one", 5);
	assert_true(registry_due(f.reg) > f.now);
	f.now += 10 * USEC_PER_SEC;
	assert_true(registry_due(f.reg) <= f.now);
	fixture_work(&f, 64);
	assert_true(says("jobs.batch has 1 resource instances"));
	let_go("two", 6);
	fixture_work(&f, 64);
	assert_int_equal(fixture_revision(&f, &kind_namespace, "", "team"), 0);
}

static void what_did_not_change_is_not_written_again(void **state)
{
	fixture_job(&f, "one", 5, ",'finalizers':['x/y']");
	remove_namespace();
	uint64_t before = fixture_revision(&f, &kind_namespace, "", "team");
	f.now += 60 * USEC_PER_SEC;
	fixture_work(&f, 64);
	fixture_reopen(&f);
	fixture_work(&f, 64);
	assert_int_equal(fixture_revision(&f, &kind_namespace, "", "team"), before);
	f.now += 60 * USEC_PER_SEC;
	assert_true(registry_due(f.reg) > f.now);
}

static void one_that_others_hold_says_that_it_is_empty(void **state)
{
	fixture_create(&f, &kind_namespace, "", "lent",
		       "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'lent','uid':"
		       "'00000000-0000-4000-8000-000000000007'},'spec':{'finalizers':['a.b/c']}}");
	fixture_delete(&f, &kind_namespace, "", "lent", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
	assert_true(fixture_contains(&f, &kind_namespace, "", "lent",
				     "'message':'All content successfully removed','reason':"
				     "'ContentRemoved','status':'False',"
				     "'type':'NamespaceFinalizersRemaining'"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(it_says_what_remains_and_which_finalizers_hold_it),
	    T(who_says_so_is_among_its_managers),
	    T(it_counts_anew_some_time_after_something_went),
	    T(what_did_not_change_is_not_written_again),
	    T(one_that_others_hold_says_that_it_is_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
