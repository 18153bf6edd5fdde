/* What every namespace has, and keeps. */
#include "fixture.h"

#define CA "kube-root-ca.crt"

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

static void publish(const char *pem)
{
	registry_set_root_ca(f.reg, span_of(pem));
	fixture_work(&f, 100);
}

static bool has_ca(const char *ns, const char *pem)
{
	char needle[64];
	snprintf(needle, sizeof(needle), "'data':{'ca.crt':'%s'}", pem);
	return fixture_contains(&f, &kind_config_map, ns, CA, needle);
}

static void create_namespace(const char *name)
{
	char text[256];
	snprintf(text, sizeof(text),
		 "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'%s','uid':'%s'}}", name,
		 fixture_uid(1));
	fixture_create(&f, &kind_namespace, "", name, text);
}

static uint64_t put_ca(const char *ns, const char *members)
{
	char text[512];
	uint64_t was;
	if (!fixture_contains(&f, &kind_config_map, ns, CA, fixture_uid(2)))
		fixture_delete(&f, &kind_config_map, ns, CA, PROPAGATE_DEFAULT);
	was = fixture_revision(&f, &kind_config_map, ns, CA);
	snprintf(text, sizeof(text),
		 "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'" CA
		 "','namespace':'%s','uid':'%s'%s}",
		 ns, fixture_uid(2), members);
	return was ? fixture_update(&f, &kind_config_map, ns, CA, text, was)
		   : fixture_create(&f, &kind_config_map, ns, CA, text);
}

static void a_namespace_is_born_with_the_certificate(void **state)
{
	uint64_t before;
	publish("one");
	create_namespace("new");
	assert_true(has_ca("new", "one"));
	assert_true(fixture_revision(&f, &kind_account, "new", "default") > 0);
	before = store_revision(f.truth);
	fixture_work(&f, 100);
	assert_int_equal(store_revision(f.truth), before);
}

static void one_of_an_older_version_gets_it_after_a_start(void **state)
{
	assert_int_equal(fixture_revision(&f, &kind_config_map, "team", CA), 0);
	publish("one");
	assert_true(has_ca("team", "one"));
	fixture_reopen(&f);
	publish("two");
	assert_true(has_ca("team", "two"));
}

static void a_start_that_finds_all_right_writes_nothing(void **state)
{
	uint64_t before;
	publish("one");
	before = store_revision(f.truth);
	fixture_reopen(&f);
	publish("one");
	assert_int_equal(store_revision(f.truth), before);
	assert_true(registry_due(f.reg) > f.now);
}

static void what_is_deleted_comes_back(void **state)
{
	publish("one");
	fixture_delete(&f, &kind_config_map, "team", CA, PROPAGATE_DEFAULT);
	assert_int_equal(registry_due(f.reg), 0);
	fixture_work(&f, 100);
	assert_true(has_ca("team", "one"));
	fixture_delete(&f, &kind_account, "team", "default", PROPAGATE_DEFAULT);
	fixture_work(&f, 100);
	assert_true(fixture_revision(&f, &kind_account, "team", "default") > 0);
}

static void an_edit_is_undone_and_what_others_noted_stays(void **state)
{
	publish("one");
	put_ca("team", ",'labels':{'a':'b'},'annotations':{'c':'d'}},'data':{'ca.crt':'mine'}");
	assert_int_equal(f.err.kind, ERR_NONE);
	fixture_work(&f, 100);
	assert_true(has_ca("team", "one"));
	assert_true(fixture_contains(&f, &kind_config_map, "team", CA, "'labels':{'a':'b'}"));
	assert_true(fixture_contains(&f, &kind_config_map, "team", CA, "'c':'d'"));
	put_ca("team", "},'data':{'ca.crt':'one','more':'x'}");
	fixture_work(&f, 100);
	assert_true(has_ca("team", "one"));
	/* Another object of the kind is nobody's business. */
	fixture_create(&f, &kind_config_map, "team", "mine",
		       "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'mine',"
		       "'namespace':'team','uid':'00000000-0000-4000-8000-000000000077'}}");
	assert_true(registry_due(f.reg) > f.now);
}

static void a_namespace_that_ends_gets_nothing_back(void **state)
{
	publish("one");
	fixture_delete(&f, &kind_namespace, "", "team", PROPAGATE_DEFAULT);
	fixture_work(&f, 100);
	assert_int_equal(fixture_revision(&f, &kind_namespace, "", "team"), 0);
	assert_int_equal(fixture_revision(&f, &kind_config_map, "team", CA), 0);
	assert_int_equal(fixture_count(&f, &kind_config_map, "team"), 0);
}

static void many_namespaces_are_walked_in_steps(void **state)
{
	for (int i = 0; i < 200; i++) {
		char name[32], text[256];
		snprintf(name, sizeof(name), "many-%03d", i);
		snprintf(
		    text, sizeof(text),
		    "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'%s','uid':'%s'}}",
		    name, fixture_uid(1000 + i));
		fixture_create(&f, &kind_namespace, "", name, text);
	}
	registry_set_root_ca(f.reg, SPAN("one"));
	assert_true(fixture_work(&f, 32) > 200 / 32);
	for (int i = 0; i < 200; i++) {
		char name[32];
		snprintf(name, sizeof(name), "many-%03d", i);
		assert_true(has_ca(name, "one"));
	}
}

static void without_a_certificate_there_is_none(void **state)
{
	fixture_work(&f, 100);
	create_namespace("new");
	fixture_work(&f, 100);
	assert_int_equal(fixture_count(&f, &kind_config_map, "new"), 0);
}

static void a_failed_commit_is_tried_again(void **state)
{
	publish("one");
	fixture_delete(&f, &kind_config_map, "team", CA, PROPAGATE_DEFAULT);
	for (int i = 0; i < 2; i++) {
		struct registry_batch *b;
		assert_int_equal(registry_begin(f.reg, f.now, &b, NULL), 0);
		(void)registry_work(b, 100);
		assert_false(registry_batch_empty(b)); /* and it is not committed */
		registry_end(b);
	}
	fixture_work(&f, 100);
	assert_true(has_ca("team", "one"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_namespace_is_born_with_the_certificate, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(one_of_an_older_version_gets_it_after_a_start, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_start_that_finds_all_right_writes_nothing, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(what_is_deleted_comes_back, setup, teardown),
	    cmocka_unit_test_setup_teardown(an_edit_is_undone_and_what_others_noted_stays, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(a_namespace_that_ends_gets_nothing_back, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(many_namespaces_are_walked_in_steps, setup, teardown),
	    cmocka_unit_test_setup_teardown(without_a_certificate_there_is_none, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_failed_commit_is_tried_again, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
