/* Kueue's kinds: defaults, and the exact path and words of everything that is wrong. */
#include "kinds_test.h"

#define CQ(spec)     "{'metadata':{'name':'q'},'spec':{" spec "}}"
#define COHORT(spec) CQ(spec)
#define GROUP(covered, flavors)                                                                    \
	"'resourceGroups':[{'coveredResources':[" covered "],'flavors':[" flavors "]}]"
#define FLAVOR(name, resources) "{'name':'" name "','resources':[" resources "]}"
#define CPU(quota)		"{'name':'cpu','nominalQuota':" quota "}"

static void expect_warnings(uint16_t type, const char *object, const char *wrong, const char *want)
{
	auto_json *tree = tree_of(object);
	auto_buf errors = BUF_INIT, warnings = BUF_INIT;

	admit(hub_kind(type), tree, NULL, &errors, &warnings);
	assert_string_equal(errors.ptr, wrong);
	assert_string_equal(warnings.ptr ? warnings.ptr : "", want);
}

/* ---- ClusterQueue ---- */

static void a_cluster_queue_is_filled_in(void **state)
{
	(void)state;
	auto_json *tree = tree_of(CQ(GROUP("'cpu'", FLAVOR("f", CPU("9")))));
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_CLUSTER_QUEUE), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_tree(
	    json_get(tree, "spec"),
	    "{" GROUP(
		"'cpu'",
		FLAVOR(
		    "f",
		    CPU("9"))) ","
			       "'flavorFungibility':{'whenCanBorrow':'MayStopSearch','whenCanPreempt':"
			       "'TryNextFlavor'},'preemption':{'borrowWithinCohort':{'policy':'Never'},"
			       "'reclaimWithinCohort':'Never','withinClusterQueue':'Never'},"
			       "'queueingStrategy':'BestEffortFIFO','stopPolicy':'None'}");
}

static void covered_resources_are_those_of_the_first_flavor(void **state)
{
	(void)state;
	auto_json *tree =
	    tree_of(CQ("'resourceGroups':[{'flavors':[{'name':'f','resources':[{'name':'b',"
		       "'nominalQuota':1},{'name':'a','nominalQuota':1}]}]}]"));
	auto_buf wrong = BUF_INIT, warnings = BUF_INIT;

	admit(hub_kind(TYPE_CLUSTER_QUEUE), tree, NULL, &wrong, &warnings);
	assert_string_equal(wrong.ptr, "");
	assert_string_equal(warnings.ptr,
			    "spec.resourceGroups[0].coveredResources: missing, taken from the "
			    "resources of the group's first flavor\n");
	assert_tree(json_path(json_first(json_path(tree, "spec", "resourceGroups", NULL)),
			      "coveredResources", NULL),
		    "['b','a']");
}

static void what_covers_nothing_is_refused(void **state)
{
	(void)state;
	expect_wrong(TYPE_CLUSTER_QUEUE,
		     CQ("'resourceGroups':[{'flavors':[{'name':'f','resources':[]}]}]"),
		     "spec.resourceGroups[0].flavors[0].resources: Invalid value: []: should have "
		     "at least 1 items\n"
		     "spec.resourceGroups[0].coveredResources: Required value\n");
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ("'resourceGroups':[{'coveredResources':['cpu']}]"),
		     "spec.resourceGroups[0].flavors: Required value\n");
}

static void flavors_list_the_covered_resources_in_order(void **state)
{
	(void)state;
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ(GROUP("'cpu','memory'", FLAVOR("f", CPU("9")))),
		     "spec.resourceGroups[0]: Invalid value: flavors must have the same number of "
		     "resources as the coveredResources\n");
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ(GROUP("'memory'", FLAVOR("f", CPU("9")))),
		     "spec.resourceGroups[0].flavors[0].resources[0].name: Invalid value: "
		     "\"cpu\": must match the name in coveredResources\n");
}

static void a_flavor_and_a_resource_are_in_one_group(void **state)
{
	(void)state;
	expect_wrong(TYPE_CLUSTER_QUEUE,
		     CQ("'resourceGroups':[{'coveredResources':['cpu'],'flavors':["
			"{'name':'f','resources':[{'name':'cpu','nominalQuota':1}]}]},"
			"{'coveredResources':['cpu'],'flavors':["
			"{'name':'f','resources':[{'name':'cpu','nominalQuota':1}]}]}]"),
		     "spec.resourceGroups[1].coveredResources[0]: Duplicate value: \"cpu\"\n"
		     "spec.resourceGroups[1].flavors[0].name: Duplicate value: \"f\"\n");
	expect_wrong(TYPE_CLUSTER_QUEUE,
		     CQ(GROUP("'cpu'", FLAVOR("f", CPU("1")) "," FLAVOR("f", CPU("1")))),
		     "spec.resourceGroups[0].flavors[1]: Duplicate value: {\"name\":\"f\"}\n");
}

