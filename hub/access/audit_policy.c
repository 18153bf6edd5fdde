#include "access/audit_policy.h"

#include "base/json.h"

static const char *const level_names[AUDIT_LEVEL_MAX] = {"None", "Metadata", "Request",
							 "RequestResponse"};

struct resources {
	struct span group;
	struct rbac_words resources, names;
};

static const char *const stage_names[AUDIT_STAGE_MAX] = {"RequestReceived", "ResponseStarted",
							 "ResponseComplete", "Panic"};

struct rule {
	enum audit_level level;
	unsigned omitted; /* a bit for each stage, the policy's among them */
	struct rbac_words users, groups, verbs, namespaces, urls;
	struct resources *resources;
	size_t n_resources;
};

struct audit_policy {
	struct arena mem;
	struct rule *rules;
	size_t n;
};

const char *audit_level_name(enum audit_level l)
{
	return l >= 0 && l < AUDIT_LEVEL_MAX ? level_names[l] : "?";
}

const char *audit_stage_name(enum audit_stage s)
{
	return s >= 0 && s < AUDIT_STAGE_MAX ? stage_names[s] : "?";
}

/* ---- reading ---- */

static int wrong(struct err *reterr, size_t rule, const char *what)
{
	char path[64];
	snprintf(path, sizeof(path), "rules[%zu].%s", rule, what);
	return err_set_field(reterr, ERR_INVALID, path, "audit policy: %s is not valid", path);
}

static bool read_words(const struct cJSON *object, const char *key, struct arena *mem,
		       struct rbac_words *ret)
{
	const struct cJSON *list = json_get(object, key);
	struct span *items;
	size_t i = 0;
	if (!list || json_is(list, JSON_NULL))
		return true;
	if (!json_is(list, JSON_ARRAY))
		return false;
	items = json_len(list) ? arena_array(mem, struct span, json_len(list)) : NULL;
	json_foreach (list, word) {
		if (!json_value_str(word))
			return false;
		items[i++] = arena_span(mem, span_of(json_value_str(word)));
	}
	*ret = (struct rbac_words){items, i};
	return true;
}

static bool read_resources(const struct cJSON *list, struct arena *mem, struct rule *r)
{
	if (!list || json_is(list, JSON_NULL))
		return true;
	if (!json_is(list, JSON_ARRAY))
		return false;
	r->resources = json_len(list) ? arena_array(mem, struct resources, json_len(list)) : NULL;
	json_foreach (list, item) {
		struct resources *one = &r->resources[r->n_resources++];
		const char *group = json_str(item, "group");
		one->group = group ? arena_span(mem, span_of(group)) : SPAN("");
		if (!json_is(item, JSON_OBJECT) ||
		    !read_words(item, "resources", mem, &one->resources) ||
		    !read_words(item, "resourceNames", mem, &one->names))
			return false;
	}
	return true;
}

static bool read_level(const struct cJSON *rule, enum audit_level *ret)
{
	const char *text = json_str(rule, "level");
	for (int l = 0; text && l < AUDIT_LEVEL_MAX; l++)
		if (strcmp(text, level_names[l]) == 0) {
			*ret = (enum audit_level)l;
			return true;
		}
	return false;
}

static bool read_stages(const struct cJSON *list, unsigned *ret)
{
	if (!list || json_is(list, JSON_NULL))
		return true;
	if (!json_is(list, JSON_ARRAY))
		return false;
	json_foreach (list, item) {
		const char *word = json_value_str(item);
		int s = 0;
		while (word && s < AUDIT_STAGE_MAX && strcmp(word, stage_names[s]) != 0)
			s++;
		if (!word || s == AUDIT_STAGE_MAX)
			return false;
		*ret |= 1u << s;
	}
	return true;
}

static int read_rule(const struct cJSON *tree, size_t i, struct arena *mem, struct rule *r,
		     struct err *reterr)
{
	static const char *const known[] = {"level",	 "users",      "userGroups",
					    "verbs",	 "namespaces", "nonResourceURLs",
					    "resources", "omitStages", "omitManagedFields"};
	json_foreach (tree, member) {
		size_t n = 0;
		while (n < ARRAY_LEN(known) && strcmp(json_key(member), known[n]) != 0)
			n++;
		if (n == ARRAY_LEN(known))
			return wrong(reterr, i, json_key(member));
	}
	if (!read_level(tree, &r->level))
		return wrong(reterr, i, "level");
	if (!read_words(tree, "users", mem, &r->users))
		return wrong(reterr, i, "users");
	if (!read_words(tree, "userGroups", mem, &r->groups))
		return wrong(reterr, i, "userGroups");
	if (!read_words(tree, "verbs", mem, &r->verbs))
		return wrong(reterr, i, "verbs");
	if (!read_words(tree, "namespaces", mem, &r->namespaces))
		return wrong(reterr, i, "namespaces");
	if (!read_words(tree, "nonResourceURLs", mem, &r->urls))
		return wrong(reterr, i, "nonResourceURLs");
	if (!read_resources(json_get(tree, "resources"), mem, r))
		return wrong(reterr, i, "resources");
	if (!read_stages(json_get(tree, "omitStages"), &r->omitted))
		return wrong(reterr, i, "omitStages");
	if (r->urls.n && (r->n_resources || r->namespaces.n))
		return wrong(reterr, i, "nonResourceURLs");
	return 0;
}

