/* What a Kueue Workload may say and change: the path and words of every rule. */
#include "kinds_test.h"

#define SET(rest) "{'name':'main','count':4" rest ",'template':{'spec':{'containers':[]}}}"
#define WL(spec, status)                                                                           \
	"{'metadata':{'name':'w'},'spec':{'active':true," spec "},'status':{" status "}}"
#define SPEC(rest) "'podSets':[" SET("") "]" rest
#define CONDITION(type)                                                                            \
	"{'type':'" type "','status':'True','reason':'" type                                       \
	"','message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}"
#define RESERVED   "'conditions':[" CONDITION("QuotaReserved") "]"
#define ADMITTED   "'conditions':[" CONDITION("QuotaReserved") "," CONDITION("Admitted") "]"
#define GIVEN(a)   "'admission':{'clusterQueue':'q','podSetAssignments':[" a "]}"
#define MAIN(rest) "{'name':'main','count':4" rest "}"

static void wrong(const char *object, const char *want)
{
	expect_wrong(TYPE_WORKLOAD, object, want);
}

static void wrong_change(const char *old, const char *object, const char *want)
{
	expect_wrong_update(TYPE_WORKLOAD, old, object, want);
}

static void pod_sets_are_filled_in_and_bounded(void **state)
{
	(void)state;
	auto_json *tree =
	    tree_of("{'metadata':{'name':'w'},'spec':{'podSets':[{'template':{'spec':{"
		    "'containers':[]}}}]}}");
	auto_buf errors = BUF_INIT, many = BUF_INIT;

	admit(hub_kind(TYPE_WORKLOAD), tree, NULL, &errors, NULL);
	assert_string_equal(errors.ptr, "");
	assert_tree(json_get(tree, "spec"),
		    "{'active':true,'podSets':[{'name':'main','count':1,'template':{'spec':{"
		    "'containers':[]}}}]}");
	wrong("{'metadata':{'name':'w'},'spec':{'podSets':[]}}",
	      "spec.podSets: Invalid value: []: should have at least 1 items\n");
	buf_add_str(&many, "{'metadata':{'name':'w'},'spec':{'podSets':[");
	for (int i = 0; i < 19; i++)
		buf_addf(&many, "%s{'name':'s%d','template':{'spec':{'containers':[]}}}",
			 i ? "," : "", i);
	buf_add_str(&many, "]}}");
	wrong(many.ptr, "spec.podSets: Too many: 19: must have at most 18 items\n");
	wrong("{'metadata':{'name':'w'},'spec':{'podSets':[{'name':'A','count':-1}]}}",
	      "spec.podSets[0].name: Invalid value: \"A\": spec.podSets[0].name in body should "
	      "match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'\n"
	      "spec.podSets[0].count: Invalid value: -1: spec.podSets[0].count in body should be "
	      "greater than or equal to 0\n"
	      "spec.podSets[0].template: Required value\n");
}

static void one_pod_set_may_be_smaller(void **state)
{
	(void)state;
	wrong(WL("'podSets':[" SET(",'minCount':2") "]", ""), "");
	wrong(WL("'podSets':[" SET(",'minCount':5") "]", ""),
	      "spec.podSets[0]: Invalid value: minCount should be positive and less or equal to "
	      "count\n");
	wrong(WL("'podSets':[" SET(",'minCount':2") ",{'name':'b','count':3,'minCount':1,"
						    "'template':{'spec':{'containers':[]}}}]",
		 ""),
	      "spec.podSets: Invalid value: 2: at most one podSet can use minCount\n");
}

