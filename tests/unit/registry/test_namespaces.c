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

static void create_namespace(const char *name, int uid)
{
	char text[256];
	snprintf(text, sizeof(text),
		 "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'%s','uid':'%s'}}", name,
		 fixture_uid(uid));
	fixture_create(&f, &kind_namespace, "", name, text);
}

static bool exists(const char *name)
{
	return fixture_revision(&f, &kind_namespace, "", name) > 0;
}

static void a_namespace_is_born_with_label_finalizer_and_account(void **state)
{
	create_namespace("new", 1);
	assert_int_equal(f.err.kind, ERR_NONE);
	assert_true(fixture_contains(&f, &kind_namespace, "", "new",
				     "'kubernetes.io/metadata.name':'new'"));
	assert_true(
	    fixture_contains(&f, &kind_namespace, "", "new", "'finalizers':['kubernetes']"));
	assert_true(fixture_contains(&f, &kind_namespace, "", "new", "'phase':'Active'"));
	assert_true(fixture_revision(&f, &kind_account, "new", "default") > 0);
}

static void ensuring_twice_changes_nothing(void **state)
{
	struct err e = ERR_INIT;
	struct registry_batch *b;
	assert_int_equal(registry_begin(f.reg, f.now, &b, &e), 0);
	assert_int_equal(registry_ensure_namespace(b, "team", &e), 0);
	assert_true(registry_batch_empty(b));
	registry_end(b);
}

static void deletion_empties_it_in_steps_and_then_removes_it(void **state)
{
	for (int i = 0; i < 25; i++) {
		char name[16];
		snprintf(name, sizeof(name), "job-%d", i);
		fixture_job(&f, name, 100 + i, "");
	}
	uint64_t r = fixture_delete(&f, &kind_namespace, "", "team", PROPAGATE_DEFAULT);
	assert_int_equal(fixture_revision(&f, &kind_namespace, "", "team"), r);
	assert_true(fixture_contains(&f, &kind_namespace, "", "team", "'phase':'Terminating'"));
	assert_true(fixture_work(&f, 20) >= 3);
	assert_false(exists("team"));
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 0);
	assert_int_equal(fixture_count(&f, &kind_account, "team"), 0);
}

static void a_terminating_namespace_takes_nothing_new(void **state)
{
	fixture_delete(&f, &kind_namespace, "", "team", PROPAGATE_DEFAULT);
	fixture_job(&f, "late", 5, "");
	assert_int_equal(f.err.kind, ERR_FORBIDDEN);
	assert_string_equal(f.err.text, "jobs.batch \"late\" is forbidden: unable to create new "
					"content in namespace team because it is being terminated");
}

static void it_waits_for_finalizers_across_a_restart(void **state)
{
	fixture_job(&f, "stuck", 5, ",'finalizers':['x/y']");
	fixture_job(&f, "free", 6, "");
	fixture_delete(&f, &kind_namespace, "", "team", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
	assert_true(exists("team"));
	assert_int_equal(fixture_count(&f, &kind_job, "team"), 1);
	fixture_reopen(&f);
	fixture_work(&f, 64);
	assert_true(exists("team"));
	fixture_update(&f, &kind_job, "team", "stuck",
		       "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'stuck',"
		       "'namespace':'team','uid':'00000000-0000-4000-8000-000000000005',"
		       "'deletionTimestamp':'2026-01-01T00:00:00Z'}}",
		       fixture_revision(&f, &kind_job, "team", "stuck"));
	fixture_work(&f, 64);
	assert_false(exists("team"));
}

static void it_waits_for_those_that_its_spec_names(void **state)
{
	fixture_create(&f, &kind_namespace, "", "lent",
		       "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'lent','uid':"
		       "'00000000-0000-4000-8000-000000000007'},'spec':{'finalizers':['a.b/c']}}");
	assert_true(fixture_contains(&f, &kind_namespace, "", "lent",
				     "'finalizers':['a.b/c','kubernetes']"));
	fixture_delete(&f, &kind_namespace, "", "lent", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
	assert_true(fixture_contains(&f, &kind_namespace, "", "lent", "'finalizers':['a.b/c']"));
	assert_int_equal(fixture_count(&f, &kind_account, "lent"), 0);
	fixture_update(&f, &kind_namespace, "", "lent",
		       "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'lent','uid':"
		       "'00000000-0000-4000-8000-000000000007','deletionTimestamp':"
		       "'2026-01-01T00:00:00Z'},'spec':{'finalizers':[]}}",
		       fixture_revision(&f, &kind_namespace, "", "lent"));
	assert_int_equal(f.err.kind, ERR_NONE);
	fixture_work(&f, 64);
	assert_false(exists("lent"));
}

static void immortal_namespaces_are_not_deleted(void **state)
{
	create_namespace("kube-system", 9);
	fixture_delete(&f, &kind_namespace, "", "kube-system", PROPAGATE_DEFAULT);
	assert_int_equal(f.err.kind, ERR_FORBIDDEN);
	assert_string_equal(f.err.text, "namespaces \"kube-system\" is forbidden: this namespace "
					"may not be deleted");
}

static void it_may_be_made_again(void **state)
{
	fixture_delete(&f, &kind_namespace, "", "team", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
	create_namespace("team", 2);
	assert_int_equal(f.err.kind, ERR_NONE);
	assert_true(exists("team"));
	assert_true(fixture_work(&f, 64) <= 1);
	assert_true(exists("team"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_namespace_is_born_with_label_finalizer_and_account),
	    T(ensuring_twice_changes_nothing),
	    T(deletion_empties_it_in_steps_and_then_removes_it),
	    T(a_terminating_namespace_takes_nothing_new),
	    T(it_waits_for_finalizers_across_a_restart),
	    T(it_waits_for_those_that_its_spec_names),
	    T(immortal_namespaces_are_not_deleted),
	    T(it_may_be_made_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
