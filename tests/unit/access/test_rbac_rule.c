#include "access_test.h"

static bool allows(const char *rule, const char *line)
{
	auto_json *tree = json_of(rule);
	auto_json *list = json_array();
	auto_arena mem = ARENA_INIT;
	struct rbac_request q = request(line);
	struct rbac_rule *rules;
	size_t n;
	json_append(list, json_dup(tree));
	rbac_rules_read(list, &mem, &rules, &n);
	assert_int_equal(n, 1);
	return rbac_rule_allows(&rules[0], &q);
}

static void rules_match_as_kubernetes_reads_them(void **state)
{
	static const struct {
		const char *rule, *request;
		bool yes;
	} cases[] = {
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['pods']}", "get n//pods", true},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['pods']}", "list n//pods", false},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['pods']}", "get n/batch/pods", false},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['pods']}", "get n//pods/log", false},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['pods/log']}", "get n//pods/log",
	     true},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['pods/log']}", "get n//pods", false},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['*']}", "get n//pods/log", true},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['*/log']}", "get n//pods/log", true},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['*/log']}", "get n//pods/logs", false},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['*/log']}", "get n//log", false},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['pods/*']}", "get n//pods/log", false},
	    {"{'verbs':['*'],'apiGroups':['*'],'resources':['*']}", "x -/any/thing/sub:n", true},
	    {"{'verbs':['*'],'apiGroups':['*'],'resources':['*']}", "get /metrics", false},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['pods'],'resourceNames':['a']}",
	     "get n//pods:a", true},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['pods'],'resourceNames':['a']}",
	     "get n//pods:b", false},
	    {"{'verbs':['create'],'apiGroups':[''],'resources':['pods'],'resourceNames':['a']}",
	     "create n//pods", false},
	    {"{'verbs':['get'],'apiGroups':[''],'resources':['pods'],'resourceNames':['*']}",
	     "get n//pods:b", false},
	    {"{'verbs':['get'],'nonResourceURLs':['/healthz']}", "get /healthz", true},
	    {"{'verbs':['get'],'nonResourceURLs':['/healthz']}", "get /healthz/x", false},
	    {"{'verbs':['get'],'nonResourceURLs':['/healthz/*']}", "get /healthz/x", true},
	    {"{'verbs':['get'],'nonResourceURLs':['/healthz/*']}", "get /healthz", false},
	    {"{'verbs':['get'],'nonResourceURLs':['/health*']}", "get /healthz/x", true},
	    {"{'verbs':['get'],'nonResourceURLs':['/a**']}", "get /ab", true},
	    {"{'verbs':['get'],'nonResourceURLs':['/*/b']}", "get /a/b", false},
	    {"{'verbs':['get'],'nonResourceURLs':['*']}", "get /a/b", true},
	    {"{'verbs':['get'],'nonResourceURLs':['*']}", "post /a/b", false},
	    {"{'verbs':['*'],'nonResourceURLs':['*']}", "get n//pods", false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (allows(cases[i].rule, cases[i].request) != cases[i].yes)
			fail_msg("%s: %s", cases[i].rule, cases[i].request);
}

static bool covers(const char *held, const char *wanted, struct buf *missing)
{
	auto_json *h = json_of(held);
	auto_json *w = json_of(wanted);
	auto_arena mem = ARENA_INIT;
	struct rbac_rule *a, *b;
	size_t n, m;
	rbac_rules_read(h, &mem, &a, &n);
	rbac_rules_read(w, &mem, &b, &m);
	return rbac_rules_cover(a, n, b, m, missing);
}

static void nobody_grants_what_they_lack(void **state)
{
	static const struct {
		const char *held, *wanted;
		bool yes;
	} cases[] = {
	    {"[]", "[]", true},
	    {"[]", "[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]", false},
	    {"[{'verbs':['*'],'apiGroups':['*'],'resources':['*']}]",
	     "[{'verbs':['*'],'apiGroups':['*'],'resources':['*']}]", true},
	    {"[{'verbs':['get','list'],'apiGroups':[''],'resources':['pods']}]",
	     "[{'verbs':['*'],'apiGroups':[''],'resources':['pods']}]", false},
	    /* each verb may come from another rule */
	    {"[{'verbs':['get'],'apiGroups':[''],'resources':['pods']},"
	     "{'verbs':['list'],'apiGroups':[''],'resources':['*']}]",
	     "[{'verbs':['get','list'],'apiGroups':[''],'resources':['pods']}]", true},
	    {"[{'verbs':['get'],'apiGroups':[''],'resources':['*/status']}]",
	     "[{'verbs':['get'],'apiGroups':[''],'resources':['pods/status']}]", true},
	    {"[{'verbs':['get'],'apiGroups':[''],'resources':['*/status']}]",
	     "[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]", false},
	    {"[{'verbs':['get'],'apiGroups':[''],'resources':['pods'],'resourceNames':['a']}]",
	     "[{'verbs':['get'],'apiGroups':[''],'resources':['pods'],'resourceNames':['a']}]",
	     true},
	    {"[{'verbs':['get'],'apiGroups':[''],'resources':['pods'],'resourceNames':['a']}]",
	     "[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]", false},
	    {"[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]",
	     "[{'verbs':['get'],'apiGroups':[''],'resources':['pods'],'resourceNames':['a','b']}]",
	     true},
	    {"[{'verbs':['get'],'nonResourceURLs':['/a/*']}]",
	     "[{'verbs':['get'],'nonResourceURLs':['/a/b','/a/c*']}]", true},
	    {"[{'verbs':['get'],'nonResourceURLs':['/a/b']}]",
	     "[{'verbs':['get'],'nonResourceURLs':['/a/*']}]", false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (covers(cases[i].held, cases[i].wanted, NULL) != cases[i].yes)
			fail_msg("%s over %s", cases[i].held, cases[i].wanted);
}

static void what_is_missing_is_told_in_order(void **state)
{
	auto_buf text = BUF_INIT;
	(void)state;
	assert_false(covers("[{'verbs':['get'],'apiGroups':[''],'resources':['pods']}]",
			    "[{'verbs':['get','list','watch'],'apiGroups':[''],'resources':['pods'"
			    "]},{'verbs':['get'],'apiGroups':['batch'],'resources':['jobs'],"
			    "'resourceNames':['a']},{'verbs':['get'],'nonResourceURLs':['/x']}]",
			    &text));
	assert_string_equal(
	    text.ptr,
	    "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\" \"watch\"]}\n"
	    "{APIGroups:[\"batch\"], Resources:[\"jobs\"], ResourceNames:[\"a\"], Verbs:[\"get\"]}\n"
	    "{NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rules_match_as_kubernetes_reads_them),
	    cmocka_unit_test(nobody_grants_what_they_lack),
	    cmocka_unit_test(what_is_missing_is_told_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
