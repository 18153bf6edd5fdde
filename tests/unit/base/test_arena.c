#include "base/arena.h"

#include "test.h"

static void memory_is_zeroed_and_aligned(void **state)
{
	auto_arena a = ARENA_INIT;
	(void)state;
	for (size_t n = 0; n < 300; n += 7) {
		unsigned char *p = arena_alloc(&a, n);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xee, n);
	}
}

static void memory_is_zeroed_again_after_a_reset(void **state)
{
	auto_arena a = ARENA_INIT;
	(void)state;
	memset(arena_alloc(&a, 1000), 0xee, 1000);
	arena_reset(&a);
	const unsigned char *p = arena_alloc(&a, 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(p[i], 0);
}

static void a_block_may_be_larger_than_any_before(void **state)
{
	auto_arena a = ARENA_INIT;
	(void)state;
	char *small = arena_strndup(&a, "small", 5);
	char *big = arena_alloc(&a, 1 << 20);
	big[(1 << 20) - 1] = 'x';
	char *after = arena_strndup(&a, "after", 5);
	assert_string_equal(small, "small");
	assert_string_equal(after, "after");
}

static void arrays_and_structs_have_their_size(void **state)
{
	auto_arena a = ARENA_INIT;
	(void)state;
	int *n = arena_array(&a, int, 1000);
	int *one = arena_new(&a, int);
	n[999] = 7;
	*one = 8;
	assert_int_equal(n[999], 7);
}

static void a_copied_span_keeps_absent_and_empty_apart(void **state)
{
	auto_arena a = ARENA_INIT;
	(void)state;
	assert_null(arena_span(&a, SPAN_NONE).ptr);
	struct span empty = arena_span(&a, SPAN(""));
	assert_non_null(empty.ptr);
	assert_int_equal(empty.len, 0);
	assert_true(span_is(arena_span(&a, SPAN("abc")), "abc"));
}

static void an_unused_arena_can_be_reset_and_done(void **state)
{
	struct arena a = ARENA_INIT;
	(void)state;
	arena_reset(&a);
	arena_done(&a);
	arena_done(&a);
}

RUN(T(memory_is_zeroed_and_aligned), T(memory_is_zeroed_again_after_a_reset),
    T(a_block_may_be_larger_than_any_before), T(arrays_and_structs_have_their_size),
    T(a_copied_span_keeps_absent_and_empty_apart), T(an_unused_arena_can_be_reset_and_done))
