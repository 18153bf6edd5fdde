/* Bad input to Kubernetes' own kinds: the exact path and words of everything that is wrong. */
#include "kinds_test.h"

static void secrets_and_config_maps_keep_their_keys(void **state)
{
	(void)state;
	auto_json *tree = tree_of("{'data':{'old':'eA=='},'stringData':{'a':'x','b':'hello','c':'',"
				  "'d':'ab'}}");
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_SECRET), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_tree(tree, "{'metadata':{},'type':'Opaque','data':{'old':'eA==','a':'eA==',"
			  "'b':'aGVsbG8=','c':'','d':'YWI='}}");
	expect_wrong(TYPE_SECRET, "{'type':'kubernetes.io/tls','data':{'tls.crt':'eA=='}}",
		     "data[tls.key]: Required value\n");
	expect_wrong(TYPE_SECRET, "{'type':'kubernetes.io/basic-auth','data':{'user':'eA=='}}",
		     "data[username]: Required value\ndata[password]: Required value\n");
	expect_wrong(TYPE_SECRET, "{'type':'kubernetes.io/basic-auth','data':{'username':'eA=='}}",
		     "");
	expect_wrong(TYPE_SECRET, "{'type':'kubernetes.io/service-account-token'}",
		     "metadata.annotations[kubernetes.io/service-account.name]: Required value\n");
	expect_wrong(TYPE_SECRET,
		     "{'metadata':{'annotations':{'kubernetes.io/service-account.name':'x'}},"
		     "'type':'kubernetes.io/service-account-token'}",
		     "");
	expect_wrong(
	    TYPE_SECRET,
	    "{'type':'kubernetes.io/dockerconfigjson','data':{'.dockerconfigjson':'eA=='}}",
	    "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": must be "
	    "a JSON document\n");
	expect_wrong(
	    TYPE_SECRET,
	    "{'type':'kubernetes.io/dockerconfigjson','data':{'.dockerconfigjson':'e30='}}", "");
	expect_wrong(TYPE_CONFIG_MAP,
		     "{'data':{'a b':'x','k':'y'},'binaryData':{'k':'eA==','l':'x'}}",
		     "binaryData[l]: Invalid value: \"x\": must be base64\n"
		     "data[a b]: Invalid value: \"a b\": a valid config key must consist of "
		     "alphanumeric characters, '-', '_' or '.'\n"
		     "binaryData[k]: Invalid value: \"k\": duplicate of key present in data\n");
	expect_wrong_update(TYPE_CONFIG_MAP, "{'immutable':true,'data':{'a':'b'}}",
			    "{'immutable':true,'data':{'a':'c'}}",
			    "data: Forbidden: field is immutable when `immutable` is set\n");
	expect_wrong_update(TYPE_SECRET, "{'type':'a'}", "{'type':'b'}",
			    "type: Invalid value: \"b\": field is immutable\n");
}

static void an_event_lies_beside_its_object(void **state)
{
	(void)state;
	expect_wrong(TYPE_EVENT,
		     "{'metadata':{'name':'e','namespace':'a'},'involvedObject':{'namespace':'b'}}",
		     "involvedObject.namespace: Invalid value: \"b\": does not match "
		     "event.namespace\n");
	expect_wrong(TYPE_EVENT,
		     "{'metadata':{'name':'e','namespace':'default'},'involvedObject':"
		     "{'kind':'Cluster','name':'c'}}",
		     "");
}

static void an_event_changes_shape_and_back(void **state)
{
	(void)state;
	static const char core[] =
	    "{'apiVersion':'v1','kind':'Event','involvedObject':{'name':'j'},'message':'m',"
	    "'source':{'component':'c'},'firstTimestamp':'2026-01-01T00:00:00Z','count':2,"
	    "'reportingComponent':'r','type':'Normal'}";
	static const char newer[] =
	    "{'apiVersion':'events.k8s.io/v1','kind':'Event','regarding':{'name':'j'},'note':'m',"
	    "'deprecatedSource':{'component':'c'},'deprecatedFirstTimestamp':'2026-01-01T00:00:00Z',"
	    "'deprecatedCount':2,'reportingController':'r','type':'Normal'}";
	const struct kind *k =
	    kind_by_resource(kinds_hub(), SPAN("events.k8s.io"), SPAN("v1"), SPAN("events"));
	auto_json *tree = tree_of(core);

	assert_non_null(k->convert);
	k->convert(k, tree, KIND_FROM_STORED);
	assert_tree(tree, newer);
	k->convert(k, tree, KIND_TO_STORED);
	assert_tree(tree, core);
}

