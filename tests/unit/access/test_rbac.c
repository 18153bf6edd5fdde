#include "access_test.h"
#include "naive.h"

static void put_role(struct rbac *r, const char *ns, const char *name, const char *rules)
{
	struct buf b = BUF_INIT;
	auto_json *tree = NULL;
	buf_addf(&b, "{'rules':%s}", rules);
	tree = json_of(b.ptr);
	rbac_put_role(r, span_of(ns), span_of(name), tree);
	buf_done(&b);
}

/* subjects: "U:alice G:dev S:ns/name" */
static void put_binding(struct rbac *r, const char *ns, const char *name, const char *role,
			const char *subjects)
{
	struct buf b = BUF_INIT;
	auto_json *tree = NULL;
	struct span rest = span_of(subjects), s;
	bool cluster = role[0] == '/';
	buf_addf(&b, "{'roleRef':{'kind':'%s','name':'%s'},'subjects':[",
		 cluster ? "ClusterRole" : "Role", cluster ? role + 1 : role);
	while ((s = span_split(&rest, ' ')).len) {
		struct span of = span_make(s.ptr + 2, s.len - 2);
		if (b.ptr[b.len - 1] == '}')
			buf_add_char(&b, ',');
		if (s.ptr[0] == 'S') {
			struct span in = span_split(&of, '/');
			buf_addf(&b, "{'kind':'ServiceAccount','namespace':'%.*s','name':'%.*s'}",
				 SPAN_ARGS(in), SPAN_ARGS(of));
		} else {
			buf_addf(&b, "{'kind':'%s','name':'%.*s'}",
				 s.ptr[0] == 'U' ? "User" : "Group", SPAN_ARGS(of));
		}
	}
	buf_add_str(&b, "]}");
	tree = json_of(b.ptr);
	rbac_put_binding(r, span_of(ns), span_of(name), tree);
	buf_done(&b);
}

static bool may(const struct rbac *r, const char *user, const char *group, const char *line,
		struct buf *reason)
{
	struct span groups[] = {span_of(group)};
	struct rbac_user u = {span_of(user), groups, group ? 1 : 0};
	struct rbac_request q = request(line);
	return rbac_allows(r, &u, &q, reason);
}

#define READ_PODS "[{'verbs':['get','list'],'apiGroups':[''],'resources':['pods']}]"

static void bindings_reach_their_subjects_and_no_further(void **state)
{
	static const struct {
		const char *user, *group, *request;
		bool yes;
	} cases[] = {
	    {"alice", NULL, "get n//pods", true},
	    {"alice", NULL, "get m//pods", false},
	    {"alice", NULL, "get -//pods", false},
	    {"bob", NULL, "get n//pods", false},
	    {"bob", "dev", "get n//pods", true},
	    {"dev", NULL, "get n//pods", false},
	    {"bob", "alice", "get n//pods", false},
	    {"system:serviceaccount:n:robot", NULL, "get n//pods", true},
	    {"system:serviceaccount:m:robot", NULL, "get n//pods", false},
	    {"carol", NULL, "get any//pods", true},
	    {"carol", NULL, "get -//pods", true},
	    {"carol", NULL, "delete any//pods", false},
	    {"eve", "system:masters", "anything -/x/y", true},
	    {"dave", NULL, "get n/batch/jobs", true},
	    {"dave", NULL, "get m/batch/jobs", false},
	    {"erin", NULL, "get /x", true},
	    {"frank", NULL, "get /x", false}, /* a RoleBinding gives no paths */
	};
	struct rbac *r = rbac_create();
	(void)state;
	put_role(r, "", "readers", READ_PODS);
	put_role(r, "n", "local", "[{'verbs':['*'],'apiGroups':['batch'],'resources':['jobs']}]");
	put_role(r, "", "paths", "[{'verbs':['get'],'nonResourceURLs':['/x']}]");
	put_binding(r, "n", "a", "/readers", "U:alice G:dev S:n/robot");
	put_binding(r, "", "b", "/readers", "U:carol");
	put_binding(r, "n", "c", "local", "U:dave");
	put_binding(r, "m", "c", "local", "U:dave"); /* no such role there */
	put_binding(r, "", "d", "/paths", "U:erin");
	put_binding(r, "n", "d", "/paths", "U:frank");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (may(r, cases[i].user, cases[i].group, cases[i].request, NULL) != cases[i].yes)
			fail_msg("%s (%s): %s", cases[i].user, cases[i].group ? cases[i].group : "",
				 cases[i].request);
	rbac_destroy(r);
}