static void pods_ask_no_more_than_they_may_have(void **state)
{
	(void)state;
#define ASKING(resources)                                                                          \
	WL("'podSets':[{'name':'main','count':1,'template':{'spec':{'containers':[{'name':'a'},"   \
	   "{'name':'c','resources':{" resources "}}]}}}]",                                        \
	   "")
	wrong(ASKING("'requests':{'cpu':'1500m','memory':'1Gi','x.y/z':3},'limits':{'cpu':'1',"
		     "'memory':'1024Mi','x.y/z':'2'}"),
	      "spec.podSets[0].template.spec.containers[1]: Invalid value: [\"cpu\",\"x.y/z\"]: "
	      "requests must not exceed its limits\n");
	wrong(ASKING("'requests':{'cpu':'1500m'},'limits':{'memory':'1'}"), "");
	wrong(WL("'podSets':[{'name':'main','count':1,'template':{'spec':{'containers':[],"
		 "'initContainers':[{'name':'i','resources':{'requests':{'cpu':2},'limits':{"
		 "'cpu':1}}}]}}}]",
		 ""),
	      "spec.podSets[0].template.spec.initContainers[0]: Invalid value: [\"cpu\"]: requests "
	      "must not exceed its limits\n");
}

static void the_resource_pods_is_kueues(void **state)
{
	(void)state;
	wrong(WL("'podSets':[{'name':'main','count':1,'template':{'spec':{'containers':[{'name':"
		 "'c','resources':{'requests':{'pods':1}}}]}}}]",
		 ""),
	      "spec.podSets[0].template.spec.containers[0].resources.requests[pods]: Invalid "
	      "value: \"pods\": the key is reserved for internal kueue use\n");
}

static void a_class_comes_with_its_priority(void **state)
{
	(void)state;
#define REF(group, kind) ",'priorityClassRef':{'group':'" group "','kind':'" kind "','name':'n'}"
	wrong(WL(SPEC(REF("kueue.x-k8s.io", "WorkloadPriorityClass")), ""),
	      "spec: Invalid value: priority should not be nil when priorityClassRef is set\n");
	wrong(WL(SPEC(",'priority':1" REF("kueue.x-k8s.io", "PriorityClass")), ""),
	      "spec.priorityClassRef: Invalid value: only the WorkloadPriorityClass kind is "
	      "allowed for the kueue.x-k8s.io group\n");
	wrong(WL(SPEC(",'priority':1" REF("scheduling.k8s.io", "WorkloadPriorityClass")), ""),
	      "spec.priorityClassRef: Invalid value: only the PriorityClass kind is allowed for "
	      "the scheduling.k8s.io group\n");
	wrong(WL(SPEC(",'priority':1" REF("scheduling.k8s.io", "PriorityClass")), ""), "");
}

/* ---- admission ---- */

static void an_admission_fits_the_pod_sets(void **state)
{
	(void)state;
	wrong(WL(SPEC(""), RESERVED "," GIVEN(MAIN(",'resourceUsage':{'cpu':'2','memory':'8Gi'}"))),
	      "");
	wrong(WL(SPEC(""), RESERVED "," GIVEN("")),
	      "status.admission.podSetAssignments: Invalid value: podSetAssignments must have the "
	      "same number of podSets as the spec\n");
	wrong(WL(SPEC(""), RESERVED "," GIVEN("{'name':'other','count':4}")),
	      "status.admission.podSetAssignments[0].name: Not found: \"other\"\n");
	/* 2 CPU in thousandths are divided by 4, 3 bytes are not. */
	wrong(WL(SPEC(""), RESERVED "," GIVEN(MAIN(",'resourceUsage':{'cpu':'2','memory':3}"))),
	      "status.admission.podSetAssignments[0].resourceUsage[memory]: Invalid value: 3: is "
	      "not a multiple of 4\n");
	/* Without the condition nobody looks. */
	wrong(WL(SPEC(""), GIVEN("{'name':'other','count':4}")), "");
}

#define TOPOLOGY(slices)                                                                           \
	WL(SPEC(""), GIVEN(MAIN(",'topologyAssignment':{'levels':['h'],'slices':[" slices "]}")))
#define AT_SLICE "status.admission.podSetAssignments[0].topologyAssignment.slices[0]"

