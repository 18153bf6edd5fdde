/* The ordered set against a sorted array. */
#include "quota-tree/rank_tree.h"
#include "testing.h"

#define N 400

struct item {
	struct rank_node node;
	uint32_t key;
	uint32_t least;
};

static bool before(const struct rank_node *a, const struct rank_node *b)
{
	const struct item *x = rank_entry_const(a, struct item, node);
	const struct item *y = rank_entry_const(b, struct item, node);
	return x->key != y->key ? x->key < y->key : x < y;
}

static void fix(struct rank_node *n)
{
	struct item *it = rank_entry(n, struct item, node);
	it->least = it->key;
	if (n->left && rank_entry(n->left, struct item, node)->least < it->least)
		it->least = rank_entry(n->left, struct item, node)->least;
	if (n->right && rank_entry(n->right, struct item, node)->least < it->least)
		it->least = rank_entry(n->right, struct item, node)->least;
}

static const struct rank_order order = {.before = before, .fix = fix};

static void expect_same(const struct rank_tree *tree, struct item *items)
{
	size_t len = 0;
	uint32_t least = UINT32_MAX;
	for (size_t i = 0; i < N; i++) {
		if (!rank_has(&items[i].node))
			continue;
		len++;
		least = items[i].key < least ? items[i].key : least;
		size_t place = 0;
		for (size_t k = 0; k < N; k++)
			place += rank_has(&items[k].node) && before(&items[k].node, &items[i].node);
		assert_int_equal(rank_of(tree, &items[i].node), place);
		assert_ptr_equal(rank_at(tree, place), &items[i].node);
		if (place == 0)
			assert_ptr_equal(rank_first(tree), &items[i].node);
	}
	assert_int_equal(rank_len(tree), len);
	assert_null(rank_at(tree, len));
	if (len)
		assert_int_equal(rank_entry(tree->root, struct item, node)->least, least);
	else
		assert_null(rank_first(tree));
}

static void places_equal_those_of_a_sorted_array(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		uint64_t rng = seed;
		static struct item items[N];
		memset(items, 0, sizeof(items));
		struct rank_tree tree;
		rank_init(&tree, &order);
		for (int step = 0; step < 4000; step++) {
			struct item *it = &items[test_below(&rng, N)];
			if (rank_has(&it->node)) {
				rank_remove(&tree, &it->node);
			} else {
				it->key = test_below(&rng, 50);
				rank_insert(&tree, &it->node);
			}
			if (step % 97 == 0)
				expect_same(&tree, items);
		}
		expect_same(&tree, items);
	}
}

static size_t height(const struct rank_node *n)
{
	if (!n)
		return 0;
	size_t l = height(n->left), r = height(n->right);
	return 1 + (l > r ? l : r);
}

static void sorted_insertion_stays_shallow(void **state)
{
	(void)state;
	enum { MANY = 100000 };
	struct item *items = xcalloc(MANY, sizeof(*items));
	struct rank_tree tree;
	rank_init(&tree, &order);
	for (uint32_t i = 0; i < MANY; i++) {
		items[i].key = i;
		rank_insert(&tree, &items[i].node);
	}
	/* Expected about 2 ln n = 23 levels deep on average, 40 at the deepest. */
	assert_true(height(tree.root) < 64);
	assert_int_equal(rank_of(&tree, &items[MANY / 2].node), MANY / 2);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(places_equal_those_of_a_sorted_array),
	    cmocka_unit_test(sorted_insertion_stays_shallow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
