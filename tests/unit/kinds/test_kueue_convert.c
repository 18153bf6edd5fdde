/* kueue.x-k8s.io/v1beta1 to v1beta2 and back: every rename, what is one way, what is admitted. */
#include "kinds_test.h"

#include "kube/admit.h"
#include "kube/table.h"

static const struct kind *beta1(const char *plural)
{
	const struct kind *k =
	    kind_by_resource(kinds_hub(), SPAN("kueue.x-k8s.io"), SPAN("v1beta1"), span_of(plural));
	assert_non_null(k);
	return k;
}

static void to_stored(const char *plural, const char *ours, const char *stored)
{
	const struct kind *k = beta1(plural);
	auto_json *tree = tree_of(ours);

	k->convert(k, tree, KIND_TO_STORED);
	assert_tree(tree, stored);
}

static void from_stored(const char *plural, const char *stored, const char *ours)
{
	const struct kind *k = beta1(plural);
	auto_json *tree = tree_of(stored);

	k->convert(k, tree, KIND_FROM_STORED);
	assert_tree(tree, ours);
}

static void both_ways(const char *plural, const char *ours, const char *stored)
{
	to_stored(plural, ours, stored);
	from_stored(plural, stored, ours);
}

#define V1(rest) "{'apiVersion':'kueue.x-k8s.io/v1beta1'," rest "}"
#define V2(rest) "{'apiVersion':'kueue.x-k8s.io/v1beta2'," rest "}"

static void v1beta2_is_stored_and_preferred(void **state)
{
	static const char *const plurals[] = {"resourceflavors",   "clusterqueues",
					      "localqueues",	   "cohorts",
					      "workloads",	   "workloadpriorityclasses",
					      "admissionchecks",   "provisioningrequestconfigs",
					      "topologies",	   "multikueueconfigs",
					      "multikueueclusters"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(plurals); i++) {
		const struct kind *old = beta1(plurals[i]);
		const struct kind *stored = kind_by_type(kinds_hub(), old->type);
		assert_string_equal(stored->version, "v1beta2");
		assert_string_equal(stored->kind, old->kind);
		assert_int_equal(stored->scope, old->scope);
		assert_int_equal(stored->has_status, old->has_status);
		assert_int_equal(stored->n_columns, old->n_columns);
		assert_true(old->same_shape ? old->schema == stored->schema : old->convert != NULL);
	}
}

static void names_of_a_cluster_queue(void **state)
{
	(void)state;
	both_ways("clusterqueues", V1("'spec':{'cohort':'c','stopPolicy':'Hold'}"),
		  V2("'spec':{'cohortName':'c','stopPolicy':'Hold'}"));
	both_ways("clusterqueues", V1("'spec':{}"), V2("'spec':{}"));
	both_ways("clusterqueues", V1("'metadata':{'name':'q'}"), V2("'metadata':{'name':'q'}"));
}

static void policies_of_a_cluster_queue_are_one_way(void **state)
{
	(void)state;
	to_stored("clusterqueues",
		  V1("'spec':{'flavorFungibility':{'whenCanBorrow':'Borrow','whenCanPreempt':"
		     "'Preempt'}}"),
		  V2("'spec':{'flavorFungibility':{'whenCanBorrow':'MayStopSearch',"
		     "'whenCanPreempt':'MayStopSearch'}}"));
	both_ways("clusterqueues",
		  V1("'spec':{'flavorFungibility':{'whenCanBorrow':'TryNextFlavor',"
		     "'whenCanPreempt':'TryNextFlavor','preference':'PreemptionOverBorrowing'}}"),
		  V2("'spec':{'flavorFungibility':{'whenCanBorrow':'TryNextFlavor',"
		     "'whenCanPreempt':'TryNextFlavor','preference':'PreemptionOverBorrowing'}}"));
}