static void quantities_of_quotas_are_checked(void **state)
{
	(void)state;
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ(GROUP("'cpu'", FLAVOR("f", CPU("-1")))),
		     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: "
		     "\"-1\": must be greater than or equal to 0\n");
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ(GROUP("'cpu'", FLAVOR("f", CPU("'1Gi5M'")))),
		     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: "
		     "\"1Gi5M\": quantities must match the regular expression "
		     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'\n");
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ(GROUP("'cpu'", FLAVOR("f", CPU("'1e30'")))),
		     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: "
		     "\"1e30\": must fit in 64 bits\n");
}

static void a_quota_of_a_few_bytes_is_warned_about(void **state)
{
	(void)state;
	expect_warnings(TYPE_CLUSTER_QUEUE,
			CQ(GROUP("'memory'", FLAVOR("f", "{'name':'memory','nominalQuota':64}"))),
			"",
			"spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: 64 bytes of "
			"memory; is a unit missing?\n");
}

static void limits_need_a_cohort(void **state)
{
	(void)state;
#define LIMITED(limit) GROUP("'cpu'", FLAVOR("f", "{'name':'cpu','nominalQuota':4," limit "}"))
#define QUOTA	       "spec.resourceGroups[0].flavors[0].resources[0]"
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ(LIMITED("'borrowingLimit':1")),
		     "spec: Invalid value: borrowingLimit must be nil when cohort is empty\n" QUOTA
		     ".borrowingLimit: Invalid value: \"1\": must be nil when cohort is empty\n");
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ(LIMITED("'lendingLimit':'1'")),
		     QUOTA
		     ".lendingLimit: Invalid value: \"1\": must be nil when cohort is empty\n");
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ("'cohortName':'c'," LIMITED("'lendingLimit':'4001m'")),
		     QUOTA ".lendingLimit: Invalid value: \"4001m\": must be less than or equal to "
			   "the nominalQuota\n");
	expect_wrong(
	    TYPE_CLUSTER_QUEUE,
	    CQ("'cohortName':'c'," LIMITED("'lendingLimit':'-1','borrowingLimit':'-2'")),
	    QUOTA
	    ".borrowingLimit: Invalid value: \"-2\": must be greater than or equal to 0\n" QUOTA
	    ".lendingLimit: Invalid value: \"-1\": must be greater than or equal to "
	    "0\n");
	expect_wrong(TYPE_CLUSTER_QUEUE,
		     CQ("'cohortName':'c'," LIMITED("'lendingLimit':4,'borrowingLimit':0")), "");
	/* Not of cohorts: they may lend more than they have themselves. */
	expect_wrong(TYPE_COHORT, COHORT("'parentName':'p'," LIMITED("'lendingLimit':5")), "");
	expect_wrong(TYPE_COHORT, COHORT(LIMITED("'lendingLimit':1")),
		     QUOTA
		     ".lendingLimit: Invalid value: \"1\": must be nil when parent is empty\n");
}

static void policies_that_contradict_are_refused(void **state)
{
	(void)state;
	expect_wrong(TYPE_CLUSTER_QUEUE,
		     CQ("'preemption':{'borrowWithinCohort':{'policy':'LowerPriority'}}"),
		     "spec.preemption: Invalid value: reclaimWithinCohort=Never and "
		     "borrowWithinCohort.Policy!=Never\n");
	expect_wrong(TYPE_CLUSTER_QUEUE,
		     CQ("'preemption':{'reclaimWithinCohort':'Any','borrowWithinCohort':{'policy':"
			"'LowerPriority','maxPriorityThreshold':100}}"),
		     "");
	expect_wrong(TYPE_CLUSTER_QUEUE,
		     CQ("'flavorFungibility':{'preference':'PreemptionOverBorrowing'}"),
		     "spec.flavorFungibility: Invalid value: preference can only be set when both "
		     "whenCanBorrow and whenCanPreempt are TryNextFlavor\n");
	expect_wrong(TYPE_CLUSTER_QUEUE,
		     CQ("'flavorFungibility':{'preference':'PreemptionOverBorrowing',"
			"'whenCanBorrow':'TryNextFlavor'}"),
		     "");
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ("'queueingStrategy':'FIFO'"),
		     "spec.queueingStrategy: Unsupported value: \"FIFO\": supported values: "
		     "\"StrictFIFO\", \"BestEffortFIFO\"\n");
}

