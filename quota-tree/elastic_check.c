/*
 * Every rule looks at every node, so that an admin sees all that is wrong at once. The tree is
 * flattened first, by an explicit stack: its depth is an outsider's choice.
 */
#include "quota-tree/elastic_check.h"
#include "base/map.h"
#include "base/num.h"
#include "base/vec.h"
#include "quota-tree/quota_message.h"
#include <stdarg.h>

#define NAMESPACE_MAX 63 /* RFC 1123 label */

struct check {
	struct elastic_problems *problems;
	struct err *reterr;
	struct VEC(struct elastic_flat) flat;
	size_t n_errors;
};

/* spec.root.children[2].children[0], cut at the front of what does not fit. */
static void node_field(const struct check *c, uint32_t n, char *out, size_t max)
{
	uint32_t places[QUOTA_MAX_DEPTH + 1];
	size_t depth = 0;
	while (c->flat.items[n].parent != QUOTA_NO_NODE && depth < ARRAY_LEN(places)) {
		places[depth++] = c->flat.items[n].place;
		n = c->flat.items[n].parent;
	}
	size_t len = (size_t)snprintf(out, max, "spec.root");
	while (depth-- > 0 && len < max)
		len += (size_t)snprintf(out + len, max - len, ".children[%u]", places[depth]);
}

/* A key of a resource list, as .cpu or [nvidia.com/gpu]. */
static void append_key(char *out, size_t max, struct span key)
{
	size_t len = strlen(out);
	bool plain = key.len > 0;
	for (size_t i = 0; i < key.len; i++)
		plain = plain && (key.ptr[i] == '-' || (key.ptr[i] >= 'a' && key.ptr[i] <= 'z'));
	snprintf(out + len, max - len, plain ? ".%.*s" : "[%.*s]", SPAN_ARGS(key));
}

static PRINTF_LIKE(6, 7) void add(struct check *c, bool warning, uint32_t n, const char *part,
				  struct span key, const char *fmt, ...)
{
	struct elastic_problem p = {.warning = warning};
	node_field(c, n, p.field, sizeof(p.field));
	size_t len = strlen(p.field);
	snprintf(p.field + len, sizeof(p.field) - len, "%s", part);
	if (key.ptr)
		append_key(p.field, sizeof(p.field), key);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(p.text, sizeof(p.text), fmt, ap);
	va_end(ap);
	if (!warning && c->n_errors++ == 0)
		err_set_field(c->reterr, ERR_INVALID, p.field, "%s", p.text);
	struct elastic_problems *list = c->problems;
	if (!list)
		return;
	if (list->len < list->max)
		list->items[list->len++] = p;
	list->n_errors += !warning;
	list->n_warnings += warning;
}

static bool add_children(struct check *c, uint32_t n)
{
	struct elastic_flat f = c->flat.items[n];
	size_t width = f.spec->n_children;
	if (width > ELASTIC_MAX_CHILDREN) {
		add(c, false, n, ".children", SPAN_NONE,
		    "%zu children are more than the limit of %d", width, ELASTIC_MAX_CHILDREN);
		return false;
	}
	if (width > 0 && f.depth >= ELASTIC_MAX_DEPTH) {
		add(c, false, n, ".children", SPAN_NONE, "depth %u is beyond the limit of %d",
		    f.depth + 1, ELASTIC_MAX_DEPTH);
		return false;
	}
	return true;
}

/* Preorder with an explicit stack of (node, next child). False when a bound was broken: then the
 * other rules, which would cost more than the bounds allow, are not looked at. */