static void checks_of_a_cluster_queue_are_one_way(void **state)
{
	(void)state;
	to_stored("clusterqueues", V1("'spec':{'admissionChecks':['a','b']}"),
		  V2("'spec':{'admissionChecksStrategy':{'admissionChecks':[{'name':'a'},"
		     "{'name':'b'}]}}"));
	to_stored("clusterqueues", V1("'spec':{'admissionChecks':[]}"), V2("'spec':{}"));
	from_stored("clusterqueues",
		    V2("'spec':{'admissionChecksStrategy':{'admissionChecks':[{'name':'a'}]}}"),
		    V1("'spec':{'admissionChecksStrategy':{'admissionChecks':[{'name':'a'}]}}"));
	/* The list again beside what it became: the rules keep their flavors. */
	to_stored("clusterqueues",
		  V1("'spec':{'admissionChecks':['b','a'],'admissionChecksStrategy':"
		     "{'admissionChecks':[{'name':'a','onFlavors':['f']},{'name':'x'}]}}"),
		  V2("'spec':{'admissionChecksStrategy':{'admissionChecks':[{'name':'b'},"
		     "{'name':'a','onFlavors':['f']}]}}"));
}

static void names_of_the_smaller_kinds(void **state)
{
	(void)state;
	both_ways("localqueues", V1("'status':{'flavorUsage':[{'name':'f'}],'pendingWorkloads':1}"),
		  V2("'status':{'flavorsUsage':[{'name':'f'}],'pendingWorkloads':1}"));
	to_stored("admissionchecks", V1("'spec':{'controllerName':'c','retryDelayMinutes':3}"),
		  V2("'spec':{'controllerName':'c'}"));
	from_stored("admissionchecks", V2("'spec':{'controllerName':'c'}"),
		    V1("'spec':{'controllerName':'c','retryDelayMinutes':15}"));
	both_ways("multikueueclusters", V1("'spec':{'kubeConfig':{'location':'s'}}"),
		  V2("'spec':{'clusterSource':{'kubeConfig':{'location':'s'}}}"));
	both_ways("multikueueclusters", V1("'spec':{'clusterProfileRef':{'name':'p'}}"),
		  V2("'spec':{'clusterSource':{'clusterProfileRef':{'name':'p'}}}"));
}

static void the_class_of_a_workload(void **state)
{
	(void)state;
	both_ways("workloads",
		  V1("'spec':{'priority':1,'priorityClassName':'n','priorityClassSource':"
		     "'kueue.x-k8s.io/workloadpriorityclass'}"),
		  V2("'spec':{'priority':1,'priorityClassRef':{'group':'kueue.x-k8s.io',"
		     "'kind':'WorkloadPriorityClass','name':'n'}}"));
	both_ways("workloads",
		  V1("'spec':{'priority':1,'priorityClassName':'n','priorityClassSource':"
		     "'scheduling.k8s.io/priorityclass'}"),
		  V2("'spec':{'priority':1,'priorityClassRef':{'group':'scheduling.k8s.io',"
		     "'kind':'PriorityClass','name':'n'}}"));
	to_stored("workloads", V1("'spec':{'priorityClassName':'n','priorityClassSource':''}"),
		  V2("'spec':{}"));
	both_ways("workloads", V1("'status':{'accumulatedPastExexcutionTimeSeconds':7}"),
		  V2("'status':{'accumulatedPastExecutionTimeSeconds':7}"));
}

/* ---- where pods go ---- */

#define PLACED(v, form)                                                                            \
	v("'status':{'admission':{'podSetAssignments':[{'name':'main','topologyAssignment':{" form \
	  "}}]}}")

