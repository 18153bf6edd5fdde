/*
 * Who may do what, by the rows that are in the index; and the rules that aggregating roles should
 * have.
 */
#include "access/rbac_index.h"
#include <errno.h>

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
	char text[RBAC_KEY_MAX];
	for (int scope = 0; scope < (ns.len ? 2 : 1); scope++)
		for (size_t i = 0; i <= u->n_groups; i++) {
			struct span key_ns = scope ? ns : SPAN("");
			struct span key = rbac_subject_key(text, key_ns, i ? 'G' : 'U',
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
	char text[RBAC_KEY_MAX];
	const struct role *role = map_get(&r->roles, rbac_object_key(text, ns, name));
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
