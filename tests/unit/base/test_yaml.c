#include "base/json.h"
#include "base/yaml.h"

#include "test.h"

static void assert_yaml(const char *text, const char *want)
{
	auto_json *doc = NULL;
	auto_buf out = BUF_INIT;
	struct err e = ERR_INIT;
	if (yaml_parse(span_of(text), &doc, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	json_print(doc, &out);
	assert_string_equal(out.ptr, want);
}

static void assert_refused(const char *text, enum err_kind kind, const char *words)
{
	struct cJSON *doc = NULL;
	struct err e = ERR_INIT;
	if (yaml_parse(span_of(text), &doc, &e) == 0)
		fail_msg("accepted %s", text);
	assert_int_equal(e.kind, kind);
	if (!strstr(e.text, words))
		fail_msg("%s: \"%s\" does not say \"%s\"", text, e.text, words);
	assert_null(doc);
}

/* libraries.md section 5, and what kubectl 1.32 printed for the rest. */
static void plain_scalars_mean_what_they_mean_to_kubectl(void **state)
{
	static const struct {
		const char *scalar, *json;
	} rows[] = {
	    {"yes", "true"},
	    {"on", "true"},
	    {"y", "true"},
	    {"NO", "false"},
	    {"Off", "false"},
	    {"True", "true"},
	    {"FALSE", "false"},
	    {"yEs", "\"yEs\""},
	    {"~", "null"},
	    {"Null", "null"},
	    {"nULL", "\"nULL\""},
	    {"0777", "511"},
	    {"0o17", "15"},
	    {"0x1F", "31"},
	    {"0X1f", "31"},
	    {"0b11", "3"},
	    {"-0x10", "-16"},
	    {"+5", "5"},
	    {"-0", "0"},
	    {"1_000", "1000"},
	    {"1e3", "1000"},
	    {"1.0", "1"},
	    {".5", "0.5"},
	    {"-.5", "-0.5"},
	    {"+.5", "0.5"},
	    {"1.", "1"},
	    {"1.10", "1.1"},
	    {"08", "8"},
	    {"0o8", "\"0o8\""},
	    {"0b2", "\"0b2\""},
	    {"0x", "\"0x\""},
	    {"1e21", "1e+21"},
	    {"1e20", "100000000000000000000"},
	    {"0.0000001", "1e-7"},
	    {"0.000001", "0.000001"},
	    {"123.456e-1", "12.3456"},
	    {"1.5e300", "1.5e+300"},
	    {"1e400", "\"1e400\""},
	    {"1e-400", "0"},
	    {"-0.0", "0"},
	    {"0e999999999999", "0"},
	    {"1.7976931348623157e308", "1.7976931348623157e+308"},
	    {"1.8e308", "\"1.8e308\""},
	    {"12:30:45", "\"12:30:45\""},
	    {"2001-01-01", "\"2001-01-01\""},
	    {"2001-12-14T21:59:43Z", "\"2001-12-14T21:59:43Z\""},
	    {"9007199254740993", "9007199254740993"},
	    {"12345678901234567890", "12345678901234567890"},
	    {"-9223372036854775808", "-9223372036854775808"},
	    {"18446744073709551616", "18446744073709551616"},
	    {"0x8000000000000000", "9223372036854775808"},
	    {"1.2.3", "\"1.2.3\""},
	    {"1e", "\"1e\""},
	    {"e3", "\"e3\""},
	    {"--1", "\"--1\""},
	    {"1-2", "\"1-2\""},
	    {"_1", "\"_1\""},
	    {"1__0", "10"},
	    {"100m", "\"100m\""},
	    {"1Gi", "\"1Gi\""},
	    {".", "\".\""},
	    {"..", "\"..\""},
	    {"+", "\"+\""},
	    {"0.1_0", "0.1"},
	    {"v1", "\"v1\""},
	    {"a b", "\"a b\""},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_buf text = BUF_INIT, want = BUF_INIT;
		buf_addf(&text, "a: %s\n", rows[i].scalar);
		buf_addf(&want, "{\"a\":%s}", rows[i].json);
		assert_yaml(text.ptr, want.ptr);
	}
}

static void quoted_and_block_scalars_are_strings(void **state)
{
	(void)state;
	assert_yaml("[\"yes\", 'no', \"12\", '~', \"\"]", "[\"yes\",\"no\",\"12\",\"~\",\"\"]");
	assert_yaml("a: |\n  12\nb: >\n  yes\n", "{\"a\":\"12\\n\",\"b\":\"yes\\n\"}");
	assert_yaml("a: \"\\u00e9\\t\\x41\"", "{\"a\":\"\xc3\xa9\\tA\"}");
}

static void tags_decide_where_they_stand(void **state)
{
	(void)state;
	assert_yaml("[!!str 12, !!str yes, !!int \"12\", !!float 3, !!bool \"yes\", !!null \"\"]",
		    "[\"12\",\"yes\",12,3,true,null]");
	assert_yaml("a: !!binary aGVsbG8=", "{\"a\":\"hello\"}");
	assert_yaml("a: !!binary |\n  aGVs\n  bG8h\n", "{\"a\":\"hello!\"}");
	assert_yaml("a: !custom 12", "{\"a\":\"12\"}");
	assert_refused("a: !!int x", ERR_BAD_REQUEST, "cannot decode \"x\" as !!int");
	assert_refused("a: !!int 1.5", ERR_BAD_REQUEST, "as !!int");
	assert_refused("a: !!bool 12", ERR_BAD_REQUEST, "as !!bool");
	assert_refused("a: !!binary a", ERR_BAD_REQUEST, "as !!binary");
	assert_refused("a: !!binary AA==", ERR_BAD_REQUEST, "as !!binary"); /* NUL */
	assert_refused("a: !!binary /w==", ERR_BAD_REQUEST, "as !!binary"); /* not UTF-8 */
}

static void keys_are_resolved_and_become_strings(void **state)
{
	(void)state;
	assert_yaml("n: 1\n1: 2\n0x10: 3\n1.50: 4\n'5': 5\n",
		    "{\"false\":1,\"1\":2,\"16\":3,\"1.5\":4,\"5\":5}");
	assert_yaml("\"\": 1", "{\"\":1}");
	assert_refused("~: 1", ERR_BAD_REQUEST, "a key must be");
	assert_refused("[1]: 1", ERR_BAD_REQUEST, "a key must be");
	assert_refused("? {a: 1}\n: 1", ERR_BAD_REQUEST, "a key must be");
	assert_yaml("a: 1\na: 2\nb: 3", "{\"a\":2,\"b\":3}");
	assert_yaml("n: 1\nfalse: 2\n", "{\"false\":2}");
}

static void what_json_cannot_say_is_refused(void **state)
{
	(void)state;
	assert_refused("a: .inf", ERR_BAD_REQUEST, "line 1: .inf has no form in JSON");
	assert_refused("a: 1\nb: -.Inf", ERR_BAD_REQUEST, "line 2");
	assert_refused("a: .NaN", ERR_BAD_REQUEST, ".NaN");
	assert_refused("a: \"x\\0y\"", ERR_BAD_REQUEST, "NUL");
}

static void anchors_are_copied_to_their_aliases(void **state)
{
	(void)state;
	assert_yaml(
	    "a: &x {b: [1, 2]}\nc: *x\nd: [*x, *x]",
	    "{\"a\":{\"b\":[1,2]},\"c\":{\"b\":[1,2]},\"d\":[{\"b\":[1,2]},{\"b\":[1,2]}]}");
	assert_yaml("- &x one\n- *x\n- &x two\n- *x", "[\"one\",\"one\",\"two\",\"two\"]");
	/* The value that the anchor named was replaced; what it named lives on. */
	assert_yaml("a: &x 1\na: 2\nb: *x", "{\"a\":2,\"b\":1}");
	assert_yaml("&k key: 1\nother: *k", "{\"key\":1,\"other\":\"key\"}");
	assert_yaml("a: &k name\n*k : 1", "{\"a\":\"name\",\"name\":1}");
	assert_refused("a: *x", ERR_BAD_REQUEST, "unknown anchor");
	assert_refused("a: &x [*x]", ERR_BAD_REQUEST, "contains itself");
	assert_refused("--- &x 1\n--- *x", ERR_BAD_REQUEST, "unknown anchor"); /* of its document */
}

/* yaml.org/type/merge */
static void merge_keys_add_what_is_not_there(void **state)
{
	(void)state;
	assert_yaml("b: &b {a: 1, b: 2}\nc: {<<: *b, a: 9}",
		    "{\"b\":{\"a\":1,\"b\":2},\"c\":{\"a\":9,\"b\":2}}");
	assert_yaml("b: &b {a: 1}\nc: {a: 9, <<: *b}", "{\"b\":{\"a\":1},\"c\":{\"a\":9}}");
	assert_yaml("{<<: [{a: 1}, {a: 2, b: 3}]}", "{\"a\":1,\"b\":3}");
	assert_yaml("\"<<\": 1", "{\"<<\":1}");
	assert_refused("<<: 1", ERR_BAD_REQUEST, "a merge key wants");
	assert_refused("<<: [1]", ERR_BAD_REQUEST, "a merge key wants");
}

static void an_alias_bomb_is_refused_early(void **state)
{
	auto_buf b = BUF_INIT;
	(void)state;
	buf_add_str(&b, "a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
	for (int i = 1; i < 12; i++) {
		buf_addf(&b, "a%d: &a%d [", i, i);
		for (int k = 0; k < 9; k++)
			buf_addf(&b, "%s*a%d", k ? "," : "", i - 1);
		buf_add_str(&b, "]\n");
	}
	assert_refused(b.ptr, ERR_TOO_LARGE, "excessive aliasing");
	/* Few nodes, many bytes. */
	buf_clear(&b);
	buf_add_str(&b, "- &s ");
	for (int i = 0; i < 1000000; i++)
		buf_add_char(&b, 's');
	for (int i = 0; i < 200; i++)
		buf_add_str(&b, "\n- *s");
	assert_refused(b.ptr, ERR_TOO_LARGE, "excessive aliasing");
}

static void depth_is_limited_through_aliases_too(void **state)
{
	char text[20001];
	(void)state;
	memset(text, '[', 20000);
	text[20000] = '\0';
	assert_refused(text, ERR_BAD_REQUEST, "too deep");
	text[64] = '\0';
	auto_buf b = BUF_INIT;
	buf_add_str(&b, text);
	for (int i = 0; i < 64; i++)
		buf_add_char(&b, ']');
	struct cJSON *doc = NULL;
	assert_int_equal(yaml_parse(buf_span(&b), &doc, NULL), 0);
	json_free(doc);
	/* 40 levels in an anchor, used 30 levels down. */
	buf_clear(&b);
	buf_addf(&b, "a: &a %.40s%.*s\nb: %.30s*a", text, 40,
		 "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", text);
	for (int i = 0; i < 30; i++)
		buf_add_char(&b, ']');
	assert_refused(b.ptr, ERR_BAD_REQUEST, "too deep");
}

struct docs {
	struct buf text;
	int stop_after;
};

static int collect(void *arg, struct cJSON *take_doc)
{
	struct docs *d = arg;
	json_print(take_doc, &d->text);
	buf_add_char(&d->text, ';');
	json_free(take_doc);
	return d->stop_after && --d->stop_after == 0 ? -ECANCELED : 0;
}

static void a_stream_gives_every_document_that_is_not_empty(void **state)
{
	struct docs d = {0};
	(void)state;
	assert_int_equal(yaml_each(SPAN("# c\n---\na: 1\n---\n---\n~\n--- [2]\n...\n---\n# end\n"),
				   collect, &d, NULL),
			 0);
	assert_string_equal(d.text.ptr, "{\"a\":1};[2];");
	buf_clear(&d.text);
	assert_int_equal(yaml_each(SPAN(""), collect, &d, NULL), 0);
	assert_int_equal(yaml_each(SPAN_NONE, collect, &d, NULL), 0);
	assert_string_equal(d.text.ptr, "");
	d.stop_after = 2;
	assert_int_equal(yaml_each(SPAN("--- 1\n--- 2\n--- 3\n"), collect, &d, NULL), -ECANCELED);
	assert_string_equal(d.text.ptr, "1;2;");
	buf_clear(&d.text);
	d.stop_after = 0;
	assert_int_equal(yaml_each(SPAN("{\"a\":1}\n---\n{\"b\":2}\n"), collect, &d, NULL), 0);
	assert_string_equal(d.text.ptr, "{\"a\":1};{\"b\":2};");
	buf_done(&d.text);
}

static void one_document_is_wanted(void **state)
{
	(void)state;
	assert_refused("", ERR_BAD_REQUEST, "no YAML document");
	assert_refused("---\n...\n", ERR_BAD_REQUEST, "no YAML document");
	assert_refused("--- 1\n--- 2\n", ERR_BAD_REQUEST, "more than one");
}

static void json_is_taken_as_json(void **state)
{
	(void)state;
	assert_yaml("{\"n\":1.50,\"s\":\"yes\",\"n2\":9007199254740993,\"d\":1,\"d\":2}",
		    "{\"n\":1.50,\"s\":\"yes\",\"n2\":9007199254740993,\"d\":2}");
	/* Not JSON, but YAML all the same. */
	assert_yaml("{a: yes, b: [1,],}", "{\"a\":true,\"b\":[1]}");
}

static void malformed_text_names_its_line(void **state)
{
	(void)state;
	assert_refused("a: 1\nb: [1\nc: 2\n", ERR_BAD_REQUEST, "line 3");
	assert_refused("a: b: c", ERR_BAD_REQUEST, "line 1");
	assert_refused("a:\n\t- b", ERR_BAD_REQUEST, "line 2");
	assert_refused("a: \"x\n", ERR_BAD_REQUEST, "line ");
	assert_refused("a: \xff", ERR_BAD_REQUEST, "line 1");
	assert_refused("%YAML 9.9\n---\na", ERR_BAD_REQUEST, "line 1");
	assert_refused("{\"a\": 1,, \"b\": 2}", ERR_BAD_REQUEST, "line 1");
}

static void wide_mappings_are_quick_and_limited(void **state)
{
	auto_buf b = BUF_INIT;
	struct cJSON *doc = NULL;
	(void)state;
	for (int i = 0; i < JSON_MAX_KEYS; i++)
		buf_addf(&b, "key-%d: %d\n", i, i);
	assert_int_equal(yaml_parse(buf_span(&b), &doc, NULL), 0);
	assert_int_equal(json_len(doc), JSON_MAX_KEYS);
	json_free(doc);
	buf_addf(&b, "one-more: 1\n");
	assert_refused(b.ptr, ERR_TOO_LARGE, "too many keys");
}

static void keys_that_stand_twice_are_noted_by_their_lines(void **state)
{
	auto_buf notes = BUF_INIT;
	auto_json *doc = NULL;
	(void)state;
	assert_int_equal(
	    yaml_parse_noting(SPAN("a: 1\nb:\n  c: 1\n  'c': 2\na: 2\n"), &notes, &doc, NULL), 0);
	assert_string_equal(notes.ptr, "line 4: key \"c\" already set in map\n"
				       "line 5: key \"a\" already set in map\n");
	assert_int_equal(json_len(doc), 2);
}

RUN(T(keys_that_stand_twice_are_noted_by_their_lines),
    T(plain_scalars_mean_what_they_mean_to_kubectl), T(quoted_and_block_scalars_are_strings),
    T(tags_decide_where_they_stand), T(keys_are_resolved_and_become_strings),
    T(what_json_cannot_say_is_refused), T(anchors_are_copied_to_their_aliases),
    T(merge_keys_add_what_is_not_there), T(an_alias_bomb_is_refused_early),
    T(depth_is_limited_through_aliases_too), T(a_stream_gives_every_document_that_is_not_empty),
    T(one_document_is_wanted), T(json_is_taken_as_json), T(malformed_text_names_its_line),
    T(wide_mappings_are_quick_and_limited))
