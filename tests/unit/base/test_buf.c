#include "base/buf.h"

#include "test.h"

#include <inttypes.h>
#include <limits.h>

static void content_is_always_nul_terminated(void **state)
{
	auto_buf b = BUF_INIT;
	(void)state;
	buf_add_str(&b, "abc");
	assert_string_equal(b.ptr, "abc");
	buf_add_char(&b, 'd');
	buf_add_span(&b, SPAN("ef"));
	buf_add_u64(&b, UINT64_MAX);
	buf_add_i64(&b, INT64_MIN);
	buf_add_u64(&b, 0);
	assert_string_equal(b.ptr, "abcdef18446744073709551615-92233720368547758080");
	buf_clear(&b);
	assert_string_equal(b.ptr, "");
	assert_int_equal(b.len, 0);
}

static void binary_content_is_fine(void **state)
{
	auto_buf b = BUF_INIT;
	(void)state;
	buf_add(&b, "a\0b", 3);
	buf_add(&b, NULL, 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.ptr, "a\0b", 4);
}

static void the_maximum_is_exact_and_its_failure_sticks(void **state)
{
	auto_buf b = BUF_MAX(4);
	(void)state;
	buf_add_str(&b, "abcd");
	assert_true(buf_ok(&b));
	buf_add_char(&b, 'e');
	assert_false(buf_ok(&b));
	assert_string_equal(b.ptr, "abcd");
	buf_clear(&b);
	assert_true(buf_ok(&b));
	buf_add_str(&b, "abcde");
	assert_false(buf_ok(&b));
	buf_add_char(&b, 'x');
	assert_int_equal(b.len, 0);
	assert_null(buf_reserve(&b, 1));
}

static void a_huge_reservation_fails_and_does_not_wrap(void **state)
{
	auto_buf b = BUF_INIT;
	(void)state;
	buf_add_char(&b, 'x');
	assert_null(buf_reserve(&b, SIZE_MAX));
	assert_false(buf_ok(&b));
}

static void the_default_maximum_holds(void **state)
{
	auto_buf b = BUF_INIT;
	(void)state;
	char *at = buf_reserve(&b, BUF_DEFAULT_MAX);
	assert_non_null(at);
	memset(at, 'x', BUF_DEFAULT_MAX);
	buf_advance(&b, BUF_DEFAULT_MAX);
	buf_add_char(&b, 'y');
	assert_false(buf_ok(&b));
}

static void formatted_text_may_be_longer_than_the_small_buffer(void **state)
{
	auto_buf b = BUF_INIT;
	char want[1001];
	(void)state;
	memset(want, 'z', 1000);
	want[1000] = '\0';
	buf_addf(&b, "%d:", 7);
	buf_addf(&b, "%s", want);
	assert_int_equal(b.len, 1002);
	assert_string_equal(b.ptr + 2, want);
	/* Exactly at the edge of the small one. */
	for (size_t n = 254; n <= 257; n++) {
		buf_clear(&b);
		buf_addf(&b, "%.*s", (int)n, want);
		assert_int_equal(b.len, n);
		assert_int_equal(strlen(b.ptr), n);
	}
}

static void formatted_text_is_what_printf_writes(void **state)
{
	char want[512];
	auto_buf b = BUF_INIT;
	size_t size = SIZE_MAX;
	(void)state;
	snprintf(want, sizeof(want),
		 "%s|%.*s|%.*s|%.*s|%d|%d|%u|%zu|%ld|%lu|%lld|%llu|%" PRIu64 "|%" PRId64 "|",
		 "text", 3, "abcdef", 0, "x", 9, "ab", INT_MIN, 7, UINT_MAX, size, LONG_MIN,
		 ULONG_MAX, LLONG_MIN, ULLONG_MAX, UINT64_MAX, INT64_MIN);
	buf_addf(&b, "%s|%.*s|%.*s|%.*s|%d|%d|%u|%zu|%ld|%lu|%lld|%llu|%" PRIu64 "|%" PRId64 "|",
		 "text", 3, "abcdef", 0, "x", 9, "ab", INT_MIN, 7, UINT_MAX, size, LONG_MIN,
		 ULONG_MAX, LLONG_MIN, ULLONG_MAX, UINT64_MAX, INT64_MIN);
	assert_string_equal(b.ptr, want);
	/* What is not among the quick ones is printed by printf itself, also late in a text. */
	buf_clear(&b);
	buf_addf(&b, "%s-%d-%03d-%x%%-%5s-%c", "a", 1, 2, 255, "b", 'c');
	assert_string_equal(b.ptr, "a-1-002-ff%-    b-c");
	buf_clear(&b);
	struct span none = SPAN_NONE;
	buf_addf(&b, "%.*s", SPAN_ARGS(none));
	assert_string_equal(b.ptr, "");
}

static void formatted_text_over_the_maximum_adds_nothing(void **state)
{
	auto_buf b = BUF_MAX(8);
	(void)state;
	buf_addf(&b, "%s", "abc");
	buf_addf(&b, "%s%d", "1234", 56);
	assert_false(buf_ok(&b));
	assert_int_equal(b.len, 3);
	assert_string_equal(b.ptr, "abc");
	buf_addf(&b, "%d", 1);
	assert_int_equal(b.len, 3);
}

static void json_strings_are_escaped(void **state)
{
	auto_buf b = BUF_INIT;
	(void)state;
	buf_add_json_str(&b, SPAN("a\"b\\c\n\t\r\x01\x1f/\x7f\xc3\xa9"));
	assert_string_equal(b.ptr, "\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u001f/\x7f\xc3\xa9\"");
	buf_clear(&b);
	buf_add_json_str(&b, SPAN_NONE);
	assert_string_equal(b.ptr, "\"\"");
}

static void stealing_hands_the_content_over(void **state)
{
	auto_buf b = BUF_MAX(3);
	size_t len = 99;
	(void)state;
	char *empty = buf_steal(&b, &len);
	assert_string_equal(empty, "");
	assert_int_equal(len, 0);
	free(empty);
	buf_add_str(&b, "abc");
	char *abc = buf_steal(&b, &len);
	assert_string_equal(abc, "abc");
	assert_int_equal(len, 3);
	free(abc);
	assert_int_equal(b.len, 0);
	buf_add_str(&b, "abcd");
	assert_null(buf_steal(&b, NULL));
	assert_true(buf_ok(&b)); /* usable again, with its maximum */
	buf_add_str(&b, "abcd");
	assert_false(buf_ok(&b));
}

RUN(T(content_is_always_nul_terminated), T(binary_content_is_fine),
    T(the_maximum_is_exact_and_its_failure_sticks), T(a_huge_reservation_fails_and_does_not_wrap),
    T(the_default_maximum_holds), T(formatted_text_may_be_longer_than_the_small_buffer),
    T(formatted_text_is_what_printf_writes), T(formatted_text_over_the_maximum_adds_nothing),
    T(json_strings_are_escaped), T(stealing_hands_the_content_over))
