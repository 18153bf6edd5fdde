/*
 * From spec to cells. Bottom-up, once: a node's floor is what it never lends; what its children
 * hold already counts towards it, so only the excess (`local`) is the node's own to hold.
 */
#include "base/map.h"
#include "base/num.h"
#include "quota-tree/quota_node.h"
#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

int64_t quota_node_scale(const struct quota_tree *t, int64_t value)
{
	if (value == QUOTA_UNLIMITED || t->oversell_permille == 1000)
		return value;
	__int128 scaled = (__int128)value * t->oversell_permille / 1000;
	return scaled >= QUOTA_UNLIMITED ? QUOTA_UNLIMITED : (int64_t)scaled;
}

struct quota_tree *quota_tree_destroy(struct quota_tree *t)
{
	if (!t)
		return NULL;
	for (uint32_t i = 0; t->names && i < t->n_resources; i++)
		free(t->names[i]);
	free(t->names);
	free(t->parents);
	free(t->depths);
	free(t->inner);
	free(t->cells);
	free(t->lends);
	free(t->colds);
	free(t);
	return NULL;
}

/* Rows start on cache lines: padded to a divisor of a line, or to whole lines. */
static struct quota_cell *alloc_cells(const struct quota_tree *t)
{
	size_t bytes = (size_t)t->n_nodes * t->stride * sizeof(struct quota_cell);
	bytes = (bytes + QUOTA_LINE_BYTES) / QUOTA_LINE_BYTES * QUOTA_LINE_BYTES;
	size_t align = bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : QUOTA_LINE_BYTES;
	bytes = (bytes + align - 1) / align * align;
	struct quota_cell *cells = aligned_alloc(align, bytes);
	if (!cells)
		abort();
	/* A wide tree is walked at random: with small pages half the cost of a walk is finding
	 * them. Only a hint; without it everything works as well. */
	if (align == HUGE_PAGE_BYTES)
		madvise(cells, bytes, MADV_HUGEPAGE);
	memset(cells, 0, bytes);
	return cells;
}

static uint32_t row_stride(uint32_t n_resources)
{
	const uint32_t line = QUOTA_LINE_BYTES / sizeof(struct quota_cell);
	uint32_t stride = 1;
	while (stride < n_resources && stride < line)
		stride *= 2;
	return stride >= n_resources ? stride : (n_resources + line - 1) / line * line;
}

static void *copy_of(const void *from, size_t n, size_t size)
{
	void *to = xcalloc(n, size);
	memcpy(to, from, n * size);
	return to;
}

struct quota_tree *quota_tree_dup(const struct quota_tree *t)
{
	struct quota_tree *d = copy_of(t, 1, sizeof(*t));
	size_t n_cells = (size_t)t->n_nodes * t->n_resources;
	d->parents = copy_of(t->parents, t->n_nodes, sizeof(*t->parents));
	d->depths = copy_of(t->depths, t->n_nodes, sizeof(*t->depths));
	d->inner = copy_of(t->inner, t->n_nodes, sizeof(*t->inner));
	d->cells = alloc_cells(t);
	memcpy(d->cells, t->cells, (size_t)t->n_nodes * t->stride * sizeof(*t->cells));
	if (t->lends)
		d->lends = copy_of(t->lends, n_cells, sizeof(*t->lends));
	d->colds = copy_of(t->colds, n_cells, sizeof(*t->colds));
	d->names = xcalloc(t->n_resources, sizeof(*d->names));
	for (uint32_t i = 0; i < t->n_resources; i++)
		d->names[i] = xstrdup(t->names[i]);
	return d;
}

