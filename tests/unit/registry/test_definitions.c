#include "fixture.h"

#include "kube/kind_set.h"

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

/* A definition of one version; uid tells incarnations apart. */
static void define(const char *plural, const char *kind, int uid)
{
	char text[1024], name[80];
	snprintf(name, sizeof(name), "%s.example.com", plural);
	snprintf(text, sizeof(text),
		 "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
		 "'metadata':{'name':'%s','uid':'%s'},'spec':{'group':'example.com','scope':"
		 "'Namespaced','names':{'plural':'%s','singular':'%.20s1','kind':'%s','listKind':"
		 "'%sList'},'versions':[{'name':'v1','served':true,'storage':true,'schema':"
		 "{'openAPIV3Schema':{'type':'object'}}}]},'status':{}}",
		 name, fixture_uid(uid), plural, plural, kind, kind);
	fixture_create(&f, &kind_definition, "", name, text);
	assert_int_equal(f.err.kind, ERR_NONE);
	fixture_work(&f, 32);
}

static const struct kind *served(const char *plural)
{
	return kind_by_resource(registry_kinds(f.reg), SPAN("example.com"), SPAN("v1"),
				span_of(plural));
}

static bool says(const char *name, const char *needle)
{
	return fixture_contains(&f, &kind_definition, "", name, needle);
}

static void make(const struct kind *k, const char *name, int uid, const char *more)
{
	char text[512];
	snprintf(text, sizeof(text),
		 "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'%s',"
		 "'namespace':'team','uid':'%s'%s}}",
		 name, fixture_uid(uid), more);
	fixture_create(&f, k, "team", name, text);
}

static void undefine(const char *name)
{
	fixture_delete(&f, &kind_definition, "", name, PROPAGATE_DEFAULT);
	assert_int_equal(f.err.kind, ERR_NONE);
}

static void a_definition_is_established_and_served(void **state)
{
	assert_null(served("widgets"));
	define("widgets", "Widget", 1);
	assert_non_null(served("widgets"));
	assert_int_equal(served("widgets")->type, KIND_FIRST_USER_TYPE);
	assert_true(says("widgets.example.com", "'reason':'InitialNamesAccepted'"));
	assert_true(says("widgets.example.com", "customresourcecleanup.apiextensions.k8s.io"));
	assert_true(says("widgets.example.com", "'acceptedNames':{'plural':'widgets'"));
}

static void a_restart_serves_it_under_the_same_number(void **state)
{
	define("gadgets", "Gadget", 1);
	define("widgets", "Widget", 2);
	uint16_t type = served("widgets")->type;
	fixture_reopen(&f);
	assert_int_equal(served("widgets")->type, type);
	assert_int_equal(fixture_work(&f, 32), 2); /* looked at, nothing to write */
	assert_int_equal(served("widgets")->type, type);
}

static void numbers_are_never_used_again(void **state)
{
	define("widgets", "Widget", 1);
	undefine("widgets.example.com");
	fixture_work(&f, 32);
	assert_null(served("widgets"));
	fixture_reopen(&f);
	define("widgets", "Widget", 2);
	assert_int_equal(served("widgets")->type, KIND_FIRST_USER_TYPE + 1);
}

static void deletion_takes_the_objects_first(void **state)
{
	define("widgets", "Widget", 1);
	const struct kind k = *served("widgets");
	for (int i = 0; i < 40; i++) {
		char name[16];
		snprintf(name, sizeof(name), "w-%d", i);
		make(served("widgets"), name, 100 + i, "");
	}
	assert_int_equal(fixture_count(&f, &k, "team"), 40);
	undefine("widgets.example.com");
	assert_true(says("widgets.example.com", "deletionTimestamp"));
	make(served("widgets"), "late", 99, "");
	assert_int_equal(f.err.kind, ERR_METHOD_NOT_ALLOWED);
	assert_true(fixture_work(&f, 16) > 3);
	assert_int_equal(fixture_count(&f, &k, "team"), 0);
	assert_int_equal(fixture_revision(&f, &kind_definition, "", "widgets.example.com"), 0);
	assert_null(served("widgets"));
}

