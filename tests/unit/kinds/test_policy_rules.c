/* Bad input to policies, clusters, quota trees and priority classes: exact paths and words. */
#include "kinds_test.h"

#define POLICY(spec)                                                                               \
	"{'metadata':{'name':'p','namespace':'n'},'spec':{'resourceSelectors':[{'apiVersion':"     \
	"'batch/v1','kind':'Job'}]" spec "}}"

static void a_policy_selects_one_way(void **state)
{
	(void)state;
	expect_wrong(TYPE_PROPAGATION_POLICY, POLICY(""), "");
	expect_wrong(TYPE_PROPAGATION_POLICY, "{'metadata':{'name':'p'},'spec':{}}",
		     "spec.resourceSelectors: Required value\n");
	expect_wrong(TYPE_PROPAGATION_POLICY,
		     "{'metadata':{'name':'p'},'spec':{'resourceSelectors':[]}}",
		     "spec.resourceSelectors: Invalid value: []: should have at least 1 items\n");
	expect_wrong(
	    TYPE_PROPAGATION_POLICY,
	    POLICY(",'placement':{'clusterAffinity':{'clusterNames':['a']},'clusterAffinities':"
		   "[{'affinityName':'x'},{'affinityName':'x'}]}"),
	    "spec.placement.clusterAffinities: Invalid value: clusterAffinities cannot "
	    "co-exist with clusterAffinity\n"
	    "spec.placement.clusterAffinities[1].affinityName: Duplicate value: \"x\"\n");
	expect_wrong(TYPE_PROPAGATION_POLICY,
		     POLICY(",'placement':{'replicaScheduling':{'customSchedulingType':'Pack'}}"),
		     "spec.placement.replicaScheduling.customSchedulingType: Unsupported value: "
		     "\"Pack\": supported values: \"Gang\"\n");
	expect_wrong(
	    TYPE_PROPAGATION_POLICY,
	    "{'metadata':{'name':'p','namespace':'n'},'spec':{'resourceSelectors':[{"
	    "'apiVersion':'v1','kind':'Pod','namespace':'m'}]}}",
	    "spec.resourceSelectors[0].namespace: Invalid value: \"m\": must be empty or the "
	    "policy's own namespace\n");
}

static void failover_is_accepted_in_both_spellings(void **state)
{
	(void)state;
	static const char *const modes[] = {"Directly", "Gracefully", "Never", "Immediately",
					    "Graciously"};
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		auto_buf text = BUF_INIT, wrong = BUF_INIT, warnings = BUF_INIT;
		buf_addf(&text,
			 "{'metadata':{'name':'p'},'spec':{'resourceSelectors':[{'apiVersion':'v1',"
			 "'kind':'Pod'}],'failover':{'application':{'purgeMode':'%s'}}}}",
			 modes[i]);
		auto_json *tree = tree_of(text.ptr);
		admit(hub_kind(TYPE_PROPAGATION_POLICY), tree, NULL, &wrong, &warnings);
		assert_string_equal(wrong.ptr, "");
		assert_int_equal(warnings.len > 0, strcmp(modes[i], "Directly") != 0 &&
						       strcmp(modes[i], "Immediately") != 0);
	}
}

#define FAILOVER(behaviour)                                                                        \
	"{'metadata':{'name':'p'},'spec':{'resourceSelectors':[{'apiVersion':'v1','kind':'Pod'}]," \
	"'failover':{" behaviour "}}}"

static void failover_has_times_that_can_be(void **state)
{
	(void)state;
	expect_wrong(TYPE_PROPAGATION_POLICY,
		     FAILOVER("'application':{'decisionConditions':{'tolerationSeconds':0},"
			      "'purgeMode':'Gracefully','gracePeriodSeconds':1}"),
		     "");
	expect_wrong(TYPE_PROPAGATION_POLICY,
		     FAILOVER("'application':{'purgeMode':'Never','gracePeriodSeconds':5}"),
		     "spec.failover.application.gracePeriodSeconds: Invalid value: 5: only takes "
		     "effect when purgeMode is gracefully\n");
	expect_wrong(TYPE_CLUSTER_PROPAGATION_POLICY,
		     FAILOVER("'application':{'gracePeriodSeconds':0}"),
		     "spec.failover.application.gracePeriodSeconds: Invalid value: 0: must be "
		     "greater than 0\n");
	expect_wrong(TYPE_PROPAGATION_POLICY,
		     FAILOVER("'application':{'statePreservation':{'rules':[]}}"),
		     "spec.failover.application.statePreservation: Forbidden: state of a failed "
		     "job is not carried to the next cluster by this hub; keep checkpoints in "
		     "storage that all clusters reach\n");
}

