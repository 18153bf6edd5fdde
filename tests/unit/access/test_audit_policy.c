#include "access/audit_policy.h"
#include "access_test.h"

static struct audit_policy *policy(const char *rules)
{
	struct buf b = BUF_INIT;
	auto_json *tree = NULL;
	struct audit_policy *p = NULL;
	struct err e = ERR_INIT;
	buf_addf(&b, "{'apiVersion':'audit.k8s.io/v1','kind':'Policy','rules':%s}", rules);
	tree = json_of(b.ptr);
	buf_done(&b);
	if (audit_policy_read(tree, &p, &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

static const char *level(const struct audit_policy *p, const char *user, const char *line)
{
	struct span group = SPAN("dev");
	struct rbac_user u = {span_of(user), &group, 1};
	struct rbac_request q = request(line);
	return audit_level_name(audit_policy_level(p, &u, &q, AUDIT_RESPONSE_COMPLETE));
}

static void the_first_rule_that_matches_decides(void **state)
{
	struct audit_policy *p =
	    policy("[{'level':'None','users':['system:probe']},"
		   "{'level':'None','nonResourceURLs':['/healthz*']},"
		   "{'level':'RequestResponse','verbs':['delete'],'resources':[{'group':'batch'}]},"
		   "{'level':'Request','resources':[{'group':'','resources':['pods','pods/log']}],"
		   "'namespaces':['n']},"
		   "{'level':'Metadata','userGroups':['dev']}]");
	(void)state;
	assert_string_equal(level(p, "system:probe", "delete n/batch/jobs"), "None");
	assert_string_equal(level(p, "u", "get /healthz/x"), "None");
	assert_string_equal(level(p, "u", "get /metrics"), "Metadata");
	assert_string_equal(level(p, "u", "delete n/batch/jobs:x"), "RequestResponse");
	assert_string_equal(level(p, "u", "create n/batch/jobs"), "Metadata");
	assert_string_equal(level(p, "u", "get n//pods/log"), "Request");
	assert_string_equal(level(p, "u", "get n//pods/exec"), "Metadata");
	assert_string_equal(level(p, "u", "get m//pods"), "Metadata");
	audit_policy_free(p);
}

static bool is_logged(const struct audit_policy *p, const char *line, enum audit_stage stage)
{
	struct rbac_user u = {SPAN("u"), NULL, 0};
	struct rbac_request q = request(line);
	return audit_policy_level(p, &u, &q, stage) != AUDIT_NONE;
}

static void omitted_stages_are_the_rules_and_the_policys(void **state)
{
	auto_json *tree =
	    json_of("{'apiVersion':'audit.k8s.io/v1','kind':'Policy','omitStages':"
		    "['RequestReceived'],'rules':[{'level':'Metadata','verbs':['watch'],"
		    "'omitStages':['ResponseComplete','Panic']},{'level':'Metadata'}]}");
	struct audit_policy *p = NULL;
	(void)state;
	assert_int_equal(audit_policy_read(tree, &p, NULL), 0);
	assert_false(is_logged(p, "get n//pods", AUDIT_REQUEST_RECEIVED));
	assert_true(is_logged(p, "get n//pods", AUDIT_RESPONSE_STARTED));
	assert_true(is_logged(p, "get n//pods", AUDIT_RESPONSE_COMPLETE));
	assert_true(is_logged(p, "get n//pods", AUDIT_PANIC));
	assert_false(is_logged(p, "watch n//pods", AUDIT_REQUEST_RECEIVED));
	assert_true(is_logged(p, "watch n//pods", AUDIT_RESPONSE_STARTED));
	assert_false(is_logged(p, "watch n//pods", AUDIT_RESPONSE_COMPLETE));
	assert_false(is_logged(p, "watch n//pods", AUDIT_PANIC));
	audit_policy_free(p);
}

static void what_no_policy_has_is_refused(void **state)
{
	static const char *const bad[] = {
	    "{'apiVersion':'audit.k8s.io/v1','kind':'Policy','omitStages':['Late'],"
	    "'rules':[{'level':'Metadata'}]}",
	    "{'apiVersion':'audit.k8s.io/v1','kind':'Policy','omitStages':'Panic',"
	    "'rules':[{'level':'Metadata'}]}",
	    "{'apiVersion':'audit.k8s.io/v1','kind':'Policy',"
	    "'rules':[{'level':'Metadata','omitStages':[1]}]}",
	    "{'apiVersion':'audit.k8s.io/v1','kind':'Policy','rule':[],"
	    "'rules':[{'level':'Metadata'}]}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		auto_json *tree = json_of(bad[i]);
		struct audit_policy *p = NULL;
		assert_true(audit_policy_read(tree, &p, NULL) < 0);
		assert_null(p);
	}
}

static void what_no_rule_matches_is_not_logged(void **state)
{
	struct audit_policy *p = policy("[{'level':'Metadata','users':['x']}]");
	(void)state;
	assert_string_equal(level(p, "u", "get n//pods"), "None");
	audit_policy_free(p);
}

static void secrets_are_never_in_it(void **state)
{
	struct audit_policy *p = policy("[{'level':'RequestResponse'}]");
	(void)state;
	assert_string_equal(level(p, "u", "create n//configmaps"), "RequestResponse");
	assert_string_equal(level(p, "u", "create n//secrets"), "Metadata");
	assert_string_equal(level(p, "u", "get n//secrets:x"), "Metadata");
	assert_string_equal(level(p, "u", "create n//serviceaccounts/token:x"), "Metadata");
	assert_string_equal(level(p, "u", "create -/authentication.k8s.io/tokenreviews"),
			    "Metadata");
	assert_string_equal(level(p, "u", "get -/cluster.karmada.io/clusters/proxy:c"), "Metadata");
	audit_policy_free(p);
}

static void subresources_have_wildcards(void **state)
{
	struct audit_policy *p = policy(
	    "[{'level':'Metadata','resources':[{'group':'','resources':['pods/*','*/scale']}]},"
	    "{'level':'Request','resources':[{'group':'','resources':['nodes'],'resourceNames':"
	    "['a']}]}]");
	(void)state;
	assert_string_equal(level(p, "u", "get n//pods/log"), "Metadata");
	assert_string_equal(level(p, "u", "get n//pods"), "None");
	assert_string_equal(level(p, "u", "get n//things/scale"), "Metadata");
	assert_string_equal(level(p, "u", "get -//nodes:a"), "Request");
	assert_string_equal(level(p, "u", "get -//nodes:b"), "None");
	audit_policy_free(p);
}

static void a_policy_is_checked(void **state)
{
	static const char *const bad[] = {
	    "{}",
	    "{'apiVersion':'audit.k8s.io/v1','kind':'Policy'}",
	    "{'apiVersion':'audit.k8s.io/v1','kind':'Policy','rules':[{'level':'All'}]}",
	    "{'apiVersion':'audit.k8s.io/v1','kind':'Policy','rules':[{'level':'None','user':[]}]}",
	    "{'apiVersion':'audit.k8s.io/v1','kind':'Policy','rules':[{'level':'None','verbs':"
	    "'get'}]}",
	    "{'apiVersion':'audit.k8s.io/v1','kind':'Policy','rules':[{'level':'None',"
	    "'nonResourceURLs':['/x'],'namespaces':['n']}]}",
	    "{'apiVersion':'audit.k8s.io/v1beta1','kind':'Policy','rules':[{'level':'None'}]}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		auto_json *tree = json_of(bad[i]);
		struct audit_policy *p = NULL;
		struct err e = ERR_INIT;
		assert_true(audit_policy_read(tree, &p, &e) < 0);
		assert_int_equal(e.kind, ERR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_rule_that_matches_decides),
	    cmocka_unit_test(omitted_stages_are_the_rules_and_the_policys),
	    cmocka_unit_test(what_no_policy_has_is_refused),
	    cmocka_unit_test(what_no_rule_matches_is_not_logged),
	    cmocka_unit_test(secrets_are_never_in_it),
	    cmocka_unit_test(subresources_have_wildcards),
	    cmocka_unit_test(a_policy_is_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