static void domains_become_one_slice(void **state)
{
	(void)state;
	/* Kueue's own first two examples: a block for both, racks that differ in the last letter.
	 */
	both_ways("workloads",
		  PLACED(V1, "'levels':['block','rack'],'domains':[{'count':4,'values':['block-1',"
			     "'rack-1']},{'count':2,'values':['block-1','rack-2']}]"),
		  PLACED(V2, "'levels':['block','rack'],'slices':[{'domainCount':2,"
			     "'valuesPerLevel':[{'universalValue':'block-1'},{'prefix':'rack-',"
			     "'roots':['1','2']}],'podCounts':[4,2]}]"));
	/* Nothing in common; the same count everywhere. */
	both_ways("workloads",
		  PLACED(V1, "'levels':['h'],'domains':[{'count':1,'values':['a']},{'count':1,"
			     "'values':['b']}]"),
		  PLACED(V2, "'levels':['h'],'slices':[{'domainCount':2,'valuesPerLevel':["
			     "{'roots':['a','b']}],'universalPodCount':1}]"));
	/* Prefix and suffix meet: what they share is counted once. */
	both_ways("workloads",
		  PLACED(V1, "'levels':['h'],'domains':[{'count':1,'values':['aba']},{'count':1,"
			     "'values':['ababa']}]"),
		  PLACED(V2, "'levels':['h'],'slices':[{'domainCount':2,'valuesPerLevel':["
			     "{'prefix':'aba','roots':['','ba']}],'universalPodCount':1}]"));
	both_ways("workloads",
		  PLACED(V1, "'levels':['h'],'domains':[{'count':1,'values':['n-1-x']},{'count':2,"
			     "'values':['n-22-x']}]"),
		  PLACED(V2, "'levels':['h'],'slices':[{'domainCount':2,'valuesPerLevel':["
			     "{'prefix':'n-','suffix':'-x','roots':['1','22']}],'podCounts':[1,2]}"
			     "]"));
	both_ways("workloads", PLACED(V1, "'levels':['h'],'domains':[]"),
		  PLACED(V2, "'levels':['h'],'slices':[]"));
}

static void slices_become_domains(void **state)
{
	(void)state;
	from_stored("workloads",
		    PLACED(V2, "'levels':['h'],'slices':[{'domainCount':2,'valuesPerLevel':["
			       "{'prefix':'a-','roots':['1','2']}],'universalPodCount':1},"
			       "{'domainCount':1,'valuesPerLevel':[{'universalValue':'b'}],"
			       "'podCounts':[5]}]"),
		    PLACED(V1, "'levels':['h'],'domains':[{'count':1,'values':['a-1']},{'count':1,"
			       "'values':['a-2']},{'count':5,'values':['b']}]"));
}

static void a_few_bytes_of_slices_make_no_endless_list(void **state)
{
	(void)state;
	const struct kind *k = beta1("workloads");
	auto_json *tree = tree_of(
	    PLACED(V2, "'levels':['h'],'slices':[{'domainCount':2147483647,'valuesPerLevel':["
		       "{'universalValue':'b'}],'universalPodCount':1},{'domainCount':9,"
		       "'valuesPerLevel':[],'universalPodCount':1}]"));

	k->convert(k, tree, KIND_FROM_STORED);
	const struct cJSON *a =
	    json_first(json_path(tree, "status", "admission", "podSetAssignments", NULL));
	assert_int_equal(json_len(json_path(a, "topologyAssignment", "domains", NULL)), 100000);
}

/* ---- admission ---- */

static void admit_beta1(const char *plural, struct cJSON *tree, const struct cJSON *old,
			const char *want_wrong, const char *want_warnings)
{
	auto_buf wrong = BUF_INIT, warnings = BUF_INIT;
	struct field_errors e = {.n = 0};
	const struct kind_write w = {.old = old, .subresource = "", .warnings = &warnings};

	admit_object(kinds_hub(), beta1(plural), tree, &w, &e, NULL);
	for (size_t i = 0; i < e.n; i++) {
		field_error_text(&e.items[i], &wrong);
		buf_add_char(&wrong, '\n');
	}
	field_errors_done(&e);
	assert_string_equal(wrong.ptr ? wrong.ptr : "", want_wrong);
	assert_string_equal(warnings.ptr ? warnings.ptr : "", want_warnings);
}

#define ALL_NAMESPACES                                                                             \
	"spec.namespaceSelector: missing, so all namespaces are taken; in kueue.x-k8s.io/v1beta2 " \
	"a missing selector takes none\n"

