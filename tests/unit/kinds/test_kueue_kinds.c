/*
 * Kueue's kinds as kubectl sees them (reference/kueue.md 1.1 and 1.2): names, short names, scope
 * and columns, the same in both versions; v1beta2 is what is stored and preferred.
 */
#include "kinds_test.h"
#include "kube/kind.h"
#include "kube/selector_match.h"

struct wanted {
	const char *plural, *kind, *short_names, *columns; /* of -o wide in brackets */
	enum kind_scope scope;
	bool status;
};

static const struct wanted wanted[] = {
    {"clusterqueues", "ClusterQueue", "cq",
     "Cohort (Strategy) Pending Workloads (Admitted Workloads)", KIND_CLUSTER, true},
    {"localqueues", "LocalQueue", "queue queues lq",
     "ClusterQueue Pending Workloads Admitted Workloads", KIND_NAMESPACED, true},
    {"workloads", "Workload", "kwl kueueworkload kueueworkloads",
     "Queue Reserved in Admitted Finished Age", KIND_NAMESPACED, true},
    {"cohorts", "Cohort", "co", "", KIND_CLUSTER, true},
    {"resourceflavors", "ResourceFlavor", "rf flavor flavors", "", KIND_CLUSTER, false},
    {"admissionchecks", "AdmissionCheck", "ac", "", KIND_CLUSTER, true},
    {"workloadpriorityclasses", "WorkloadPriorityClass", "wpc", "Value", KIND_CLUSTER, false},
    {"multikueueclusters", "MultiKueueCluster", "mkc", "Connected Age", KIND_CLUSTER, true},
    {"multikueueconfigs", "MultiKueueConfig", "mkconf", "", KIND_CLUSTER, false},
    {"provisioningrequestconfigs", "ProvisioningRequestConfig", "prc", "", KIND_CLUSTER, false},
    {"topologies", "Topology", "topo", "", KIND_CLUSTER, false},
};

static void expect(const struct wanted *want, const struct kind *k)
{
	auto_buf names = BUF_INIT, columns = BUF_INIT;

	assert_non_null(k);
	assert_string_equal(k->kind, want->kind);
	assert_int_equal(k->scope, want->scope);
	for (size_t i = 0; k->short_names && k->short_names[i]; i++)
		buf_addf(&names, "%s%s", i ? " " : "", k->short_names[i]);
	assert_string_equal(names.ptr, want->short_names);
	buf_add_str(&columns, "");
	for (size_t i = 0; i < k->n_columns; i++)
		buf_addf(&columns, k->columns[i].priority ? "%s(%s)" : "%s%s", i ? " " : "",
			 k->columns[i].name);
	/* A kind without columns of its own shows its age, as CustomResourceDefinitions do. */
	assert_string_equal(columns.ptr, want->columns);
	assert_int_equal(k->has_status, want->status);
}

static void names_and_columns_are_kueues_in_both_versions(void **state)
{
	static const struct span group = {"kueue.x-k8s.io", 14};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		struct span plural = span_of(wanted[i].plural);
		expect(&wanted[i], kind_by_resource(kinds_hub(), group, SPAN("v1beta2"), plural));
		expect(&wanted[i], kind_by_resource(kinds_hub(), group, SPAN("v1beta1"), plural));
		assert_null(kind_by_resource(kinds_hub(), group, SPAN("v1alpha1"), plural));
	}
}

static void workloads_are_selected_by_the_queue_that_admitted_them(void **state)
{
	const struct kind *k = kind_by_type(kinds_hub(), TYPE_WORKLOAD);
	(void)state;
	assert_non_null(selector_field_find(k, SPAN("status.admission.clusterQueue")));
	assert_null(selector_field_find(k, SPAN("status.admission")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_and_columns_are_kueues_in_both_versions),
	    cmocka_unit_test(workloads_are_selected_by_the_queue_that_admitted_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