static int build_topology(struct quota_tree *t, const struct quota_spec *spec, struct err *reterr)
{
	for (uint32_t n = 0; n < t->n_nodes; n++) {
		uint32_t parent = spec->nodes[n].parent;
		char field[48];
		snprintf(field, sizeof(field), "nodes[%u].parent", n);
		t->parents[n] = parent;
		t->depths[n] = 1;
		if (parent == QUOTA_NO_NODE)
			continue;
		if (parent >= n)
			return err_set_field(reterr, ERR_INVALID, field,
					     "parent %u must come before its child %u", parent, n);
		if (t->depths[parent] >= QUOTA_MAX_DEPTH)
			return err_set_field(reterr, ERR_INVALID, field,
					     "depth %d is beyond the limit of %d",
					     t->depths[parent] + 1, QUOTA_MAX_DEPTH);
		t->depths[n] = (uint8_t)(t->depths[parent] + 1);
		t->inner[parent] = 1;
	}
	return 0;
}

static int build_names(struct quota_tree *t, const struct quota_spec *spec, struct map *index,
		       struct err *reterr)
{
	t->names = xcalloc(QUOTA_MAX_RESOURCES, sizeof(*t->names));
	for (uint32_t n = 0; n < t->n_nodes; n++) {
		for (size_t i = 0; i < spec->nodes[n].n_limits; i++) {
			struct span name = spec->nodes[n].limits[i].resource;
			if (map_has(index, name))
				continue;
			if (t->n_resources == QUOTA_MAX_RESOURCES)
				return err_set(reterr, ERR_INVALID, "more than %d resources: %.*s",
					       QUOTA_MAX_RESOURCES, SPAN_ARGS(name));
			t->names[t->n_resources++] = xstrndup(name.ptr ? name.ptr : "", name.len);
			map_put(index, name, (void *)(uintptr_t)t->n_resources);
		}
	}
	size_t n_cells = (size_t)t->n_nodes * t->n_resources;
	if (n_cells > QUOTA_MAX_CELLS)
		return err_set(reterr, ERR_INVALID,
			       "%zu nodes times resources are more than the limit of %u", n_cells,
			       QUOTA_MAX_CELLS);
	return 0;
}

static int build_limit(struct quota_tree *t, uint32_t n, uint32_t resource,
		       const struct quota_limit *l, struct err *reterr)
{
	struct quota_cold *cold = &quota_node_colds(t, n)[resource];
	char field[48];
	snprintf(field, sizeof(field), "nodes[%u]", n);
	if (cold->stated)
		return err_set_field(reterr, ERR_INVALID, field, "%.*s is limited twice",
				     SPAN_ARGS(l->resource));
	if (l->nominal < 0 || l->borrowing < 0 || l->lending < 0 || l->firm < 0)
		return err_set_field(reterr, ERR_INVALID, field, "%.*s must not be negative",
				     SPAN_ARGS(l->resource));
	cold->stated = true;
	cold->nominal = l->nominal;
	cold->max = num_add_sat(l->nominal, l->borrowing);
	cold->firm = l->firm;
	cold->firm_limit = quota_node_scale(t, l->firm);
	cold->floor = l->nominal > l->lending ? l->nominal - l->lending : 0;
	return 0;
}