static void slices_agree_with_themselves(void **state)
{
	(void)state;
	wrong(TOPOLOGY("{'domainCount':2,'valuesPerLevel':[{'prefix':'n','roots':['a','b']}],"
		       "'podCounts':[1,2]}"),
	      "");
	wrong(TOPOLOGY("{'domainCount':1,'valuesPerLevel':[{'universalValue':'a'},"
		       "{'universalValue':'b'}],'podCounts':[1]}"),
	      "status.admission.podSetAssignments[0].topologyAssignment: Invalid value: "
	      "valuesPerLevel must have the same length as the number of levels in this "
	      "TopologyAssignment\n");
	wrong(TOPOLOGY("{'domainCount':2,'valuesPerLevel':[{'roots':['a']}],'podCounts':[1]}"),
	      AT_SLICE ": Invalid value: podCounts must have length equal to domainCount\n" AT_SLICE
		       ": Invalid value: roots, if set, must have length equal to domainCount of "
		       "this TopologyAssignmentSlice\n");
	wrong(TOPOLOGY("{'domainCount':1,'valuesPerLevel':[{'roots':['a'],'universalValue':'a',"
		       "'prefix':'p'}],'podCounts':[1],'universalPodCount':1}"),
	      AT_SLICE ": Invalid value: Exactly one of podCounts, universalPodCount must be "
		       "set\n" AT_SLICE ".valuesPerLevel[0]: Invalid value: Exactly one of roots, "
		       "universalValue must be set\n" AT_SLICE
		       ".valuesPerLevel[0]: Invalid value: universalValue cannot be set together "
		       "with prefix or suffix\n");
}

static void reclaimable_pods_are_pods_of_the_sets(void **state)
{
	(void)state;
	wrong(WL(SPEC(""), "'reclaimablePods':[{'name':'main','count':4}]"), "");
	wrong(WL(SPEC(""), "'reclaimablePods':[{'name':'main','count':5},{'name':'x','count':1}]"),
	      "status.reclaimablePods[main].count: Invalid value: 5: should be less or equal to "
	      "4\n"
	      "status.reclaimablePods[x].name: Unsupported value: \"x\": supported values: "
	      "\"main\"\n");
}

#define CHECK(state, updates)                                                                      \
	"'admissionChecks':[{'name':'c','state':'" state "','message':'','lastTransitionTime':"    \
	"'2026-01-01T00:00:00Z','podSetUpdates':[" updates "]}]"

