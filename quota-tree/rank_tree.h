#ifndef QUOTA_TREE_RANK_TREE_H
#define QUOTA_TREE_RANK_TREE_H
/*
 * An ordered set that knows the place of each member: an intrusive treap whose nodes count their
 * subtree. Insert, remove, first, place and at-place are O(log n) expected, whatever the order of
 * insertion: heap keys come from the tree's own sequence, so that equal histories give equal trees
 * and no outsider chooses the shape. Nothing allocates.
 *
 * The order must be total and must not change for a member while it is in the tree. `fix`, when
 * set, recomputes a node's own aggregate from its children (as count is), bottom-up after each
 * change.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_node {
	struct rank_node *left, *right;
	uint32_t heap;
	uint32_t count; /* nodes of this subtree; 0: not in a tree */
};

struct rank_order {
	bool (*before)(const struct rank_node *a, const struct rank_node *b);
	void (*fix)(struct rank_node *node); /* or NULL */
};

struct rank_tree {
	struct rank_node *root;
	struct rank_node *first;
	const struct rank_order *order;
	uint64_t seed;
};

void rank_init(struct rank_tree *tree, const struct rank_order *order);
void rank_insert(struct rank_tree *tree, struct rank_node *node); /* must not be in a tree */
void rank_remove(struct rank_tree *tree, struct rank_node *node); /* must be in this tree */
/* 0-based place of a member. */
size_t rank_of(const struct rank_tree *tree, const struct rank_node *node);
struct rank_node *rank_at(const struct rank_tree *tree, size_t place); /* NULL when beyond */

static inline size_t rank_len(const struct rank_tree *tree)
{
	return tree->root ? tree->root->count : 0;
}

static inline struct rank_node *rank_first(const struct rank_tree *tree) /* NULL when empty */
{
	return tree->first;
}

static inline bool rank_has(const struct rank_node *node)
{
	return node->count > 0;
}

/* The structure that holds a node. */
#define rank_entry(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define rank_entry_const(ptr, type, member)                                                        \
	((const type *)(const void *)((const char *)(ptr)-offsetof(type, member)))

#endif