static bool flatten(struct check *c, const struct elastic_node_spec *root)
{
	struct {
		uint32_t node;
		uint32_t next;
	} stack[ELASTIC_MAX_DEPTH + 1];
	size_t depth = 0;
	bool good = true;
	vec_push(&c->flat,
		 (struct elastic_flat){.spec = root, .parent = QUOTA_NO_NODE, .depth = 1});
	stack[depth].node = 0;
	stack[depth++].next = 0;
	good = add_children(c, 0);
	while (depth > 0 && good) {
		uint32_t n = stack[depth - 1].node;
		const struct elastic_node_spec *s = c->flat.items[n].spec;
		uint32_t place = stack[depth - 1].next++;
		if (place >= s->n_children) {
			depth--;
			continue;
		}
		if (c->flat.len >= ELASTIC_MAX_NODES) {
			add(c, false, n, ".children", SPAN_NONE,
			    "%zu nodes are more than the limit of %d", c->flat.len + 1,
			    ELASTIC_MAX_NODES);
			return false;
		}
		uint32_t child = (uint32_t)c->flat.len;
		vec_push(&c->flat, (struct elastic_flat){.spec = &s->children[place],
							 .parent = n,
							 .place = place,
							 .depth = c->flat.items[n].depth + 1});
		good = add_children(c, child);
		stack[depth].node = child;
		stack[depth++].next = 0;
	}
	return good;
}

