#include "patch_rows.h"

#include "kinds/types.h"
#include "kube/strategic.h"

#include <errno.h>

static const struct kind pod = {
    .type = TYPE_POD, .group = "", .version = "v1", .kind = "Pod", .plural = "pods"};

static void check_all(const struct patch_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		patch_row_check(PATCH_STRATEGIC, &pod, &rows[i]);
}

#define C(list) "{'spec':{'containers':[" list "]}}"
#define A1	"{'name':'a','image':'1'}"
#define B1	"{'name':'b','image':'1'}"
#define D1	"{'name':'d','image':'1'}"

static void maps_merge_and_null_deletes(void **state)
{
	static const struct patch_row rows[] = {
	    {"{'a':1,'b':{'c':1,'d':2}}", "{'a':null,'b':{'c':3,'e':4}}",
	     "{'b':{'c':3,'d':2,'e':4}}"},
	    {"{'a':1}", "{'x':{'y':null,'z':1}}", "{'a':1,'x':{'z':1}}"},
	    {"{'a':{'b':1}}", "{'a':7}", "{'a':7}"},
	    {"{'a':7}", "{'a':{'b':1,'c':null}}", "{'a':{'b':1}}"},
	    {"{'a':1}", "{}", "{'a':1}"},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void lists_with_a_merge_key_merge_by_it(void **state)
{
	static const struct patch_row rows[] = {
	    {C(A1 "," B1), C("{'name':'b','image':'2'}"), C(A1 ",{'name':'b','image':'2'}")},
	    {C(A1 "," B1), C("{'name':'b','image':null}"), C(A1 ",{'name':'b'}")},
	    /* without an order from the patch a new element comes before what it knows nothing of
	     */
	    {C(A1 "," B1), C(D1), C(D1 "," A1 "," B1)},
	    {"{'spec':{}}", C(A1), C(A1)},
	    {"{}", C("{'name':'a','x':null}"), C("{'name':'a'}")},
	    /* ports by containerPort, env by name, mounts by mountPath, inside a merged element */
	    {C("{'name':'a','ports':[{'containerPort':80},{'containerPort':81}],'env':[{'name':'E',"
	       "'value':'1'}],'volumeMounts':[{'mountPath':'/m','name':'v'}]}"),
	     C("{'name':'a','ports':[{'containerPort':81,'name':'x'}],'env':[{'name':'E','value':"
	       "'2'}],'volumeMounts':[{'mountPath':'/m','name':'w'}]}"),
	     C("{'name':'a','ports':[{'containerPort':80},{'containerPort':81,'name':'x'}],'env':["
	       "{'name':'E','value':'2'}],'volumeMounts':[{'mountPath':'/m','name':'w'}]}")},
	    {"{'status':{'conditions':[{'type':'A','status':'True'},{'type':'B','status':'True'}]}}",
	     "{'status':{'conditions':[{'type':'B','status':'False'}]}}",
	     "{'status':{'conditions':[{'type':'A','status':'True'},{'type':'B','status':'False'}]}}"},
	    {"{'metadata':{'ownerReferences':[{'uid':'1','name':'a'}]}}",
	     "{'metadata':{'ownerReferences':[{'uid':'2','name':'b'}]}}",
	     "{'metadata':{'ownerReferences':[{'uid':'2','name':'b'},{'uid':'1','name':'a'}]}}"},
	    {"{'spec':{'topologySpreadConstraints':[{'topologyKey':'z','maxSkew':1}]}}",
	     "{'spec':{'topologySpreadConstraints':[{'topologyKey':'z','maxSkew':2}]}}",
	     "{'spec':{'topologySpreadConstraints':[{'topologyKey':'z','maxSkew':2}]}}"},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void other_lists_are_replaced(void **state)
{
	static const struct patch_row rows[] = {
	    {"{'spec':{'tolerations':[{'key':'a'},{'key':'b'}]}}",
	     "{'spec':{'tolerations':[{'key':'c'}]}}", "{'spec':{'tolerations':[{'key':'c'}]}}"},
	    {C("{'name':'a','args':['x','y']}"), C("{'name':'a','args':['z']}"),
	     C("{'name':'a','args':['z']}")},
	    {"{'unknown':[1,2]}", "{'unknown':[3]}", "{'unknown':[3]}"},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void patch_directives_delete_replace_and_merge(void **state)
{
	static const struct patch_row rows[] = {
	    {C(A1 "," B1), C("{'$patch':'delete','name':'a'}"), C(B1)},
	    {C(A1 "," B1), C("{'$patch':'delete','name':'zz'}"), C(A1 "," B1)},
	    {C(A1 "," B1), C("{'$patch':'delete','name':'a'}," D1), C(D1 "," B1)},
	    {C(A1 "," B1), C(D1 ",{'$patch':'replace'}"), C(D1)},
	    {C(A1 "," B1), C("{'$patch':'replace'}"), C("")},
	    {C(A1 "," B1), C("{'$patch':'merge','name':'b','image':'3'}"),
	     C(A1 ",{'name':'b','image':'3'}")},
	    {"{'spec':{'a':1,'b':2}}", "{'spec':{'$patch':'replace','c':3}}", "{'spec':{'c':3}}"},
	    {"{'spec':{'a':1,'b':2}}", "{'spec':{'$patch':'delete'}}", "{'spec':{}}"},
	    {"{'spec':{'a':1}}", "{'spec':{'$patch':'merge','c':3}}", "{'spec':{'a':1,'c':3}}"},
	    {"{'a':1,'b':2}", "{'$patch':'replace','c':3}", "{'c':3}"},
	    {"{}", C("{'$patch':'delete','name':'a'}," B1), C(B1)},
	    {"{'spec':{}}", "{'spec':{'x':{'$patch':'delete'},'y':{'$patch':'replace','z':1}}}",
	     "{'spec':{'y':{'z':1}}}"},
	    {C(A1), C("{'$patch':'explode','name':'a'}"), NULL, ERR_BAD_REQUEST},
	    {"{'spec':{}}", "{'spec':{'$patch':'explode'}}", NULL, ERR_BAD_REQUEST},
	    {"{'spec':{}}", "{'spec':{'$patch':7}}", NULL, ERR_BAD_REQUEST},
	    {C(A1), C("{'image':'2'}"), NULL, ERR_INVALID},
	    {C(A1), C("{'$patch':'delete'}"), NULL, ERR_INVALID},
	    {C(A1), C("'a'"), NULL, ERR_BAD_REQUEST},
	};
	check_all(rows, ARRAY_LEN(rows));
}

#define F(list)	    "{'metadata':{'finalizers':[" list "]}}"
#define FD(members) "{'metadata':{" members "}}"

static void lists_of_scalars_are_sets(void **state)
{
	static const struct patch_row rows[] = {
	    {F("'a','b'"), F("'b','c'"), F("'a','b','c'")},
	    {F("'a'"), F("'c'"), F("'c','a'")},
	    {F("'a','b','a'"), FD("'$deleteFromPrimitiveList/finalizers':['a']"), F("'b'")},
	    {F("'a','b'"), FD("'$deleteFromPrimitiveList/finalizers':['b','q'],'finalizers':['c']"),
	     F("'c','a'")},
	    {F("'a','b'"),
	     FD("'$setElementOrder/finalizers':['c','a'],'$deleteFromPrimitiveList/finalizers':['b'],"
		"'finalizers':['c']"),
	     F("'c','a'")},
	    {F("'a','b'"),
	     FD("'$setElementOrder/finalizers':['a'],'$deleteFromPrimitiveList/finalizers':['b']"),
	     F("'a'")},
	    {FD("'x':1"), FD("'$deleteFromPrimitiveList/finalizers':['a']"), FD("'x':1")},
	    {F("'a'"), FD("'$deleteFromPrimitiveList/finalizers':'a'"), NULL, ERR_BAD_REQUEST},
	    {F("'a'"), F("{}"), NULL, ERR_BAD_REQUEST},
	    {C(A1), "{'spec':{'$deleteFromPrimitiveList/containers':['a']}}", NULL,
	     ERR_BAD_REQUEST},
	};
	check_all(rows, ARRAY_LEN(rows));
}

#define ORDER(o, list) "{'spec':{'$setElementOrder/containers':[" o "]" list "}}"
#define N(n)	       "{'name':'" n "'}"

static void set_element_order_orders_what_the_patch_knows(void **state)
{
	static const struct patch_row rows[] = {
	    /* order alone */
	    {C(A1 "," B1 "," D1), ORDER(N("d") "," N("a") "," N("b"), ""), C(D1 "," A1 "," B1)},
	    /* a new element lands where the order says */
	    {C(A1 "," B1), ORDER(N("a") "," N("d") "," N("b"), ",'containers':[" D1 "]"),
	     C(A1 "," D1 "," B1)},
	    /* an element only the server knows keeps its place before what stood behind it */
	    {C(A1 "," N("server") "," B1),
	     ORDER(N("a") "," N("b") "," N("d"), ",'containers':[" D1 "]"),
	     C(A1 "," N("server") "," B1 "," D1)},
	    /* delete and order together, as kubectl apply sends them */
	    {C(A1 "," B1),
	     ORDER(N("b"),
		   ",'containers':[{'$patch':'delete','name':'a'},{'name':'b','image':'2'}]"),
	     C("{'name':'b','image':'2'}")},
	    /* what is new stands where something went, so behind what only the server knows */
	    {C(N("server") "," B1),
	     ORDER(N("d"), ",'containers':[" D1 ",{'$patch':'delete','name':'b'}]"),
	     C(N("server") "," D1)},
	    {C(N("server")), ORDER(N("d"), ",'containers':[" D1 "]"), C(D1 "," N("server"))},
	    {"{'spec':{}}", ORDER(N("a"), ",'containers':[" A1 "]"), C(A1)},
	    {"{'spec':{}}", ORDER(N("a"), ""), "{'spec':{}}"},
	    {C(A1), ORDER(N("a"), ",'containers':null"), "{'spec':{}}"},
	    /* what the patch sets and its order must agree */
	    {C(A1), ORDER(N("a"), ",'containers':[" B1 "]"), NULL, ERR_BAD_REQUEST},
	    {C(A1), ORDER(N("a") "," N("b"), ",'containers':[" B1 "," A1 "]"), NULL,
	     ERR_BAD_REQUEST},
	    {C(A1), "{'spec':{'$setElementOrder/containers':'a'}}", NULL, ERR_BAD_REQUEST},
	    {"{'spec':{'containers':7}}", ORDER(N("a"), ""), NULL, ERR_BAD_REQUEST},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void retain_keys_drops_what_it_does_not_name(void **state)
{
	static const struct patch_row rows[] = {
	    {"{'spec':{'volumes':[{'name':'v','emptyDir':{}},{'name':'w','secret':{}}]}}",
	     "{'spec':{'volumes':[{'name':'v','configMap':{'name':'c'},'$retainKeys':['name',"
	     "'configMap']}]}}",
	     "{'spec':{'volumes':[{'name':'v','configMap':{'name':'c'}},{'name':'w','secret':{}}]}}"},
	    {"{'strategy':{'type':'R','rollingUpdate':{}}}",
	     "{'strategy':{'$retainKeys':['type'],'type':'X'}}", "{'strategy':{'type':'X'}}"},
	    {"{'s':{'a':1}}", "{'s':{'$retainKeys':['a'],'b':2}}", NULL, ERR_BAD_REQUEST},
	    {"{'s':{'a':1}}", "{'s':{'$retainKeys':'a'}}", NULL, ERR_BAD_REQUEST},
	    {"{}", "{'s':{'$retainKeys':['b'],'b':2}}", "{'s':{'b':2}}"},
	};
	check_all(rows, ARRAY_LEN(rows));
}

static void nothing_of_a_patch_language_is_left_in_the_object(void **state)
{
	auto_json *o = tree_of("{}");
	auto_json *p = tree_of(
	    "{'spec':{'$retainKeys':['containers','deep'],'containers':[{'name':'a','env':[{'name':"
	    "'E','$patch':'delete'},{'name':'F'}],'$setElementOrder/env':[{'name':'F'}]}],"
	    "'deep':{'x':[{'y':{'$patch':'replace','z':1}}]}}}");
	auto_json *got = NULL;
	auto_buf b = BUF_INIT;
	struct err err = ERR_INIT;
	assert_int_equal(patch_apply(PATCH_STRATEGIC, &pod, o, p, &got, &err), 0);
	json_print(got, &b);
	assert_null(strchr(b.ptr, '$'));
	assert_tree(got, "{'spec':{'containers':[{'name':'a','env':[{'name':'F'}]}],"
			 "'deep':{'x':[{'y':{'z':1}}]}}}");
}

static void merge_keys_of_the_built_in_kinds_are_known(void **state)
{
	static const struct {
		uint16_t type;
		const char *path[4];
		const char *key;
	} rows[] = {
	    {TYPE_JOB, {"spec", "template", "spec", "initContainers"}, "name"},
	    {TYPE_JOB, {"spec", "template", "spec", "imagePullSecrets"}, "name"},
	    {TYPE_JOB, {"status", "conditions"}, "type"},
	    {TYPE_POD_TEMPLATE, {"template", "spec", "volumes"}, "name"},
	    {TYPE_NODE, {"status", "addresses"}, "type"},
	    {TYPE_SERVICE, {"spec", "ports"}, "port"},
	    {TYPE_SERVICE_ACCOUNT, {"secrets"}, "name"},
	    {TYPE_CONFIG_MAP, {"metadata", "ownerReferences"}, "uid"},
	    {TYPE_NAMESPACE, {"status", "conditions"}, "type"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kind k = {.type = rows[i].type};
		const struct strategic_type *t = strategic_type_of(&k);
		const struct strategic_field *f = NULL;
		for (size_t j = 0; j < 4 && rows[i].path[j]; j++) {
			f = strategic_field_find(t, rows[i].path[j]);
			assert_non_null(f);
			t = f->type;
		}
		assert_int_equal(f->flags, STRATEGIC_MERGE);
		assert_string_equal(f->merge_key, rows[i].key);
	}
}

static void a_long_list_merges_in_little_time(void **state)
{
	auto_json *o = tree_of("{'spec':{'containers':[]}}");
	auto_json *p = tree_of("{'spec':{'containers':[]}}");
	auto_json *got = NULL;
	struct err err = ERR_INIT;
	for (int i = 0; i < 20000; i++) {
		char name[16];
		struct cJSON *c = json_object(), *d = json_object();
		(void)snprintf(name, sizeof(name), "c%d", i);
		json_set_str(c, "name", name);
		json_set_str(d, "name", name);
		json_set_int(d, "x", i);
		json_append(json_path(o, "spec", "containers", NULL), c);
		json_append(json_path(p, "spec", "containers", NULL), d);
	}
	assert_int_equal(patch_apply(PATCH_STRATEGIC, &pod, o, p, &got, &err), 0);
	assert_true(json_equal(got, p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(maps_merge_and_null_deletes),
	    cmocka_unit_test(lists_with_a_merge_key_merge_by_it),
	    cmocka_unit_test(other_lists_are_replaced),
	    cmocka_unit_test(patch_directives_delete_replace_and_merge),
	    cmocka_unit_test(lists_of_scalars_are_sets),
	    cmocka_unit_test(set_element_order_orders_what_the_patch_knows),
	    cmocka_unit_test(retain_keys_drops_what_it_does_not_name),
	    cmocka_unit_test(nothing_of_a_patch_language_is_left_in_the_object),
	    cmocka_unit_test(merge_keys_of_the_built_in_kinds_are_known),
	    cmocka_unit_test(a_long_list_merges_in_little_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