static void a_namespace_is_born_active(void **state)
{
	(void)state;
	auto_json *tree = tree_of("{'metadata':{'name':'n'}}");
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_NAMESPACE), tree, NULL, &wrong, NULL);
	assert_tree(tree, "{'metadata':{'name':'n','labels':{'kubernetes.io/metadata.name':'n'}},"
			  "'spec':{'finalizers':['kubernetes']},'status':{'phase':'Active'}}");
}

static void a_pods_spec_is_fixed_but_for_its_images(void **state)
{
	(void)state;
	const struct kind *k = kind_by_type(kinds_sim(), TYPE_POD);
	auto_json *old =
	    tree_of("{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
		    "'i','resources':{'limits':{'cpu':1}}}]}}");
	auto_json *image =
	    tree_of("{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
		    "'j','resources':{'limits':{'cpu':1}}}]}}");
	auto_json *more =
	    tree_of("{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':"
		    "'i','resources':{'limits':{'cpu':2}}}]}}");
	auto_buf wrong = BUF_INIT;

	admit(k, old, NULL, &wrong, NULL);
	assert_string_equal(json_str(json_get(old, "status"), "phase"), "Pending");
	assert_non_null(json_path(json_at(json_path(old, "spec", "containers", NULL), 0),
				  "resources", "requests", "cpu", NULL));
	admit(k, image, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	admit(k, more, old, &wrong, NULL);
	assert_true(
	    span_starts(buf_span(&wrong), SPAN("spec: Forbidden: pod updates may not change")));
}

static void gates_of_a_pod_only_go_and_selectors_come_with_them(void **state)
{
	(void)state;
	const struct kind *k = kind_by_type(kinds_sim(), TYPE_POD);
#define GATED_POD(spec)                                                                            \
	tree_of("{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}]" spec    \
		"}}")
	auto_json *old = GATED_POD(",'nodeSelector':{'a':'1'},'schedulingGates':[{'name':'g'}]");
	auto_json *go = GATED_POD(",'nodeSelector':{'a':'1','b':'2'}");
	auto_json *other = GATED_POD(",'nodeSelector':{'a':'2'}");
	auto_json *gate = GATED_POD(",'nodeSelector':{'a':'1'},'schedulingGates':[{'name':'h'}]");
	auto_json *late = GATED_POD(",'nodeSelector':{'a':'1','b':'2','c':'3'}");
#undef GATED_POD
	auto_buf wrong = BUF_INIT;

	admit(k, old, NULL, &wrong, NULL);
	assert_string_equal(
	    json_str(json_at(json_path(old, "status", "conditions", NULL), 0), "reason"),
	    "SchedulingGated");
	admit(k, other, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "spec.nodeSelector: Invalid value: only additions to "
				       "spec.nodeSelector are allowed (no mutations or "
				       "deletions)\n");
	buf_clear(&wrong);
	admit(k, gate, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "spec.schedulingGates: Forbidden: only deletion is allowed, "
				       "but found new scheduling gate\n");
	buf_clear(&wrong);
	admit(k, go, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	admit(k, late, go, &wrong, NULL);
	assert_true(
	    span_starts(buf_span(&wrong), SPAN("spec: Forbidden: pod updates may not change")));
}

/* The simulator's controllers write pods without defaults; what is stored gets them first. */
static void an_update_may_bring_the_defaults_of_a_pod(void **state)
{
	(void)state;
	const struct kind *k = kind_by_type(kinds_sim(), TYPE_POD);
#define BARE                                                                                       \
	"{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i','resources':"      \
	"{'limits':{'cpu':1}}}]}}"
	auto_json *old = tree_of(BARE), *now = tree_of(BARE);
#undef BARE
	auto_buf wrong = BUF_INIT;

	schema_renew(k, old);
	admit(k, now, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_non_null(json_path(now, "spec", "dnsPolicy", NULL));
}

static void rbac_rules_say_what_they_are_for(void **state)
{
	(void)state;
	expect_wrong(TYPE_ROLE,
		     "{'metadata':{'name':'r'},'rules':[{'verbs':['get'],'apiGroups':[''],"
		     "'resources':['pods']}]}",
		     "");
	expect_wrong(TYPE_ROLE, "{'metadata':{'name':'r'},'rules':[{'verbs':[]}]}",
		     "rules[0].verbs: Required value: verbs must contain at least one value\n"
		     "rules[0].apiGroups: Required value: resource rules must supply at least one "
		     "api group\n"
		     "rules[0].resources: Required value: resource rules must supply at least one "
		     "resource\n");
	expect_wrong(TYPE_ROLE,
		     "{'metadata':{'name':'r'},'rules':[{'verbs':['get'],'nonResourceURLs':['/x']}"
		     "]}",
		     "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot "
		     "apply to non-resource URLs\n");
	expect_wrong(
	    TYPE_CLUSTER_ROLE,
	    "{'metadata':{'name':'r'},'rules':[{'verbs':['get'],'nonResourceURLs':['/x'],"
	    "'resources':['pods']}],'aggregationRule':{}}",
	    "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both "
	    "regular resources and non-resource URLs\n"
	    "aggregationRule.clusterRoleSelectors: Required value: at least one "
	    "clusterRoleSelector required if aggregationRule is non-nil\n");
}

#define ROLE_REF "'roleRef':{'kind':'ClusterRole','name':'view'}"

static void a_binding_names_a_role_and_real_subjects(void **state)
{
	(void)state;
	auto_json *tree =
	    tree_of("{'metadata':{'name':'b'}," ROLE_REF ",'subjects':[{'kind':'User',"
		    "'name':'u'}]}");
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_ROLE_BINDING), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_tree(json_get(tree, "subjects"),
		    "[{'kind':'User','name':'u','apiGroup':'rbac.authorization.k8s.io'}]");
	expect_wrong(TYPE_CLUSTER_ROLE_BINDING,
		     "{'metadata':{'name':'b'}," ROLE_REF ",'subjects':[{'kind':'ServiceAccount',"
		     "'name':'u'},{'kind':'Robot','name':'x'},{'kind':'User','name':''}]}",
		     "subjects[2].name: Required value\n"
		     "subjects[0].namespace: Required value\n"
		     "subjects[1].kind: Unsupported value: \"Robot\": supported values: \"Group\", "
		     "\"ServiceAccount\", \"User\"\n");
	expect_wrong(TYPE_CLUSTER_ROLE_BINDING,
		     "{'metadata':{'name':'b'},'roleRef':{'kind':'Role','name':'x'}}",
		     "roleRef.kind: Unsupported value: \"Role\": supported values: "
		     "\"ClusterRole\"\n");
}

static void a_binding_stays_with_its_role(void **state)
{
	(void)state;
	auto_json *old = tree_of("{'metadata':{'name':'b'}," ROLE_REF "}");
	auto_json *tree =
	    tree_of("{'metadata':{'name':'b'},'roleRef':{'kind':'ClusterRole','name':'edit'}}");
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_ROLE_BINDING), tree, old, &wrong, NULL);
	assert_non_null(strstr(wrong.ptr, "cannot change roleRef"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(secrets_and_config_maps_keep_their_keys),
	    cmocka_unit_test(an_event_lies_beside_its_object),
	    cmocka_unit_test(an_event_changes_shape_and_back),
	    cmocka_unit_test(a_namespace_is_born_active),
	    cmocka_unit_test(a_pods_spec_is_fixed_but_for_its_images),
	    cmocka_unit_test(gates_of_a_pod_only_go_and_selectors_come_with_them),
	    cmocka_unit_test(an_update_may_bring_the_defaults_of_a_pod),
	    cmocka_unit_test(rbac_rules_say_what_they_are_for),
	    cmocka_unit_test(a_binding_names_a_role_and_real_subjects),
	    cmocka_unit_test(a_binding_stays_with_its_role),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