static void what_other_tools_write_is_kept_with_a_warning(void **state)
{
	(void)state;
	expect_warnings(TYPE_CLUSTER_QUEUE,
			CQ("'preemption':{'reclaimWithinCohort':'Never','reclaimOutOfCohort':"
			   "{'enable':true,'reclaimMoreThanNominalQuota':false}}"),
			"",
			"spec.preemption.reclaimOutOfCohort: not a setting of Kueue; kept, without "
			"an effect\n");
}

static void checks_are_on_flavors_of_the_queue(void **state)
{
	(void)state;
#define CHECKS(flavor)                                                                             \
	"'admissionChecksStrategy':{'admissionChecks':[{'name':'c','onFlavors':['" flavor "']}]}"
#define ONE_FLAVOR GROUP("'cpu'", FLAVOR("f", CPU("1")))
	const char *words = "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: "
			    "Unsupported value: \"g\": supported values: \"f\"\n";

	expect_wrong(TYPE_CLUSTER_QUEUE, CQ(ONE_FLAVOR "," CHECKS("f")), "");
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ(ONE_FLAVOR "," CHECKS("g")), words);
	expect_wrong(TYPE_CLUSTER_QUEUE, CQ("'admissionChecksStrategy':{'admissionChecks':[]}"),
		     "spec.admissionChecksStrategy.admissionChecks: Invalid value: []: should have "
		     "at least 1 items\n");
}

static void a_weight_is_zero_or_more_than_a_billionth(void **state)
{
	(void)state;
	static const char *const fine[] = {"0", "1", "'2n'", "'100m'", "0.5", "'1k'"};
	static const char *const small[] = {"'1n'", "0.000000001", "'1e-9'", "'0.5n'"};
	char spec[128], want[256];

	for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
		(void)snprintf(spec, sizeof(spec), CQ("'fairSharing':{'weight':%s}"), fine[i]);
		expect_wrong(TYPE_CLUSTER_QUEUE, spec, "");
	}
	for (size_t i = 0; i < ARRAY_LEN(small); i++) {
		int quoted = small[i][0] == '\'';
		(void)snprintf(spec, sizeof(spec), CQ("'fairSharing':{'weight':%s}"), small[i]);
		(void)snprintf(want, sizeof(want),
			       "spec.fairSharing: Invalid value: \"%.*s\": When not 0, weight must "
			       "be > 10e-9\n",
			       (int)strlen(small[i]) - 2 * quoted, small[i] + quoted);
		expect_wrong(TYPE_COHORT, spec, want);
	}
	expect_wrong(TYPE_LOCAL_QUEUE, CQ("'fairSharing':{'weight':'-1'}"),
		     "spec.fairSharing: Invalid value: \"-1\": must be greater than or equal to "
		     "0\n");
}

static void totals_of_flavors_and_resources_are_bounded(void **state)
{
	(void)state;
	auto_buf object = BUF_INIT, wrong = BUF_INIT;
	auto_json *tree = NULL;

	/* 5 groups of 52 flavors: 260. */
	buf_add_str(&object, "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"resourceGroups\":[");
	for (int g = 0; g < 5; g++) {
		buf_addf(&object, "%s{\"coveredResources\":[\"r%d\"],\"flavors\":[", g ? "," : "",
			 g);
		for (int f = 0; f < 52; f++)
			buf_addf(&object,
				 "%s{\"name\":\"f%d-%d\",\"resources\":[{\"name\":\"r%d\","
				 "\"nominalQuota\":1}]}",
				 f ? "," : "", g, f, g);
		buf_add_str(&object, "]}");
	}
	buf_add_str(&object, "]}}");
	assert_int_equal(json_parse(buf_span(&object), NULL, &tree, NULL), 0);
	admit(hub_kind(TYPE_CLUSTER_QUEUE), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr,
			    "spec.resourceGroups: Invalid value: 260: total number of flavors "
			    "across all resourceGroups must be ≤ 256, got 260\n");
}

/* ---- LocalQueue, flavors, topologies, checks ---- */

