/*
 * The forest against its definitions, worked out again the slow way: from what objects say and what
 * queues use, down every path, without rows or parents of cells.
 */
#include "quota-tree/kueue_forest.h"

#include "quota-tree/kueue_node.h"

static const struct kueue_quota *quota_of(const struct kueue_node *n, uint64_t key)
{
	for (size_t g = 0; g < n->n_groups; g++)
		for (uint32_t i = 0; i < n->groups[g].n_flavors; i++)
			for (uint32_t r = 0; r < n->groups[g].n_resources; r++)
				if (kueue_key(n->groups[g].flavors[i], n->groups[g].resources[r]) ==
				    key)
					return &n->groups[g]
						    .quotas[i * n->groups[g].n_resources + r];
	return NULL;
}

struct sums {
	int64_t subtree, local, usage;
};

static struct sums sums_of(const struct kueue_forest *f, const struct kueue_node *n, uint64_t key)
{
	const struct kueue_quota *q = quota_of(n, key);
	struct sums s = {.subtree = q ? q->nominal : 0};

	if (n->queue) {
		uint32_t at = kueue_row_find(n, key);
		s.usage = at == KUEUE_NONE ? 0 : n->tree->cells.items[at].usage;
	}
	vec_foreach (&n->children, child) {
		struct sums c = sums_of(f, kueue_node(f, *child), key);
		s.subtree = kueue_amount_add(s.subtree, kueue_amount_sub(c.subtree, c.local));
		s.usage = kueue_amount_add(s.usage, kueue_amount_above(c.usage, c.local));
	}
	if (q && q->lending != QUOTA_UNLIMITED)
		s.local = kueue_amount_above(s.subtree, q->lending);
	return s;
}

static int64_t potential_of(const struct kueue_forest *f, const struct kueue_node *n, uint64_t key)
{
	const struct kueue_quota *q = quota_of(n, key);
	struct sums s = sums_of(f, n, key);
	int64_t most;

	if (n->parent == KUEUE_NONE)
		return s.subtree;
	most = kueue_amount_add(s.local, potential_of(f, kueue_node(f, n->parent), key));
	if (q && q->borrowing != QUOTA_UNLIMITED)
		most = num_min(most, kueue_amount_add(s.subtree, q->borrowing));
	return most;
}

static int differs(struct err *reterr, const struct kueue_forest *f, const struct kueue_node *n,
		   uint64_t key, const char *what, int64_t is, int64_t should)
{
	return err_set(reterr, ERR_INTERNAL, "%s %.*s, %.*s/%.*s: %s is %lld, should be %lld",
		       n->queue ? "queue" : "cohort", SPAN_ARGS(n->name),
		       SPAN_ARGS(kueue_forest_flavor_name(f, (uint32_t)key)),
		       SPAN_ARGS(kueue_forest_resource_name(f, (uint32_t)(key >> 32))), what,
		       (long long)is, (long long)should);
}

static int check_cell(const struct kueue_forest *f, const struct kueue_node *n,
		      const struct kueue_slot *slot, struct err *reterr)
{
	const struct kueue_cell *c = &n->tree->cells.items[slot->cell];
	struct sums s = sums_of(f, n, slot->key);
	int64_t most = potential_of(f, n, slot->key);

	if (kueue_key(c->flavor, c->resource) != slot->key)
		return err_set(reterr, ERR_INTERNAL, "a row points to another cell");
	if ((c->parent == KUEUE_NONE) != (n->parent == KUEUE_NONE))
		return err_set(reterr, ERR_INTERNAL, "a cell has no parent, its node has");
	if (c->usage < 0)
		return differs(reterr, f, n, slot->key, "usage", c->usage, 0);
	if (c->subtree != s.subtree)
		return differs(reterr, f, n, slot->key, "subtree", c->subtree, s.subtree);
	if (c->local != s.local)
		return differs(reterr, f, n, slot->key, "local", c->local, s.local);
	if (c->usage != s.usage)
		return differs(reterr, f, n, slot->key, "usage", c->usage, s.usage);
	if (c->potential != most)
		return differs(reterr, f, n, slot->key, "potential", c->potential, most);
	return 0;
}

int kueue_forest_check(struct kueue_forest *f, struct err *reterr)
{
	kueue_tree_settle(f);
	vec_foreach (&f->nodes, it) {
		const struct kueue_node *n = *it;

		for (size_t i = 0; n && i < n->row.len; i++) {
			int r;
			if (i > 0 && n->row.items[i - 1].key >= n->row.items[i].key)
				return err_set(reterr, ERR_INTERNAL, "a row is out of order");
			r = check_cell(f, n, &n->row.items[i], reterr);
			if (r < 0)
				return r;
		}
	}
	return 0;
}