static void an_objects_finalizer_holds_the_definition(void **state)
{
	define("widgets", "Widget", 1);
	make(served("widgets"), "held", 2, ",'finalizers':['a/b']");
	undefine("widgets.example.com");
	fixture_work(&f, 32);
	assert_true(says("widgets.example.com", "'reason':'InstanceDeletionInProgress'"));
	const struct kind *k = served("widgets");
	assert_true(fixture_contains(&f, k, "team", "held", "deletionTimestamp"));
	char text[400];
	snprintf(text, sizeof(text),
		 "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'held',"
		 "'namespace':'team','uid':'%s','deletionTimestamp':'2024-01-01T00:00:00Z'}}",
		 fixture_uid(2));
	fixture_update(&f, k, "team", "held", text, fixture_revision(&f, k, "team", "held"));
	assert_int_equal(f.err.kind, ERR_NONE);
	fixture_work(&f, 32);
	assert_null(served("widgets"));
}

static void a_name_that_is_taken_is_waited_for(void **state)
{
	define("widgets", "Widget", 1);
	define("others", "Widget", 2);
	assert_null(served("others"));
	assert_true(says("others.example.com", "'reason':'KindConflict'"));
	assert_true(says("others.example.com", "'reason':'NotAccepted'"));
	undefine("widgets.example.com");
	fixture_work(&f, 32);
	assert_non_null(served("others"));
}

static void a_command_for_a_kind_that_went_is_refused(void **state)
{
	define("widgets", "Widget", 1);
	const struct kind k = *served("widgets");
	undefine("widgets.example.com");
	fixture_work(&f, 32);
	make(&k, "late", 2, "");
	assert_int_equal(f.err.kind, ERR_NOT_FOUND);
}

static void a_namespace_takes_users_objects_with_it(void **state)
{
	define("widgets", "Widget", 1);
	make(served("widgets"), "a", 2, "");
	fixture_delete(&f, &kind_namespace, "", "team", PROPAGATE_DEFAULT);
	fixture_work(&f, 32);
	assert_int_equal(fixture_revision(&f, &kind_namespace, "", "team"), 0);
	assert_int_equal(fixture_count(&f, served("widgets"), "team"), 0);
}

static void a_failed_commit_gives_no_number(void **state)
{
	define("widgets", "Widget", 1);
	store_faulty_fail(f.truth, STORE_CALL_APPLY, 2, ERR_NO_SPACE, false);
	char text[900];
	snprintf(text, sizeof(text),
		 "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
		 "'metadata':{'name':'gadgets.example.com','uid':'%s'},'spec':{'group':"
		 "'example.com','scope':'Cluster','names':{'plural':'gadgets','singular':'gadget',"
		 "'kind':'Gadget','listKind':'GadgetList'},'versions':[{'name':'v1','served':true,"
		 "'storage':true,'schema':{'openAPIV3Schema':{'type':'object'}}}]},'status':{}}",
		 fixture_uid(2));
	fixture_create(&f, &kind_definition, "", "gadgets.example.com", text);
	struct err e = ERR_INIT;
	struct registry_batch *b;
	assert_int_equal(registry_begin(f.reg, f.now, &b, &e), 0);
	registry_work(b, 32);
	assert_true(registry_commit(b, &e) < 0);
	registry_end(b);
	assert_null(served("gadgets"));
	fixture_work(&f, 32);
	assert_int_equal(served("gadgets")->type, KIND_FIRST_USER_TYPE + 1);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(a_definition_is_established_and_served),
	    T(a_restart_serves_it_under_the_same_number),
	    T(numbers_are_never_used_again),
	    T(deletion_takes_the_objects_first),
	    T(an_objects_finalizer_holds_the_definition),
	    T(a_name_that_is_taken_is_waited_for),
	    T(a_command_for_a_kind_that_went_is_refused),
	    T(a_namespace_takes_users_objects_with_it),
	    T(a_failed_commit_gives_no_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
