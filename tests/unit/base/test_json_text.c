#include "base/json.h"

#include "test.h"

static void types_are_told_by_the_first_byte(void **state)
{
	(void)state;
	assert_int_equal(json_text_type(SPAN("{}")), JSON_OBJECT);
	assert_int_equal(json_text_type(SPAN("[]")), JSON_ARRAY);
	assert_int_equal(json_text_type(SPAN("\"\"")), JSON_STRING);
	assert_int_equal(json_text_type(SPAN("true")), JSON_BOOL);
	assert_int_equal(json_text_type(SPAN("null")), JSON_NULL);
	assert_int_equal(json_text_type(SPAN("-1")), JSON_NUMBER);
	assert_int_equal(json_text_type(SPAN_NONE), JSON_INVALID);
}

static void members_are_found_by_their_whole_key(void **state)
{
	struct span o =
	    SPAN("{ \"a\" : 1 , \"ab\":{\"a\":[1,{\"x\":\"}\\\"{\"}]} ,\"A\":null,\"c\":\"x\" }");
	struct span v = SPAN("untouched");
	(void)state;
	assert_int_equal(json_text_member(o, "b", &v), -ENOENT);
	assert_int_equal(json_text_member(SPAN("[1]"), "a", &v), -ENOENT);
	assert_true(span_is(v, "untouched"));
	assert_int_equal(json_text_member(o, "a", &v), 0);
	assert_true(span_is(v, "1"));
	assert_int_equal(json_text_member(o, "ab", &v), 0);
	assert_true(span_is(v, "{\"a\":[1,{\"x\":\"}\\\"{\"}]}"));
	assert_int_equal(json_text_member(o, "A", &v), 0);
	assert_true(span_is(v, "null"));
	assert_int_equal(json_text_member(o, "c", &v), 0);
	assert_true(span_is(v, "\"x\""));
}

static void a_path_goes_down_through_objects(void **state)
{
	struct span o = SPAN("{\"metadata\":{\"labels\":{\"x\":\"y\"}},\"n\":3}"), v = SPAN_NONE;
	(void)state;
	assert_int_equal(json_text_path(o, &v, "metadata", "labels", "x", NULL), 0);
	assert_true(span_is(v, "\"y\""));
	assert_int_equal(json_text_path(o, &v, "metadata", "other", "x", NULL), -ENOENT);
	assert_int_equal(json_text_path(o, &v, "n", "x", NULL), -ENOENT);
	assert_int_equal(json_text_path(o, &v, NULL), 0);
	assert_true(span_eq(v, o));
}

static void walking_an_array_gives_each_element(void **state)
{
	static const char *const want[] = {"1",	      "[2,3]", "{\"a\":\"]\"}",
					   "\"x,y\"", "null",  "-1.5e3"};
	struct span a = SPAN("[1, [2,3] ,{\"a\":\"]\"},\"x,y\" , null,-1.5e3 ]");
	struct span key = SPAN("untouched"), v;
	size_t pos = 0, n = 0;
	(void)state;
	while (json_text_next(a, &pos, &key, &v))
		assert_true(span_is(v, want[n++]));
	assert_int_equal(n, ARRAY_LEN(want));
	assert_true(span_is(key, "untouched"));
	assert_false(json_text_next(a, &pos, &key, &v));
	pos = 0;
	assert_false(json_text_next(SPAN("[ ]"), &pos, &key, &v));
	pos = 0;
	assert_false(json_text_next(SPAN("12"), &pos, &key, &v));
}

static void walking_an_object_gives_keys_as_written(void **state)
{
	struct span o = SPAN("{\"a\\\"b\":1,\"\":2}"), key, v;
	size_t pos = 0;
	(void)state;
	assert_true(json_text_next(o, &pos, &key, &v));
	assert_true(span_is(key, "a\\\"b"));
	assert_true(json_text_next(o, &pos, &key, &v));
	assert_true(span_is(key, "") && span_is(v, "2"));
	assert_false(json_text_next(o, &pos, &key, &v));
}

static void strings_are_decoded(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
	    {"\"\"", ""},
	    {"\"plain\"", "plain"},
	    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
	    {"\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00!\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80!"},
	    {"\"\\u00E9\\uFFFF\"", "\xc3\xa9\xef\xbf\xbf"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_buf b = BUF_INIT;
		assert_int_equal(json_check(span_of(rows[i].text), NULL, NULL), 0);
		buf_add_str(&b, ">");
		assert_int_equal(json_text_string(span_of(rows[i].text), &b), 0);
		assert_string_equal(b.ptr + 1, rows[i].want);
	}
	auto_buf b = BUF_INIT;
	assert_int_equal(json_text_string(SPAN("12"), &b), -EINVAL);
}