static void reasons_name_the_grant_or_the_missing_role(void **state)
{
	auto_buf a = BUF_INIT, b = BUF_INIT, c = BUF_INIT;
	struct rbac *r = rbac_create();
	(void)state;
	put_role(r, "", "readers", READ_PODS);
	put_binding(r, "n", "a", "/readers", "S:n/robot");
	put_binding(r, "", "b", "/gone", "U:bob");
	put_binding(r, "n", "c", "away", "U:bob");
	put_binding(r, "", "d", "/readers", "G:dev");
	assert_true(may(r, "system:serviceaccount:n:robot", NULL, "get n//pods", &a));
	assert_string_equal(a.ptr, "RBAC: allowed by RoleBinding \"a/n\" of ClusterRole "
				   "\"readers\" to ServiceAccount \"robot/n\"");
	assert_false(may(r, "bob", NULL, "get n//pods", &b));
	assert_string_equal(b.ptr,
			    "RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not found, "
			    "role.rbac.authorization.k8s.io \"away\" not found]");
	assert_true(may(r, "x", "dev", "get n//pods", &c));
	assert_string_equal(c.ptr, "RBAC: allowed by ClusterRoleBinding \"d\" of ClusterRole "
				   "\"readers\" to Group \"dev\"");
	rbac_destroy(r);
}

static void changes_take_effect_at_once(void **state)
{
	struct rbac *r = rbac_create();
	(void)state;
	put_binding(r, "n", "a", "/readers", "U:alice");
	assert_false(may(r, "alice", NULL, "get n//pods", NULL));
	put_role(r, "", "readers", READ_PODS); /* after its binding */
	assert_true(may(r, "alice", NULL, "get n//pods", NULL));
	put_role(r, "", "readers", "[]");
	assert_false(may(r, "alice", NULL, "get n//pods", NULL));
	put_role(r, "", "readers", READ_PODS);
	put_binding(r, "n", "a", "/readers", "U:bob U:bob");
	assert_false(may(r, "alice", NULL, "get n//pods", NULL));
	assert_true(may(r, "bob", NULL, "get n//pods", NULL));
	rbac_remove_role(r, SPAN(""), SPAN("readers"));
	assert_false(may(r, "bob", NULL, "get n//pods", NULL));
	put_role(r, "", "readers", READ_PODS);
	assert_true(may(r, "bob", NULL, "get n//pods", NULL));
	rbac_remove_binding(r, SPAN("n"), SPAN("a"));
	assert_false(may(r, "bob", NULL, "get n//pods", NULL));
	rbac_remove_binding(r, SPAN("n"), SPAN("a"));
	rbac_remove_role(r, SPAN(""), SPAN("nothing"));
	rbac_destroy(r);
}

/* ---- a naive evaluator over the trees, and random policies ---- */

struct object {
	char ns[8], name[8];
	struct cJSON *tree; /* NULL: absent */
};

#define N_ROLES	   12
#define N_BINDINGS 24

struct world {
	struct object roles[N_ROLES], bindings[N_BINDINGS];
	uint64_t seed;
};

static uint32_t dice(struct world *w, uint32_t n)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w->seed >> 33) % n;
}

static const char *const verbs[] = {"get", "list", "create", "*", "delete"};
static const char *const groups[] = {"", "batch", "*"};
static const char *const resources[] = {"pods", "jobs", "pods/log", "*/log", "*", "jobs/status"};
static const char *const urls[] = {"/a", "/a/*", "*", "/a/b", "/a*"};
static const char *const names[] = {"x", "y"};
static const char *const spaces[] = {"", "n", "m"};
static const char *const users[] = {"alice", "bob", "system:serviceaccount:n:x",
				    "system:serviceaccount:m:y"};
