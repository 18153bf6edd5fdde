#include "access/rbac_bootstrap.h"
#include "access_test.h"

static struct cJSON *find(const struct cJSON *tree, const char *kind, const char *name)
{
	json_foreach (tree, o) {
		const char *n = json_value_str(json_path(o, "metadata", "name", NULL));
		if (strcmp(json_str(o, "kind"), kind) == 0 && strcmp(n, name) == 0)
			return o;
	}
	fail_msg("no %s %s", kind, name);
	return NULL;
}

static struct rbac *with_builtins(void)
{
	auto_json *tree = rbac_bootstrap_tree();
	struct rbac *r = rbac_create();
	json_foreach (tree, o) {
		struct span name = span_of(json_value_str(json_path(o, "metadata", "name", NULL)));
		if (strcmp(json_str(o, "kind"), "ClusterRole") == 0)
			rbac_put_role(r, SPAN(""), name, o);
		else
			rbac_put_binding(r, SPAN(""), name, o);
	}
	return r;
}

struct fill {
	struct rbac *r;
	struct cJSON *made; /* name: rules */
};

static void note(void *arg, struct span name, const struct rbac_rule *rules, size_t n)
{
	struct fill *f = arg;
	auto_free char *key = xstrndup(name.ptr, name.len);
	struct cJSON *tree = find(f->made, "ClusterRole", key);
	json_set(tree, "rules", rbac_rules_tree(rules, n));
}

/* As the controller: until nothing is stale. */
static void aggregate(struct rbac *r)
{
	auto_json *tree = rbac_bootstrap_tree();
	struct fill f = {r, tree};
	static const char *const names[] = {"view", "edit", "admin"};
	for (int round = 0; round < 3; round++) {
		rbac_each_stale_aggregate(r, note, &f);
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			rbac_put_role(r, SPAN(""), span_of(names[i]),
				      find(tree, "ClusterRole", names[i]));
	}
}

static bool may(struct rbac *r, const char *role, const char *line)
{
	auto_free char *text = NULL;
	struct buf b = BUF_INIT;
	struct rbac_user u = {.name = SPAN("u")};
	struct rbac_request q = request(line);
	auto_json *binding = NULL;
	buf_addf(&b,
		 "{'roleRef':{'kind':'ClusterRole','name':'%s'},'subjects':[{'kind':'User',"
		 "'name':'u'}]}",
		 role);
	text = buf_steal(&b, NULL);
	binding = json_of(text);
	rbac_put_binding(r, SPAN("n"), SPAN("b"), binding);
	return rbac_allows(r, &u, &q, NULL);
}

/* The ready-made roles, each bound in the namespace n. */
static void ready_made_roles_allow_their_work(void **state)
{
	static const struct {
		const char *role, *request;
		bool yes;
	} cases[] = {
	    {"muster:submitter", "create n/batch/jobs", true},
	    {"muster:submitter", "create n/kubeflow.org/pytorchjobs", true},
	    {"muster:submitter", "deletecollection n/jobset.x-k8s.io/jobsets", true},
	    {"muster:submitter", "get n//pods/log:p", true},
	    {"muster:submitter", "get n/muster.dev/PyTorchJob/why:x", true},
	    {"muster:submitter", "update n/kubeflow.org/pytorchjobs/status", false},
	    {"muster:submitter", "create m/batch/jobs", false},
	    {"muster:submitter", "create n/scheduling.sigs.k8s.io/elasticquotatrees", false},
	    {"muster:submitter", "create n/rbac.authorization.k8s.io/rolebindings", false},
	    {"muster:submitter", "create n//serviceaccounts/token", false},
	    {"muster:viewer", "list n/kubeflow.org/pytorchjobs", true},
	    {"muster:viewer", "get n/work.karmada.io/resourcebindings:b", true},
	    {"muster:viewer", "list n//secrets", false},
	    {"muster:viewer", "create n/batch/jobs", false},
	    {"muster:viewer", "get n/cluster.karmada.io/clusters/proxy:c", false},
	    {"muster:quota-admin", "patch n/scheduling.sigs.k8s.io/elasticquotatrees:t", true},
	    {"muster:quota-admin", "update n/scheduling.x-k8s.io/queues:q", true},
	    {"muster:quota-admin", "update n/scheduling.x-k8s.io/queueunits:q", false},
	    {"muster:quota-admin", "create n/batch/jobs", false},
	    {"view", "list n/batch/jobs", true},
	    {"view", "list n/kubeflow.org/pytorchjobs", true},
	    {"view", "list n//secrets", false},
	    {"view", "create n/batch/jobs", false},
	    {"edit", "create n/kubeflow.org/pytorchjobs", true},
	    {"edit", "create n//secrets", true},
	    {"edit", "create n//serviceaccounts/token", true},
	    {"edit", "create n/rbac.authorization.k8s.io/roles", false},
	    {"admin", "create n/rbac.authorization.k8s.io/roles", true},
	    {"admin", "create n/batch/jobs", true},
	    {"admin", "create n/rbac.authorization.k8s.io/clusterroles", false},
	    {"cluster-admin", "any n/x/y/z:w", true},
	};
	struct rbac *r = with_builtins();
	(void)state;
	aggregate(r);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (may(r, cases[i].role, cases[i].request) != cases[i].yes)
			fail_msg("%s: %s", cases[i].role, cases[i].request);
	rbac_destroy(r);
}

