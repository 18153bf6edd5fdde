#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"

#include <errno.h>
#include <string.h>

/* RFC 4648 section 10. */
static void the_vectors_of_the_rfc_go_both_ways(void **state)
{
	static const struct {
		const char *plain, *text;
	} rows[] = {
	    {"", ""},
	    {"f", "Zg=="},
	    {"fo", "Zm8="},
	    {"foo", "Zm9v"},
	    {"foob", "Zm9vYg=="},
	    {"fooba", "Zm9vYmE="},
	    {"foobar", "Zm9vYmFy"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_buf text = BUF_INIT, back = BUF_INIT;
		base64_add(&text, span_of(rows[i].plain));
		assert_true(span_is(buf_span(&text), rows[i].text));
		assert_int_equal(base64_read(buf_span(&text), &back), 0);
		assert_true(span_is(buf_span(&back), rows[i].plain));
		assert_true(back.len <= BASE64_ROOM(text.len));
	}
}

static void every_byte_goes_both_ways_in_both_alphabets(void **state)
{
	for (size_t n = 0; n < 260; n++) {
		char bytes[260];
		auto_buf text = BUF_INIT, token = BUF_INIT, one = BUF_INIT, two = BUF_INIT;
		for (size_t i = 0; i < n; i++)
			bytes[i] = (char)(i * 37 + n);
		base64_add(&text, span_make(bytes, n));
		base64_add_url(&token, span_make(bytes, n));
		assert_null(memchr(buf_span(&token).ptr, '=', token.len));
		assert_int_equal(base64_read(buf_span(&text), &one), 0);
		assert_int_equal(base64_read_url(buf_span(&token), &two), 0);
		assert_int_equal(one.len, n);
		assert_int_equal(two.len, n);
		assert_memory_equal(buf_span(&one).ptr, bytes, n);
		assert_memory_equal(buf_span(&two).ptr, bytes, n);
	}
}

static void what_is_no_base64_is_refused(void **state)
{
	static const char *const bad[] = {
	    "Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9-", "Zm 9v!"};
	static const char *const bad_url[] = {"Z", "Zh", "Zm9", "Zg==", "Zm9+", "Zm9v\n"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		auto_buf out = BUF_INIT;
		if (base64_read(span_of(bad[i]), &out) != -EINVAL)
			fail_msg("%s was read", bad[i]);
	}
	for (size_t i = 0; i < sizeof(bad_url) / sizeof(bad_url[0]); i++) {
		auto_buf out = BUF_INIT;
		if (base64_read_url(span_of(bad_url[i]), &out) != -EINVAL)
			fail_msg("%s was read", bad_url[i]);
	}
	auto_buf small = BUF_MAX(2);
	assert_int_equal(base64_read(SPAN("Zm9v"), &small), -EINVAL);
}

static void line_breaks_and_loose_last_bits_are_forgiven_in_documents(void **state)
{
	auto_buf out = BUF_INIT;

	assert_int_equal(base64_read(SPAN("Zm9v\r\n Ym\nFy\n"), &out), 0);
	assert_true(span_is(buf_span(&out), "foobar"));
	buf_clear(&out);
	assert_int_equal(base64_read(SPAN("Zh=="), &out), 0);
	assert_true(span_is(buf_span(&out), "f"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_vectors_of_the_rfc_go_both_ways),
	    cmocka_unit_test(every_byte_goes_both_ways_in_both_alphabets),
	    cmocka_unit_test(what_is_no_base64_is_refused),
	    cmocka_unit_test(line_breaks_and_loose_last_bits_are_forgiven_in_documents),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