static void the_cluster_queue_of_a_local_queue_stays(void **state)
{
	(void)state;
	expect_wrong_update(TYPE_LOCAL_QUEUE, CQ("'clusterQueue':'a'"), CQ("'clusterQueue':'b'"),
			    "spec.clusterQueue: Invalid value: \"b\": field is immutable\n");
	expect_wrong_update(TYPE_LOCAL_QUEUE, CQ(""), CQ("'clusterQueue':'b'"), "");
	expect_wrong(
	    TYPE_LOCAL_QUEUE, CQ("'clusterQueue':'No','stopPolicy':'Stop'"),
	    "spec.clusterQueue: Invalid value: \"No\": spec.clusterQueue in body should match "
	    "'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'\n"
	    "spec.stopPolicy: Unsupported value: \"Stop\": supported values: \"None\", "
	    "\"Hold\", \"HoldAndDrain\"\n");
}

static void a_flavor_with_a_topology_is_fixed(void **state)
{
	(void)state;
	expect_wrong(TYPE_RESOURCE_FLAVOR, CQ("'topologyName':'t'"),
		     "spec: Invalid value: at least one nodeLabel is required when topology is "
		     "set\n");
	expect_wrong_update(TYPE_RESOURCE_FLAVOR, CQ("'topologyName':'t','nodeLabels':{'a':'b'}"),
			    CQ("'topologyName':'t','nodeLabels':{'a':'c'}"),
			    "spec: Invalid value: resourceFlavorSpec are immutable when "
			    "topologyName is set\n");
	expect_wrong_update(TYPE_RESOURCE_FLAVOR, CQ("'nodeLabels':{'a':'b'}"),
			    CQ("'topologyName':'t','nodeLabels':{'a':'c'}"), "");
}

static void taints_and_tolerations_of_a_flavor_are_checked(void **state)
{
	(void)state;
	expect_wrong(TYPE_RESOURCE_FLAVOR,
		     CQ("'nodeTaints':[{'key':'k','effect':'Go'},{'key':'k','effect':'Go'}]"),
		     "spec.nodeTaints: Invalid value: supported taint effect values: 'NoSchedule', "
		     "'PreferNoSchedule', 'NoExecute'\n"
		     "spec.nodeTaints[1]: Duplicate value: \"k:Go\": taints must be unique by key "
		     "and effect pair\n");
	expect_wrong(
	    TYPE_RESOURCE_FLAVOR,
	    CQ("'tolerations':[{'operator':'Equal'},{'key':'k','tolerationSeconds':1},"
	       "{'key':'k','operator':'Lt'},{'key':'k','operator':'Exists','value':'v'},"
	       "{'key':'k','effect':'Go'},{'key':'-'}]"),
	    "spec.tolerations: Invalid value: operator must be Exists when 'key' is empty, which "
	    "means 'match all values and all keys'\n"
	    "spec.tolerations: Invalid value: effect must be 'NoExecute' when 'tolerationSeconds' "
	    "is set\n"
	    "spec.tolerations: Invalid value: supported toleration values: 'Equal'(default), "
	    "'Exists'\n"
	    "spec.tolerations: Invalid value: a value must be empty when 'operator' is 'Exists'\n"
	    "spec.tolerations: Invalid value: supported taint effect values: 'NoSchedule', "
	    "'PreferNoSchedule', 'NoExecute'\n"
	    "spec.tolerations[5].key: Invalid value: \"-\": name part must consist of alphanumeric "
	    "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
	    "(e.g. 'MyName',  or 'my.name',  or "
	    "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n");
	expect_wrong(TYPE_RESOURCE_FLAVOR,
		     CQ("'tolerations':[{'operator':'Exists'},{'key':'k','operator':'Exists',"
			"'effect':'NoExecute','tolerationSeconds':5},{'key':'k','value':'v'}]"),
		     "");
}

