#include "base/span.h"

#include "test.h"

static void absent_and_empty_are_equal_bytes(void **state)
{
	(void)state;
	assert_true(span_eq(SPAN_NONE, SPAN("")));
	assert_null(span_of(NULL).ptr);
	assert_int_equal(span_cmp(SPAN_NONE, SPAN("")), 0);
}

static void comparison_is_by_bytes_then_length(void **state)
{
	(void)state;
	assert_true(span_cmp(SPAN("a"), SPAN("b")) < 0);
	assert_true(span_cmp(SPAN("a"), SPAN("aa")) < 0);
	assert_true(span_cmp(SPAN("\xff"), SPAN("a")) > 0);
	assert_true(span_cmp(SPAN("b"), SPAN("aa")) > 0);
	assert_int_equal(span_cmp(SPAN("ab"), SPAN("ab")), 0);
}

static void starts_and_ends(void **state)
{
	(void)state;
	assert_true(span_starts(SPAN("abc"), SPAN("ab")));
	assert_true(span_starts(SPAN("abc"), SPAN_NONE));
	assert_false(span_starts(SPAN("a"), SPAN("ab")));
	assert_true(span_ends(SPAN("abc"), SPAN("bc")));
	assert_true(span_ends(SPAN_NONE, SPAN("")));
	assert_false(span_ends(SPAN("c"), SPAN("bc")));
}

static void splitting_walks_over_every_part(void **state)
{
	struct span rest = SPAN("a,,b");
	(void)state;
	assert_true(span_is(span_split(&rest, ','), "a"));
	assert_true(span_is(span_split(&rest, ','), ""));
	assert_non_null(rest.ptr);
	assert_true(span_is(span_split(&rest, ','), "b"));
	assert_null(rest.ptr);
	assert_null(span_split(&rest, ',').ptr);
	rest = SPAN("x,");
	span_split(&rest, ',');
	assert_non_null(rest.ptr); /* an empty last part, not none */
	assert_int_equal(rest.len, 0);
}

RUN(T(absent_and_empty_are_equal_bytes), T(comparison_is_by_bytes_then_length), T(starts_and_ends),
    T(splitting_walks_over_every_part))