static void a_string_without_escapes_needs_no_copy(void **state)
{
	(void)state;
	assert_true(span_is(json_text_plain(SPAN("\"abc\"")), "abc"));
	assert_null(json_text_plain(SPAN("\"a\\nc\"")).ptr);
	assert_null(json_text_plain(SPAN("12")).ptr);
	struct span empty = json_text_plain(SPAN("\"\""));
	assert_non_null(empty.ptr);
	assert_int_equal(empty.len, 0);
}

static void integers_are_read_exactly(void **state)
{
	int64_t v = 5;
	(void)state;
	assert_int_equal(json_text_int64(SPAN("9223372036854775807"), &v), 0);
	assert_true(v == INT64_MAX);
	assert_int_equal(json_text_int64(SPAN("9223372036854775808"), &v), -ERANGE);
	assert_int_equal(json_text_int64(SPAN("1.0"), &v), -EINVAL);
	assert_int_equal(json_text_int64(SPAN("\"1\""), &v), -EINVAL);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* A value that is hard to skip: brackets, quotes and backslashes in strings of all lengths. */
static void add_hard_value(struct buf *b, uint64_t *random, int depth)
{
	static const char *const pieces[] = {"{", "}", "[", "]", "\\\"", "\\\\", ":", ",", "abc"};
	uint64_t what = next_random(random) % (depth > 4 ? 2 : 5);
	uint64_t n = next_random(random) % 6;

	if (what == 0) {
		buf_addf(b, " %llu", (unsigned long long)n);
	} else if (what == 1) {
		buf_add_char(b, '"');
		n = next_random(random) % (n ? 12 : 200);
		for (uint64_t i = 0; i < n; i++) {
			uint64_t piece = next_random(random) % (4 * ARRAY_LEN(pieces));
			buf_add_str(b, piece < ARRAY_LEN(pieces) ? pieces[piece] : "x");
		}
		buf_add_char(b, '"');
	} else {
		bool object = what > 2;
		buf_add_char(b, object ? '{' : '[');
		for (uint64_t i = 0; i < n; i++) {
			buf_addf(b, object ? "%s\"k%llu\":" : "%s", i ? "," : "",
				 (unsigned long long)i);
			add_hard_value(b, random, depth + 1);
		}
		buf_add_char(b, object ? '}' : ']');
	}
}

static void a_value_of_any_shape_ends_where_it_ends(void **state)
{
	uint64_t random = 1;
	(void)state;
	for (int i = 0; i < 5000; i++) {
		struct buf b = BUF_MAX(1 << 20);
		struct span first, second, none;
		size_t pos = 0;
		buf_add_char(&b, '[');
		add_hard_value(&b, &random, 0);
		size_t len = b.len - 1;
		buf_add_str(&b, ",true]");
		char *exact = xstrndup(b.ptr, b.len); /* so that a sanitizer sees a byte too many */
		struct span text = span_make(exact, b.len);
		assert_int_equal(json_check(text, NULL, NULL), 0);
		assert_true(json_text_next(text, &pos, NULL, &first));
		assert_true(first.ptr + first.len == exact + 1 + len);
		assert_true(json_text_next(text, &pos, NULL, &second));
		assert_true(span_is(second, "true"));
		assert_false(json_text_next(text, &pos, NULL, &none));
		free(exact);
		buf_done(&b);
	}
}

static void keys_that_stand_twice_are_named_by_their_paths(void **state)
{
	static const struct {
		const char *text, *paths;
	} rows[] = {
	    {"{\"a\":1,\"b\":2}", ""},
	    {"{\"a\":1,\"a\":2,\"a\":3}", "a\n"},
	    {"{\"a\":1,\"\\u0061\":2}", "a\n"},
	    {"{\"o\":{\"x\":[1,{\"k\":1,\"k\":2}]},\"a\":1,\"a\":1}", "o.x[1].k\na\n"},
	    {"{\"a\":1,\"a\":1,\"o\":{\"k\":1,\"k\":2}}", "a\no.k\n"},
	    {"[[{\"z\":0,\"y\":0,\"z\":0,\"y\":0}]]", "[0][0].z\n[0][0].y\n"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_buf out = BUF_INIT;
		json_text_duplicates(span_of(rows[i].text), &out);
		assert_true(span_is(buf_span(&out), rows[i].paths));
	}
}

RUN(T(keys_that_stand_twice_are_named_by_their_paths), T(types_are_told_by_the_first_byte),
    T(members_are_found_by_their_whole_key), T(a_path_goes_down_through_objects),
    T(walking_an_array_gives_each_element), T(walking_an_object_gives_keys_as_written),
    T(strings_are_decoded), T(a_string_without_escapes_needs_no_copy), T(integers_are_read_exactly),
    T(a_value_of_any_shape_ends_where_it_ends))
