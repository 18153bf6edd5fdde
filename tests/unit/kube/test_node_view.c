#include "kube_test.h"

#include "kube/node_view.h"

static void assert_view(const char *node, const char *want)
{
	auto_buf out = BUF_INIT;

	node_view_print(span_of(node), &out);
	buf_add_char(&out, '\0');
	assert_string_equal(out.ptr, want);
}

#define SYSTEM(architecture, version)                                                              \
	"\"nodeInfo\":{\"architecture\":\"" architecture "\",\"bootID\":\"\","                     \
	"\"containerRuntimeVersion\":\"\",\"kernelVersion\":\"\",\"kubeProxyVersion\":\"\","       \
	"\"kubeletVersion\":\"" version "\",\"machineID\":\"\",\"operatingSystem\":\"\","          \
	"\"osImage\":\"\",\"systemUUID\":\"\"}"

static void a_view_keeps_what_columns_need(void **state)
{
	(void)state;
	assert_view("{\"kind\":\"Node\",\"metadata\":{\"labels\":{\"zone\":\"a\","
		    "\"node-role.kubernetes.io/worker\":\"\",\"kubernetes.io/role\":\"gpu\"},"
		    "\"annotations\":{\"a\":\"b\"},\"name\":\"n\",\"uid\":\"u\","
		    "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
		    "\"spec\":{\"unschedulable\":true,\"podCIDR\":\"10.0.0.0/8\"},"
		    "\"status\":{\"conditions\":[{\"type\":\"DiskPressure\",\"status\":\"False\"},"
		    "{\"type\":\"Ready\",\"status\":\"True\",\"lastHeartbeatTime\":\"now\"}],"
		    "\"nodeInfo\":{\"osImage\":\"x\",\"architecture\":\"arm64\","
		    "\"kubeletVersion\":\"v1.33.1\"}}}",
		    "{\"metadata\":{\"name\":\"n\",\"uid\":\"u\","
		    "\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
		    "\"labels\":{\"node-role.kubernetes.io/worker\":\"\","
		    "\"kubernetes.io/role\":\"gpu\"}},\"spec\":{\"unschedulable\":true},"
		    "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]," SYSTEM(
			"arm64", "v1.33.1") "}}");
}

static void a_node_that_says_little_has_a_small_view(void **state)
{
	(void)state;
	assert_view("{\"metadata\":{\"name\":\"n\",\"labels\":null},\"spec\":{},\"status\":null}",
		    "{\"metadata\":{\"name\":\"n\"},\"status\":{}}");
	assert_view("{\"metadata\":{\"name\":\"n\"},\"status\":{\"nodeInfo\":"
		    "{\"kubeletVersion\":\"v1\"},\"conditions\":{}}}",
		    "{\"metadata\":{\"name\":\"n\"},\"status\":{" SYSTEM("", "v1") "}}");
	assert_view("{\"metadata\":{},\"status\":{\"nodeInfo\":{\"architecture\":7}}}",
		    "{\"metadata\":{},\"status\":{" SYSTEM("", "") "}}");
	assert_view("{\"metadata\":{},\"status\":{\"nodeInfo\":null}}",
		    "{\"metadata\":{},\"status\":{}}");
	assert_view("{}", "{\"metadata\":{},\"status\":{}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_view_keeps_what_columns_need),
	    cmocka_unit_test(a_node_that_says_little_has_a_small_view),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
