/* Bodies in chunks: what they hold, wherever their bytes are cut, and what is none. */
#include "api/chunked_body.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Feeds text in pieces of `step` bytes; gives the body, or NULL with the error in *ret. */
static char *read_in_steps(struct span text, size_t step, size_t max, int *ret)
{
	struct chunked_body b = {0};
	auto_buf out = BUF_MAX(max);

	*ret = 0;
	for (size_t i = 0; !*ret && i < text.len; i += step)
		*ret = chunked_body_feed(
		    &b, span_make(text.ptr + i, step < text.len - i ? step : text.len - i), &out);
	if (!*ret && b.at != CHUNKED_DONE)
		*ret = -EAGAIN;
	return *ret ? NULL : buf_steal(&out, NULL);
}

static void assert_reads(const char *text, const char *want, int error)
{
	struct span whole = span_of(text);

	for (size_t step = 1; step <= whole.len; step++) {
		int r;
		char *got = read_in_steps(whole, step, 64, &r);
		if (r != error || (want && strcmp(got, want) != 0))
			fail_msg("\"%s\" in steps of %zu: %d, %s", text, step, r, got ? got : "-");
		free(got);
	}
}

static void chunks_are_put_together_wherever_they_are_cut(void **state)
{
	assert_reads("0\r\n\r\n", "", 0);
	assert_reads("2\r\n{}\r\n0\r\n\r\n", "{}", 0);
	assert_reads("1\r\n{\r\nb\r\n\"a\":\"b\\r\\n\"\r\n001\r\n}\r\n00\r\n\r\n",
		     "{\"a\":\"b\\r\\n\"}", 0);
	assert_reads("A\r\n0123456789\r\n0\r\n\r\n", "0123456789", 0);
	assert_reads("2\r\n\r\n\r\n0\r\n\r\n", "\r\n", 0);
}

static void extensions_and_trailers_are_passed_over(void **state)
{
	assert_reads("2;name=\"v\"\r\nab\r\n0;last\r\n\r\n", "ab", 0);
	assert_reads("2 \r\nab\r\n0\r\nDigest: x\r\nB: y\r\n\r\n", "ab", 0);
}

static void what_ends_before_its_end_is_waited_for(void **state)
{
	assert_reads("2\r\nab\r\n0\r\n\r", NULL, -EAGAIN);
	assert_reads("2\r\na", NULL, -EAGAIN);
	assert_reads("2\r\nab\r\n0\r\nA: b\r\n", NULL, -EAGAIN);
}

static void what_is_no_chunk_is_refused(void **state)
{
	static const char *const bad[] = {
	    "\r\n",
	    "x\r\n",
	    "-1\r\n",
	    "0x2\r\nab\r\n",
	    "+2\r\nab",
	    ";\r\n",
	    "2\nab\r\n",
	    "2\r\nabc\r\n",
	    "2\r\nab\n",
	    "2\r\nab0\r\n\r\n",
	    "2;a\nb\r\n",
	    "2\r\rab\r\n",
	    "0\r\nA: b\n\r\n",
	    "0\r\nA\rb",
	    "0\r\n\rx",
	    "0000000000000000002\r\nab\r\n",
	    "2\r\nab\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_reads(bad[i], NULL, -EBADMSG);
}

static void a_chunk_beyond_the_maximum_is_refused_by_its_size(void **state)
{
	assert_reads("41\r\n", NULL, -EMSGSIZE);
	assert_reads("3f\r\n0123456789012345678901234567890123456789012345678901234567890"
		     "12\r\n2\r\n",
		     NULL, -EMSGSIZE);
	assert_reads("ffffffffffffffff\r\n", NULL, -EMSGSIZE);
}

static void what_is_beside_the_body_is_bounded(void **state)
{
	static char text[2 * CHUNKED_BODY_MAX_EXTRA];
	struct chunked_body b = {0};
	auto_buf out = BUF_MAX(64);

	memset(text, 'x', sizeof(text));
	assert_int_equal(chunked_body_feed(&b, SPAN("1;"), &out), 0);
	assert_int_equal(chunked_body_feed(&b, span_make(text, CHUNKED_BODY_MAX_EXTRA), &out), 0);
	assert_int_equal(chunked_body_feed(&b, SPAN("x"), &out), -EBADMSG);
	b = (struct chunked_body){0};
	assert_int_equal(chunked_body_feed(&b, SPAN("0\r\n"), &out), 0);
	assert_int_equal(chunked_body_feed(&b, span_make(text, sizeof(text)), &out), -EBADMSG);
}

static void what_follows_the_end_is_not_read(void **state)
{
	assert_reads("1\r\na\r\n0\r\n\r\nGET / HTTP/1.1\r\n", "a", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chunks_are_put_together_wherever_they_are_cut),
	    cmocka_unit_test(extensions_and_trailers_are_passed_over),
	    cmocka_unit_test(what_ends_before_its_end_is_waited_for),
	    cmocka_unit_test(what_is_no_chunk_is_refused),
	    cmocka_unit_test(a_chunk_beyond_the_maximum_is_refused_by_its_size),
	    cmocka_unit_test(what_is_beside_the_body_is_bounded),
	    cmocka_unit_test(what_follows_the_end_is_not_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
