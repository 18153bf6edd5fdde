#include "base/json.h"

#include "test.h"

#include <stdio.h>

static int check_text(const char *text)
{
	return json_check(span_of(text), NULL, NULL);
}

static void valid_texts_pass(void **state)
{
	static const char *const good[] = {
	    "null",
	    "true",
	    "false",
	    "0",
	    "-0",
	    "1",
	    "-1",
	    "1.5",
	    "1e3",
	    "1E+3",
	    "1.0e-10",
	    "\"\"",
	    "\"a\"",
	    "[]",
	    "{}",
	    " [ ] ",
	    "\t\r\n{ }\n",
	    "[1,2,3]",
	    "[[],[[]]]",
	    "{\"a\":1,\"b\":{\"a\":2}}",
	    "{\"\":0}",
	    "{\"a\" : [ null , true ] }",
	    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u00e9\"",
	    "\"\\ud83d\\ude00\"",
	    "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf\"",
	    "\"\x7f\"",
	    "[{\"a\":1},{\"a\":1}]",
	    "{\"a\":1,\"A\":2}",
	    "9223372036854775808",
	    "123456789012345678901234567890123456789012345678901234567890123456789012345678",
	    "1e400",
	    "-1e-400",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (check_text(good[i]) < 0)
			fail_msg("refused %s", good[i]);
}

static void invalid_texts_are_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    " ",
	    "{}x",
	    "{}{}",
	    "[1,]",
	    "[,1]",
	    "[1 2]",
	    "[",
	    "]",
	    "{",
	    "}",
	    "{\"a\"}",
	    "{\"a\":}",
	    "{\"a\":1,}",
	    "{,}",
	    "{a:1}",
	    "{1:1}",
	    "{\"a\":1 \"b\":2}",
	    "'a'",
	    "nul",
	    "nulll",
	    "True",
	    "01",
	    "-01",
	    "00",
	    "1.",
	    ".5",
	    "1e",
	    "1e+",
	    "+1",
	    "-",
	    "--1",
	    "0x10",
	    "1_000",
	    "NaN",
	    "Infinity",
	    "\"",
	    "\"a",
	    "\"\\\"",
	    "\"\\x\"",
	    "\"\\u12\"",
	    "\"\\u123g\"",
	    "\"\\",
	    "\"\\u0000\"",
	    "\"\\ud800\"",
	    "\"\\udc00\"",
	    "\"\\ud800\\u0041\"",
	    "\"\\ud800\\ud800\"",
	    "\"\\ud83d",
	    "\"a\tb\"",
	    "\"a\nb\"",
	    "\"\x1f\"",
	    "\"\x80\"",
	    "\"\xc3\"",
	    "\"\xc0\x80\"",
	    "\"\xc1\xbf\"",
	    "\"\xe0\x80\x80\"",
	    "\"\xed\xa0\x80\"",
	    "\"\xf0\x80\x80\x80\"",
	    "\"\xf4\x90\x80\x80\"",
	    "\"\xf5\x80\x80\x80\"",
	    "\"\xe2\x82\"",
	    "\"\xe2\x28\xa1\"",
	    "\"\xff\"",
	    "/* c */ 1",
	    "[1]//",
	    "\xef\xbb\xbf{}",
	    "\x0b{}",
	    "\xc2\xa0{}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err e = ERR_INIT;
		if (json_check(span_of(bad[i]), NULL, &e) != -EINVAL)
			fail_msg("accepted %s", bad[i]);
		assert_int_equal(e.kind, ERR_BAD_REQUEST);
		assert_non_null(strstr(e.text, "offset "));
	}
	assert_int_equal(json_check(SPAN_NONE, NULL, NULL), -EINVAL);
	assert_int_equal(json_check(span_make("1\0", 2), NULL, NULL), -EINVAL);
}

/* Every prefix of a text ends too early, wherever the wide steps of the scanner fall. */
static void no_proper_prefix_of_an_object_passes(void **state)
{
	static const char text[] =
	    "{\"metadata\":{\"name\":\"a-name-that-is-longer-than-sixteen-bytes\",\"n\":-12.5e+3},"
	    "\"x\":[true,false,null,\"\\u00e9\\n \xc3\xa9\"]}";
	(void)state;
	assert_int_equal(check_text(text), 0);
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		/* Of exactly this size, so that a sanitizer sees any step beyond. */
		char *copy = xstrndup(text, n);
		char *exact = xcalloc(1, n ? n : 1);
		memcpy(exact, copy, n);
		assert_int_equal(json_check(span_make(exact, n), NULL, NULL), -EINVAL);
		free(copy);
		free(exact);
	}
}

static void the_offset_names_the_place(void **state)
{
	struct err e = ERR_INIT;
	(void)state;
	assert_int_equal(json_check(SPAN("{\"a\": tru}"), NULL, &e), -EINVAL);
	assert_string_equal(e.text, "invalid JSON at offset 6: unexpected character");
	json_check(SPAN("{\"a\":1,\"a\":2}"), NULL, &e) < 0 ? (void)0 : fail();
	assert_string_equal(e.text, "invalid JSON at offset 8: duplicate key \"a\"");
}