static void an_older_manifest_takes_all_namespaces(void **state)
{
	(void)state;
	auto_json *tree =
	    tree_of(V1("'metadata':{'name':'q'},'spec':{'cohort':'c','resourceGroups':"
		       "[{'flavors':[{'name':'f','resources':[{'name':'google.com/tpu"
		       "','nominalQuota':32}]}]}]}"));

	admit_beta1("clusterqueues", tree, NULL, "",
		    ALL_NAMESPACES "spec.resourceGroups[0].coveredResources: missing, taken from "
				   "the resources of the group's first flavor\n");
	assert_tree(json_path(tree, "spec", "namespaceSelector", NULL), "{}");
	assert_string_equal(json_str(json_get(tree, "spec"), "cohort"), "c");
	assert_null(json_get(json_get(tree, "spec"), "cohortName"));
	assert_string_equal(json_str(tree, "apiVersion"), "kueue.x-k8s.io/v1beta1");
	/* Again, as an update: still all. */
	auto_json *again = tree_of(V1("'metadata':{'name':'q'},'spec':{}"));
	admit_beta1("clusterqueues", again, tree, "", ALL_NAMESPACES);
	/* A queue that takes none, of v1beta2: stays so. */
	auto_json *none = tree_of(V1("'metadata':{'name':'q'},'spec':{}"));
	auto_json *still = tree_of(V1("'metadata':{'name':'q'},'spec':{'stopPolicy':'Hold'}"));
	admit_beta1("clusterqueues", still, none, "", "");
	assert_null(json_path(still, "spec", "namespaceSelector", NULL));
}

static void rules_of_the_stored_version_hold_for_the_other(void **state)
{
	(void)state;
	auto_json *tree = tree_of(
	    V1("'metadata':{'name':'q'},'spec':{'namespaceSelector':{},'resourceGroups':[{"
	       "'coveredResources':['cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu',"
	       "'nominalQuota':1,'lendingLimit':1}]}]}]}"));

	admit_beta1("clusterqueues", tree, NULL,
		    "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: "
		    "\"1\": must be nil when cohort is empty\n",
		    "");
	auto_json *before = tree_of(V1("'spec':{'clusterQueue':'a','stopPolicy':'None'}"));
	auto_json *after = tree_of(V1("'spec':{'clusterQueue':'b'}"));
	admit_beta1("localqueues", after, before,
		    "spec.clusterQueue: Invalid value: \"b\": field is immutable\n", "");
	auto_json *mkc = tree_of(V1("'spec':{}"));
	admit_beta1("multikueueclusters", mkc, NULL,
		    "spec.clusterSource: Invalid value: exactly one of the fields in [kubeConfig "
		    "clusterProfileRef] must be set\n",
		    "");
}

static void a_list_of_checks_and_a_strategy_exclude_each_other(void **state)
{
	(void)state;
#define BOTH                                                                                       \
	V1("'metadata':{'name':'q'},'spec':{'namespaceSelector':{},'admissionChecks':['a'],"       \
	   "'admissionChecksStrategy':{'admissionChecks':[{'name':'a'}]}}")
	auto_json *tree = tree_of(BOTH), *again = tree_of(BOTH);
	auto_json *old = tree_of(V1("'spec':{'namespaceSelector':{},'admissionChecksStrategy':"
				    "{'admissionChecks':[{'name':'a'}]}}"));

	admit_beta1("clusterqueues", tree, NULL,
		    "spec: Invalid value: Either AdmissionChecks or AdmissionCheckStrategy can be "
		    "set, but not both\n",
		    "");
	/* What apply sends of a manifest with the list, once the list has become a strategy. */
	admit_beta1("clusterqueues", again, old, "", "");
	assert_null(json_path(again, "spec", "admissionChecks", NULL));
}

#define POD_SETS "'podSets':[{'count':1,'name':'main','template':{'spec':{'containers':[]}}}]"

