/*
 * Compiling cohort trees: from what objects say and what queues hold to rows and cells.
 *
 * All trees that an edit touched are taken apart together and put together again by the roots that
 * their nodes have now; every other tree stays as it is.
 */
#include "quota-tree/kueue_node.h"

#include <assert.h>

void kueue_tree_spoil(struct kueue_forest *f, struct kueue_node *n)
{
	if (n->tree->stale)
		return;
	n->tree->stale = true;
	vec_push(&f->stale, n->tree);
}

void kueue_tree_free(struct kueue_tree *t)
{
	vec_done(&t->members);
	vec_done(&t->cells);
	free(t);
}

void kueue_node_free(struct kueue_forest *f, struct kueue_node *n)
{
	map_remove(n->queue ? &f->queues : &f->cohorts, n->name);
	f->nodes.items[n->number] = NULL;
	vec_push(&f->free_numbers, n->number);
	base_auto_free(&n->name.ptr);
	arena_done(&n->mem);
	vec_done(&n->row);
	vec_done(&n->children);
	vec_done(&n->held);
	vec_done(&n->lendable);
	free(n);
}

/* ---- taking apart ---- */

/* Takes a queue's usage out of the cells that will go. */
static void save_usage(struct kueue_node *n)
{
	vec_clear(&n->held);
	for (size_t i = 0; n->queue && i < n->row.len; i++) {
		const struct kueue_cell *c = &n->tree->cells.items[n->row.items[i].cell];
		if (c->usage > 0)
			vec_push(&n->held, (struct kueue_use){c->flavor, c->resource, c->usage});
	}
	vec_clear(&n->row);
	vec_clear(&n->children);
	n->has_lendable = false;
	n->height = 0;
}

static bool is_dead(const struct kueue_node *n)
{
	return !n->declared && n->n_wanting == 0 && n->held.len == 0 && !rank_first(&n->holders);
}

bool kueue_node_ends(const struct kueue_forest *f, const struct kueue_node *n)
{
	for (int depth = 0; n->wanted != KUEUE_NONE; depth++) {
		if (depth == KUEUE_MAX_DEPTH)
			return false;
		n = kueue_node(f, n->wanted);
	}
	return true;
}

/* ---- putting together ---- */

