#include "quota-tree/rank_tree.h"
#include "base/compat.h"
#include <assert.h>

void rank_init(struct rank_tree *tree, const struct rank_order *order)
{
	*tree = (struct rank_tree){.order = order};
}

/* splitmix64 of a counter. */
static uint32_t next_heap(struct rank_tree *tree)
{
	uint64_t z = (tree->seed += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)(z >> 32);
}

static void fix(const struct rank_tree *tree, struct rank_node *n)
{
	n->count = 1 + (n->left ? n->left->count : 0) + (n->right ? n->right->count : 0);
	if (tree->order->fix)
		tree->order->fix(n);
}

/* Into what stands before `key` and what does not. */
static void split(const struct rank_tree *tree, struct rank_node *n, const struct rank_node *key,
		  struct rank_node **left, struct rank_node **right)
{
	if (!n) {
		*left = *right = NULL;
		return;
	}
	if (tree->order->before(n, key)) {
		split(tree, n->right, key, &n->right, right);
		*left = n;
	} else {
		split(tree, n->left, key, left, &n->left);
		*right = n;
	}
	fix(tree, n);
}

static struct rank_node *merge(const struct rank_tree *tree, struct rank_node *a,
			       struct rank_node *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->heap > b->heap) {
		a->right = merge(tree, a->right, b);
		fix(tree, a);
		return a;
	}
	b->left = merge(tree, a, b->left);
	fix(tree, b);
	return b;
}

static struct rank_node *insert(const struct rank_tree *tree, struct rank_node *n,
				struct rank_node *node)
{
	if (!n || node->heap > n->heap) {
		split(tree, n, node, &node->left, &node->right);
		fix(tree, node);
		return node;
	}
	if (tree->order->before(node, n))
		n->left = insert(tree, n->left, node);
	else
		n->right = insert(tree, n->right, node);
	fix(tree, n);
	return n;
}

void rank_insert(struct rank_tree *tree, struct rank_node *node)
{
	assert(!rank_has(node));
	node->heap = next_heap(tree);
	tree->root = insert(tree, tree->root, node);
	if (!tree->first || tree->order->before(node, tree->first))
		tree->first = node;
}

static struct rank_node *removed(const struct rank_tree *tree, struct rank_node *n,
				 struct rank_node *node)
{
	assert(n);
	if (n == node)
		return merge(tree, n->left, n->right);
	if (tree->order->before(node, n))
		n->left = removed(tree, n->left, node);
	else
		n->right = removed(tree, n->right, node);
	fix(tree, n);
	return n;
}

void rank_remove(struct rank_tree *tree, struct rank_node *node)
{
	tree->root = removed(tree, tree->root, node);
	*node = (struct rank_node){0};
	if (tree->first != node)
		return;
	tree->first = tree->root;
	while (tree->first && tree->first->left)
		tree->first = tree->first->left;
}

size_t rank_of(const struct rank_tree *tree, const struct rank_node *node)
{
	size_t place = 0;
	const struct rank_node *n = tree->root;
	while (n != node) {
		assert(n);
		if (tree->order->before(node, n)) {
			n = n->left;
		} else {
			place += 1 + (n->left ? n->left->count : 0);
			n = n->right;
		}
	}
	return place + (n->left ? n->left->count : 0);
}

struct rank_node *rank_at(const struct rank_tree *tree, size_t place)
{
	struct rank_node *n = tree->root;
	while (n) {
		size_t before = n->left ? n->left->count : 0;
		if (place == before)
			return n;
		if (place < before) {
			n = n->left;
		} else {
			place -= before + 1;
			n = n->right;
		}
	}
	return NULL;
}
