/*
 * Charging, undoing and reading cells: reference/kueue.md section 2.4.
 */
#include "quota-tree/kueue_forest.h"

#include "quota-tree/kueue_node.h"
#include <assert.h>

/* ---- charges ---- */

/* Rows grow up to the root by a cell that nobody lists: no quota, no limit. */
static uint32_t add_cell(struct kueue_forest *f, struct kueue_node *n, uint64_t key)
{
	struct kueue_node *parent = kueue_node_parent(f, n);
	uint32_t above = KUEUE_NONE, at;
	size_t place = 0;

	if (parent) {
		above = kueue_row_find(parent, key);
		if (above == KUEUE_NONE)
			above = add_cell(f, parent, key);
	}
	at = (uint32_t)n->tree->cells.len;
	vec_push(&n->tree->cells,
		 (struct kueue_cell){
		     .flavor = (uint32_t)key,
		     .resource = (uint32_t)(key >> 32),
		     .borrowing = QUOTA_UNLIMITED,
		     .potential = above == KUEUE_NONE ? 0 : n->tree->cells.items[above].potential,
		     .parent = above,
		 });
	while (place < n->row.len && n->row.items[place].key < key)
		place++;
	vec_push(&n->row, (struct kueue_slot){0});
	memmove(n->row.items + place + 1, n->row.items + place,
		(n->row.len - 1 - place) * sizeof(*n->row.items));
	n->row.items[place] = (struct kueue_slot){key, at};
	return at;
}

static inline void note(struct kueue_forest *f, const struct kueue_node *n, uint32_t cell)
{
	if (f->trials)
		vec_push(&f->journal,
			 (struct kueue_undo){n->number, cell, n->tree->cells.items[cell].usage});
}

static void charge_cell(struct kueue_forest *f, const struct kueue_node *n, uint32_t at,
			int64_t value)
{
	while (at != KUEUE_NONE) {
		struct kueue_cell *c = &n->tree->cells.items[at];
		int64_t room = kueue_cell_local_room(c);

		note(f, n, at);
		c->usage = kueue_amount_add(c->usage, value);
		if (value <= room)
			return;
		value = kueue_amount_sub(value, room);
		at = c->parent;
	}
}

static void release_cell(struct kueue_forest *f, const struct kueue_node *n, uint32_t at,
			 int64_t value)
{
	while (at != KUEUE_NONE) {
		struct kueue_cell *c = &n->tree->cells.items[at];
		int64_t stored = kueue_amount_sub(c->usage, c->local);

		note(f, n, at);
		c->usage = kueue_amount_sub(c->usage, value);
		if (stored <= 0)
			return;
		value = num_min(value, stored);
		at = c->parent;
	}
}

void kueue_forest_charge(struct kueue_forest *f, uint32_t queue, const struct kueue_use *uses,
			 size_t n)
{
	kueue_tree_settle(f);
	struct kueue_node *node = kueue_node(f, queue);

	for (size_t i = 0; i < n; i++) {
		uint64_t key = kueue_key(uses[i].flavor, uses[i].resource);
		uint32_t at = kueue_row_find(node, key);

		if (at == KUEUE_NONE)
			at = add_cell(f, node, key);
		charge_cell(f, node, at, uses[i].value);
	}
}

void kueue_forest_release(struct kueue_forest *f, uint32_t queue, const struct kueue_use *uses,
			  size_t n)
{
	kueue_tree_settle(f);
	struct kueue_node *node = kueue_node(f, queue);

	for (size_t i = 0; i < n; i++) {
		uint32_t at = kueue_row_find(node, kueue_key(uses[i].flavor, uses[i].resource));
		assert(at != KUEUE_NONE && node->tree->cells.items[at].usage >= uses[i].value);
		release_cell(f, node, at, uses[i].value);
	}
	if (f->trials)
		return;
	node->generation++;
	node->tree->generation++;
	if (!node->declared) /* perhaps the last that kept it */
		kueue_tree_spoil(f, node);
}

size_t kueue_forest_mark(struct kueue_forest *f)
{
	kueue_tree_settle(f);
	f->trials++;
	return f->journal.len;
}

void kueue_forest_rollback(struct kueue_forest *f, size_t mark)
{
	assert(f->trials > 0 && mark <= f->journal.len);
	while (f->journal.len > mark) {
		const struct kueue_undo *u = &f->journal.items[--f->journal.len];
		kueue_node(f, u->node)->tree->cells.items[u->cell].usage = u->usage;
	}
	f->trials--;
}

/* ---- reading ---- */

static const struct kueue_cell *find(const struct kueue_forest *f, uint32_t node, uint32_t flavor,
				     uint32_t resource)
{
	kueue_tree_settle(f);
	return kueue_cell(kueue_node(f, node), flavor, resource);
}

bool kueue_forest_lists(const struct kueue_forest *f, uint32_t queue, uint32_t flavor,
			uint32_t resource)
{
	const struct kueue_cell *c = find(f, queue, flavor, resource);
	return c && c->listed;
}

bool kueue_forest_covers(const struct kueue_forest *f, uint32_t queue, uint32_t resource)
{
	return kueue_node_covering(kueue_node(f, queue), resource) != NULL;
}

