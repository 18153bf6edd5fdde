/*
 * From a valid spec to engine nodes and lookups. Validation is elastic_check.c; here everything is
 * known to be within bounds.
 */
#include "quota-tree/elastic_tree.h"
#include "base/arena.h"
#include "base/map.h"
#include "quota-tree/elastic_check.h"
#include "quota-tree/quota_message.h"
#include <assert.h>
#include <errno.h>

struct node {
	struct span name;
	struct span path;
	struct span *namespaces;
	size_t n_namespaces;
	uint32_t end;
	bool preempts_lower;
};

struct elastic_tree {
	struct quota_tree *quota;
	struct arena strings;
	struct node *nodes;
	uint32_t n_nodes;
	uint32_t jobs;
	struct map by_name; /* short names and full paths -> node + 1; a slash tells them apart */
	struct map by_namespace;
	bool reclaims;
	int64_t reclaim_protect;
};

struct elastic_tree *elastic_tree_destroy(struct elastic_tree *t)
{
	if (!t)
		return NULL;
	quota_tree_destroy(t->quota);
	map_done(&t->by_name);
	map_done(&t->by_namespace);
	arena_done(&t->strings);
	free(t->nodes);
	free(t);
	return NULL;
}

const struct elastic_quantity *elastic_list_get(const struct elastic_list *list,
						struct span resource)
{
	for (size_t i = 0; i < list->len; i++) {
		if (span_eq(list->items[i].resource, resource))
			return &list->items[i];
	}
	return NULL;
}

/* One resource of one node: min = nominal, max = nominal + borrowing (DESIGN section 5). */
static struct quota_limit make_limit(const struct elastic_node_spec *s, struct span resource)
{
	const struct elastic_quantity *min = elastic_list_get(&s->min, resource);
	const struct elastic_quantity *max = elastic_list_get(&s->max, resource);
	const struct elastic_quantity *lend = elastic_list_get(&s->lendlimit, resource);
	int64_t nominal = min ? min->value : 0;
	return (struct quota_limit){
	    .resource = resource,
	    .nominal = nominal,
	    .borrowing = max ? max->value - nominal : QUOTA_UNLIMITED,
	    .lending = lend ? lend->value : QUOTA_UNLIMITED,
	    /* Jobs bind by max only: min is a promise of resources, not of places. */
	    .firm = span_is(resource, ELASTIC_JOBS_RESOURCE) ? QUOTA_UNLIMITED : nominal,
	};
}

static void compile_limits(struct arena *a, const struct elastic_node_spec *s, bool root,
			   struct quota_node_spec *out)
{
	struct quota_limit *limits =
	    arena_array(a, struct quota_limit, s->min.len + s->max.len + 1);
	size_t n = 0;
	/* First of all at the root, so that every tree counts jobs. */
	if (root)
		limits[n++] = make_limit(s, SPAN(ELASTIC_JOBS_RESOURCE));
	for (size_t i = 0; i < s->max.len; i++) {
		if (!root || !span_is(s->max.items[i].resource, ELASTIC_JOBS_RESOURCE))
			limits[n++] = make_limit(s, s->max.items[i].resource);
	}
	for (size_t i = 0; i < s->min.len; i++) {
		struct span resource = s->min.items[i].resource;
		if (!elastic_list_get(&s->max, resource) &&
		    (!root || !span_is(resource, ELASTIC_JOBS_RESOURCE)))
			limits[n++] = make_limit(s, resource);
	}
	out->limits = limits;
	out->n_limits = n;
}

static struct span join_path(struct arena *a, struct span parent, struct span name)
{
	char *path = arena_alloc(a, parent.len + name.len + 2);
	memcpy(path, parent.ptr, parent.len);
	path[parent.len] = '/';
	memcpy(path + parent.len + 1, name.ptr, name.len);
	return span_make(path, parent.len + 1 + name.len);
}