static int check_members(const struct cJSON *tree, struct err *reterr)
{
	static const char *const known[] = {"apiVersion", "kind",	"metadata",
					    "rules",	  "omitStages", "omitManagedFields"};
	json_foreach (tree, member) {
		size_t n = 0;
		while (n < ARRAY_LEN(known) && strcmp(json_key(member), known[n]) != 0)
			n++;
		if (n == ARRAY_LEN(known))
			return err_set_field(reterr, ERR_INVALID, json_key(member),
					     "audit policy: %s: unknown field", json_key(member));
	}
	return 0;
}

int audit_policy_read(const struct cJSON *tree, struct audit_policy **ret, struct err *reterr)
{
	const char *version = json_str(tree, "apiVersion"), *kind = json_str(tree, "kind");
	const struct cJSON *rules = json_get(tree, "rules");
	struct audit_policy *p;
	unsigned omitted = 0;
	int r = 0;
	if (!version || strcmp(version, "audit.k8s.io/v1") != 0 || !kind ||
	    strcmp(kind, "Policy") != 0)
		return err_set(reterr, ERR_INVALID,
			       "audit policy: audit.k8s.io/v1, kind Policy, is wanted");
	if (!json_len(rules) || json_len(rules) > AUDIT_MAX_RULES)
		return err_set(reterr, ERR_INVALID,
			       "audit policy: between 1 and %d rules are "
			       "wanted",
			       AUDIT_MAX_RULES);
	r = check_members(tree, reterr);
	if (r)
		return r;
	if (!read_stages(json_get(tree, "omitStages"), &omitted))
		return err_set_field(reterr, ERR_INVALID, "omitStages",
				     "audit policy: omitStages is not valid");
	p = xcalloc(1, sizeof(*p));
	p->rules = arena_array(&p->mem, struct rule, json_len(rules));
	json_foreach (rules, rule) {
		p->rules[p->n].omitted = omitted;
		r = read_rule(rule, p->n, &p->mem, &p->rules[p->n], reterr);
		p->n++;
		if (r)
			break;
	}
	if (r)
		audit_policy_free(p);
	else
		*ret = p;
	return r;
}

struct audit_policy *audit_policy_free(struct audit_policy *p)
{
	if (!p)
		return NULL;
	arena_done(&p->mem);
	free(p);
	return NULL;
}

/* ---- deciding ---- */

static bool has(struct rbac_words w, struct span s)
{
	for (size_t i = 0; i < w.n; i++)
		if (span_eq(w.items[i], s))
			return true;
	return false;
}

static bool has_any_group(struct rbac_words w, const struct rbac_user *u)
{
	for (size_t i = 0; i < u->n_groups; i++)
		if (has(w, u->groups[i]))
			return true;
	return false;
}

/* A resource, one with its subresource, either of them a star, or a star for everything. */
static bool resource_is(struct span word, const struct rbac_request *q)
{
	struct span rest = word, resource = span_split(&rest, '/');
	if (span_is(word, "*"))
		return true;
	if (!rest.ptr)
		return !q->subresource.len && span_eq(word, q->resource);
	return (span_is(resource, "*") || span_eq(resource, q->resource)) && q->subresource.len &&
	       (span_is(rest, "*") || span_eq(rest, q->subresource));
}

static bool resources_match(const struct resources *r, const struct rbac_request *q)
{
	if (!span_eq(r->group, q->group))
		return false;
	if (r->names.n && !has(r->names, q->name))
		return false;
	for (size_t i = 0; i < r->resources.n; i++)
		if (resource_is(r->resources.items[i], q))
			return true;
	return !r->resources.n;
}

static bool url_matches(struct rbac_words urls, struct span path)
{
	for (size_t i = 0; i < urls.n; i++) {
		struct span u = urls.items[i];
		bool star = u.len && u.ptr[u.len - 1] == '*';
		if (star ? span_starts(path, span_make(u.ptr, u.len - 1)) : span_eq(u, path))
			return true;
	}
	return false;
}

static bool matches(const struct rule *r, const struct rbac_user *u, const struct rbac_request *q)
{
	if ((r->users.n && !has(r->users, u->name)) || (r->verbs.n && !has(r->verbs, q->verb)) ||
	    (r->groups.n && !has_any_group(r->groups, u)))
		return false;
	if (r->n_resources || r->namespaces.n) {
		if (!q->is_resource || (r->namespaces.n && !has(r->namespaces, q->ns)))
			return false;
		for (size_t i = 0; i < r->n_resources; i++)
			if (resources_match(&r->resources[i], q))
				return true;
		return !r->n_resources;
	}
	return !r->urls.n || (!q->is_resource && url_matches(r->urls, q->path));
}

static bool carries_secrets(const struct rbac_request *q)
{
	return q->is_resource &&
	       (span_is(q->resource, "secrets") || span_is(q->subresource, "token") ||
		span_is(q->resource, "tokenreviews") || span_is(q->subresource, "proxy"));
}

enum audit_level audit_policy_level(const struct audit_policy *p, const struct rbac_user *u,
				    const struct rbac_request *q, enum audit_stage stage)
{
	for (size_t i = 0; i < p->n; i++)
		if (matches(&p->rules[i], u, q)) {
			enum audit_level l = p->rules[i].level;
			if (p->rules[i].omitted & 1u << stage)
				return AUDIT_NONE;
			return l > AUDIT_METADATA && carries_secrets(q) ? AUDIT_METADATA : l;
		}
	return AUDIT_NONE;
}