static void aggregates_settle(void **state)
{
	struct rbac *r = with_builtins();
	struct rbac_rule const *rules;
	auto_json *made = rbac_bootstrap_tree();
	struct fill f = {r, made};
	size_t n = 0;
	(void)state;
	aggregate(r);
	assert_int_equal(rbac_role_rules(r, SPAN(""), SPAN("edit"), &rules, &n), 0);
	assert_true(n > 10);
	/* a round more finds nothing: the trees stay as they were made */
	rbac_each_stale_aggregate(r, note, &f);
	assert_int_equal(json_len(json_get(find(made, "ClusterRole", "edit"), "rules")), 0);
	rbac_destroy(r);
}

static void what_is_missing_comes_back_and_additions_stay(void **state)
{
	auto_json *tree = rbac_bootstrap_tree();
	struct cJSON *want = find(tree, "ClusterRole", "system:basic-user");
	auto_json *have = json_dup(want);
	(void)state;
	assert_false(rbac_bootstrap_reconcile(want, have));
	json_remove_child(json_get(have, "rules"), json_at(json_get(have, "rules"), 0));
	json_append(json_get(have, "rules"),
		    json_of("{'verbs':['get'],'apiGroups':['x'],'resources':['y']}"));
	assert_true(rbac_bootstrap_reconcile(want, have));
	assert_int_equal(json_len(json_get(have, "rules")), json_len(json_get(want, "rules")) + 1);
	json_set_str(json_path(have, "metadata", "annotations", NULL),
		     "rbac.authorization.kubernetes.io/autoupdate", "false");
	json_set(have, "rules", json_array());
	assert_false(rbac_bootstrap_reconcile(want, have));
}

static void a_binding_gets_its_subjects_back(void **state)
{
	auto_json *tree = rbac_bootstrap_tree();
	struct cJSON *want = find(tree, "ClusterRoleBinding", "cluster-admin");
	auto_json *have = json_dup(want);
	(void)state;
	json_set(have, "subjects", json_of("[{'kind':'User','name':'x'}]"));
	assert_true(rbac_bootstrap_reconcile(want, have));
	assert_int_equal(json_len(json_get(have, "subjects")), 2);
	json_set(have, "roleRef", json_of("{'kind':'ClusterRole','name':'other'}"));
	json_set(have, "subjects", json_array());
	assert_false(rbac_bootstrap_reconcile(want, have));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ready_made_roles_allow_their_work),
	    cmocka_unit_test(aggregates_settle),
	    cmocka_unit_test(what_is_missing_comes_back_and_additions_stay),
	    cmocka_unit_test(a_binding_gets_its_subjects_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