int64_t kueue_forest_nominal(const struct kueue_forest *f, uint32_t node, uint32_t flavor,
			     uint32_t resource)
{
	const struct kueue_cell *c = find(f, node, flavor, resource);
	return c ? c->nominal : 0;
}

int64_t kueue_forest_subtree(const struct kueue_forest *f, uint32_t node, uint32_t flavor,
			     uint32_t resource)
{
	const struct kueue_cell *c = find(f, node, flavor, resource);
	return c ? c->subtree : 0;
}

int64_t kueue_forest_usage(const struct kueue_forest *f, uint32_t node, uint32_t flavor,
			   uint32_t resource)
{
	const struct kueue_cell *c = find(f, node, flavor, resource);
	return c ? c->usage : 0;
}

int64_t kueue_forest_borrowed(const struct kueue_forest *f, uint32_t queue, uint32_t flavor,
			      uint32_t resource)
{
	const struct kueue_cell *c = find(f, queue, flavor, resource);
	return c ? kueue_amount_above(c->usage, c->nominal) : 0;
}

int64_t kueue_forest_potential(const struct kueue_forest *f, uint32_t node, uint32_t flavor,
			       uint32_t resource)
{
	const struct kueue_cell *c = find(f, node, flavor, resource);
	return c ? c->potential : 0;
}

int64_t kueue_cell_available(const struct kueue_node *queue, uint32_t cell)
{
	const struct kueue_cell *cells = queue->tree->cells.items;
	uint32_t path[KUEUE_MAX_DEPTH + 1];
	size_t n = 0;
	int64_t room;

	for (uint32_t at = cell; at != KUEUE_NONE; at = cells[at].parent)
		path[n++] = at;
	room = kueue_amount_sub(cells[path[n - 1]].subtree, cells[path[n - 1]].usage);
	for (size_t i = n - 1; i-- > 0;) {
		const struct kueue_cell *c = &cells[path[i]];

		if (c->borrowing != QUOTA_UNLIMITED) {
			int64_t stored = kueue_amount_sub(c->subtree, c->local);
			int64_t used = kueue_amount_above(c->usage, c->local);
			room = num_min(
			    room, kueue_amount_add(kueue_amount_sub(stored, used), c->borrowing));
		}
		room = kueue_amount_add(kueue_cell_local_room(c), room);
	}
	return room;
}

int64_t kueue_forest_available(const struct kueue_forest *f, uint32_t queue, uint32_t flavor,
			       uint32_t resource)
{
	kueue_tree_settle(f);
	const struct kueue_node *n = kueue_node(f, queue);
	uint32_t at = kueue_row_find(n, kueue_key(flavor, resource));

	return at == KUEUE_NONE ? 0 : num_max(0, kueue_cell_available(n, at));
}

bool kueue_forest_fits(const struct kueue_forest *f, uint32_t queue, const struct kueue_use *uses,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (uses[i].value >
		    kueue_forest_available(f, queue, uses[i].flavor, uses[i].resource))
			return false;
	return true;
}

bool kueue_forest_borrows_on(const struct kueue_forest *f, uint32_t node,
			     const struct kueue_use *uses, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct kueue_cell *c = find(f, node, uses[i].flavor, uses[i].resource);
		if (c && c->usage > c->subtree)
			return true;
	}
	return false;
}

bool kueue_forest_borrows_with(const struct kueue_forest *f, uint32_t queue,
			       const struct kueue_use *uses, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct kueue_cell *c = find(f, queue, uses[i].flavor, uses[i].resource);
		if (c ? kueue_cell_above(c, uses[i].value) : uses[i].value > 0)
			return true;
	}
	return false;
}

uint32_t kueue_forest_borrow_level(const struct kueue_forest *f, uint32_t queue, uint32_t flavor,
				   uint32_t resource, int64_t value, bool *ret_may_reclaim)
{
	kueue_tree_settle(f);
	const struct kueue_node *n = kueue_node(f, queue);
	uint32_t at = kueue_row_find(n, kueue_key(flavor, resource)), level = 0;
	bool more = n->parent != KUEUE_NONE; /* whether the tree goes on above the subtree */

	if (at != KUEUE_NONE && more && kueue_cell_above(&n->tree->cells.items[at], value)) {
		bool fits = false;

		while (!fits && n->parent != KUEUE_NONE) {
			const struct kueue_cell *c = &n->tree->cells.items[at];
			value = kueue_amount_sub(value, kueue_cell_local_room(c));
			at = c->parent;
			n = kueue_node(f, n->parent);
			fits = !kueue_cell_above(&n->tree->cells.items[at], value);
		}
		level = n->height;
		more = fits && n->parent != KUEUE_NONE;
	}
	if (ret_may_reclaim)
		*ret_may_reclaim = more;
	return level;
}

const struct kueue_group *kueue_node_covering(const struct kueue_node *n, uint32_t resource)
{
	size_t from = 0, to = n->n_covered;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		if (n->covered[mid].resource < resource)
			from = mid + 1;
		else
			to = mid;
	}
	return from < n->n_covered && n->covered[from].resource == resource
		   ? &n->groups[n->covered[from].group]
		   : NULL;
}
