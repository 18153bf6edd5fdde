/* The ordered list in pages against a sorted array. */
#include "quota-tree/rank_list.h"
#include "testing.h"

#define N 1500

struct item {
	struct rank_key key;
	uint32_t number; /* tells equal keys apart */
	int64_t mark;
	bool in;
};

static int cmp_numbers(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int cmp_items(const void *a, const void *b)
{
	const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;
	if (x->key.major != y->key.major)
		return x->key.major < y->key.major ? -1 : 1;
	if (x->key.minor != y->key.minor)
		return x->key.minor < y->key.minor ? -1 : 1;
	if (x->key.tie != y->key.tie)
		return x->key.tie < y->key.tie ? -1 : 1;
	return cmp_numbers(x, y);
}

static void expect_same(const struct rank_list *list, struct item *items, uint64_t *rng)
{
	static struct item *sorted[N];
	size_t n = 0;
	int64_t least = INT64_MAX;
	for (size_t i = 0; i < N; i++) {
		if (!items[i].in)
			continue;
		sorted[n++] = &items[i];
		least = items[i].mark < least ? items[i].mark : least;
	}
	qsort(sorted, n, sizeof(sorted[0]), cmp_items);
	assert_int_equal(rank_list_len(list), n);
	assert_int_equal(rank_list_least_mark(list), least);
	assert_ptr_equal(rank_list_first(list), n ? sorted[0] : NULL);
	assert_null(rank_list_at(list, n));
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(rank_list_at(list, i), sorted[i]);
		assert_int_equal(rank_list_of(list, sorted[i]->key, sorted[i]), i);
	}
	for (int tries = 0; tries < 8; tries++) {
		int64_t bound = (int64_t)test_below(rng, 1100);
		struct item *first = NULL;
		for (size_t i = 0; i < n && !first; i++)
			first = sorted[i]->mark <= bound ? sorted[i] : NULL;
		assert_ptr_equal(rank_list_first_within(list, bound), first);
	}
	for (size_t i = 0; i < N && n; i += 37) {
		size_t before = 0;
		struct item *it = &items[i];
		while (before < n && cmp_items(&sorted[before], &it) < 0)
			before++;
		assert_int_equal(rank_list_before(list, it->key, it), before);
	}
}

static void set_key(struct item *it, uint64_t *rng)
{
	it->key = (struct rank_key){test_below(rng, 3), test_below(rng, 20), test_below(rng, 3)};
	it->mark = (int64_t)test_below(rng, 1000);
}

/* It grows for a while, then shrinks: pages split and join. */
static void it_equals_a_sorted_array(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		static struct item items[N];
		uint64_t rng = seed;
		struct rank_list list;
		memset(items, 0, sizeof(items));
		rank_list_init(&list, cmp_numbers);
		for (uint32_t i = 0; i < N; i++) {
			items[i].number = i;
			set_key(&items[i], &rng);
		}
		for (int step = 0; step < 30000; step++) {
			struct item *it = &items[test_below(&rng, N)];
			bool grows = step / 6000 % 2 == 0;
			if (!it->in && (grows || test_below(&rng, 4) == 0)) {
				set_key(it, &rng);
				rank_list_insert(&list, it->key, it, it->mark);
				it->in = true;
			} else if (it->in && (!grows || test_below(&rng, 4) == 0)) {
				rank_list_remove(&list, it->key, it);
				it->in = false;
			} else if (it->in) {
				it->mark = (int64_t)test_below(&rng, 1000);
				rank_list_set_mark(&list, it->key, it, it->mark);
			}
			if (step % 997 == 0)
				expect_same(&list, items, &rng);
		}
		expect_same(&list, items, &rng);
		for (size_t i = 0; i < N; i++) {
			if (items[i].in)
				rank_list_remove(&list, items[i].key, &items[i]);
			items[i].in = false;
		}
		expect_same(&list, items, &rng);
		assert_null(list.root);
	}
}

static void what_grows_at_its_end_stays_shallow(void **state)
{
	(void)state;
	enum { MANY = 100000 };
	struct item *items = xcalloc(MANY, sizeof(*items));
	struct rank_list list;
	rank_list_init(&list, cmp_numbers);
	for (uint32_t i = 0; i < MANY; i++) {
		items[i].key.minor = i;
		rank_list_insert(&list, items[i].key, &items[i], 0);
	}
	assert_int_equal(rank_list_of(&list, items[MANY / 2].key, &items[MANY / 2]), MANY / 2);
	/* 32^3 < 100,000 < 32^4 */
	assert_int_equal(list.height, 3);
	rank_list_clear(&list);
	assert_int_equal(rank_list_len(&list), 0);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_equals_a_sorted_array),
	    cmocka_unit_test(what_grows_at_its_end_stays_shallow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
