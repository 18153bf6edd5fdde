/*
 * Shares of fair sharing: reference/kueue.md section 2.7 (pkg/cache/scheduler/fair_sharing.go). The
 * only floating point of the forest, done in the order in which Kueue does it.
 */
#include "quota-tree/kueue_forest.h"

#include "quota-tree/kueue_node.h"
#include <math.h>

/* What a cohort could ever use of each resource, over all flavors of its tree. It follows from
 * quotas alone, so that it is worked out once per compile. */
static void make_lendable(const struct kueue_forest *f, struct kueue_node *n)
{
	const struct kueue_node *root = kueue_node(f, n->tree->members.items[0]);

	vec_clear(&n->lendable);
	vec_foreach (&root->row, slot) {
		const struct kueue_node *at = n;
		uint32_t cell = kueue_row_find(at, slot->key);
		struct kueue_lendable *last =
		    n->lendable.len ? &n->lendable.items[n->lendable.len - 1] : NULL;
		uint32_t resource = (uint32_t)(slot->key >> 32);

		/* Where it has no cell it has no limit either: it could use what its parent could.
		 */
		while (cell == KUEUE_NONE) {
			at = kueue_node_parent(f, at);
			cell = kueue_row_find(at, slot->key);
		}
		if (!last || last->resource != resource) {
			vec_push(&n->lendable, (struct kueue_lendable){.resource = resource});
			last = &n->lendable.items[n->lendable.len - 1];
		}
		last->value = kueue_amount_add(last->value, n->tree->cells.items[cell].potential);
	}
	n->has_lendable = true;
}

static int64_t lendable(const struct kueue_forest *f, struct kueue_node *cohort, uint32_t resource)
{
	if (!cohort->has_lendable)
		make_lendable(f, cohort);
	vec_foreach (&cohort->lendable, it)
		if (it->resource == resource)
			return it->value;
	return 0;
}

static bool is_before(const struct kueue_forest *f, uint32_t a, uint32_t b)
{
	return b == KUEUE_NONE || f->resource_ranks.items[a] < f->resource_ranks.items[b];
}

struct kueue_share kueue_forest_share(const struct kueue_forest *f, uint32_t node)
{
	kueue_tree_settle(f);
	struct kueue_node *n = kueue_node(f, node);
	struct kueue_share share = {.resource = KUEUE_NONE};

	if (n->parent == KUEUE_NONE)
		return share;
	for (size_t i = 0; i < n->row.len;) {
		uint32_t resource = (uint32_t)(n->row.items[i].key >> 32);
		int64_t borrowed = 0;

		for (; i < n->row.len && (uint32_t)(n->row.items[i].key >> 32) == resource; i++) {
			const struct kueue_cell *c = &n->tree->cells.items[n->row.items[i].cell];
			if (c->stated)
				borrowed = kueue_amount_add(
				    borrowed, kueue_amount_above(c->usage, c->subtree));
		}
		share.borrows = share.borrows || borrowed > 0;
		int64_t lent = borrowed > 0 ? lendable(f, kueue_node(f, n->parent), resource) : 0;
		if (lent <= 0)
			continue;
		double ratio = (double)borrowed * 1000.0 / (double)lent;
		if (ratio > share.ratio ||
		    (ratio >= share.ratio && is_before(f, resource, share.resource))) {
			share.ratio = ratio;
			share.resource = resource;
		}
	}
	if (share.ratio > 0)
		share.value = n->weight > 0 ? share.ratio / n->weight : (double)INFINITY;
	return share;
}

int kueue_share_cmp(struct kueue_share a, struct kueue_share b)
{
	if (isinf(a.value) && isinf(b.value))
		return (a.ratio > b.ratio) - (a.ratio < b.ratio);
	return (a.value > b.value) - (a.value < b.value);
}

int64_t kueue_share_status(struct kueue_share share)
{
	if (share.value >= 9223372036854775807.0)
		return INT64_MAX;
	int64_t down = (int64_t)share.value;
	return down + (share.value > (double)down);
}
