#include "base/map.h"

#include "test.h"

#include <stdio.h>

static void *value(uintptr_t n)
{
	return (void *)n;
}

static struct span key_of(int i, char out[32])
{
	int n = snprintf(out, 32, "key-%d", i);
	return span_make(out, (size_t)n);
}

static void keys_are_found_replaced_and_removed(void **state)
{
	struct map m = MAP_INIT;
	(void)state;
	assert_null(map_get(&m, SPAN("a")));
	assert_null(map_remove(&m, SPAN("a")));
	assert_null(map_put(&m, SPAN("a"), value(1)));
	assert_ptr_equal(map_put(&m, SPAN("a"), value(2)), value(1));
	assert_null(map_put(&m, SPAN(""), value(3)));
	assert_null(map_put(&m, span_make("a\0b", 3), value(4)));
	assert_ptr_equal(map_get_str(&m, "a"), value(2));
	assert_ptr_equal(map_get(&m, SPAN("")), value(3));
	assert_ptr_equal(map_get(&m, SPAN_NONE), value(3)); /* the empty key */
	assert_ptr_equal(map_get(&m, span_make("a\0b", 3)), value(4));
	assert_int_equal(m.len, 3);
	assert_string_equal(map_key(&m, SPAN("a")), "a");
	assert_ptr_equal(map_remove(&m, SPAN("a")), value(2));
	assert_null(map_key(&m, SPAN("a")));
	assert_false(map_has(&m, SPAN("a")));
	assert_true(map_has(&m, SPAN("")));
	assert_int_equal(m.len, 2);
	map_done(&m);
	assert_null(map_get(&m, SPAN("")));
}

static void keys_are_copied(void **state)
{
	struct map m = MAP_INIT;
	char key[] = "abc";
	(void)state;
	map_put(&m, span_of(key), value(1));
	key[0] = 'x';
	assert_ptr_equal(map_get_str(&m, "abc"), value(1));
	assert_null(map_get_str(&m, "xbc"));
	map_done(&m);
}

static void iteration_is_in_insertion_order(void **state)
{
	struct map m = MAP_INIT;
	char text[32];
	uintptr_t seen = 0;
	(void)state;
	for (int i = 0; i < 1000; i++)
		map_put(&m, key_of(i, text), value((uintptr_t)i + 1));
	for (int i = 0; i < 1000; i += 2)
		map_remove(&m, key_of(i, text));
	map_put(&m, key_of(0, text), value(5000)); /* comes back at the end */
	map_foreach (&m, e) {
		assert_true((uintptr_t)e->value > seen);
		seen = (uintptr_t)e->value;
	}
	assert_int_equal(seen, 5000);
	map_done(&m);
}

static void the_current_entry_may_be_removed_while_iterating(void **state)
{
	struct map m = MAP_INIT;
	char text[32];
	size_t n = 0;
	(void)state;
	for (int i = 0; i < 100; i++)
		map_put(&m, key_of(i, text), value(1));
	map_foreach (&m, e) {
		n++;
		map_remove(&m, span_make(e->key, e->key_len));
	}
	assert_int_equal(n, 100);
	assert_int_equal(m.len, 0);
	map_done(&m);
}

/* Against a plain array, through growth, holes and shrinking. */
static void random_operations_agree_with_an_array(void **state)
{
	struct map m = MAP_INIT;
	uintptr_t model[500] = {0};
	size_t live = 0;
	uint64_t random = 7;
	char text[32];
	(void)state;
	for (int step = 0; step < 200000; step++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		int i = (int)(random >> 33) % 500;
		/* Phases that mostly add and phases that mostly remove. */
		bool add = (random >> 20) % 8 < ((step / 20000) % 2 ? 2 : 6);
		struct span key = key_of(i, text);
		if (add) {
			assert_ptr_equal(map_put(&m, key, value((uintptr_t)step + 1)),
					 value(model[i]));
			live += model[i] == 0;
			model[i] = (uintptr_t)step + 1;
		} else {
			assert_ptr_equal(map_remove(&m, key), value(model[i]));
			live -= model[i] != 0;
			model[i] = 0;
		}
		assert_int_equal(m.len, live);
		assert_ptr_equal(map_get(&m, key), value(model[i]));
	}
	for (int i = 0; i < 500; i++)
		assert_ptr_equal(map_get(&m, key_of(i, text)), value(model[i]));
	map_done(&m);
}

static void memory_does_not_grow_when_keys_come_and_go(void **state)
{
	struct map m = MAP_INIT;
	char text[32];
	(void)state;
	for (int i = 0; i < 100000; i++) {
		map_put(&m, key_of(i, text), value(1));
		if (i >= 10)
			map_remove(&m, key_of(i - 10, text));
	}
	assert_int_equal(m.len, 10);
	assert_true(m.cap_entries < 200);
	assert_true(m.n_slots < 400);
	map_done(&m);
}

static void two_maps_hash_differently(void **state)
{
	struct map a = MAP_INIT, b = MAP_INIT;
	(void)state;
	map_put(&a, SPAN("k"), value(1));
	map_put(&b, SPAN("k"), value(1));
	assert_true(a.seed != b.seed);
	assert_true(a.entries[0].hash != b.entries[0].hash);
	map_done(&a);
	map_done(&b);
}

RUN(T(keys_are_found_replaced_and_removed), T(keys_are_copied), T(iteration_is_in_insertion_order),
    T(the_current_entry_may_be_removed_while_iterating), T(random_operations_agree_with_an_array),
    T(memory_does_not_grow_when_keys_come_and_go), T(two_maps_hash_differently))
