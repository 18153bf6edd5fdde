#include "patch_rows.h"

#include <errno.h>

static const struct kind kind = {.group = "x", .version = "v1", .kind = "K", .plural = "ks"};

static void check_all(const struct patch_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		patch_row_check(PATCH_JSON, &kind, &rows[i]);
}

#define OP1(op, path)	     "[{'op':'" op "','path':'" path "'}]"
#define OPV(op, path, value) "[{'op':'" op "','path':'" path "','value':" value "}]"
#define OPF(op, from, path)  "[{'op':'" op "','from':'" from "','path':'" path "'}]"

static void the_examples_of_rfc_6902_hold(void **state)
{
	static const struct patch_row rows[] = {
	    {"{'foo':'bar'}", OPV("add", "/baz", "'qux'"), "{'baz':'qux','foo':'bar'}"},
	    {"{'foo':['bar','baz']}", OPV("add", "/foo/1", "'qux'"), "{'foo':['bar','qux','baz']}"},
	    {"{'baz':'qux','foo':'bar'}", OP1("remove", "/baz"), "{'foo':'bar'}"},
	    {"{'foo':['bar','qux','baz']}", OP1("remove", "/foo/1"), "{'foo':['bar','baz']}"},
	    {"{'baz':'qux','foo':'bar'}", OPV("replace", "/baz", "'boo'"),
	     "{'baz':'boo','foo':'bar'}"},
	    /* Not in the RFC, but in every API server: there need be nothing to replace. */
	    {"{'foo':'bar'}", OPV("replace", "/baz", "'boo'"), "{'baz':'boo','foo':'bar'}"},
	    {"{'foo':'bar'}", OPV("replace", "/a/b", "'boo'"), NULL, ERR_INVALID},
	    {"{'foo':{'bar':'baz','waldo':'fred'},'qux':{'corge':'grault'}}",
	     OPF("move", "/foo/waldo", "/qux/thud"),
	     "{'foo':{'bar':'baz'},'qux':{'corge':'grault','thud':'fred'}}"},
	    {"{'foo':['all','grass','cows','eat']}", OPF("move", "/foo/1", "/foo/3"),
	     "{'foo':['all','cows','eat','grass']}"},
	    {"{'baz':'qux','foo':['a',2,'c']}",
	     "[{'op':'test','path':'/baz','value':'qux'},{'op':'test','path':'/foo/1','value':2}]",
	     "{'baz':'qux','foo':['a',2,'c']}"},
	    {"{'baz':'qux'}", OPV("test", "/baz", "'bar'"), NULL, ERR_INVALID},
	    {"{'foo':'bar'}", OPV("add", "/child", "{'grandchild':{}}"),
	     "{'foo':'bar','child':{'grandchild':{}}}"},
	    {"{'foo':'bar'}", "[{'op':'add','path':'/baz','value':'qux','xyz':123}]",
	     "{'foo':'bar','baz':'qux'}"},
	    {"{'foo':'bar'}", OPV("add", "/baz/bat", "'qux'"), NULL, ERR_INVALID},
	    {"{'/':9,'~1':10}", OPV("test", "/~01", "10"), "{'/':9,'~1':10}"},
	    {"{'/':9,'~1':10}", OPV("test", "/~01", "'10'"), NULL, ERR_INVALID},
	    {"{'foo':['bar']}", OPV("add", "/foo/-", "['abc','def']"),
	     "{'foo':['bar',['abc','def']]}"},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void pointers_escape_slash_and_tilde_and_mind_case(void **state)
{
	static const struct patch_row rows[] = {
	    {"{'a/b':1,'c':2}", OP1("remove", "/a~1b"), "{'c':2}"},
	    {"{'m~n':1}", OPV("replace", "/m~0n", "2"), "{'m~n':2}"},
	    {"{'a':1,'A':2}", OP1("remove", "/A"), "{'a':1}"},
	    {"{'':1}", OP1("remove", "/"), "{}"},
	    {"{'a':{'':1}}", OPV("test", "/a/", "1"), "{'a':{'':1}}"},
	    {"{'a':1}", OP1("remove", "a"), NULL, ERR_BAD_REQUEST},
	    {"{'a':1}", OP1("remove", "/a~2"), NULL, ERR_BAD_REQUEST},
	    {"{'a':1}", OP1("remove", "/a~"), NULL, ERR_BAD_REQUEST},
	    {"{'\xc3\xa4':1}", OP1("remove", "/\xc3\xa4"), "{}"},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void array_indexes_are_strict(void **state)
{
	static const struct patch_row rows[] = {
	    {"{'a':[1,2]}", OPV("add", "/a/2", "3"), "{'a':[1,2,3]}"},
	    {"{'a':[1,2]}", OPV("add", "/a/0", "3"), "{'a':[3,1,2]}"},
	    {"{'a':[]}", OPV("add", "/a/0", "3"), "{'a':[3]}"},
	    {"{'a':[1,2]}", OPV("add", "/a/3", "3"), NULL, ERR_INVALID},
	    {"{'a':[1,2]}", OPV("add", "/a/01", "3"), NULL, ERR_INVALID},
	    {"{'a':[1,2]}", OPV("add", "/a/-1", "3"), NULL, ERR_INVALID},
	    {"{'a':[1,2]}", OPV("add", "/a/1e0", "3"), NULL, ERR_INVALID},
	    {"{'a':[1,2]}", OPV("add", "/a/", "3"), NULL, ERR_INVALID},
	    {"{'a':[1,2]}", OPV("add", "/a/99999999999999999999", "3"), NULL, ERR_INVALID},
	    {"{'a':[1,2]}", OP1("remove", "/a/2"), NULL, ERR_INVALID},
	    {"{'a':[1,2]}", OP1("remove", "/a/-"), NULL, ERR_INVALID},
	    {"{'a':[1,2]}", OPV("replace", "/a/-", "3"), NULL, ERR_INVALID},
	    {"{'a':[1,2]}", OPV("replace", "/a/1", "3"), "{'a':[1,3]}"},
	    {"{'a':[[1],2]}", OPV("add", "/a/0/-", "3"), "{'a':[[1,3],2]}"},
	    {"{'a':'text'}", OPV("add", "/a/0", "3"), NULL, ERR_INVALID},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void move_and_copy_keep_the_document_whole(void **state)
{
	static const struct patch_row rows[] = {
	    {"{'a':{'b':1}}", OPF("move", "/a", "/a/c"), NULL, ERR_INVALID},
	    {"{'a':{'b':1}}", OPF("move", "", "/a"), NULL, ERR_INVALID},
	    {"{'a':{'b':1}}", OPF("move", "/a/b", "/a/b"), "{'a':{'b':1}}"},
	    {"{'a':{'b':1}}", OPF("move", "/x", "/x"), NULL, ERR_INVALID},
	    {"{'a':{'b':1}}", OPF("move", "/a/b", "/a"), "{'a':1}"},
	    {"{'a':{'b':{'c':1}}}", OPF("move", "/a/b", ""), "{'c':1}"},
	    {"{'ab':1,'a':2}", OPF("move", "/a", "/ab"), "{'ab':2}"},
	    {"{'a':{'b':1}}", OPF("copy", "/a", "/a/c"), "{'a':{'b':1,'c':{'b':1}}}"},
	    {"{'a':1}", OPF("copy", "/x", "/y"), NULL, ERR_INVALID},
	    {"{'a':[1,2,3]}", OPF("move", "/a/0", "/a/-"), "{'a':[2,3,1]}"},
	    {"{'a':[1,2,3]}", OPF("move", "/a/0", "/a/2"), "{'a':[2,3,1]}"},
	    {"{'a':[1,2,3]}", OPF("move", "/a/0", "/a/3"), NULL, ERR_INVALID},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void tests_compare_values_not_texts(void **state)
{
	static const struct patch_row rows[] = {
	    {"{'a':1}", OPV("test", "/a", "1.0"), "{'a':1}"},
	    {"{'a':{'x':1,'y':[2]}}", OPV("test", "/a", "{'y':[2],'x':1}"),
	     "{'a':{'x':1,'y':[2]}}"},
	    {"{'a':[1,2]}", OPV("test", "/a", "[2,1]"), NULL, ERR_INVALID},
	    {"{'a':null}", OPV("test", "/a", "null"), "{'a':null}"},
	    {"{'a':null}", OPV("test", "/a", "0"), NULL, ERR_INVALID},
	    {"{'a':0}", OPV("test", "/a", "false"), NULL, ERR_INVALID},
	    {"{}", OPV("test", "/a", "null"), "{}"}, /* as API servers have it */
	    {"{}", OPV("test", "/a/b", "null"), NULL, ERR_INVALID},
	    {"{}", OPV("test", "/a", "0"), NULL, ERR_INVALID},
	    {"{'a':{'x':1}}", OPV("test", "/a", "{'x':1,'y':2}"), NULL, ERR_INVALID},
	    {"{'a':1}", OPV("test", "", "{'a':1}"), "{'a':1}"},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void the_root_may_be_replaced_by_an_object_only(void **state)
{
	static const struct patch_row rows[] = {
	    {"{'a':1}", OPV("replace", "", "{'b':2}"), "{'b':2}"},
	    {"{'a':1}", OPV("add", "", "{'b':2}"), "{'b':2}"},
	    {"{'a':1}", OPV("replace", "", "[1]"), NULL, ERR_INVALID},
	    {"{'a':1}", OP1("remove", ""), NULL, ERR_INVALID},
	    {"{'a':1}", "[{'op':'add','path':'','value':7},{'op':'add','path':'','value':{}}]",
	     "{}"},
	    {"{'a':1}", "[{'op':'add','path':'','value':7},{'op':'add','path':'/x','value':{}}]",
	     NULL, ERR_INVALID},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void malformed_patches_are_bad_requests(void **state)
{
	static const struct patch_row rows[] = {
	    {"{}", "{}", NULL, ERR_BAD_REQUEST},
	    {"{}", "[7]", NULL, ERR_BAD_REQUEST},
	    {"{}", "[{'op':'add','path':'/a'}]", NULL, ERR_BAD_REQUEST},
	    {"{}", "[{'path':'/a','value':1}]", NULL, ERR_BAD_REQUEST},
	    {"{}", "[{'op':'add','value':1}]", NULL, ERR_BAD_REQUEST},
	    {"{}", "[{'op':'ADD','path':'/a','value':1}]", NULL, ERR_BAD_REQUEST},
	    {"{'a':1}", "[{'op':'move','path':'/b'}]", NULL, ERR_BAD_REQUEST},
	    {"{'a':1}", "[]", "{'a':1}"},
	    {"{}", "[{'op':'add','path':'/a','value':null}]", "{'a':null}"},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void a_failure_half_way_changes_nothing(void **state)
{
	/* patch_row_check() compares the object before and after. */
	static const struct patch_row row = {
	    "{'a':1}", "[{'op':'remove','path':'/a'},{'op':'test','path':'/a','value':1}]", NULL,
	    ERR_INVALID};
	check_all(&row, 1);
}

static void the_words_name_the_operation_and_the_path(void **state)
{
	auto_json *o = tree_of("{'a':1}");
	auto_json *p =
	    tree_of("[{'op':'test','path':'/a','value':1},{'op':'remove','path':'/q/r'}]");
	auto_json *got = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(patch_apply(PATCH_JSON, &kind, o, p, &got, &err), -EDOM);
	assert_string_equal(err.text,
			    "operation 1 of the JSON patch (remove /q/r): the path does not "
			    "exist");
}

static void too_many_operations_are_refused(void **state)
{
	auto_json *o = tree_of("{'a':1}");
	auto_json *p = json_array();
	auto_json *got = NULL;
	struct err err = ERR_INIT;
	for (int i = 0; i <= PATCH_MAX_OPS; i++)
		json_append(p, tree_of("{'op':'test','path':'/a','value':1}"));
	assert_int_equal(patch_apply(PATCH_JSON, &kind, o, p, &got, &err), -EMSGSIZE);
	assert_non_null(strstr(err.text, "10000, got 10001"));
}

/* Forty doublings of one string would fill the memory. */
static void copies_may_not_explode(void **state)
{
	auto_json *o = tree_of("{'a':['0123456789012345678901234567890123456789']}");
	auto_json *p = json_array();
	auto_json *got = NULL;
	struct err err = ERR_INIT;
	for (int i = 0; i < 40; i++) {
		json_append(p, tree_of("{'op':'copy','from':'/a','path':'/b'}"));
		json_append(p, tree_of("{'op':'add','path':'/a','value':[]}"));
		json_append(p, tree_of("{'op':'copy','from':'/b','path':'/a/-'}"));
		json_append(p, tree_of("{'op':'copy','from':'/b','path':'/a/-'}"));
	}
	assert_int_equal(patch_apply(PATCH_JSON, &kind, o, p, &got, &err), -EMSGSIZE);
}

static void nesting_stays_within_the_limit_of_json(void **state)
{
	auto_json *o = tree_of("{'a':{'b':{'c':{'d':{}}}}}");
	auto_json *p = json_array();
	auto_json *got = NULL;
	struct err err = ERR_INIT;
	for (int i = 0; i < 20; i++)
		json_append(p, tree_of("{'op':'copy','from':'/a','path':'/a/b/c/d/a'}"));
	assert_int_equal(patch_apply(PATCH_JSON, &kind, o, p, &got, &err), -EDOM);
	assert_non_null(strstr(err.text, "nested too deeply"));
}

static void walking_a_long_array_again_and_again_is_refused(void **state)
{
	auto_json *o = json_object();
	auto_json *p = json_array();
	auto_json *got = NULL;
	struct err err = ERR_INIT;
	struct cJSON *a = json_array();
	for (int i = 0; i < 20000; i++)
		json_append(a, json_new_int(i));
	json_set(o, "a", a);
	for (int i = 0; i < 5000; i++)
		json_append(p, tree_of("{'op':'replace','path':'/a/19999','value':1}"));
	assert_int_equal(patch_apply(PATCH_JSON, &kind, o, p, &got, &err), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_examples_of_rfc_6902_hold),
	    cmocka_unit_test(pointers_escape_slash_and_tilde_and_mind_case),
	    cmocka_unit_test(array_indexes_are_strict),
	    cmocka_unit_test(move_and_copy_keep_the_document_whole),
	    cmocka_unit_test(tests_compare_values_not_texts),
	    cmocka_unit_test(the_root_may_be_replaced_by_an_object_only),
	    cmocka_unit_test(malformed_patches_are_bad_requests),
	    cmocka_unit_test(a_failure_half_way_changes_nothing),
	    cmocka_unit_test(the_words_name_the_operation_and_the_path),
	    cmocka_unit_test(too_many_operations_are_refused),
	    cmocka_unit_test(copies_may_not_explode),
	    cmocka_unit_test(nesting_stays_within_the_limit_of_json),
	    cmocka_unit_test(walking_a_long_array_again_and_again_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
