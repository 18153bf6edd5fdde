#include "access/rbac.h"

#include "base/json.h"
#include "base/map.h"
#include "kube/selector.h"
#include <errno.h>

struct role {
	struct span ns, name; /* in key */
	char *key;
	bool exists;   /* else only bindings name it */
	size_t n_refs; /* bindings that name it */
	struct arena mem;
	struct rbac_rule *rules;
	size_t n_rules;
	struct info_pair *labels; /* of cluster roles */
	size_t n_labels;
	struct selector *selectors; /* of an aggregating one */
	size_t n_selectors;
};

struct grants { /* the bindings of one subject in one namespace */
	struct binding **items;
	size_t n, cap;
};

struct binding {
	struct arena mem;
	struct span ns, name;
	struct role *role;
	struct span *subjects; /* keys of `grants` */
	size_t n_subjects;
};

struct rbac {
	struct map roles;    /* "ns/name" -> struct role */
	struct map bindings; /* "ns/name" -> struct binding */
	struct map grants;   /* subject key -> struct grants */
};

#define KEY_MAX 1024

/* ---- keys ---- */

static struct span object_key(char out[KEY_MAX], struct span ns, struct span name)
{
	int n = snprintf(out, KEY_MAX, "%.*s/%.*s", SPAN_ARGS(ns), SPAN_ARGS(name));
	return span_make(out, n < KEY_MAX ? (size_t)n : KEY_MAX - 1);
}

