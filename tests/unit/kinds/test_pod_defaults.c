/*
 * Defaults that Kubernetes' own kinds have in types that they share with others. What each field
 * gets is in tests/system/api/test_contract_templates.py, which a kube-apiserver passes too.
 */
#include "kinds_test.h"

#define JOB_SPEC                                                                                   \
	"{'template':{'spec':{'containers':[{'name':'c','image':'b'}],'restartPolicy':'Never'}}}"

static struct cJSON *job(void)
{
	return tree_of("{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'x'},"
		       "'spec':" JOB_SPEC "}");
}

static const char *pull_policy(const struct cJSON *pod_spec)
{
	return json_str(json_first(json_get(pod_spec, "containers")), "imagePullPolicy");
}

static void a_job_has_its_decoders_defaults(void **state)
{
	auto_json *tree = job();
	auto_buf wrong = BUF_INIT;

	admit(hub_kind(TYPE_JOB), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	const struct cJSON *spec = json_path(tree, "spec", "template", "spec", NULL);
	assert_string_equal(json_str(spec, "dnsPolicy"), "ClusterFirst");
	assert_string_equal(pull_policy(spec), "Always");
	(void)state;
}

static void a_job_set_keeps_its_template_as_it_is(void **state)
{
	auto_json *tree = tree_of(
	    "{'apiVersion':'jobset.x-k8s.io/v1alpha2','kind':'JobSet','metadata':{'name':'x'},"
	    "'spec':{'replicatedJobs':[{'name':'r','template':{'spec':" JOB_SPEC "}}]}}");
	auto_buf wrong = BUF_INIT, text = BUF_INIT;

	admit(hub_kind(TYPE_JOB_SET), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	json_print(json_path(json_first(json_path(tree, "spec", "replicatedJobs", NULL)),
			     "template", "spec", "template", NULL),
		   &text);
	assert_string_equal(text.ptr,
			    "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"b\"}],"
			    "\"restartPolicy\":\"Never\"}}");
	(void)state;
}

/* Its template may not change, and a client sends what it was given. */
static void a_job_from_before_the_defaults_can_be_updated(void **state)
{
	auto_json *old = job(), *tree = job();
	auto_buf wrong = BUF_INIT;

	schema_renew(hub_kind(TYPE_JOB), old);
	admit(hub_kind(TYPE_JOB), tree, old, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	assert_true(json_equal(json_get(old, "spec"), json_get(tree, "spec")));
	(void)state;
}

static void renewing_changes_nothing_twice(void **state)
{
	auto_json *tree = job();

	schema_renew(hub_kind(TYPE_JOB), tree);
	auto_json *once = json_dup(tree);
	schema_renew(hub_kind(TYPE_JOB), tree);
	assert_true(json_equal(once, tree));
	(void)state;
}

static void pods_alone_take_requests_from_limits(void **state)
{
	auto_json *tree = tree_of(
	    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'x'},'spec':{'hostNetwork':true,"
	    "'containers':[{'name':'c','image':'b','ports':[{'containerPort':80}],"
	    "'resources':{'limits':{'cpu':'1'},'requests':{'memory':'1'}}}]}}");
	auto_buf wrong = BUF_INIT;
	int64_t port = 0;

	admit(kind_by_type(kinds_sim(), TYPE_POD), tree, NULL, &wrong, NULL);
	assert_string_equal(wrong.ptr, "");
	const struct cJSON *c = json_first(json_path(tree, "spec", "containers", NULL));
	const struct cJSON *requests = json_path(c, "resources", "requests", NULL);
	assert_string_equal(json_str(requests, "cpu"), "1");
	assert_string_equal(json_str(requests, "memory"), "1");
	assert_int_equal(json_int64(json_first(json_get(c, "ports")), "hostPort", &port), 0);
	assert_int_equal(port, 80);
	assert_true(json_bool(json_get(tree, "spec"), "enableServiceLinks", false));
	(void)state;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_job_has_its_decoders_defaults),
	    cmocka_unit_test(a_job_set_keeps_its_template_as_it_is),
	    cmocka_unit_test(a_job_from_before_the_defaults_can_be_updated),
	    cmocka_unit_test(renewing_changes_nothing_twice),
	    cmocka_unit_test(pods_alone_take_requests_from_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