static bool name_is_valid(struct span name)
{
	for (size_t i = 0; i < name.len; i++) {
		char ch = name.ptr[i];
		if (!((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
		      (ch >= '0' && ch <= '9') || ch == '-' || ch == '_' || ch == '.'))
			return false;
	}
	return name.len > 0 && name.len <= ELASTIC_MAX_NAME;
}

static void check_names(struct check *c)
{
	struct map seen = MAP_INIT;
	size_t *path_lens = xcalloc(c->flat.len, sizeof(*path_lens));
	for (uint32_t n = 0; n < c->flat.len; n++) {
		struct span name = c->flat.items[n].spec->name;
		if (n == 0) {
			if (!span_is(name, "root"))
				add(c, true, n, ".name", SPAN_NONE,
				    "the root is called \"root\", not \"%.*s\"", SPAN_ARGS(name));
			name = SPAN("root");
		} else if (!name_is_valid(name)) {
			add(c, false, n, ".name", SPAN_NONE,
			    "\"%.*s\" must be 1 to %d letters, digits, '-', '_' or '.'",
			    (int)(name.len < 64 ? name.len : 64), name.ptr ? name.ptr : "",
			    ELASTIC_MAX_NAME);
			continue;
		}
		path_lens[n] = name.len;
		if (n > 0)
			path_lens[n] += path_lens[c->flat.items[n].parent] + 1;
		if (path_lens[n] > ELASTIC_MAX_PATH)
			add(c, false, n, ".name", SPAN_NONE,
			    "the path of %zu bytes is longer than the limit of %d", path_lens[n],
			    ELASTIC_MAX_PATH);
		uintptr_t before = (uintptr_t)map_get(&seen, name);
		if (before) {
			char other[192];
			node_field(c, (uint32_t)(before - 1), other, sizeof(other));
			add(c, false, n, ".name", SPAN_NONE,
			    "the name \"%.*s\" is used already at %s; names are unique over the tree",
			    SPAN_ARGS(name), other);
			continue;
		}
		map_put(&seen, name, (void *)((uintptr_t)n + 1));
	}
	free(path_lens);
	map_done(&seen);
}

static void check_namespaces(struct check *c)
{
	struct map owner = MAP_INIT;
	for (uint32_t n = 0; n < c->flat.len; n++) {
		const struct elastic_node_spec *s = c->flat.items[n].spec;
		if (s->n_namespaces > 0 && s->n_children > 0)
			add(c, false, n, ".namespaces", SPAN_NONE,
			    "only a leaf may own namespaces; this node has %zu children and %zu "
			    "namespaces",
			    s->n_children, s->n_namespaces);
		if (s->n_namespaces > ELASTIC_MAX_NAMESPACES) {
			add(c, false, n, ".namespaces", SPAN_NONE,
			    "%zu namespaces are more than the limit of %d", s->n_namespaces,
			    ELASTIC_MAX_NAMESPACES);
			continue;
		}
		for (size_t i = 0; i < s->n_namespaces; i++) {
			struct span ns = s->namespaces[i];
			char part[48], other[192];
			snprintf(part, sizeof(part), ".namespaces[%zu]", i);
			if (ns.len == 0 || ns.len > NAMESPACE_MAX) {
				add(c, false, n, part, SPAN_NONE,
				    "a namespace's name has 1 to %d bytes, not %zu", NAMESPACE_MAX,
				    ns.len);
				continue;
			}
			uintptr_t before = (uintptr_t)map_get(&owner, ns);
			if (before) {
				node_field(c, (uint32_t)(before - 1), other, sizeof(other));
				add(c, false, n, part, SPAN_NONE,
				    "namespace %.*s belongs to %s already", SPAN_ARGS(ns), other);
				continue;
			}
			map_put(&owner, ns, (void *)((uintptr_t)n + 1));
		}
	}
	map_done(&owner);
}

static bool check_list(struct check *c, uint32_t n, const char *part,
		       const struct elastic_list *list, struct map *resources)
{
	if (list->len > QUOTA_MAX_RESOURCES) {
		add(c, false, n, part, SPAN_NONE, "%zu resources are more than the limit of %d",
		    list->len, QUOTA_MAX_RESOURCES);
		return false;
	}
	for (size_t i = 0; i < list->len; i++) {
		const struct elastic_quantity *q = &list->items[i];
		if (q->resource.len == 0 || q->resource.len > ELASTIC_MAX_NAME) {
			add(c, false, n, part, SPAN_NONE,
			    "a resource's name has 1 to %d bytes, not %zu", ELASTIC_MAX_NAME,
			    q->resource.len);
			continue;
		}
		if (elastic_list_get(list, q->resource) != q)
			add(c, false, n, part, q->resource, "named twice");
		if (q->value < 0) {
			char text[QUOTA_QUANTITY_MAX];
			quota_message_quantity(q->resource, q->value, text, sizeof(text));
			add(c, false, n, part, q->resource, "must not be negative, is %s", text);
		}
		if (map_has(resources, q->resource))
			continue;
		map_put(resources, q->resource, resources);
		if (resources->len == QUOTA_MAX_RESOURCES + 1)
			add(c, false, n, part, q->resource,
			    "%zu resources in the whole tree, jobs counted, are more than the "
			    "limit of %d",
			    resources->len, QUOTA_MAX_RESOURCES);
	}
	return true;
}

static void check_min_max(struct check *c, uint32_t n)
{
	const struct elastic_node_spec *s = c->flat.items[n].spec;
	for (size_t i = 0; i < s->min.len; i++) {
		const struct elastic_quantity *min = &s->min.items[i];
		const struct elastic_quantity *max = elastic_list_get(&s->max, min->resource);
		char a[QUOTA_QUANTITY_MAX], b[QUOTA_QUANTITY_MAX];
		if (!max || min->value == max->value)
			continue;
		quota_message_quantity(min->resource, min->value, a, sizeof(a));
		quota_message_quantity(min->resource, max->value, b, sizeof(b));
		if (min->value > max->value)
			add(c, false, n, ".min", min->resource, "min %s is above max %s", a, b);
		else if (n == 0)
			add(c, true, n, ".min", min->resource,
			    "the root's min %s should equal its max %s; max counts as the total", a,
			    b);
	}
}

/* What children's mins may add up to: see elastic_tree.h. */
static int64_t owned(const struct check *c, uint32_t n, struct span resource)
{
	const struct elastic_node_spec *s = c->flat.items[n].spec;
	const struct elastic_quantity *own = elastic_list_get(&s->min, resource);
	if (own)
		return own->value;
	if (n > 0)
		return 0;
	own = elastic_list_get(&s->max, resource);
	return own ? own->value : QUOTA_UNLIMITED;
}

static void check_sum(struct check *c, uint32_t n, struct span resource)
{
	const struct elastic_node_spec *s = c->flat.items[n].spec;
	int64_t limit = owned(c, n, resource);
	int64_t sum = 0;
	for (size_t i = 0; i < s->n_children; i++) {
		const struct elastic_quantity *min =
		    elastic_list_get(&s->children[i].min, resource);
		if (min && min->value > 0)
			sum = num_add_sat(sum, min->value);
	}
	if (sum <= limit && sum < INT64_MAX)
		return;
	char a[QUOTA_QUANTITY_MAX], b[QUOTA_QUANTITY_MAX];
	quota_message_quantity(resource, sum, a, sizeof(a));
	quota_message_quantity(resource, limit, b, sizeof(b));
	if (sum == INT64_MAX)
		snprintf(a, sizeof(a), "(too large to count)");
	add(c, false, n, ".min", resource, "the children's min add up to %s, above the parent's %s",
	    a, b);
}

static void check_sums(struct check *c, uint32_t n, const struct map *resources)
{
	if (c->flat.items[n].spec->n_children == 0)
		return;
	map_foreach (resources, e) {
		check_sum(c, n, span_make(e->key, e->key_len));
	}
}

static void check_reclaim(struct check *c, uint32_t n)
{
	const struct elastic_node_spec *s = c->flat.items[n].spec;
	struct span policy = s->reclaim_policy;

	if (!policy.len && !s->has_reclaim_protect)
		return;
	if (n != 0)
		add(c, true, n,
		    policy.len ? ".attributes[reclaim-policy]"
			       : ".attributes[reclaim-protect-time]",
		    SPAN_NONE, "has no effect here: the root's holds for the whole tree");
	else if (policy.len && !span_is(policy, ELASTIC_RECLAIM_MIN) && !span_is(policy, "Never"))
		add(c, false, n, ".attributes[reclaim-policy]", SPAN_NONE,
		    "\"%.*s\" is neither Never nor " ELASTIC_RECLAIM_MIN,
		    (int)(policy.len < 64 ? policy.len : 64), policy.ptr);
}

static void check_numbers(struct check *c)
{
	struct map resources = MAP_INIT;
	map_put(&resources, SPAN(ELASTIC_JOBS_RESOURCE), &resources);
	bool good = true;
	for (uint32_t n = 0; n < c->flat.len; n++) {
		const struct elastic_node_spec *s = c->flat.items[n].spec;
		bool node_good = check_list(c, n, ".min", &s->min, &resources);
		node_good = check_list(c, n, ".max", &s->max, &resources) && node_good;
		node_good = check_list(c, n, ".attributes[alibabacloud.com/lendlimit]",
				       &s->lendlimit, &resources) &&
			    node_good;
		if (node_good)
			check_min_max(c, n);
		good = good && node_good;
		if (s->preempt_policy.len > 0 && !span_is(s->preempt_policy, ELASTIC_PREEMPT_LOWER))
			add(c, true, n, ".attributes[preempt-policy]", SPAN_NONE,
			    "\"%.*s\" is not known and has no effect; " ELASTIC_PREEMPT_LOWER " is",
			    (int)(s->preempt_policy.len < 64 ? s->preempt_policy.len : 64),
			    s->preempt_policy.ptr);
		check_reclaim(c, n);
	}
	/* Sums cost nodes x resources; not on lists that broke their bounds. */
	for (uint32_t n = 0; good && resources.len <= QUOTA_MAX_RESOURCES && n < c->flat.len; n++)
		check_sums(c, n, &resources);
	map_done(&resources);
}

int elastic_check(const struct elastic_node_spec *root, struct elastic_problems *problems,
		  struct elastic_flat **ret_flat, size_t *ret_n, struct err *reterr)
{
	struct check c = {.problems = problems, .reterr = reterr};
	if (problems)
		problems->len = problems->n_errors = problems->n_warnings = 0;
	if (flatten(&c, root)) {
		check_names(&c);
		check_namespaces(&c);
		check_numbers(&c);
	}
	if (c.n_errors > 0) {
		vec_done(&c.flat);
		return err_errno(ERR_INVALID);
	}
	*ret_flat = c.flat.items;
	*ret_n = c.flat.len;
	return 0;
}