static void a_flavor_has_at_most_eight_labels(void **state)
{
	(void)state;
	expect_wrong(TYPE_RESOURCE_FLAVOR,
		     CQ("'nodeLabels':{'a':'','b':'','c':'','d':'','e':'','f':'','g':'','h':'',"
			"'i':''}"),
		     "spec.nodeLabels: Too many: 9: must have at most 8 items\n");
	expect_wrong(
	    TYPE_RESOURCE_FLAVOR, CQ("'nodeLabels':{'a':'_'}"),
	    "spec.nodeLabels: Invalid value: \"_\": a valid label must be an empty string "
	    "or consist of alphanumeric characters, '-', '_' or '.', and must start and "
	    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
	    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n");
}

static void levels_of_a_topology_are_fixed_and_distinct(void **state)
{
	(void)state;
#define LEVELS(...)  CQ("'levels':[" __VA_ARGS__ "]")
#define LEVEL(label) "{'nodeLabel':'" label "'}"
	expect_wrong(TYPE_TOPOLOGY, LEVELS(LEVEL("rack") "," LEVEL("kubernetes.io/hostname")), "");
	expect_wrong(TYPE_TOPOLOGY, LEVELS(LEVEL("rack") "," LEVEL("rack")),
		     "spec.levels: Invalid value: must be unique\n");
	expect_wrong(TYPE_TOPOLOGY, LEVELS(LEVEL("kubernetes.io/hostname") "," LEVEL("rack")),
		     "spec.levels: Invalid value: the kubernetes.io/hostname label can only be "
		     "used at the lowest level of topology\n");
	expect_wrong_update(TYPE_TOPOLOGY, LEVELS(LEVEL("rack")), LEVELS(LEVEL("block")),
			    "spec.levels: Invalid value: field is immutable\n");
	expect_wrong(TYPE_TOPOLOGY, LEVELS(""),
		     "spec.levels: Invalid value: []: should have at least 1 items\n");
}

static void the_controller_of_a_check_stays(void **state)
{
	(void)state;
	expect_wrong(TYPE_ADMISSION_CHECK, CQ("'controllerName':''"),
		     "spec.controllerName: Invalid value: \"\": must be non-empty\n");
	expect_wrong(TYPE_ADMISSION_CHECK, "{'metadata':{'name':'c'}}",
		     "spec.controllerName: Required value\n");
	expect_wrong_update(TYPE_ADMISSION_CHECK, CQ("'controllerName':'a'"),
			    CQ("'controllerName':'b'"),
			    "spec.controllerName: Invalid value: \"b\": field is immutable\n");
	expect_wrong(
	    TYPE_ADMISSION_CHECK,
	    CQ("'controllerName':'a','parameters':{'apiGroup':'x_y','kind':'1','name':"
	       "'N'}"),
	    "spec.parameters.apiGroup: Invalid value: \"x_y\": spec.parameters.apiGroup in body should match "
	    "'^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'\n"
	    "spec.parameters.kind: Invalid value: \"1\": spec.parameters.kind in body should match "
	    "'^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$'\n"
	    "spec.parameters.name: Invalid value: \"N\": spec.parameters.name in body should match "
	    "'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'\n");
}

static void a_multi_kueue_cluster_has_one_source(void **state)
{
	(void)state;
	const char *words = "spec.clusterSource: Invalid value: exactly one of the fields in "
			    "[kubeConfig clusterProfileRef] must be set\n";

	expect_wrong(TYPE_MULTI_KUEUE_CLUSTER,
		     CQ("'clusterSource':{'kubeConfig':{'location':'s'}}"), "");
	expect_wrong(TYPE_MULTI_KUEUE_CLUSTER, CQ("'clusterSource':{}"), words);
	expect_wrong(TYPE_MULTI_KUEUE_CLUSTER,
		     CQ("'clusterSource':{'kubeConfig':{'location':'s'},'clusterProfileRef':"
			"{'name':'p'}}"),
		     words);
	expect_wrong(TYPE_MULTI_KUEUE_CLUSTER, CQ(""), "spec.clusterSource: Required value\n");
	expect_wrong(TYPE_MULTI_KUEUE_CONFIG, CQ("'clusters':['a','a']"),
		     "spec.clusters[1]: Duplicate value: \"a\"\n");
}

static void a_provisioning_config_has_a_retry_strategy(void **state)
{
	(void)state;
	auto_json *tree = tree_of(CQ("'provisioningClassName':'c'"));
	auto_json *partly = tree_of(CQ("'provisioningClassName':'c','retryStrategy':"
				       "{'backoffLimitCount':0}"));
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_PROVISIONING_REQUEST_CONFIG), tree, NULL, &wrong, NULL);
	admit(hub_kind(TYPE_PROVISIONING_REQUEST_CONFIG), partly, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_tree(json_get(tree, "spec"),
		    "{'provisioningClassName':'c','retryStrategy':{'backoffLimitCount':3,"
		    "'backoffBaseSeconds':60,'backoffMaxSeconds':1800}}");
	assert_tree(json_path(partly, "spec", "retryStrategy", NULL),
		    "{'backoffLimitCount':0,'backoffBaseSeconds':60,'backoffMaxSeconds':1800}");
	expect_wrong(TYPE_PROVISIONING_REQUEST_CONFIG, CQ("'podSetMergePolicy':'All'"),
		     "spec.podSetMergePolicy: Unsupported value: \"All\": supported values: "
		     "\"IdenticalPodTemplates\", \"IdenticalWorkloadSchedulingRequirements\"\n"
		     "spec.provisioningClassName: Required value\n");
}

