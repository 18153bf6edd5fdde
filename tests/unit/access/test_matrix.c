/* Every verb on every served resource and its subresources, for every ready-made role: what the
 * hub decides is what a second evaluator reads from the role as it is stored. */
#include "access/rbac_bootstrap.h"
#include "access_test.h"
#include "kinds/kinds.h"
#include "naive.h"

static const char *const verbs[] = {
    "get",  "list",	"watch",       "create",  "update", "patch", "delete", "deletecollection",
    "bind", "escalate", "impersonate", "approve", "sign",   "use",   "*"};
static const char *const subresources[] = {"",	       "status",   "scale",	      "log",
					   "exec",     "proxy",	   "token",	      "why",
					   "finalize", "attach",   "portforward",     "finalizers",
					   "approval", "eviction", "pendingworkloads"};
static const char *const paths[] = {"/",	   "/api",	     "/apis/batch/v1", "/version",
				    "/healthz",	   "/livez/",	     "/readyz/store",  "/metrics",
				    "/openapi/v3", "/openid/v1/jwks"};
static const char *const others[][2] = {/* of what is not a kind here */
					{"muster.dev", "quota"},
					{"muster.dev", "jobs"},
					{"muster.dev", "clusters"},
					{"visibility.kueue.x-k8s.io", "clusterqueues"},
					{"visibility.kueue.x-k8s.io", "localqueues"},
					{"certificates.k8s.io", "certificatesigningrequests"},
					{"", "users"},
					{"", "groups"},
					{"authentication.k8s.io", "userextras"},
					{"*", "*"},
					{"example.com", "things"}};

struct subject {
	struct rbac *rbac;
	const struct cJSON *role;
	struct rbac_user user;
	size_t asked, allowed;
};

static bool stored_allows(const struct cJSON *role, const struct rbac_request *q)
{
	json_foreach (json_get(role, "rules"), rule)
		if (naive_rule(rule, q))
			return true;
	return false;
}

static void compare(struct subject *s, const struct rbac_request *q)
{
	bool got = rbac_allows(s->rbac, &s->user, q, NULL), want = stored_allows(s->role, q);
	s->asked++;
	s->allowed += got;
	if (got != want)
		fail_msg("%s: %.*s %.*s/%.*s/%.*s%.*s: %d",
			 json_value_str(json_path(s->role, "metadata", "name", NULL)),
			 SPAN_ARGS(q->verb), SPAN_ARGS(q->group), SPAN_ARGS(q->resource),
			 SPAN_ARGS(q->subresource), SPAN_ARGS(q->path), got);
}

static void ask_resource(struct subject *s, const char *group, const char *plural)
{
	for (size_t v = 0; v < ARRAY_LEN(verbs); v++)
		for (size_t n = 0; n < ARRAY_LEN(subresources); n++) {
			struct rbac_request q = {.is_resource = true,
						 .verb = span_of(verbs[v]),
						 .group = span_of(group),
						 .resource = span_of(plural),
						 .subresource = span_of(subresources[n]),
						 .name = SPAN("x"),
						 .ns = SPAN(""),
						 .path = SPAN("")};
			compare(s, &q);
			q.ns = SPAN("n");
			compare(s, &q);
		}
}

static void ask_everything(struct subject *s)
{
	const struct kind_set *kinds = kinds_hub();
	for (size_t i = 0; i < kinds->n_kinds; i++)
		ask_resource(s, kinds->kinds[i]->group, kinds->kinds[i]->plural);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		ask_resource(s, others[i][0], others[i][1]);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		for (size_t v = 0; v < ARRAY_LEN(verbs); v++) {
			struct rbac_request q = {.verb = span_of(verbs[v]),
						 .group = SPAN(""),
						 .resource = SPAN(""),
						 .subresource = SPAN(""),
						 .name = SPAN(""),
						 .ns = SPAN(""),
						 .path = span_of(paths[i])};
			compare(s, &q);
		}
}

static struct cJSON *role_named(const struct cJSON *tree, struct span name)
{
	json_foreach (tree, o)
		if (strcmp(json_str(o, "kind"), "ClusterRole") == 0 &&
		    span_is(name, json_value_str(json_path(o, "metadata", "name", NULL))))
			return o;
	return NULL;
}

static void note(void *arg, struct span name, const struct rbac_rule *rules, size_t n)
{
	json_set(role_named(arg, name), "rules", rbac_rules_tree(rules, n));
}

static void put_roles(struct rbac *r, const struct cJSON *tree)
{
	json_foreach (tree, o)
		if (strcmp(json_str(o, "kind"), "ClusterRole") == 0)
			rbac_put_role(
			    r, SPAN(""),
			    span_of(json_value_str(json_path(o, "metadata", "name", NULL))), o);
}

static void every_ready_made_role_allows_what_it_says(void **state)
{
	auto_json *tree = rbac_bootstrap_tree();
	struct rbac *r = rbac_create();
	size_t roles = 0;
	(void)state;
	for (int round = 0; round < 4; round++) { /* as the controller, until nothing is stale */
		put_roles(r, tree);
		rbac_each_stale_aggregate(r, note, tree);
	}
	json_foreach (tree, o) {
		struct subject s = {.rbac = r, .role = o, .user = {.name = SPAN("u")}};
		auto_json *binding = json_object();
		struct cJSON *ref;
		if (strcmp(json_str(o, "kind"), "ClusterRole") != 0)
			continue;
		ref = json_object();
		json_set_str(ref, "kind", "ClusterRole");
		json_set(ref, "name", json_dup(json_path(o, "metadata", "name", NULL)));
		json_set(binding, "roleRef", ref);
		json_set(binding, "subjects", json_of("[{'kind':'User','name':'u'}]"));
		rbac_put_binding(r, SPAN(""), SPAN("b"), binding);
		ask_everything(&s);
		assert_true(s.allowed > 0);
		if (!span_is(SPAN("cluster-admin"),
			     json_value_str(json_path(o, "metadata", "name", NULL))))
			assert_true(s.allowed < s.asked);
		roles++;
	}
	assert_true(roles >= 16);
	rbac_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_ready_made_role_allows_what_it_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