static const char *const teams[] = {"dev", "ops", "alice"};

static struct cJSON *some(struct world *w, const char *const *from, size_t n)
{
	struct cJSON *list = json_array();
	for (uint32_t i = 1 + dice(w, 2); i; i--)
		json_append(list, json_new_str(from[dice(w, (uint32_t)n)]));
	return list;
}

static struct cJSON *random_rule(struct world *w)
{
	struct cJSON *rule = json_object();
	json_set(rule, "verbs", some(w, verbs, ARRAY_LEN(verbs)));
	if (dice(w, 4) == 0) {
		json_set(rule, "nonResourceURLs", some(w, urls, ARRAY_LEN(urls)));
		return rule;
	}
	json_set(rule, "apiGroups", some(w, groups, ARRAY_LEN(groups)));
	json_set(rule, "resources", some(w, resources, ARRAY_LEN(resources)));
	if (dice(w, 4) == 0)
		json_set(rule, "resourceNames", some(w, names, ARRAY_LEN(names)));
	return rule;
}

static struct cJSON *random_role(struct world *w)
{
	struct cJSON *role = json_object(), *rules = json_array();
	for (uint32_t i = dice(w, 3); i; i--)
		json_append(rules, random_rule(w));
	json_set(role, "rules", rules);
	return role;
}

static struct cJSON *random_subject(struct world *w)
{
	struct cJSON *s = json_object();
	uint32_t kind = dice(w, 3);
	json_set_str(s, "kind", kind == 0 ? "User" : kind == 1 ? "Group" : "ServiceAccount");
	json_set_str(s, "name",
		     kind == 0	 ? users[dice(w, ARRAY_LEN(users))]
		     : kind == 1 ? teams[dice(w, ARRAY_LEN(teams))]
				 : names[dice(w, ARRAY_LEN(names))]);
	if (kind == 2 && dice(w, 3))
		json_set_str(s, "namespace", spaces[dice(w, ARRAY_LEN(spaces))]);
	return s;
}

static struct cJSON *random_binding(struct world *w, const char *ns)
{
	struct cJSON *b = json_object(), *ref = json_object(), *list = json_array();
	const struct object *role = &w->roles[dice(w, N_ROLES)];
	bool cluster = !ns[0] || dice(w, 2);
	json_set_str(ref, "kind", cluster ? "ClusterRole" : "Role");
	json_set_str(ref, "name", role->name);
	json_set(b, "roleRef", ref);
	for (uint32_t i = dice(w, 4); i; i--)
		json_append(list, random_subject(w));
	json_set(b, "subjects", list);
	return b;
}

static bool naive_subject(const struct cJSON *s, const char *ns, const char *user,
			  const char *group)
{
	const char *kind = json_str(s, "kind"), *name = json_str(s, "name");
	const char *of = json_str(s, "namespace");
	char account[128];
	if (strcmp(kind, "User") == 0)
		return strcmp(name, user) == 0;
	if (strcmp(kind, "Group") == 0)
		return strcmp(name, group) == 0;
	if (!of || !of[0])
		of = ns;
	snprintf(account, sizeof(account), "system:serviceaccount:%s:%s", of, name);
	return of[0] && strcmp(account, user) == 0;
}

static bool naive(const struct world *w, const char *user, const char *group,
		  const struct rbac_request *q)
{
	for (size_t i = 0; i < N_BINDINGS; i++) {
		const struct object *b = &w->bindings[i];
		const struct cJSON *ref = json_get(b->tree, "roleRef");
		bool cluster, bound = false;
		if (!b->tree)
			continue;
		if (b->ns[0] && (!q->is_resource || !span_is(q->ns, b->ns)))
			continue;
		json_foreach (json_get(b->tree, "subjects"), s)
			bound = bound || naive_subject(s, b->ns, user, group);
		cluster = strcmp(json_str(ref, "kind"), "ClusterRole") == 0;
		for (size_t k = 0; bound && k < N_ROLES; k++) {
			const struct object *role = &w->roles[k];
			if (!role->tree || strcmp(role->ns, cluster ? "" : b->ns) != 0 ||
			    strcmp(role->name, json_str(ref, "name")) != 0)
				continue;
			json_foreach (json_get(role->tree, "rules"), rule)
				if (naive_rule(rule, q))
					return true;
		}
	}
	return false;
}