static void the_class_of_an_older_workload_is_checked(void **state)
{
	(void)state;
	auto_json *no_priority =
	    tree_of(V1("'metadata':{'name':'w'},'spec':{" POD_SETS ",'priorityClassName':'n',"
		       "'priorityClassSource':'scheduling.k8s.io/priorityclass'}"));
	auto_json *no_source =
	    tree_of(V1("'metadata':{'name':'w'},'spec':{" POD_SETS ",'priority':1,"
		       "'priorityClassName':'n'}"));
	auto_json *bad_source =
	    tree_of(V1("'metadata':{'name':'w'},'spec':{" POD_SETS ",'priorityClassSource':'x'}"));

	admit_beta1("workloads", no_priority, NULL,
		    "spec: Invalid value: priority should not be nil when priorityClassName is "
		    "set\n",
		    "");
	admit_beta1("workloads", no_source, NULL, "",
		    "spec.priorityClassName: not kept without spec.priorityClassSource\n");
	admit_beta1("workloads", bad_source, NULL,
		    "spec.priorityClassSource: Unsupported value: \"x\": supported values: "
		    "\"kueue.x-k8s.io/workloadpriorityclass\", "
		    "\"scheduling.k8s.io/priorityclass\", \"\"\n"
		    "spec.priorityClassName: Required value: the source needs a name\n",
		    "");
}

static void a_reserved_workload_keeps_its_class_in_the_older_words(void **state)
{
	(void)state;
#define RESERVED                                                                                   \
	"'status':{'conditions':[{'type':'QuotaReserved','status':'True','reason':'QuotaReserved'" \
	",'message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}"
#define CLASSED(source, name)                                                                      \
	V1("'metadata':{'name':'w'},'spec':{'active':true," POD_SETS                               \
	   ",'priority':1,'priorityClassName':'" name "','priorityClassSource':'" source           \
	   "'}," RESERVED)
	auto_json *old = tree_of(CLASSED("scheduling.k8s.io/priorityclass", "n"));
	auto_json *other = tree_of(CLASSED("scheduling.k8s.io/priorityclass", "m"));
	auto_json *source = tree_of(CLASSED("kueue.x-k8s.io/workloadpriorityclass", "n"));

	admit_beta1("workloads", other, old,
		    "spec.priorityClassName: Invalid value: \"m\": priorityClassName is immutable "
		    "while workload quota reserved and priorityClassSource is not equal to "
		    "kueue.x-k8s.io/workloadpriorityclass\n",
		    "");
	admit_beta1("workloads", source, old,
		    "spec.priorityClassSource: Invalid value: "
		    "\"kueue.x-k8s.io/workloadpriorityclass\": priorityClassSource is immutable "
		    "while workload quota reserved\n",
		    "");
}

static void both_versions_show_the_same_columns(void **state)
{
	(void)state;
	const struct kind *k = beta1("clusterqueues");
	auto_arena mem = ARENA_INIT;
	auto_json *tree = tree_of(V2("'metadata':{'name':'q'},'spec':{'cohortName':'c',"
				     "'queueingStrategy':'StrictFIFO'},'status':{"
				     "'pendingWorkloads':3,'admittedWorkloads':2}"));
	auto_buf text = BUF_INIT, row = BUF_INIT;

	k->convert(k, tree, KIND_FROM_STORED);
	json_print(tree, &text);
	table_row(k, "v1", buf_span(&text), TABLE_NONE, 0, true, &row);
	assert_string_equal(row.ptr,
			    quoted(&mem, "{'cells':['q','c','StrictFIFO',3,2],'object':null}").ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(v1beta2_is_stored_and_preferred),
	    cmocka_unit_test(names_of_a_cluster_queue),
	    cmocka_unit_test(policies_of_a_cluster_queue_are_one_way),
	    cmocka_unit_test(checks_of_a_cluster_queue_are_one_way),
	    cmocka_unit_test(names_of_the_smaller_kinds),
	    cmocka_unit_test(the_class_of_a_workload),
	    cmocka_unit_test(domains_become_one_slice),
	    cmocka_unit_test(slices_become_domains),
	    cmocka_unit_test(a_few_bytes_of_slices_make_no_endless_list),
	    cmocka_unit_test(an_older_manifest_takes_all_namespaces),
	    cmocka_unit_test(rules_of_the_stored_version_hold_for_the_other),
	    cmocka_unit_test(a_list_of_checks_and_a_strategy_exclude_each_other),
	    cmocka_unit_test(the_class_of_an_older_workload_is_checked),
	    cmocka_unit_test(a_reserved_workload_keeps_its_class_in_the_older_words),
	    cmocka_unit_test(both_versions_show_the_same_columns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
