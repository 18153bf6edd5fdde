#include "api/escalation.h"

#include "base/json.h"
#include "kinds/types.h"

static bool is_rbac(const struct kind *k)
{
	return k->type == TYPE_ROLE || k->type == TYPE_CLUSTER_ROLE ||
	       k->type == TYPE_ROLE_BINDING || k->type == TYPE_CLUSTER_ROLE_BINDING;
}

/* What a garbage collector changes: owners and finalizers. */
static struct cJSON *without_gc_fields(const struct cJSON *object)
{
	struct cJSON *copy = json_dup(object), *meta = json_get(copy, "metadata");
	json_remove(meta, "ownerReferences");
	json_remove(meta, "finalizers");
	json_remove(meta, "resourceVersion");
	json_remove(meta, "managedFields");
	return copy;
}

static bool only_for_gc(const struct cJSON *object, const struct cJSON *old)
{
	auto_json *a = without_gc_fields(object), *b = without_gc_fields(old);
	return json_equal(a, b);
}

static struct span ns_of(const struct call *c)
{
	return c->info.ns.ptr ? c->info.ns : SPAN("");
}

static bool may(const struct rbac *rbac, const struct call *c, const char *verb,
		const char *resource, struct span name)
{
	struct rbac_user u = auth_rbac_user(&c->user);
	struct rbac_request q = {.is_resource = true,
				 .verb = span_of(verb),
				 .group = SPAN(RBAC_GROUP),
				 .resource = span_of(resource),
				 .subresource = SPAN(""),
				 .name = name.ptr ? name : SPAN(""),
				 .ns = ns_of(c)};
	return rbac_allows(rbac, &u, &q, NULL);
}

static int refuse(const struct call *c, const struct cJSON *object, const struct buf *missing,
		  struct err *reterr)
{
	const char *name = json_value_str(json_path(object, "metadata", "name", NULL));
	auto_buf why = BUF_INIT;
	buf_addf(&why, "user \"%.*s\" (groups=[", SPAN_ARGS(c->user.name));
	for (size_t i = 0; i < c->user.n_groups; i++)
		buf_addf(&why, "%s\"%.*s\"", i ? " " : "", SPAN_ARGS(c->user.groups[i]));
	buf_addf(&why, "]) is attempting to grant RBAC permissions not currently held:\n%s",
		 missing->ptr ? missing->ptr : "");
	return status_set_forbidden(reterr, c->kind, name ? name : "", why.ptr);
}

static int confirm(const struct rbac *rbac, const struct call *c, const struct cJSON *object,
		   const struct rbac_rule *rules, size_t n, struct err *reterr)
{
	struct rbac_user u = auth_rbac_user(&c->user);
	auto_arena mem = ARENA_INIT;
	auto_buf missing = BUF_INIT;
	struct rbac_rule *held;
	size_t n_held;
	rbac_rules_of(rbac, &u, ns_of(c), &mem, &held, &n_held);
	if (rbac_rules_cover(held, n_held, rules, n, &missing))
		return 0;
	return refuse(c, object, &missing, reterr);
}

static int check_aggregation(const struct rbac *rbac, const struct call *c,
			     const struct cJSON *object, const struct cJSON *old,
			     struct err *reterr)
{
	static const struct span star = {"*", 1};
	const struct rbac_words all = {&star, 1};
	const struct rbac_rule everything[] = {
	    {.verbs = all, .api_groups = all, .resources = all},
	    {.verbs = all, .non_resource_urls = all},
	};
	const struct cJSON *now = json_get(object, "aggregationRule");
	const struct cJSON *before = json_get(old, "aggregationRule");
	const char *name;
	if (now && before ? json_equal(now, before) : now == before)
		return 0;
	if (confirm(rbac, c, object, everything, ARRAY_LEN(everything), NULL) == 0)
		return 0;
	name = json_value_str(json_path(object, "metadata", "name", NULL));
	return status_set_forbidden(
	    reterr, c->kind, name ? name : "",
	    "must have cluster-admin privileges to use the aggregationRule");
}

static int check_role(const struct rbac *rbac, const struct call *c, const struct cJSON *object,
		      const struct cJSON *old, struct err *reterr)
{
	auto_arena mem = ARENA_INIT;
	struct rbac_rule *rules;
	size_t n;
	int r;
	if (may(rbac, c, "escalate", c->kind->plural, c->info.name))
		return 0;
	rbac_rules_read(json_get(object, "rules"), &mem, &rules, &n);
	r = check_aggregation(rbac, c, object, old, reterr);
	return r ? r : confirm(rbac, c, object, rules, n, reterr);
}

static int check_binding(const struct rbac *rbac, const struct call *c, const struct cJSON *object,
			 struct err *reterr)
{
	const struct cJSON *ref = json_get(object, "roleRef");
	const char *kind = json_str(ref, "kind"), *name = json_str(ref, "name");
	bool cluster = kind && strcmp(kind, "ClusterRole") == 0;
	const char *resource = cluster ? "clusterroles" : "roles";
	const struct rbac_rule *rules;
	size_t n;
	if (may(rbac, c, "bind", resource, span_of(name)))
		return 0;
	if (rbac_role_rules(rbac, cluster ? SPAN("") : ns_of(c), span_of(name), &rules, &n) < 0)
		return err_set(reterr, ERR_NOT_FOUND, "%s." RBAC_GROUP " \"%s\" not found",
			       c->kind->plural, name ? name : "");
	return confirm(rbac, c, object, rules, n, reterr);
}

int escalation_check(const struct call *c, const struct cJSON *object, const struct cJSON *old,
		     struct err *reterr)
{
	struct rbac_user u = auth_rbac_user(&c->user);
	struct authorizer *a = c->listener->authorizer;
	const struct rbac *rbac;
	int r;
	if (!is_rbac(c->kind) || rbac_is_master(&u) || (old && only_for_gc(object, old)))
		return 0;
	rbac = authorizer_lock(a);
	if (c->kind->type == TYPE_ROLE || c->kind->type == TYPE_CLUSTER_ROLE)
		r = check_role(rbac, c, object, old, reterr);
	else
		r = check_binding(rbac, c, object, reterr);
	authorizer_unlock(a);
	return r;
}
