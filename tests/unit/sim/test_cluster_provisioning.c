/*
 * Node pools that scale from zero, seen from outside: ProvisioningRequests go in, nodes come and
 * go.
 */
#include "cluster_harness.h"

static const char nodes_yaml[] =
    "kind: Node\n"
    "metadata: {name: solo}\n"
    "status:\n"
    "  allocatable: {cpu: \"64\", memory: 256Gi, nvidia.com/gpu: \"8\"}\n"
    "---\n"
    "kind: Node\n"
    "metadata:\n"
    "  name: a100\n"
    "  labels: {cloud.google.com/gke-nodepool: a100}\n"
    "  annotations:\n"
    "    muster.dev/sim-autoscale: queued-provisioning.gke.io\n"
    "    muster.dev/sim-count: \"6\"\n"
    "    muster.dev/sim-quota: \"4\"\n"
    "    muster.dev/sim-provision-delay: 30s\n"
    "spec:\n"
    "  taints: [{key: cloud.google.com/gke-queued, value: \"true\", effect: NoSchedule}]\n"
    "status:\n"
    "  allocatable: {cpu: \"16\", memory: 64Gi, nvidia.com/gpu: \"2\"}\n";

static int setup(void **state)
{
	return harness_setup(nodes_yaml);
}

static void create_template(const char *name, const char *gpus)
{
	char text[600];
	snprintf(
	    text, sizeof(text),
	    "{'apiVersion':'v1','kind':'PodTemplate','metadata':{'name':'%s'},'template':{"
	    "'spec':{'nodeSelector':{'cloud.google.com/gke-nodepool':'a100'},'containers':[{"
	    "'name':'c','image':'x','resources':{'requests':{'cpu':'1','nvidia.com/gpu':'%s'}}}]}}}",
	    name, gpus);
	create(TYPE_POD_TEMPLATE, text);
}

static void create_request(const char *name, const char *template, int count)
{
	char text[600];
	snprintf(text, sizeof(text),
		 "{'apiVersion':'autoscaling.x-k8s.io/v1','kind':'ProvisioningRequest','metadata':{"
		 "'name':'%s'},'spec':{'provisioningClassName':'queued-provisioning.gke.io',"
		 "'parameters':{'maxRunDurationSeconds':'3600'},'podSets':[{'count':%d,"
		 "'podTemplateRef':{'name':'%s'}}]}}",
		 name, count, template);
	create(TYPE_PROVISIONING_REQUEST, text);
}

#define CONSUMER(name, request, seconds)                                                           \
	"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'" name "'},'spec':{"            \
	"'parallelism':2,'completions':2,'template':{'metadata':{'annotations':{"                  \
	"'cluster-autoscaler.kubernetes.io/consume-provisioning-request':'" request "',"           \
	"'muster.dev/sim-duration':'" seconds                                                      \
	"'}},'spec':{'restartPolicy':'Never','containers':[{"                                      \
	"'name':'c','image':'x','resources':{'requests':{'cpu':'1','nvidia.com/gpu':'2'}}}]}}}}"

static const char *reason(const char *request, const char *type)
{
	static char text[64];
	auto_json *tree = get(TYPE_PROVISIONING_REQUEST, "default", request);
	json_foreach (json_path(tree, "status", "conditions", NULL), it) {
		if (strcmp(json_str(it, "type"), type) == 0) {
			snprintf(text, sizeof(text), "%s", json_str(it, "reason"));
			return text;
		}
	}
	return "";
}

static size_t nodes(void)
{
	struct cluster_stats st;
	cluster_stats(t.c, &st);
	return st.nodes;
}

static const char *conditions_of(const char *request)
{
	return conditions(TYPE_PROVISIONING_REQUEST, request);
}

static void a_pool_is_no_node(void **state)
{
	assert_int_equal(nodes(), 1);
	assert_null(get(TYPE_NODE, "", "a100"));
	restart();
	assert_int_equal(nodes(), 1);
}

static void a_request_gets_its_nodes_and_only_its_pods_use_them(void **state)
{
	create_template("pt", "2");
	create_request("pr", "pt", 2);
	settle();
	assert_string_equal(conditions_of("pr"), "Accepted Provisioned=False");
	create(TYPE_JOB, CONSUMER("early", "pr", "100s")); /* waits, though solo has room */
	settle();
	assert_int_equal(nodes(), 1);
	pass(29 * S);
	assert_int_equal(nodes(), 1);
	pass(1 * S);
	assert_int_equal(nodes(), 3);
	assert_string_equal(conditions_of("pr"), "Accepted Provisioned");
	/* Its nodes are known by what its status says. */
	auto_json *pr = get(TYPE_PROVISIONING_REQUEST, "default", "pr");
	const char *mark = json_value_str(
	    json_path(pr, "status", "provisioningClassDetails", "ResizeRequestName", NULL));
	assert_non_null(mark);
	char first[64];
	(void)snprintf(first, sizeof(first), "a100-%.8s-0",
		       json_str(json_get(pr, "metadata"), "uid"));
	auto_json *node = get(TYPE_NODE, "", first);
	assert_string_equal(
	    json_value_str(json_path(node, "metadata", "labels",
				     "autoscaling.gke.io/provisioning-request", NULL)),
	    mark);
	struct cluster_stats st;
	cluster_stats(t.c, &st);
	assert_int_equal(st.pods, 2);
	assert_int_equal(st.pods_pending, 0);
	pass(3600 * S);
	assert_int_equal(nodes(), 1);
}