static int cmp_slot(const void *a, const void *b)
{
	const struct kueue_slot *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

static void row_add(struct kueue_node *n, uint64_t key)
{
	vec_push(&n->row, (struct kueue_slot){key, KUEUE_NONE});
}

/* Which cells a node has: those it lists or holds, and those of its children. */
static void make_row(struct kueue_forest *f, struct kueue_node *n)
{
	size_t kept = 0;

	for (size_t g = 0; g < n->n_groups; g++)
		for (uint32_t i = 0; i < n->groups[g].n_flavors; i++)
			for (uint32_t r = 0; r < n->groups[g].n_resources; r++)
				row_add(n, kueue_key(n->groups[g].flavors[i],
						     n->groups[g].resources[r]));
	vec_foreach (&n->held, use)
		row_add(n, kueue_key(use->flavor, use->resource));
	vec_foreach (&n->children, child) {
		const struct kueue_node *c = kueue_node(f, *child);
		vec_foreach (&c->row, slot)
			row_add(n, slot->key);
	}
	if (n->row.len == 0)
		return;
	qsort(n->row.items, n->row.len, sizeof(*n->row.items), cmp_slot);
	for (size_t i = 1; i < n->row.len; i++)
		if (n->row.items[i].key != n->row.items[kept].key)
			n->row.items[++kept] = n->row.items[i];
	n->row.len = kept + 1;
}

static void make_cells(const struct kueue_node *parent, struct kueue_node *n)
{
	struct kueue_tree *t = n->tree;

	vec_foreach (&n->row, slot) {
		slot->cell = (uint32_t)t->cells.len;
		vec_push(&t->cells,
			 (struct kueue_cell){
			     .flavor = (uint32_t)slot->key,
			     .resource = (uint32_t)(slot->key >> 32),
			     .borrowing = QUOTA_UNLIMITED,
			     .parent = parent ? kueue_row_find(parent, slot->key) : KUEUE_NONE,
			 });
	}
	for (size_t g = 0; g < n->n_groups; g++) {
		const struct kueue_group *group = &n->groups[g];
		for (uint32_t i = 0; i < group->n_flavors * group->n_resources; i++) {
			struct kueue_cell *c = kueue_cell(n, group->flavors[i / group->n_resources],
							  group->resources[i % group->n_resources]);
			c->listed = c->stated = true;
			c->nominal = group->quotas[i].nominal;
			c->borrowing = group->quotas[i].borrowing;
			/* Until the subtree's quota is known. */
			c->local = group->quotas[i].lending;
		}
	}
	vec_foreach (&n->held, use)
		kueue_cell(n, use->flavor, use->resource)->usage = use->value;
	vec_clear(&n->held);
}

/* Children first: what a node's cells come to, and what of that its parent sees. */
static void add_up(struct kueue_forest *f, struct kueue_node *n)
{
	struct kueue_node *parent = kueue_node_parent(f, n);

	vec_foreach (&n->row, slot) {
		struct kueue_cell *c = &n->tree->cells.items[slot->cell];
		int64_t lending = c->listed ? c->local : QUOTA_UNLIMITED;

		c->subtree = kueue_amount_add(c->subtree, c->nominal);
		c->local = lending == QUOTA_UNLIMITED ? 0 : kueue_amount_above(c->subtree, lending);
		if (c->parent == KUEUE_NONE)
			continue;
		struct kueue_cell *p = &n->tree->cells.items[c->parent];
		p->subtree = kueue_amount_add(p->subtree, kueue_amount_sub(c->subtree, c->local));
		p->usage = kueue_amount_add(p->usage, kueue_amount_above(c->usage, c->local));
		p->stated = p->stated || c->stated;
	}
	if (!n->queue && n->children.len && n->height == 0)
		n->height = 1;
	if (parent && !n->queue && parent->height < n->height + 1)
		parent->height = n->height + 1;
}

/* Parents first. */
static void set_potential(struct kueue_node *n)
{
	vec_foreach (&n->row, slot) {
		struct kueue_cell *c = &n->tree->cells.items[slot->cell];

		c->potential = c->subtree;
		if (c->parent == KUEUE_NONE)
			continue;
		c->potential =
		    kueue_amount_add(c->local, n->tree->cells.items[c->parent].potential);
		if (c->borrowing != QUOTA_UNLIMITED)
			c->potential =
			    num_min(c->potential, kueue_amount_add(c->subtree, c->borrowing));
	}
}

static void build(struct kueue_forest *f, struct kueue_tree *t)
{
	for (size_t i = t->members.len; i-- > 0;)
		make_row(f, kueue_node(f, t->members.items[i]));
	for (size_t i = 0; i < t->members.len; i++) {
		struct kueue_node *n = kueue_node(f, t->members.items[i]);
		make_cells(kueue_node_parent(f, n), n);
	}
	for (size_t i = t->members.len; i-- > 0;)
		add_up(f, kueue_node(f, t->members.items[i]));
	for (size_t i = 0; i < t->members.len; i++) {
		struct kueue_node *n = kueue_node(f, t->members.items[i]);
		set_potential(n);
		n->generation++;
	}
}

/* A root and all that hangs below it: parents before children. */
static struct kueue_tree *gather(struct kueue_forest *f, struct kueue_node *root,
				 uint64_t generation)
{
	struct kueue_tree *t = xcalloc(1, sizeof(*t));

	t->generation = generation;
	vec_push(&t->members, root->number);
	for (size_t i = 0; i < t->members.len; i++) {
		struct kueue_node *n = kueue_node(f, t->members.items[i]);
		n->tree = t;
		vec_foreach (&n->children, child)
			vec_push(&t->members, *child);
	}
	return t;
}

/* ---- all together ---- */

struct entry { /* a node of the trees that are taken apart */
	struct kueue_node *node;
};

static int cmp_entry(const void *a, const void *b)
{
	const struct kueue_node *x = ((const struct entry *)a)->node,
				*y = ((const struct entry *)b)->node;

	if (x->queue != y->queue)
		return x->queue ? 1 : -1;
	return span_cmp(x->name, y->name);
}

struct compile {
	struct VEC(struct entry) nodes; /* cohorts, then queues, by name */
	uint64_t generation;		/* above all that the old trees had */
};

static void take_apart(struct kueue_forest *f, struct compile *c)
{
	/* They stand alone, so that none of them tells which others an edit sets free. */
	for (size_t i = 0; f->n_cyclic && i < f->nodes.len; i++)
		if (f->nodes.items[i] && f->nodes.items[i]->cyclic)
			kueue_tree_spoil(f, f->nodes.items[i]);
	f->n_cyclic = 0;
	vec_foreach (&f->stale, it) {
		struct kueue_tree *t = *it;

		if (t->generation > c->generation)
			c->generation = t->generation;
		vec_foreach (&t->members, m) {
			save_usage(kueue_node(f, *m));
			vec_push(&c->nodes, (struct entry){kueue_node(f, *m)});
		}
		vec_foreach (&t->members, m)
			kueue_node(f, *m)->tree = NULL;
		kueue_tree_free(t);
	}
	vec_clear(&f->stale);
	c->generation++;
}

/* Nobody wants them, and they hold nothing. Nobody hangs below them, so that the order is free. */
static void bury(struct kueue_forest *f, struct compile *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nodes.len; i++) {
		struct kueue_node *n = c->nodes.items[i].node;
		if (!is_dead(n))
			c->nodes.items[kept++] = c->nodes.items[i];
		else
			kueue_node_free(f, n);
	}
	c->nodes.len = kept;
}

void kueue_tree_compile(struct kueue_forest *f)
{
	struct compile c = {0};

	assert(f->trials == 0);
	take_apart(f, &c);
	bury(f, &c);
	if (c.nodes.len)
		qsort(c.nodes.items, c.nodes.len, sizeof(*c.nodes.items), cmp_entry);
	vec_foreach (&c.nodes, it) {
		struct kueue_node *n = it->node;

		n->cyclic = !kueue_node_ends(f, n);
		f->n_cyclic += n->cyclic;
		n->parent = n->cyclic ? KUEUE_NONE : n->wanted;
		if (n->parent != KUEUE_NONE)
			vec_push(&kueue_node(f, n->parent)->children, n->number);
	}
	vec_foreach (&c.nodes, it)
		if (it->node->parent == KUEUE_NONE)
			build(f, gather(f, it->node, c.generation));
	vec_done(&c.nodes);
}