static void a_provisioning_request_stays(void **state)
{
	(void)state;
#define REQUEST(count)                                                                             \
	CQ("'provisioningClassName':'c','podSets':[{'count':" count                                \
	   ",'podTemplateRef':{'name':'t'}}]")
	expect_wrong(TYPE_PROVISIONING_REQUEST, REQUEST("2"), "");
	expect_wrong_update(TYPE_PROVISIONING_REQUEST, REQUEST("2"), REQUEST("3"),
			    "spec.podSets: Invalid value: Value is immutable\n");
	expect_wrong(
	    TYPE_PROVISIONING_REQUEST, REQUEST("0"),
	    "spec.podSets[0].count: Invalid value: 0: spec.podSets[0].count in body should be greater than or equal to "
	    "1\n");
	expect_wrong(TYPE_PROVISIONING_REQUEST, CQ(""),
		     "spec.podSets: Required value\nspec.provisioningClassName: Required value\n");
}

static void nodes_run_for_a_week_at_most(void **state)
{
	(void)state;
#define RUN(seconds)                                                                               \
	CQ("'provisioningClassName':'c','parameters':{'maxRunDurationSeconds':'" seconds           \
	   "'},'podSets':[{'count':1,'podTemplateRef':{'name':'t'}}]")
	expect_wrong(TYPE_PROVISIONING_REQUEST, RUN("604800"), "");
	expect_wrong(TYPE_PROVISIONING_REQUEST, RUN("604801"),
		     "spec.parameters[maxRunDurationSeconds]: Invalid value: \"604801\": must be a "
		     "number of seconds from 1 to 604800\n");
	expect_wrong(TYPE_PROVISIONING_REQUEST, RUN("a week"),
		     "spec.parameters[maxRunDurationSeconds]: Invalid value: \"a week\": must be a "
		     "number of seconds from 1 to 604800\n");
	expect_wrong(TYPE_PROVISIONING_REQUEST, RUN("-1"),
		     "spec.parameters[maxRunDurationSeconds]: Invalid value: \"-1\": must be a "
		     "number of seconds from 1 to 604800\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_cluster_queue_is_filled_in),
	    cmocka_unit_test(covered_resources_are_those_of_the_first_flavor),
	    cmocka_unit_test(what_covers_nothing_is_refused),
	    cmocka_unit_test(flavors_list_the_covered_resources_in_order),
	    cmocka_unit_test(a_flavor_and_a_resource_are_in_one_group),
	    cmocka_unit_test(quantities_of_quotas_are_checked),
	    cmocka_unit_test(a_quota_of_a_few_bytes_is_warned_about),
	    cmocka_unit_test(limits_need_a_cohort),
	    cmocka_unit_test(policies_that_contradict_are_refused),
	    cmocka_unit_test(what_other_tools_write_is_kept_with_a_warning),
	    cmocka_unit_test(checks_are_on_flavors_of_the_queue),
	    cmocka_unit_test(a_weight_is_zero_or_more_than_a_billionth),
	    cmocka_unit_test(totals_of_flavors_and_resources_are_bounded),
	    cmocka_unit_test(the_cluster_queue_of_a_local_queue_stays),
	    cmocka_unit_test(a_flavor_with_a_topology_is_fixed),
	    cmocka_unit_test(taints_and_tolerations_of_a_flavor_are_checked),
	    cmocka_unit_test(a_flavor_has_at_most_eight_labels),
	    cmocka_unit_test(levels_of_a_topology_are_fixed_and_distinct),
	    cmocka_unit_test(the_controller_of_a_check_stays),
	    cmocka_unit_test(a_multi_kueue_cluster_has_one_source),
	    cmocka_unit_test(a_provisioning_config_has_a_retry_strategy),
	    cmocka_unit_test(a_provisioning_request_stays),
	    cmocka_unit_test(nodes_run_for_a_week_at_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