static void failover_of_clusters_is_told_to_do_nothing(void **state)
{
	(void)state;
	auto_buf wrong = BUF_INIT, warnings = BUF_INIT;
	auto_json *tree = tree_of(FAILOVER("'cluster':{'purgeMode':'Directly'}"));

	admit(hub_kind(TYPE_PROPAGATION_POLICY), tree, NULL, &wrong, &warnings);
	assert_string_equal(wrong.ptr, "");
	assert_non_null(strstr(warnings.ptr, "spec.failover.cluster has no effect"));
}

static void a_cluster_has_urls_and_unique_taints(void **state)
{
	(void)state;
	expect_wrong(TYPE_CLUSTER, "{'metadata':{'name':'c'},'spec':{'syncMode':'Push'}}", "");
	expect_wrong(
	    TYPE_CLUSTER,
	    "{'metadata':{'name':'a.b'},'spec':{'apiEndpoint':'ftp://x','zone':'z','zones':['z'],"
	    "'taints':[{'key':'k','effect':'NoSchedule'},{'key':'k','effect':'NoSchedule'}]}}",
	    "spec.syncMode: Required value\n"
	    "metadata.name: Invalid value: \"a.b\": must not contain dots\n"
	    "spec.apiEndpoint: Invalid value: \"ftp://x\": must be a URL\n"
	    "spec.taints[1]: Duplicate value: \"k:NoSchedule\": taints must be unique by key "
	    "and effect pair\n"
	    "spec.zone: Forbidden: zone and zones exclude each other\n");
}

static void a_quota_tree_has_names_and_amounts(void **state)
{
	(void)state;
	expect_wrong(TYPE_ELASTIC_QUOTA_TREE, "{'spec':{}}", "spec.root: Required value\n");
	expect_wrong(
	    TYPE_ELASTIC_QUOTA_TREE,
	    "{'spec':{'root':{'name':'root','children':[{'name':'a'},{'min':{'cpu':1}}]}}}",
	    "spec.root.children[1].name: Required value\n");
	expect_wrong(
	    TYPE_ELASTIC_QUOTA_TREE,
	    "{'spec':{'root':{'name':'root','children':[{'name':'a','max':{'cpu':'1e30'}}]}}}",
	    "spec.root.children[0].max[cpu]: Invalid value: \"1e30\": must fit in 64 bits\n");
}

static void a_priority_class_is_fixed_and_bounded(void **state)
{
	(void)state;
	expect_wrong(TYPE_PRIORITY_CLASS, "{'metadata':{'name':'p'},'value':1000000001}",
		     "value: Forbidden: maximum allowed value of a user defined priority is "
		     "1000000000\n");
	expect_wrong(
	    TYPE_PRIORITY_CLASS, "{'metadata':{'name':'system-x'},'value':1}",
	    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved "
	    "for system use only. error: system-x is not a known system priority class\n");
	expect_wrong(TYPE_PRIORITY_CLASS,
		     "{'metadata':{'name':'system-node-critical'},'value':2000001000}", "");
	expect_wrong(TYPE_PRIORITY_CLASS, "{'metadata':{'name':'zero'}}", "");
	expect_wrong_update(TYPE_PRIORITY_CLASS, "{'metadata':{'name':'p'},'value':1}",
			    "{'metadata':{'name':'p'},'value':2,'preemptionPolicy':'Never'}",
			    "value: Forbidden: may not be changed in an update.\n"
			    "preemptionPolicy: Invalid value: \"Never\": field is immutable\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_policy_selects_one_way),
	    cmocka_unit_test(failover_is_accepted_in_both_spellings),
	    cmocka_unit_test(failover_has_times_that_can_be),
	    cmocka_unit_test(failover_of_clusters_is_told_to_do_nothing),
	    cmocka_unit_test(a_cluster_has_urls_and_unique_taints),
	    cmocka_unit_test(a_quota_tree_has_names_and_amounts),
	    cmocka_unit_test(a_priority_class_is_fixed_and_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