static void a_missing_template_is_waited_for(void **state)
{
	create_request("pr", "late", 1);
	settle();
	assert_string_equal(conditions_of("pr"), "");
	create_template("late", "1");
	settle();
	assert_string_equal(conditions_of("pr"), "Accepted Provisioned=False");
}

static void pods_that_fit_no_node_of_a_pool_fail_the_request(void **state)
{
	create_template("pt", "3");
	create_request("pr", "pt", 1);
	settle();
	assert_string_equal(conditions_of("pr"), "Failed");
	assert_string_equal(reason("pr", "Failed"), "NoMatchingNodePool");
}

static void a_second_request_waits_for_quota(void **state)
{
	create_template("pt", "2");
	create_request("first", "pt", 3);
	create_request("second", "pt", 2); /* 3 + 2 of 4 */
	settle();
	assert_string_equal(reason("second", "Provisioned"), "QuotaExceeded");
	delete (TYPE_PROVISIONING_REQUEST, "default", "first"); /* before its nodes came */
	settle();
	pass(30 * S);
	assert_string_equal(conditions_of("second"), "Accepted Provisioned");
	assert_int_equal(nodes(), 3);
}

static void unused_nodes_go_when_the_booking_has_expired(void **state)
{
	create_template("pt", "2");
	create_request("pr", "pt", 2);
	pass(30 * S);
	assert_int_equal(nodes(), 3);
	for (int i = 0; i < 62; i++)
		pass(10 * S);
	assert_string_equal(conditions_of("pr"), "Accepted Provisioned BookingExpired");
	assert_int_equal(nodes(), 1);
}

static void nodes_of_a_deleted_request_stay_while_pods_run_and_take_no_others(void **state)
{
	create_template("pt", "2");
	create_request("pr", "pt", 2);
	pass(30 * S);
	create(TYPE_JOB, CONSUMER("user", "pr", "700s"));
	pass(1 * S);
	delete (TYPE_PROVISIONING_REQUEST, "default", "pr");
	for (int i = 0; i < 65; i++)
		pass(10 * S);
	assert_int_equal(nodes(), 3); /* 650 s: pods still run */
	for (int i = 0; i < 75; i++)
		pass(10 * S);
	assert_int_equal(nodes(), 1); /* 1,400 s: idle for more than ten minutes */
	assert_string_equal(conditions(TYPE_JOB, "user"), "SuccessCriteriaMet Complete");
}

static void nodes_of_a_cancelled_request_that_nobody_uses_go_after_ten_minutes(void **state)
{
	create_template("pt", "2");
	create_request("pr", "pt", 2);
	pass(30 * S);
	delete (TYPE_PROVISIONING_REQUEST, "default", "pr");
	settle();
	assert_int_equal(nodes(), 3);
	for (int i = 0; i < 59; i++)
		pass(10 * S);
	assert_int_equal(nodes(), 3); /* 590 s */
	pass(10 * S);
	pass(10 * S);
	assert_int_equal(nodes(), 1);
}

static void a_restart_goes_on_with_what_was_promised(void **state)
{
	create_template("pt", "2");
	create_request("pr", "pt", 2);
	pass(10 * S);
	restart();
	settle();
	assert_string_equal(conditions_of("pr"), "Accepted Provisioned=False");
	pass(30 * S);
	assert_int_equal(nodes(), 3);
	restart();
	settle();
	assert_string_equal(conditions_of("pr"), "Accepted Provisioned");
	delete (TYPE_PROVISIONING_REQUEST, "default", "pr");
	settle();
	restart(); /* the nodes alone tell of it now */
	for (int i = 0; i < 62; i++)
		pass(10 * S);
	assert_int_equal(nodes(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_pool_is_no_node),
	    T(a_request_gets_its_nodes_and_only_its_pods_use_them),
	    T(a_missing_template_is_waited_for),
	    T(pods_that_fit_no_node_of_a_pool_fail_the_request),
	    T(a_second_request_waits_for_quota),
	    T(unused_nodes_go_when_the_booking_has_expired),
	    T(nodes_of_a_deleted_request_stay_while_pods_run_and_take_no_others),
	    T(nodes_of_a_cancelled_request_that_nobody_uses_go_after_ten_minutes),
	    T(a_restart_goes_on_with_what_was_promised),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