static int build_limits(struct quota_tree *t, const struct quota_spec *spec,
			const struct map *index, struct err *reterr)
{
	size_t n_cells = (size_t)t->n_nodes * t->n_resources;
	t->stride = row_stride(t->n_resources);
	t->cells = alloc_cells(t);
	t->colds = xcalloc(n_cells, sizeof(*t->colds));
	for (size_t i = 0; i < n_cells; i++)
		t->colds[i].max = t->colds[i].firm = t->colds[i].firm_limit = QUOTA_UNLIMITED;
	for (uint32_t n = 0; n < t->n_nodes; n++) {
		for (size_t i = 0; i < spec->nodes[n].n_limits; i++) {
			const struct quota_limit *l = &spec->nodes[n].limits[i];
			uint32_t resource = (uint32_t)((uintptr_t)map_get(index, l->resource) - 1);
			int r = build_limit(t, n, resource, l, reterr);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Children have higher indexes than parents, so one pass from the end sees them first. */
static int build_floors(struct quota_tree *t, struct err *reterr)
{
	bool has_floors = false;
	t->lends = xcalloc((size_t)t->n_nodes * t->n_resources, sizeof(*t->lends));
	for (uint32_t n = t->n_nodes; n-- > 0;) {
		struct quota_cell *cells = quota_node_cells(t, n);
		struct quota_lend *lends = quota_node_lends(t, n);
		struct quota_cold *colds = quota_node_colds(t, n);
		for (uint32_t r = 0; r < t->n_resources; r++) {
			int64_t max = quota_node_scale(t, colds[r].max);
			int64_t held = num_max(colds[r].reserved, colds[r].floor);
			lends[r].local = held - colds[r].reserved;
			has_floors = has_floors || lends[r].local > 0;
			/* Far below zero says no more than -1, and -1 cannot overflow. */
			cells[r].limit = max == QUOTA_UNLIMITED
					     ? QUOTA_UNLIMITED
					     : num_max(-1, max - colds[r].reserved);
			if (t->parents[n] == QUOTA_NO_NODE)
				continue;
			int64_t *above = &quota_node_colds(t, t->parents[n])[r].reserved;
			if (num_add_overflows(*above, held, above))
				return err_set(reterr, ERR_INVALID,
					       "%s held by the children of one node leaves int64",
					       t->names[r]);
		}
	}
	if (!has_floors) {
		free(t->lends);
		t->lends = NULL;
	}
	return 0;
}

int quota_tree_create(const struct quota_spec *spec, struct quota_tree **ret, struct err *reterr)
{
	if (spec->n_nodes > QUOTA_MAX_NODES)
		return err_set(reterr, ERR_INVALID, "%zu nodes are more than the limit of %u",
			       spec->n_nodes, QUOTA_MAX_NODES);
	if (spec->oversell_permille < 0 || spec->oversell_permille > QUOTA_MAX_OVERSELL)
		return err_set(reterr, ERR_INVALID, "oversell rate out of range");
	struct quota_tree *t = xcalloc(1, sizeof(*t));
	struct map index = MAP_INIT;
	t->n_nodes = (uint32_t)spec->n_nodes;
	t->parents = xcalloc(t->n_nodes, sizeof(*t->parents));
	t->depths = xcalloc(t->n_nodes, sizeof(*t->depths));
	t->inner = xcalloc(t->n_nodes, sizeof(*t->inner));
	t->oversell_permille = spec->oversell_permille ? spec->oversell_permille : 1000;
	t->max_binds_all = spec->max_binds_all;
	int r = build_topology(t, spec, reterr);
	if (r == 0)
		r = build_names(t, spec, &index, reterr);
	if (r == 0)
		r = build_limits(t, spec, &index, reterr);
	if (r == 0)
		r = build_floors(t, reterr);
	map_done(&index);
	if (r < 0) {
		quota_tree_destroy(t);
		return r;
	}
	*ret = t;
	return 0;
}

uint32_t quota_tree_n_nodes(const struct quota_tree *t)
{
	return t->n_nodes;
}

uint32_t quota_tree_n_resources(const struct quota_tree *t)
{
	return t->n_resources;
}

uint32_t quota_tree_parent(const struct quota_tree *t, uint32_t node)
{
	assert(node < t->n_nodes);
	return t->parents[node];
}

uint32_t quota_tree_depth(const struct quota_tree *t, uint32_t node)
{
	assert(node < t->n_nodes);
	return t->depths[node];
}

bool quota_tree_is_leaf(const struct quota_tree *t, uint32_t node)
{
	assert(node < t->n_nodes);
	return !t->inner[node];
}

int64_t quota_tree_oversell_permille(const struct quota_tree *t)
{
	return t->oversell_permille;
}

bool quota_tree_has_floors(const struct quota_tree *t)
{
	return t->lends != NULL;
}

struct span quota_tree_resource_name(const struct quota_tree *t, uint32_t resource)
{
	return resource < t->n_resources ? span_of(t->names[resource]) : SPAN_NONE;
}

int quota_tree_find_resource(const struct quota_tree *t, struct span name, uint32_t *ret)
{
	for (uint32_t i = 0; i < t->n_resources; i++) {
		if (span_is(name, t->names[i])) {
			*ret = i;
			return 0;
		}
	}
	return -ENOENT;
}
