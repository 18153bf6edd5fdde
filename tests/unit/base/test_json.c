#include "base/json.h"

#include "test.h"

static struct cJSON *parse(const char *text)
{
	struct cJSON *node = NULL;
	struct err e = ERR_INIT;
	if (json_parse(span_of(text), NULL, &node, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	return node;
}

static void assert_prints(const struct cJSON *node, const char *want)
{
	auto_buf b = BUF_INIT;
	json_print(node, &b);
	assert_string_equal(b.ptr, want);
}

/* What cJSON alone gets wrong: libraries.md section 3. */
static void numbers_survive_byte_for_byte(void **state)
{
	static const char *const numbers[] = {
	    "9007199254740991",
	    "9007199254740993",
	    "4503599627370499",
	    "9223372036854775807",
	    "-9223372036854775808",
	    "9223372036854775808",
	    "18446744073709551615",
	    "999999999999999999",
	    "1000000000000000",
	    "1700000000123456",
	    "12345678901234567890",
	    "1.0",
	    "1e2",
	    "1E+2",
	    "1e400",
	    "-0",
	    "-0.0",
	    "0.1",
	    "1.10",
	    "3e9",
	    "123456789012345678901234567890123456789012345678901234567890123456789012345678",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		auto_json *n = parse(numbers[i]);
		assert_prints(n, numbers[i]);
		assert_true(span_is(json_number_text(n), numbers[i]));
		auto_buf list = BUF_INIT;
		buf_addf(&list, "{\"a\":[%s,\"%s\",%s],\"b\":%s}", numbers[i], numbers[i],
			 numbers[i], numbers[i]);
		auto_json *o = parse(list.ptr);
		assert_prints(o, list.ptr);
		auto_json *copy = json_dup(o);
		assert_prints(copy, list.ptr);
	}
}

static void printing_is_compact_and_keeps_order(void **state)
{
	auto_json *o = parse(
	    " { \"z\" : [ 1 , true , false , null ] , \"a\" : { } , \"m\" : \"\\u00e9\\n\" } ");
	auto_buf pretty = BUF_INIT;
	(void)state;
	assert_prints(o, "{\"z\":[1,true,false,null],\"a\":{},\"m\":\"\xc3\xa9\\n\"}");
	json_print_pretty(o, &pretty);
	assert_string_equal(pretty.ptr,
			    "{\n  \"z\": [\n    1,\n    true,\n    false,\n    null\n  ],\n"
			    "  \"a\": {},\n  \"m\": \"\xc3\xa9\\n\"\n}");
}

static void the_lenient_ways_of_the_library_are_gone(void **state)
{
	static const char *const bad[] = {"{\"a\":1}trailing", "{\"a\":01}", "\"\\u0000x\"",
					  "\"\xff\"",	       "\"a\tb\"",   "{\"a\":1,\"a\":2}"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct cJSON *node = NULL;
		assert_int_equal(json_parse(span_of(bad[i]), NULL, &node, NULL), -EINVAL);
		assert_null(node);
	}
}

static void lookups_mind_the_case(void **state)
{
	auto_json *o = parse("{\"Name\":1,\"name\":2}");
	int64_t v;
	(void)state;
	assert_int_equal(json_int64(o, "name", &v), 0);
	assert_int_equal(v, 2);
	assert_null(json_get(o, "NAME"));
	assert_null(json_get(NULL, "x"));
	assert_null(json_get(json_get(o, "name"), "x"));
}

static void of_allowed_duplicates_the_last_wins_in_the_first_place(void **state)
{
	const struct json_limits lenient = {.allow_duplicates = true};
	auto_json *o = NULL;
	(void)state;
	assert_int_equal(
	    json_parse(SPAN("{\"a\":1,\"b\":{\"x\":1,\"x\":2},\"\\u0061\":3}"), &lenient, &o, NULL),
	    0);
	assert_prints(o, "{\"a\":3,\"b\":{\"x\":2}}");
	auto_buf wide = BUF_INIT;
	for (int i = 0; i < 5000; i++)
		buf_addf(&wide, "%s\"k%d\":%d", i ? "," : "{", i % 100, i);
	buf_add_char(&wide, '}');
	auto_json *w = NULL;
	int64_t v;
	assert_int_equal(json_parse(buf_span(&wide), &lenient, &w, NULL), 0);
	assert_int_equal(json_len(w), 100);
	assert_int_equal(json_int64(w, "k37", &v), 0);
	assert_int_equal(v, 4937);
}

static void integers_are_read_however_they_are_written(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t want;
	} rows[] = {
	    {"0", 0, 0},
	    {"-0", 0, 0},
	    {"1.0", 0, 1},
	    {"1e3", 0, 1000},
	    {"1.5e1", 0, 15},
	    {"100e-2", 0, 1},
	    {"-1.20e1", 0, -12},
	    {"0.0", 0, 0},
	    {"-0.0", 0, 0},
	    {"0e5", 0, 0},
	    {"0.5e1", 0, 5},
	    {"9223372036854775807", 0, INT64_MAX},
	    {"-9223372036854775808", 0, INT64_MIN},
	    {"9223372036854775807.0", 0, INT64_MAX},
	    {"9223372036854775808", -ERANGE, 0},
	    {"-9223372036854775809", -ERANGE, 0},
	    {"1e19", -ERANGE, 0},
	    {"1e400", -ERANGE, 0},
	    {"1e99999999999999999999", -ERANGE, 0},
	    {"1.5", -EINVAL, 0},
	    {"1e-1", -EINVAL, 0},
	    {"0.1", -EINVAL, 0},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_json *n = parse(rows[i].text);
		int64_t v = 77;
		int r = json_value_int64(n, &v);
		if (r != rows[i].r || v != (r == 0 ? rows[i].want : 77))
			fail_msg("%s gave %d, %lld", rows[i].text, r, (long long)v);
	}
	auto_json *o = parse("{\"s\":\"1\"}");
	int64_t v;
	assert_int_equal(json_int64(o, "s", &v), -EINVAL);
	assert_int_equal(json_int64(o, "t", &v), -ENOENT);
}

static void values_are_read_with_their_defaults(void **state)
{
	auto_json *o =
	    parse("{\"t\":true,\"f\":false,\"s\":\"x\",\"n\":null,\"o\":{\"p\":{\"q\":1}}}");
	(void)state;
	assert_true(json_bool(o, "t", false));
	assert_false(json_bool(o, "f", true));
	assert_true(json_bool(o, "s", true));
	assert_false(json_bool(o, "absent", false));
	assert_string_equal(json_str(o, "s"), "x");
	assert_null(json_str(o, "t"));
	assert_null(json_str(o, "absent"));
	assert_int_equal(json_type_of(json_path(o, "o", "p", "q", NULL)), JSON_NUMBER);
	assert_null(json_path(o, "o", "x", "q", NULL));
	assert_int_equal(json_type_of(json_get(o, "n")), JSON_NULL);
	assert_int_equal(json_type_of(NULL), JSON_INVALID);
	assert_string_equal(json_type_name(JSON_OBJECT), "object");
	assert_int_equal(json_len(o), 5);
	assert_int_equal(json_len(json_get(o, "s")), 0);
	assert_null(json_at(o, 0));
}

static void members_are_set_and_keep_their_place(void **state)
{
	auto_json *o = json_object();
	(void)state;
	json_set_str(o, "a", "1");
	json_set_int(o, "b", INT64_MIN);
	json_set_bool(o, "c", true);
	json_set(o, "a", json_null());
	json_set(o, "b", NULL);
	json_set_str(o, "c", NULL);
	json_add(o, "d", json_new_number(SPAN("1.50")));
	json_set(o, "d", json_new_span(SPAN("x\"y")));
	assert_prints(o, "{\"a\":null,\"b\":-9223372036854775808,\"c\":true,\"d\":\"x\\\"y\"}");
	assert_true(json_remove(o, "a"));
	assert_false(json_remove(o, "a"));
	assert_true(json_remove(o, "d"));
	json_set_int(o, "e", 1);
	assert_prints(o, "{\"b\":-9223372036854775808,\"c\":true,\"e\":1}");
}

static void elements_are_inserted_anywhere(void **state)
{
	auto_json *a = json_array();
	(void)state;
	json_insert(a, 0, json_new_int(1)); /* into an empty one */
	json_insert(a, 0, json_new_int(0));
	json_insert(a, 2, json_new_int(3));  /* at the end */
	json_insert(a, 2, json_new_int(2));  /* before the last */
	json_insert(a, 99, json_new_int(4)); /* beyond the end */
	json_insert(a, 1, NULL);
	json_append(a, json_new_int(5)); /* the tail is still known */
	assert_prints(a, "[0,1,2,3,4,5]");
	json_remove_child(a, json_at(a, 5));
	json_append(a, json_new_int(6));
	json_remove_child(a, json_at(a, 0));
	json_insert(a, 0, json_new_int(7));
	assert_prints(a, "[7,1,2,3,4,6]");
}

static void children_are_replaced_in_their_place(void **state)
{
	auto_json *a = parse("[1]"), *o = parse("{\"a\":1,\"b\":2}");
	(void)state;
	json_replace(a, json_at(a, 0), json_new_int(2)); /* first and last at once */
	json_append(a, json_new_int(3));
	json_replace(a, json_at(a, 1), json_new_int(4));
	json_append(a, json_new_int(5));
	json_replace(a, json_at(a, 0), NULL);
	assert_prints(a, "[2,4,5]");
	json_replace(o, json_get(o, "b"), parse("{\"x\":1}"));
	json_set_int(o, "c", 3);
	assert_prints(o, "{\"a\":1,\"b\":{\"x\":1},\"c\":3}");
}

static void children_are_taken_out_and_given_elsewhere(void **state)
{
	auto_json *o = parse("{\"a\":{\"x\":1},\"b\":[1,2]}");
	auto_json *a = json_take(o, "a");
	(void)state;
	assert_null(json_take(o, "absent"));
	json_append(json_get(o, "b"),
		    json_take_child(json_get(o, "b"), json_at(json_get(o, "b"), 0)));
	assert_prints(o, "{\"b\":[2,1]}");
	json_set(o, "new", steal_ptr(&a));
	assert_prints(o, "{\"b\":[2,1],\"new\":{\"x\":1}}");
}

static void an_object_is_ensured(void **state)
{
	auto_json *o = parse("{\"a\":{\"x\":1},\"n\":null,\"s\":\"x\"}");
	(void)state;
	assert_non_null(json_get(json_ensure_object(o, "a"), "x"));
	json_set_int(json_ensure_object(o, "n"), "y", 1);
	json_set_int(json_ensure_object(o, "new"), "z", 1);
	assert_null(json_ensure_object(o, "s"));
	assert_prints(o, "{\"a\":{\"x\":1},\"n\":{\"y\":1},\"s\":\"x\",\"new\":{\"z\":1}}");
}

static void equality_is_deep_and_blind_to_key_order(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} rows[] = {
	    {"{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1}", true},
	    {"[1,2]", "[2,1]", false},
	    {"[1]", "[1,2]", false},
	    {"1", "1.0", true},
	    {"1000", "1e3", true},
	    {"0.1", "0.10", false},
	    {"9007199254740992", "9007199254740993", false},
	    {"1", "\"1\"", false},
	    {"null", "false", false},
	    {"true", "false", false},
	    {"{\"a\":1}", "{\"a\":1,\"b\":null}", false},
	    {"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false},
	    {"{}", "[]", false},
	    {"\"a\"", "\"a\"", true},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_json *a = parse(rows[i].a), *b = parse(rows[i].b);
		assert_int_equal(json_equal(a, b), rows[i].equal);
		assert_int_equal(json_equal(b, a), rows[i].equal);
	}
}

static void every_int64_edge_goes_round(void **state)
{
	(void)state;
	for (int bit = 0; bit < 64; bit++) {
		for (int d = -2; d <= 2; d++) {
			int64_t v = (int64_t)((1ULL << bit) + (uint64_t)(int64_t)d), back;
			auto_json *n = json_new_int(v);
			auto_buf text = BUF_INIT;
			json_print(n, &text);
			auto_json *again = parse(text.ptr);
			assert_int_equal(json_value_int64(again, &back), 0);
			assert_true(back == v);
		}
	}
}

static void deep_trees_within_the_limit_are_fine(void **state)
{
	char text[2 * JSON_MAX_DEPTH + 1];
	(void)state;
	memset(text, '[', JSON_MAX_DEPTH);
	memset(text + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
	text[2 * JSON_MAX_DEPTH] = '\0';
	auto_json *a = parse(text);
	assert_prints(a, text);
}

/* Keys and texts of parsed nodes lie in the nodes' own memory. */
static void a_copy_and_what_was_moved_outlive_the_tree(void **state)
{
	struct cJSON *o = parse("{\"a\":{\"k\\n\":[\"x\",1]},\"b\":\"y\",\"c\":2}");
	auto_json *copy = json_dup(o), *part = json_dup(json_get(o, "a")), *other = json_object();
	(void)state;
	json_set(other, "moved", json_take(o, "b"));
	json_set(other, "again", json_take(other, "moved"));
	json_set(other, "n", json_new_int(1));
	json_set(other, "n", json_take(o, "c"));
	json_free(o);
	assert_prints(copy, "{\"a\":{\"k\\n\":[\"x\",1]},\"b\":\"y\",\"c\":2}");
	assert_prints(part, "{\"k\\n\":[\"x\",1]}");
	assert_prints(other, "{\"again\":\"y\",\"n\":2}");
}

static void what_is_lent_is_read_like_its_own_and_freed_once(void **state)
{
	static const char text[] = "{\"a\":{\"k\":[1]},\"b\":[2],\"c\":\"x\",\"d\":{}}";
	auto_json *lender = parse(text), *borrower = json_object();
	(void)state;
	json_foreach (lender, m)
		json_add_member(borrower, json_lend(m));
	assert_prints(borrower, text);
	assert_true(json_equal(lender, borrower));
	assert_true(json_is_lent(json_get(borrower, "a")));
	assert_true(json_is_lent(json_get(borrower, "b")));
	assert_false(json_is_lent(json_get(borrower, "c")));
	assert_false(json_is_lent(json_get(lender, "a")));
	auto_json *copy = json_dup(borrower);
	assert_false(json_is_lent(json_get(copy, "a")));
	json_set_str(json_get(copy, "a"), "k", "changed");
	(void)json_remove(borrower, "a");
	assert_prints(lender, text);
}

/* A parsed tree of many blocks, taken apart in several orders. */
static void parts_outlive_the_tree_that_they_came_with(void **state)
{
	auto_buf text = BUF_INIT;
	(void)state;
	buf_add_str(&text, "[");
	for (int i = 0; i < 500; i++)
		buf_addf(&text, "%s{\"name\":\"item %d\",\"list\":[%d,true,null]}", i ? "," : "", i,
			 i);
	buf_add_str(&text, "]");
	struct cJSON *tree = json_parse_checked(buf_span(&text)), *copy = json_dup(tree);
	auto_json *kept = json_array();
	for (size_t i = 0; i < 500; i += 50) {
		json_append(kept, json_take(json_at(tree, i), "name"));
		json_append(kept, json_take_child(copy, json_at(copy, 400 - i / 2)));
	}
	json_free(tree);
	json_free(copy);
	assert_int_equal(json_len(kept), 20);
	assert_string_equal(json_value_str(json_at(kept, 2)), "item 50");
	assert_string_equal(json_str(json_at(kept, 1), "name"), "item 400");
	json_remove_child(kept, json_at(kept, 19));
	json_remove_child(kept, json_first(kept));
	json_append(kept, json_new_int(1));
	assert_int_equal(json_len(kept), 19);
	json_replace(kept, json_at(kept, 18), json_null());
	json_replace(kept, json_first(kept), json_new_bool(true));
	assert_true(json_value_bool(json_first(kept), false));
	assert_true(json_is(json_at(kept, 18), JSON_NULL));
	json_append(kept, json_new_str("last"));
	assert_string_equal(json_value_str(json_at(kept, 19)), "last");
}

/* Texts too long for a block lie alone. */
static void long_texts_are_nodes_like_others(void **state)
{
	char long_text[20000];
	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	auto_json *o = json_object();
	json_set_str(o, "a", long_text);
	json_set_str(o, "b", "short");
	auto_json *copy = json_dup(o);
	(void)json_remove(o, "a");
	assert_string_equal(json_str(copy, "a"), long_text);
	assert_string_equal(json_str(copy, "b"), "short");
	assert_prints(o, "{\"b\":\"short\"}");
}

static void checked_text_is_parsed_as_it_is(void **state)
{
	auto_json *o = json_parse_checked(SPAN(" {\"a\" : [1.0, \"\\u0041\\n\"]}"));
	(void)state;
	assert_prints(o, "{\"a\":[1.0,\"A\\n\"]}");
}

RUN(T(numbers_survive_byte_for_byte), T(printing_is_compact_and_keeps_order),
    T(the_lenient_ways_of_the_library_are_gone), T(lookups_mind_the_case),
    T(of_allowed_duplicates_the_last_wins_in_the_first_place),
    T(integers_are_read_however_they_are_written), T(values_are_read_with_their_defaults),
    T(members_are_set_and_keep_their_place), T(elements_are_inserted_anywhere),
    T(children_are_replaced_in_their_place), T(children_are_taken_out_and_given_elsewhere),
    T(an_object_is_ensured), T(equality_is_deep_and_blind_to_key_order),
    T(every_int64_edge_goes_round), T(deep_trees_within_the_limit_are_fine),
    T(a_copy_and_what_was_moved_outlive_the_tree),
    T(what_is_lent_is_read_like_its_own_and_freed_once), T(checked_text_is_parsed_as_it_is),
    T(parts_outlive_the_tree_that_they_came_with), T(long_texts_are_nodes_like_others))
