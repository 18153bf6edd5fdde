#include "access/rbac_index.h"

#include "base/json.h"

/* ---- keys ---- */

struct span rbac_object_key(char out[RBAC_KEY_MAX], struct span ns, struct span name)
{
	int n = snprintf(out, RBAC_KEY_MAX, "%.*s/%.*s", SPAN_ARGS(ns), SPAN_ARGS(name));
	return span_make(out, n < RBAC_KEY_MAX ? (size_t)n : RBAC_KEY_MAX - 1);
}

struct span rbac_subject_key(char out[RBAC_KEY_MAX], struct span ns, char kind, struct span name)
{
	if (ns.len + 2 + name.len > RBAC_KEY_MAX)
		return SPAN_NONE;
	if (ns.len)
		memcpy(out, ns.ptr, ns.len);
	out[ns.len] = '\0';
	out[ns.len + 1] = kind;
	if (name.len)
		memcpy(out + ns.len + 2, name.ptr, name.len);
	return span_make(out, ns.len + 2 + name.len);
}

struct rbac *rbac_create(void)
{
	return xcalloc(1, sizeof(struct rbac));
}

/* ---- roles ---- */

static void role_clear(struct role *role)
{
	for (size_t i = 0; i < role->n_selectors; i++)
		selector_done(&role->selectors[i]);
	arena_done(&role->mem);
	role->mem = ARENA_INIT;
	role->rules = NULL;
	role->labels = NULL;
	role->selectors = NULL;
	role->n_rules = role->n_labels = role->n_selectors = 0;
	role->exists = false;
}

static struct role *role_of(struct rbac *r, struct span ns, struct span name)
{
	char text[RBAC_KEY_MAX];
	struct span key = rbac_object_key(text, ns, name);
	struct role *role = map_get(&r->roles, key);
	if (role)
		return role;
	role = xcalloc(1, sizeof(*role));
	role->key = xstrndup(key.ptr, key.len);
	role->ns = span_make(role->key, ns.len);
	role->name = span_make(role->key + ns.len + 1, key.len - ns.len - 1);
	map_put(&r->roles, key, role);
	return role;
}

static void role_release(struct rbac *r, struct role *role)
{
	if (role->exists || role->n_refs)
		return;
	map_remove(&r->roles, span_of(role->key));
	role_clear(role);
	free(role->key);
	free(role);
}

static void read_labels(struct role *role, const struct cJSON *labels)
{
	size_t n = json_len(labels), i = 0;
	role->labels = n ? arena_array(&role->mem, struct info_pair, n) : NULL;
	json_foreach (labels, l)
		if (json_value_str(l))
			role->labels[i++] =
			    (struct info_pair){arena_span(&role->mem, span_of(json_key(l))),
					       arena_span(&role->mem, span_of(json_value_str(l)))};
	role->n_labels = i;
}

/* A selector that cannot be read selects nothing. */
static void read_selectors(struct role *role, const struct cJSON *list)
{
	size_t n = json_len(list), i = 0;
	role->selectors = n ? arena_array(&role->mem, struct selector, n) : NULL;
	json_foreach (list, s) {
		struct field_errors *errors = xcalloc(1, sizeof(*errors));
		role->selectors[i] = SELECTOR_INIT;
		if (selector_add_label_selector(&role->selectors[i], s, "", errors) == 0)
			i++;
		else
			selector_done(&role->selectors[i]);
		field_errors_done(errors);
		free(errors);
	}
	role->n_selectors = i;
}

void rbac_put_role(struct rbac *r, struct span ns, struct span name, const struct cJSON *object)
{
	struct role *role = role_of(r, ns, name);
	role_clear(role);
	role->exists = true;
	rbac_rules_read(json_get(object, "rules"), &role->mem, &role->rules, &role->n_rules);
	if (ns.len)
		return;
	read_labels(role, json_path(object, "metadata", "labels", NULL));
	read_selectors(role, json_path(object, "aggregationRule", "clusterRoleSelectors", NULL));
}

void rbac_remove_role(struct rbac *r, struct span ns, struct span name)
{
	char text[RBAC_KEY_MAX];
	struct role *role = map_get(&r->roles, rbac_object_key(text, ns, name));
	if (!role)
		return;
	role_clear(role);
	role_release(r, role);
}

/* ---- bindings ---- */