static void updates_of_checks_are_checked(void **state)
{
	(void)state;
	wrong(WL(SPEC(""), CHECK("Ready", "{'name':'main','labels':{'a':'b'},'nodeSelector':{'a':"
					  "'b'},'annotations':{'x.y/z':'any thing'}}")),
	      "");
	wrong(
	    WL(SPEC(""), CHECK("Ready", "{'name':'x','nodeSelector':{'a':'-'},'tolerations':[{"
					"'effect':'Go','key':'k'}]}")),
	    "status.admissionChecks[0].podSetUpdates[0].name: Unsupported value: \"x\": "
	    "supported values: \"main\"\n"
	    "status.admissionChecks[0].podSetUpdates[0].tolerations: Invalid value: supported "
	    "taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'\n"
	    "status.admissionChecks[0].podSetUpdates[0].nodeSelector: Invalid value: \"-\": a "
	    "valid label must be an empty string or consist of alphanumeric characters, '-', "
	    "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
	    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')\n");
	wrong(WL(SPEC(""), CHECK("Maybe", "")),
	      "status.admissionChecks[0].state: Unsupported value: \"Maybe\": supported values: "
	      "\"Pending\", \"Ready\", \"Retry\", \"Rejected\"\n");
}

/* ---- changes ---- */

static void a_reserved_workload_keeps_its_pod_sets(void **state)
{
	(void)state;
	const char *want = "spec.podSets[0]: Invalid value: {\"name\":\"main\",\"count\":5,"
			   "\"template\":{\"spec\":{\"containers\":[]}}}: field is immutable\n";

#define COUNTED(n) "'podSets':[{'name':'main','count':" n ",'template':{'spec':{'containers':[]}}}]"
	wrong_change(WL(SPEC(""), RESERVED), WL(COUNTED("5"), RESERVED), want);
	/* Elastic jobs shrink in place. */
	wrong_change(WL(SPEC(""), RESERVED), WL(COUNTED("3"), RESERVED), "");
	wrong_change(WL(SPEC(""), ""), WL(COUNTED("5"), ""), "");
}

static void a_reserved_workload_keeps_its_queue_and_class(void **state)
{
	(void)state;
#define CLASS(kind_group, name)                                                                    \
	",'priority':1,'priorityClassRef':{" kind_group ",'name':'" name "'}"
#define POD_CLASS "'group':'scheduling.k8s.io','kind':'PriorityClass'"
#define OWN_CLASS "'group':'kueue.x-k8s.io','kind':'WorkloadPriorityClass'"
	wrong_change(WL(SPEC(",'queueName':'a'"), RESERVED), WL(SPEC(",'queueName':'b'"), RESERVED),
		     "spec.queueName: Invalid value: \"b\": queueName is immutable while workload "
		     "quota reserved\n");
	wrong_change(WL(SPEC(",'queueName':'a'"), ""), WL(SPEC(",'queueName':'b'"), ""), "");
	wrong_change(WL(SPEC(",'priority':1"), RESERVED), WL(SPEC(CLASS(OWN_CLASS, "n")), RESERVED),
		     "spec.priorityClassRef: Invalid value: priorityClassRef is immutable while "
		     "workload quota reserved\n");
	wrong_change(WL(SPEC(CLASS(POD_CLASS, "n")), RESERVED),
		     WL(SPEC(CLASS(OWN_CLASS, "n")), RESERVED),
		     "spec.priorityClassRef.group: Invalid value: \"kueue.x-k8s.io\": "
		     "priorityClassRef.group is immutable while workload quota reserved\n"
		     "spec.priorityClassRef.kind: Invalid value: \"WorkloadPriorityClass\": "
		     "priorityClassRef.kind is immutable while workload quota reserved\n");
	wrong_change(WL(SPEC(CLASS(POD_CLASS, "n")), RESERVED),
		     WL(SPEC(CLASS(POD_CLASS, "m")), RESERVED),
		     "spec.priorityClassRef.name: Invalid value: \"m\": priorityClassRef.name is "
		     "immutable for scheduling.k8s.io/priorityclass while workload quota "
		     "reserved\n");
	wrong_change(WL(SPEC(CLASS(OWN_CLASS, "n")), RESERVED),
		     WL(SPEC(CLASS(OWN_CLASS, "m")), RESERVED), "");
}

static void an_admitted_workload_keeps_its_limit(void **state)
{
	(void)state;
#define LIMIT(n) SPEC(",'maximumExecutionTimeSeconds':" n)
	wrong_change(WL(LIMIT("5"), ADMITTED), WL(LIMIT("6"), ADMITTED),
		     "spec.maximumExecutionTimeSeconds: Invalid value: 6: "
		     "maximumExecutionTimeSeconds is immutable while workload quota reserved\n");
	wrong_change(WL(SPEC(""), ADMITTED), WL(LIMIT("6"), ADMITTED),
		     "spec.maximumExecutionTimeSeconds: Invalid value: 6: "
		     "maximumExecutionTimeSeconds is immutable while workload quota reserved\n");
	wrong_change(WL(LIMIT("5"), RESERVED), WL(LIMIT("6"), RESERVED), "");
}

static void an_admission_is_given_and_taken_not_changed(void **state)
{
	(void)state;
#define AS(flavor) WL(SPEC(""), GIVEN(MAIN(",'flavors':{'cpu':'" flavor "'}")))
	wrong_change(AS("f"), AS("g"),
		     "status.admission: Invalid value: {\"clusterQueue\":\"q\","
		     "\"podSetAssignments\":[{\"name\":\"main\",\"count\":4,\"flavors\":{\"cpu\":"
		     "\"g\"}}]}: field is immutable\n");
	wrong_change(AS("f"), WL(SPEC(""), ""), "");
	wrong_change(WL(SPEC(""), ""), AS("f"), "");
	/* Places are found later. */
	wrong_change(WL(SPEC(""), GIVEN(MAIN(",'delayedTopologyRequest':'Pending'"))),
		     WL(SPEC(""), GIVEN(MAIN(",'delayedTopologyRequest':'Ready',"
					     "'topologyAssignment':{'levels':['h'],'slices':[]}"))),
		     "");
}

static void pods_once_reclaimed_stay_so(void **state)
{
	(void)state;
#define RECLAIMED(list) WL(SPEC(""), RESERVED ",'reclaimablePods':[" list "]")
	wrong_change(RECLAIMED("{'name':'main','count':2}"), RECLAIMED("{'name':'main','count':1}"),
		     "status.reclaimablePods[main].count: Invalid value: 1: cannot be less then "
		     "2\n");
	wrong_change(RECLAIMED("{'name':'main','count':2}"), RECLAIMED(""),
		     "status.reclaimablePods[main]: Required value: cannot be removed\n");
	wrong_change(RECLAIMED("{'name':'main','count':2}"), RECLAIMED("{'name':'main','count':3}"),
		     "");
}

static void what_a_ready_check_gave_stays(void **state)
{
	(void)state;
	wrong_change(WL(SPEC(""), CHECK("Ready", "{'name':'main','labels':{'a':'b'}}")),
		     WL(SPEC(""), CHECK("Ready", "{'name':'main','labels':{'a':'c'}}")),
		     "status.admissionChecks[0].podSetUpdates: Invalid value: [{\"name\":\"main\","
		     "\"labels\":{\"a\":\"c\"}}]: field is immutable\n");
	wrong_change(WL(SPEC(""), CHECK("Pending", "{'name':'main','labels':{'a':'b'}}")),
		     WL(SPEC(""), CHECK("Ready", "{'name':'main','labels':{'a':'c'}}")), "");
}

static void the_cluster_of_a_workload_stays(void **state)
{
	(void)state;
	wrong_change(WL(SPEC(""), "'clusterName':'a'"), WL(SPEC(""), "'clusterName':'b'"),
		     "status: Invalid value: clusterName is immutable once set\n");
	wrong_change(WL(SPEC(""), "'clusterName':'a'"), WL(SPEC(""), ""), "");
	wrong(WL(SPEC(""), "'clusterName':'a','nominatedClusterNames':['a']"),
	      "status: Invalid value: clusterName and nominatedClusterNames are mutually "
	      "exclusive\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pod_sets_are_filled_in_and_bounded),
	    cmocka_unit_test(one_pod_set_may_be_smaller),
	    cmocka_unit_test(pods_ask_no_more_than_they_may_have),
	    cmocka_unit_test(the_resource_pods_is_kueues),
	    cmocka_unit_test(a_class_comes_with_its_priority),
	    cmocka_unit_test(an_admission_fits_the_pod_sets),
	    cmocka_unit_test(slices_agree_with_themselves),
	    cmocka_unit_test(reclaimable_pods_are_pods_of_the_sets),
	    cmocka_unit_test(updates_of_checks_are_checked),
	    cmocka_unit_test(a_reserved_workload_keeps_its_pod_sets),
	    cmocka_unit_test(a_reserved_workload_keeps_its_queue_and_class),
	    cmocka_unit_test(an_admitted_workload_keeps_its_limit),
	    cmocka_unit_test(an_admission_is_given_and_taken_not_changed),
	    cmocka_unit_test(pods_once_reclaimed_stay_so),
	    cmocka_unit_test(what_a_ready_check_gave_stays),
	    cmocka_unit_test(the_cluster_of_a_workload_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