static struct rbac_request random_request(struct world *w)
{
	static const char *const what[] = {"pods", "jobs", "secrets"};
	static const char *const subs[] = {"", "", "log", "status"};
	static const char *const paths[] = {"/a", "/a/b", "/b", "/"};
	static const char *const named[] = {"", "x", "y", "z"};
	return (struct rbac_request){.is_resource = dice(w, 5) != 0,
				     .verb = span_of(verbs[dice(w, 3)]),
				     .group = span_of(groups[dice(w, 2)]),
				     .resource = span_of(what[dice(w, ARRAY_LEN(what))]),
				     .subresource = span_of(subs[dice(w, ARRAY_LEN(subs))]),
				     .name = span_of(named[dice(w, ARRAY_LEN(named))]),
				     .ns = span_of(spaces[dice(w, ARRAY_LEN(spaces))]),
				     .path = span_of(paths[dice(w, ARRAY_LEN(paths))])};
}

static void change(struct world *w, struct rbac *r)
{
	bool role = dice(w, 2);
	struct object *o = role ? &w->roles[dice(w, N_ROLES)] : &w->bindings[dice(w, N_BINDINGS)];
	struct span ns = span_of(o->ns), name = span_of(o->name);
	json_free(o->tree);
	o->tree = NULL;
	if (dice(w, 4) == 0) {
		if (role)
			rbac_remove_role(r, ns, name);
		else
			rbac_remove_binding(r, ns, name);
		return;
	}
	o->tree = role ? random_role(w) : random_binding(w, o->ns);
	if (role)
		rbac_put_role(r, ns, name, o->tree);
	else
		rbac_put_binding(r, ns, name, o->tree);
}

static void it_agrees_with_a_naive_evaluator(void **state)
{
	struct world w = {.seed = 20261121};
	struct rbac *r = rbac_create();
	size_t yes = 0, all = 0;
	(void)state;
	for (size_t i = 0; i < N_ROLES + N_BINDINGS; i++) {
		struct object *o = i < N_ROLES ? &w.roles[i] : &w.bindings[i - N_ROLES];
		snprintf(o->ns, sizeof(o->ns), "%s", spaces[i % 3]);
		snprintf(o->name, sizeof(o->name), "o%zu", i / 3);
	}
	for (int step = 0; step < 4000; step++) {
		change(&w, r);
		for (int k = 0; k < 10; k++) {
			struct rbac_request q = random_request(&w);
			const char *user = users[dice(&w, ARRAY_LEN(users))];
			struct span group = span_of(teams[dice(&w, ARRAY_LEN(teams))]);
			struct rbac_user u = {span_of(user), &group, 1};
			bool want = naive(&w, user, group.ptr, &q);
			if (rbac_allows(r, &u, &q, NULL) != want)
				fail_msg("step %d: %s should be %d", step, user, want);
			yes += want;
			all++;
		}
	}
	assert_in_range(yes, all / 20, all * 19 / 20); /* both answers were asked for */
	for (size_t i = 0; i < N_ROLES; i++)
		json_free(w.roles[i].tree);
	for (size_t i = 0; i < N_BINDINGS; i++)
		json_free(w.bindings[i].tree);
	rbac_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bindings_reach_their_subjects_and_no_further),
	    cmocka_unit_test(reasons_name_the_grant_or_the_missing_role),
	    cmocka_unit_test(changes_take_effect_at_once),
	    cmocka_unit_test(it_agrees_with_a_naive_evaluator),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
