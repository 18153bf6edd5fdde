/*
 * One field of the spec that the hub sets: its own in managedFields, beside the short form of
 * whoever has the rest.
 */
#include "managed_scene.h"

#define OF_X "{\"f:spec\":{\"f:x\":{}}}"

static void hub_sets(struct scene *s, int second, const char *value)
{
	struct managed_write w = by("hub", "", second);
	struct store_object old = stored(s);
	auto_json *tree = tree_now(s);
	struct object_draft d;

	json_set_str(json_ensure_object(tree, "spec"), "x", value);
	assert_int_equal(object_draft_from_tree(&kind, tree, &d, NULL), 0);
	managed_draft_field(&w, &old, OF_X, &d);
	take(s, d);
}

static void the_rest_stays_in_short(void **state)
{
	struct scene *s = *state;

	create(s, "kubectl", 0);
	hub_sets(s, 1, "2");
	assert_owners(s, "kubectl Update 0 {}\nhub Update 1 {'f:spec':{'f:x':{}}}\n");
	hub_sets(s, 3, "1");
	assert_owners(s, "kubectl Update 0 {}\nhub Update 3 {'f:spec':{'f:x':{}}}\n");
}

static void it_stands_in_the_servers_order(void **state)
{
	struct scene *s = *state;

	create(s, "kubectl", 0);
	hub_at(s, 1, "{'phase':'New'}");
	hub_sets(s, 1, "2");
	assert_owners(s, "kubectl Update 0 {}\nhub Update 1 {'f:spec':{'f:x':{}}}\n"
			 "hub Update/status 1 {}\n");
	hub_at(s, 2, "{'phase':'Old'}");
	assert_owners(s, "kubectl Update 0 {}\nhub Update 1 {'f:spec':{'f:x':{}}}\n"
			 "hub Update/status 2 {}\n");
}

static void another_write_spells_the_rest_out_without_it(void **state)
{
	struct scene *s = *state;

	create(s, "kubectl", 0);
	hub_sets(s, 1, "2");
	client(s, by("editor", "", 2), "spec", "{'x':'2','y':'1'}");
	assert_owners(s, "kubectl Update 0 {'f:spec':{}}\n"
			 "hub Update 1 {'f:spec':{'f:x':{}}}\n"
			 "editor Update 2 {'f:spec':{'f:y':{}}}\n");
	hub_sets(s, 3, "1"); /* as an update among many */
	assert_owners(s, "kubectl Update 0 {'f:spec':{}}\n"
			 "editor Update 2 {'f:spec':{'f:y':{}}}\n"
			 "hub Update 3 {'f:spec':{'f:x':{}}}\n");
}

static void who_changes_it_takes_it_back(void **state)
{
	struct scene *s = *state;

	create(s, "kubectl", 0);
	hub_sets(s, 1, "2");
	client(s, by("kubectl", "", 2), "spec", "{'x':'1'}");
	assert_owners(s, "kubectl Update 2 {'f:spec':{'.':{},'f:x':{}}}\n");
}

static void an_applier_loses_it_to_the_hub(void **state)
{
	struct scene *s = *state;

	create(s, "kubectl", 0);
	(void)apply(s, by("flux", "", 1),
		    "{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n'},'spec':{'x':'1',"
		    "'y':'1'}}",
		    false);
	hub_sets(s, 2, "2");
	assert_owners(s, "flux Apply 1 {'f:spec':{'f:y':{}}}\n"
			 "kubectl Update 0 {'f:spec':{}}\n"
			 "hub Update 2 {'f:spec':{'f:x':{}}}\n");
}

static void an_object_of_the_hubs_or_of_nobody_stays_so(void **state)
{
	struct scene *s = *state;

	create(s, "hub", 0);
	hub_sets(s, 1, "2");
	assert_owners(s, "hub Update 0 {}\n");
	write_tree(s, tree_of("{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n','uid':'" UID
			      "'},'spec':{'x':'1'}}"));
	hub_sets(s, 1, "2");
	assert_owners(s, "");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(the_rest_stays_in_short),
	    T(it_stands_in_the_servers_order),
	    T(another_write_spells_the_rest_out_without_it),
	    T(who_changes_it_takes_it_back),
	    T(an_applier_loses_it_to_the_hub),
	    T(an_object_of_the_hubs_or_of_nobody_stays_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