static void compile_node(struct elastic_tree *t, const struct elastic_flat *flat, uint32_t n)
{
	const struct elastic_node_spec *s = flat[n].spec;
	struct node *node = &t->nodes[n];
	void *value = (void *)((uintptr_t)n + 1);
	if (n == 0) {
		node->name = node->path = SPAN("root");
	} else {
		node->name =
		    span_make(arena_strndup(&t->strings, s->name.ptr, s->name.len), s->name.len);
		node->path = join_path(&t->strings, t->nodes[flat[n].parent].path, node->name);
	}
	node->end = n + 1;
	node->preempts_lower = span_is(s->preempt_policy, ELASTIC_PREEMPT_LOWER);
	if (n == 0) {
		t->reclaims = span_is(s->reclaim_policy, ELASTIC_RECLAIM_MIN);
		t->reclaim_protect =
		    s->has_reclaim_protect ? s->reclaim_protect : ELASTIC_RECLAIM_PROTECT;
	}
	map_put(&t->by_name, node->name, value);
	map_put(&t->by_name, node->path, value);
	node->n_namespaces = s->n_namespaces;
	node->namespaces = arena_array(&t->strings, struct span, s->n_namespaces);
	for (size_t i = 0; i < s->n_namespaces; i++) {
		struct span ns = s->namespaces[i];
		node->namespaces[i] = span_make(arena_strndup(&t->strings, ns.ptr, ns.len), ns.len);
		map_put(&t->by_namespace, ns, value);
	}
}

static int compile(struct elastic_tree *t, const struct elastic_flat *flat, size_t n_flat,
		   const struct elastic_options *options, struct err *reterr)
{
	auto_arena scratch = ARENA_INIT;
	struct quota_node_spec *nodes = arena_array(&scratch, struct quota_node_spec, n_flat);
	t->n_nodes = (uint32_t)n_flat;
	t->nodes = xcalloc(n_flat, sizeof(*t->nodes));
	for (uint32_t n = 0; n < t->n_nodes; n++) {
		nodes[n].parent = flat[n].parent;
		compile_limits(&scratch, flat[n].spec, n == 0, &nodes[n]);
		compile_node(t, flat, n);
	}
	for (uint32_t n = t->n_nodes; n-- > 1;) {
		struct node *parent = &t->nodes[flat[n].parent];
		if (parent->end < t->nodes[n].end)
			parent->end = t->nodes[n].end;
	}
	struct quota_spec spec = {
	    .nodes = nodes,
	    .n_nodes = n_flat,
	    .oversell_permille = options ? options->oversell_permille : 0,
	    .max_binds_all = options && options->max_binds_all,
	};
	int r = quota_tree_create(&spec, &t->quota, reterr);
	if (r < 0)
		return r;
	return quota_tree_find_resource(t->quota, SPAN(ELASTIC_JOBS_RESOURCE), &t->jobs);
}

int elastic_tree_create(const struct elastic_node_spec *root, const struct elastic_options *options,
			struct elastic_problems *problems, struct elastic_tree **ret,
			struct err *reterr)
{
	struct elastic_flat *flat = NULL;
	size_t n_flat = 0;
	int r = elastic_check(root, problems, &flat, &n_flat, reterr);
	if (r == 0) {
		struct elastic_tree *t = xcalloc(1, sizeof(*t));
		r = compile(t, flat, n_flat, options, reterr);
		if (r < 0)
			elastic_tree_destroy(t);
		else
			*ret = t;
	}
	free(flat);
	return r;
}

int elastic_tree_validate(const struct elastic_node_spec *root, struct elastic_problems *problems,
			  struct err *reterr)
{
	struct elastic_flat *flat = NULL;
	size_t n_flat = 0;
	int r = elastic_check(root, problems, &flat, &n_flat, reterr);
	free(flat);
	return r;
}

struct quota_tree *elastic_tree_quota(struct elastic_tree *t)
{
	return t->quota;
}

const struct quota_tree *elastic_tree_quota_const(const struct elastic_tree *t)
{
	return t->quota;
}