/* "ns\0U<user>" or "ns\0G<group>"; absent when too long for a key, then nobody is meant. */
static struct span subject_key(char out[KEY_MAX], struct span ns, char kind, struct span name)
{
	if (ns.len + 2 + name.len > KEY_MAX)
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
	char text[KEY_MAX];
	struct span key = object_key(text, ns, name);
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
	char text[KEY_MAX];
	struct role *role = map_get(&r->roles, object_key(text, ns, name));
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

static struct span read_subject(const struct cJSON *s, struct span ns, char out[KEY_MAX])
{
	const char *kind = json_str(s, "kind"), *name = json_str(s, "name");
	char user[KEY_MAX];
	struct span of = span_of(json_str(s, "namespace"));
	int n;
	if (!kind || !name)
		return SPAN_NONE;
	if (strcmp(kind, "User") == 0)
		return subject_key(out, ns, 'U', span_of(name));
	if (strcmp(kind, "Group") == 0)
		return subject_key(out, ns, 'G', span_of(name));
	if (!of.len)
		of = ns;
	if (strcmp(kind, "ServiceAccount") != 0 || !of.len)
		return SPAN_NONE;
	n = snprintf(user, sizeof(user), "system:serviceaccount:%.*s:%s", SPAN_ARGS(of), name);
	if (n >= (int)sizeof(user))
		return SPAN_NONE;
	return subject_key(out, ns, 'U', span_make(user, (size_t)n));
}

void rbac_put_binding(struct rbac *r, struct span ns, struct span name, const struct cJSON *object)
{
	const struct cJSON *ref = json_get(object, "roleRef"), *list = json_get(object, "subjects");
	const char *kind = json_str(ref, "kind");
	struct span role = span_of(json_str(ref, "name"));
	bool cluster = kind && strcmp(kind, "ClusterRole") == 0;
	char text[KEY_MAX];
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
	map_put(&r->bindings, object_key(text, ns, name), b);
}

void rbac_remove_binding(struct rbac *r, struct span ns, struct span name)
{
	char text[KEY_MAX];
	struct binding *b = map_remove(&r->bindings, object_key(text, ns, name));
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

/* ---- questions ---- */

bool rbac_is_master(const struct rbac_user *u)
{
	for (size_t i = 0; i < u->n_groups; i++)
		if (span_is(u->groups[i], RBAC_MASTERS))
			return true;
	return false;
}

/* Calls visit for each binding of the user until it returns true, which it then returns. */
static bool each_binding(const struct rbac *r, const struct rbac_user *u, struct span ns,
			 bool (*visit)(void *arg, const struct binding *b, struct span subject),
			 void *arg)
{
	char text[KEY_MAX];
	for (int scope = 0; scope < (ns.len ? 2 : 1); scope++)
		for (size_t i = 0; i <= u->n_groups; i++) {
			struct span key_ns = scope ? ns : SPAN("");
			struct span key = subject_key(text, key_ns, i ? 'G' : 'U',
						      i ? u->groups[i - 1] : u->name);
			struct grants *g = key.ptr ? map_get(&r->grants, key) : NULL;
			for (size_t n = 0; g && n < g->n; n++)
				if (visit(arg, g->items[n],
					  span_make(key.ptr + key_ns.len + 1,
						    key.len - key_ns.len - 1)))
					return true;
		}
	return false;
}

struct check {
	const struct rbac_request *request;
	const struct role *missing[16]; /* told once each */
	size_t n_missing;
	struct buf *reason; /* or NULL */
};

/* subject: 'U' or 'G' and the name. */
static void tell_grant(const struct binding *b, struct span subject, struct buf *out)
{
	struct span head = SPAN("Usystem:serviceaccount:"), name;
	buf_addf(out, "RBAC: allowed by %s \"%.*s",
		 b->ns.len ? "RoleBinding" : "ClusterRoleBinding", SPAN_ARGS(b->name));
	if (b->ns.len)
		buf_addf(out, "/%.*s", SPAN_ARGS(b->ns));
	buf_addf(out, "\" of %s \"%.*s\" to ", b->role->ns.len ? "Role" : "ClusterRole",
		 SPAN_ARGS(b->role->name));
	if (span_starts(subject, head)) {
		name = span_make(subject.ptr + head.len, subject.len - head.len);
		head = span_split(&name, ':');
		buf_addf(out, "ServiceAccount \"%.*s/%.*s\"", SPAN_ARGS(name), SPAN_ARGS(head));
	} else {
		buf_addf(out, "%s \"%.*s\"", subject.ptr[0] == 'G' ? "Group" : "User",
			 (int)subject.len - 1, subject.ptr + 1);
	}
}

static void note_missing(struct check *c, const struct role *role)
{
	for (size_t i = 0; i < c->n_missing; i++)
		if (c->missing[i] == role)
			return;
	if (c->n_missing < ARRAY_LEN(c->missing))
		c->missing[c->n_missing++] = role;
}

static bool allows(void *arg, const struct binding *b, struct span subject)
{
	struct check *c = arg;
	const struct role *role = b->role;
	if (!role->exists)
		note_missing(c, role);
	for (size_t i = 0; i < role->n_rules; i++)
		if (rbac_rule_allows(&role->rules[i], c->request)) {
			if (c->reason)
				tell_grant(b, subject, c->reason);
			return true;
		}
	return false;
}

static void tell_missing(const struct check *c, struct buf *reason)
{
	if (!c->n_missing)
		return;
	buf_add_str(reason, c->n_missing > 1 ? "[" : "");
	for (size_t i = 0; i < c->n_missing; i++)
		buf_addf(reason, "%s%s." RBAC_GROUP " \"%.*s\" not found", i ? ", " : "",
			 c->missing[i]->ns.len ? "role" : "clusterrole",
			 SPAN_ARGS(c->missing[i]->name));
	if (c->n_missing > 1)
		buf_add_char(reason, ']');
}

bool rbac_allows(const struct rbac *r, const struct rbac_user *u, const struct rbac_request *q,
		 struct buf *reason)
{
	struct check c = {.request = q, .reason = reason};
	if (rbac_is_master(u))
		return true;
	if (each_binding(r, u, q->is_resource ? q->ns : SPAN(""), allows, &c))
		return true;
	if (reason && c.n_missing) {
		buf_add_str(reason, "RBAC: ");
		tell_missing(&c, reason);
	}
	return false;
}

static bool only_missing(void *arg, const struct binding *b, struct span subject)
{
	(void)subject;
	if (!b->role->exists)
		note_missing(arg, b->role);
	return false;
}

void rbac_missing_of(const struct rbac *r, const struct rbac_user *u, struct span ns,
		     struct buf *out)
{
	struct check c = {0};
	(void)each_binding(r, u, ns, only_missing, &c);
	tell_missing(&c, out);
}

struct collect {
	struct arena *mem;
	struct rbac_rule *rules;
	size_t n, cap;
};

static void add_rule(struct collect *c, const struct rbac_rule *rule)
{
	if (c->n == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 64;
		struct rbac_rule *grown = arena_array(c->mem, struct rbac_rule, cap);
		if (c->n)
			memcpy(grown, c->rules, c->n * sizeof(*grown));
		c->rules = grown;
		c->cap = cap;
	}
	c->rules[c->n++] = *rule;
}

static bool collect(void *arg, const struct binding *b, struct span subject)
{
	(void)subject;
	for (size_t i = 0; i < b->role->n_rules; i++)
		add_rule(arg, &b->role->rules[i]);
	return false;
}

void rbac_rules_of(const struct rbac *r, const struct rbac_user *u, struct span ns,
		   struct arena *mem, struct rbac_rule **ret, size_t *ret_n)
{
	struct collect c = {.mem = mem};
	(void)each_binding(r, u, ns, collect, &c);
	*ret = c.rules;
	*ret_n = c.n;
}

int rbac_role_rules(const struct rbac *r, struct span ns, struct span name,
		    const struct rbac_rule **ret, size_t *ret_n)
{
	char text[KEY_MAX];
	const struct role *role = map_get(&r->roles, object_key(text, ns, name));
	if (!role || !role->exists)
		return -ENOENT;
	*ret = role->rules;
	*ret_n = role->n_rules;
	return 0;
}

/* ---- aggregation ---- */

static bool selected(const struct role *by, const struct role *role)
{
	for (size_t i = 0; i < by->n_selectors; i++)
		if (selector_matches_pairs(&by->selectors[i], role->labels, role->n_labels))
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	return span_cmp((*(const struct role *const *)a)->name,
			(*(const struct role *const *)b)->name);
}

static void add_once(struct collect *c, const struct rbac_rule *rule)
{
	for (size_t i = 0; i < c->n; i++)
		if (rbac_rule_equal(&c->rules[i], rule))
			return;
	add_rule(c, rule);
}

static bool same_rules(const struct role *role, const struct collect *c)
{
	if (role->n_rules != c->n)
		return false;
	for (size_t i = 0; i < c->n; i++)
		if (!rbac_rule_equal(&role->rules[i], &c->rules[i]))
			return false;
	return true;
}

void rbac_each_stale_aggregate(const struct rbac *r,
			       void (*each)(void *arg, struct span name,
					    const struct rbac_rule *rules, size_t n),
			       void *arg)
{
	auto_arena mem = ARENA_INIT;
	const struct role **roles = arena_array(&mem, const struct role *, r->roles.len + 1);
	size_t n = 0;
	map_foreach (&r->roles, e) {
		const struct role *role = e->value;
		if (role->exists && !role->ns.len)
			roles[n++] = role;
	}
	qsort(roles, n, sizeof(*roles), by_name);
	for (size_t i = 0; i < n; i++) {
		struct collect c = {.mem = &mem};
		if (!roles[i]->n_selectors)
			continue;
		for (size_t k = 0; k < n; k++) {
			if (k == i || !selected(roles[i], roles[k]))
				continue;
			for (size_t m = 0; m < roles[k]->n_rules; m++)
				add_once(&c, &roles[k]->rules[m]);
		}
		if (!same_rules(roles[i], &c))
			each(arg, roles[i]->name, c.rules, c.n);
	}
}