static void depth_is_limited(void **state)
{
	char text[300];
	const struct json_limits two = {.max_depth = 2};
	(void)state;
	for (int depth = 63; depth <= 65; depth++) {
		memset(text, '[', (size_t)depth);
		memset(text + depth, ']', (size_t)depth);
		text[2 * depth] = '\0';
		assert_int_equal(check_text(text), depth <= JSON_MAX_DEPTH ? 0 : -EINVAL);
	}
	assert_int_equal(json_check(SPAN("[{}]"), &two, NULL), 0);
	assert_int_equal(json_check(SPAN("[{\"a\":[]}]"), &two, NULL), -EINVAL);
	/* Siblings do not add up. */
	assert_int_equal(json_check(SPAN("[{},{},[],{}]"), &two, NULL), 0);
}

static void size_is_limited(void **state)
{
	const struct json_limits ten = {.max_bytes = 10};
	struct err e = ERR_INIT;
	(void)state;
	assert_int_equal(json_check(SPAN("[12345678]"), &ten, NULL), 0);
	assert_int_equal(json_check(SPAN("[123456789]"), &ten, &e), -EMSGSIZE);
	assert_int_equal(e.kind, ERR_TOO_LARGE);
}

static void duplicate_keys_are_refused_however_they_are_written(void **state)
{
	static const char *const bad[] = {
	    "{\"a\":1,\"a\":2}",
	    "{\"name\":1,\"n\\u0061me\":2}",
	    "{\"\\u006eame\":1,\"n\\u0061me\":2}",
	    "{\"a/b\":1,\"a\\/b\":2}",
	    "{\"\xc3\xa9\":1,\"\\u00e9\":2}",
	    "{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}",
	    "{\"x\":{\"a\":1,\"b\":{\"a\":1},\"a\":2}}",
	    "[{\"a\":1,\"b\":[{\"a\":1}],\"a\":{}}]",
	};
	const struct json_limits lenient = {.allow_duplicates = true};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(check_text(bad[i]), -EINVAL);
		assert_int_equal(json_check(span_of(bad[i]), &lenient, NULL), 0);
	}
	assert_int_equal(check_text("{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":2}}"), 0);
	assert_int_equal(check_text("{\"ab\":1,\"a\\u0063\":2}"), 0);
}

/* Objects of every width, in and around others of every width; `again` repeats one of the keys,
 * written plainly or with an escape. */
static void add_wide(struct buf *b, int width, int again, bool escaped)
{
	buf_add_char(b, '{');
	for (int i = 0; i < width; i++)
		buf_addf(b, "%s\"same-ends-%d-of-a-key\":{\"in\":1}", i ? "," : "", i);
	if (again >= 0)
		buf_addf(b, ",\"%same-ends-%d-of-a-key\":2", escaped ? "\\u0073" : "s", again);
	buf_add_char(b, '}');
}

static void a_key_is_found_again_in_objects_of_every_width(void **state)
{
	(void)state;
	for (int width = 1; width < 40; width++) {
		for (int again = -1; again < width; again++) {
			for (int outer = 0; outer < 40; outer += 13) {
				auto_buf b = BUF_INIT;
				buf_add_char(&b, '{');
				for (int i = 0; i < outer; i++)
					buf_addf(&b, "\"outer-%d\":[],", i);
				buf_add_str(&b, "\"same-ends-0-of-a-key\":");
				add_wide(&b, width, again, again % 2);
				buf_add_str(&b, ",\"last\":0}");
				assert_int_equal(check_text(b.ptr), again < 0 ? 0 : -EINVAL);
			}
		}
	}
}

static void many_keys_are_told_apart_and_limited(void **state)
{
	auto_buf b = BUF_INIT;
	(void)state;
	buf_add_char(&b, '{');
	for (int i = 0; i < JSON_MAX_KEYS; i++)
		buf_addf(&b, "%s\"key-%d\":%d", i ? "," : "", i, i);
	size_t len = b.len;
	buf_add_char(&b, '}');
	assert_int_equal(json_check(buf_span(&b), NULL, NULL), 0);
	b.len = len;
	buf_addf(&b, ",\"key-777\":0}");
	struct err e = ERR_INIT;
	assert_int_equal(json_check(buf_span(&b), NULL, &e), -EINVAL);
	b.len = len;
	buf_addf(&b, ",\"key-%d\":0}", JSON_MAX_KEYS);
	assert_int_equal(json_check(buf_span(&b), NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "more than 10000 keys"));
}

RUN(T(valid_texts_pass), T(invalid_texts_are_refused), T(no_proper_prefix_of_an_object_passes),
    T(the_offset_names_the_place), T(depth_is_limited), T(size_is_limited),
    T(duplicate_keys_are_refused_however_they_are_written),
    T(a_key_is_found_again_in_objects_of_every_width), T(many_keys_are_told_apart_and_limited))