/* False when the binding has this subject already: it was the last to be granted to it. */
static bool add_grant(struct rbac *r, struct span key, struct binding *b)
{
	struct grants *g = map_get(&r->grants, key);
	if (!g) {
		g = xcalloc(1, sizeof(*g));
		map_put(&r->grants, key, g);
	}
	if (g->n && g->items[g->n - 1] == b)
		return false;
	if (g->n == g->cap) {
		g->cap = g->cap ? g->cap * 2 : 2;
		g->items = xrealloc(g->items, g->cap * sizeof(struct binding *));
	}
	g->items[g->n++] = b;
	return true;
}

static void remove_grant(struct rbac *r, struct span key, const struct binding *b)
{
	struct grants *g = map_get(&r->grants, key);
	for (size_t i = 0; g && i < g->n; i++)
		if (g->items[i] == b) { /* in order: reasons are told in it */
			memmove(&g->items[i], &g->items[i + 1],
				(g->n - i - 1) * sizeof(struct binding *));
			g->n--;
			break;
		}
	if (g && !g->n) {
		map_remove(&r->grants, key);
		free(g->items);
		free(g);
	}
}

static void binding_destroy(struct rbac *r, struct binding *b)
{
	for (size_t i = 0; i < b->n_subjects; i++)
		remove_grant(r, b->subjects[i], b);
	b->role->n_refs--;
	role_release(r, b->role);
	arena_done(&b->mem);
	free(b);
}

static struct span read_subject(const struct cJSON *s, struct span ns, char out[RBAC_KEY_MAX])
{
	const char *kind = json_str(s, "kind"), *name = json_str(s, "name");
	char user[RBAC_KEY_MAX];
	struct span of = span_of(json_str(s, "namespace"));
	int n;
	if (!kind || !name)
		return SPAN_NONE;
	if (strcmp(kind, "User") == 0)
		return rbac_subject_key(out, ns, 'U', span_of(name));
	if (strcmp(kind, "Group") == 0)
		return rbac_subject_key(out, ns, 'G', span_of(name));
	if (!of.len)
		of = ns;
	if (strcmp(kind, "ServiceAccount") != 0 || !of.len)
		return SPAN_NONE;
	n = snprintf(user, sizeof(user), "system:serviceaccount:%.*s:%s", SPAN_ARGS(of), name);
	if (n >= (int)sizeof(user))
		return SPAN_NONE;
	return rbac_subject_key(out, ns, 'U', span_make(user, (size_t)n));
}

void rbac_put_binding(struct rbac *r, struct span ns, struct span name, const struct cJSON *object)
{
	const struct cJSON *ref = json_get(object, "roleRef"), *list = json_get(object, "subjects");
	const char *kind = json_str(ref, "kind");
	struct span role = span_of(json_str(ref, "name"));
	bool cluster = kind && strcmp(kind, "ClusterRole") == 0;
	char text[RBAC_KEY_MAX];
	struct binding *b;
	rbac_remove_binding(r, ns, name);
	if (!role.len || (!cluster && !ns.len))
		return;
	b = xcalloc(1, sizeof(*b));
	b->role = role_of(r, cluster ? SPAN("") : ns, role);
	b->role->n_refs++;
	b->ns = arena_span(&b->mem, ns);
	b->name = arena_span(&b->mem, name);
	if (json_len(list))
		b->subjects = arena_array(&b->mem, struct span, json_len(list));
	json_foreach (list, s) {
		struct span key = read_subject(s, ns, text);
		if (key.ptr && add_grant(r, key, b))
			b->subjects[b->n_subjects++] = arena_span(&b->mem, key);
	}
	map_put(&r->bindings, rbac_object_key(text, ns, name), b);
}

void rbac_remove_binding(struct rbac *r, struct span ns, struct span name)
{
	char text[RBAC_KEY_MAX];
	struct binding *b = map_remove(&r->bindings, rbac_object_key(text, ns, name));
	if (b)
		binding_destroy(r, b);
}

void rbac_clear(struct rbac *r)
{
	map_foreach (&r->bindings, e)
		binding_destroy(r, e->value);
	map_foreach (&r->roles, e) {
		struct role *role = e->value;
		role_clear(role);
		free(role->key);
		free(role);
	}
	map_done(&r->bindings);
	map_done(&r->roles);
	map_done(&r->grants);
	*r = (struct rbac){0};
}

struct rbac *rbac_destroy(struct rbac *r)
{
	if (!r)
		return NULL;
	rbac_clear(r);
	free(r);
	return NULL;
}