static int find(const struct map *m, struct span key, uint32_t *ret)
{
	uintptr_t found = (uintptr_t)map_get(m, key);
	if (!found)
		return -ENOENT;
	*ret = (uint32_t)(found - 1);
	return 0;
}

int elastic_tree_find(const struct elastic_tree *t, struct span name, uint32_t *ret)
{
	return find(&t->by_name, name, ret);
}

int elastic_tree_find_namespace(const struct elastic_tree *t, struct span ns, uint32_t *ret)
{
	return find(&t->by_namespace, ns, ret);
}

int elastic_tree_resolve(const struct elastic_tree *t, struct span alibabacloud_label,
			 struct span koordinator_label, struct span ns, uint32_t *ret,
			 struct err *reterr)
{
	struct span label = alibabacloud_label.ptr ? alibabacloud_label : koordinator_label;
	if (label.ptr) {
		if (elastic_tree_find(t, label, ret) == 0)
			return 0;
		return err_set(reterr, ERR_NOT_FOUND, QUOTA_NOT_IN_TREE ": no quota is called %.*s",
			       SPAN_ARGS(label));
	}
	if (elastic_tree_find_namespace(t, ns, ret) == 0)
		return 0;
	return err_set(reterr, ERR_NOT_FOUND, QUOTA_NOT_IN_TREE);
}

static const struct node *node_at(const struct elastic_tree *t, uint32_t node)
{
	assert(node < t->n_nodes);
	return &t->nodes[node];
}

struct span elastic_tree_name(const struct elastic_tree *t, uint32_t node)
{
	return node_at(t, node)->name;
}

struct span elastic_tree_path(const struct elastic_tree *t, uint32_t node)
{
	return node_at(t, node)->path;
}

size_t elastic_tree_n_namespaces(const struct elastic_tree *t, uint32_t node)
{
	return node_at(t, node)->n_namespaces;
}

struct span elastic_tree_namespace(const struct elastic_tree *t, uint32_t node, size_t i)
{
	const struct node *n = node_at(t, node);
	return i < n->n_namespaces ? n->namespaces[i] : SPAN_NONE;
}

bool elastic_tree_preempts_lower(const struct elastic_tree *t, uint32_t node)
{
	return node_at(t, node)->preempts_lower;
}

bool elastic_tree_reclaims(const struct elastic_tree *t)
{
	return t->reclaims;
}

int64_t elastic_tree_reclaim_protect(const struct elastic_tree *t)
{
	return t->reclaim_protect;
}

uint32_t elastic_tree_subtree_end(const struct elastic_tree *t, uint32_t node)
{
	return node_at(t, node)->end;
}

uint32_t elastic_tree_jobs_resource(const struct elastic_tree *t)
{
	return t->jobs;
}

int elastic_tree_request(const struct elastic_tree *t, const struct elastic_quantity *items,
			 size_t n_items, struct quota_amount *amounts, size_t *ret_n,
			 struct err *reterr)
{
	size_t n = 0;
	int r = quota_amount_add(amounts, &n, ELASTIC_REQUEST_AMOUNTS, t->jobs, 1, reterr);
	for (size_t i = 0; i < n_items && r == 0; i++) {
		uint32_t resource = QUOTA_NO_RESOURCE;
		/* The count of jobs is ours to take, never a pod's to ask. */
		if (span_is(items[i].resource, ELASTIC_JOBS_RESOURCE))
			continue;
		if (items[i].value >= 0 &&
		    quota_tree_find_resource(t->quota, items[i].resource, &resource) < 0)
			continue;
		r = quota_amount_add(amounts, &n, ELASTIC_REQUEST_AMOUNTS, resource, items[i].value,
				     reterr);
		if (r < 0 && reterr)
			snprintf(reterr->field, sizeof(reterr->field), "%.*s",
				 SPAN_ARGS(items[i].resource));
	}
	if (r == 0)
		*ret_n = n;
	return r;
}
