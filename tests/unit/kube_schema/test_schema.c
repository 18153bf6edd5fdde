#include "../kube/kube_test.h"

#include "base/json.h"
#include "kube/field_errors.h"
#include "kube/schema.h"

/* A small schema that has one of everything. Fields are sorted by name. */
static const char *const colours[] = {"red", "green", "", NULL};
static const char *const name_key[] = {"name", NULL};
static const struct schema text = {.type = SCHEMA_STRING};
static const struct schema colour = {.type = SCHEMA_STRING, .enumeration = colours};
static const struct schema count = {.type = SCHEMA_INTEGER,
				    .format = SCHEMA_INT32,
				    .minimum = 0,
				    .maximum = 9,
				    .flags = SCHEMA_HAS_MIN | SCHEMA_HAS_MAX};
static const struct schema amount = {.type = SCHEMA_QUANTITY, .flags = SCHEMA_NOT_NEGATIVE};
static const struct schema loose_amount = {.type = SCHEMA_QUANTITY};
static const struct schema amounts = {.type = SCHEMA_MAP, .items = &amount};
static const struct schema flag = {.type = SCHEMA_BOOLEAN};
static const struct schema port = {.type = SCHEMA_INT_OR_STRING};
static const struct schema when = {
    .type = SCHEMA_STRING, .format = SCHEMA_DATE_TIME, .flags = SCHEMA_NULLABLE};
static const struct schema word = {
    .type = SCHEMA_STRING, .pattern = "^[a-z]+$", .max_length = 4, .min_length = 2};
static const struct schema bytes = {.type = SCHEMA_STRING, .format = SCHEMA_BYTE};
static const struct schema open_object = {.type = SCHEMA_OBJECT, .flags = SCHEMA_KEEP_UNKNOWN};
static const struct schema_field item_fields[] = {
    {"amount", &loose_amount, "", NULL, NULL, NULL},
    {"kind", &colour, "", "\"red\"", NULL, NULL},
    {"name", &text, "", NULL, NULL, NULL},
};
static const struct schema item = {
    .type = SCHEMA_OBJECT, .fields = item_fields, .n_fields = 3, .required = 4, .defaulted = 2};
static const struct schema items = {.type = SCHEMA_ARRAY,
				    .items = &item,
				    .list_type = SCHEMA_LIST_MAP,
				    .list_keys = name_key,
				    .max_items = 3};
static const struct schema set = {
    .type = SCHEMA_ARRAY, .items = &text, .list_type = SCHEMA_LIST_SET};
static const struct schema_field root_fields[] = {
    {"amounts", &amounts, "", NULL, NULL, NULL},  {"bytes", &bytes, "", NULL, NULL, NULL},
    {"colour", &colour, "", NULL, NULL, NULL},	  {"count", &count, "", "3", NULL, NULL},
    {"flag", &flag, "", NULL, NULL, NULL},	  {"items", &items, "", NULL, NULL, NULL},
    {"open", &open_object, "", NULL, NULL, NULL}, {"port", &port, "", NULL, NULL, NULL},
    {"set", &set, "", NULL, NULL, NULL},	  {"when", &when, "", NULL, NULL, NULL},
    {"word", &word, "", NULL, NULL, NULL},
};
static const struct schema root = {.type = SCHEMA_OBJECT,
				   .fields = root_fields,
				   .n_fields = sizeof(root_fields) / sizeof(root_fields[0]),
				   .required = 4,
				   .defaulted = 8};

/* Applies the schema and compares what is left, what was pruned, and what was wrong: every error
 * as "path: text", one a line. */
static void expect(const char *in, const char *out, const char *pruned, const char *wrong)
{
	auto_json *tree = NULL;
	auto_buf left = BUF_INIT, unknown = BUF_INIT, errors = BUF_INIT;
	struct field_errors e = {.n = 0};

	assert_int_equal(json_parse(span_of(in), NULL, &tree, NULL), 0);
	schema_apply(&root, tree, &e, &unknown);
	buf_add_str(&errors, "");
	buf_add_str(&unknown, "");
	for (size_t i = 0; i < e.n; i++) {
		field_error_text(&e.items[i], &errors);
		buf_add_char(&errors, '\n');
	}
	json_print(tree, &left);
	assert_string_equal(errors.ptr ? errors.ptr : "", wrong);
	assert_string_equal(unknown.ptr ? unknown.ptr : "", pruned);
	if (out)
		assert_string_equal(left.ptr, out);
	field_errors_done(&e);
}

static void defaults_are_filled_in_at_every_depth(void **state)
{
	(void)state;
	expect("{\"colour\":\"red\",\"items\":[{\"name\":\"a\"}]}",
	       "{\"colour\":\"red\",\"items\":[{\"name\":\"a\",\"kind\":\"red\"}],\"count\":3}", "",
	       "");
}

static void unknown_fields_are_pruned_and_named(void **state)
{
	(void)state;
	expect("{\"colour\":\"red\",\"count\":1,\"bogus\":{\"x\":1},"
	       "\"items\":[{\"name\":\"a\",\"kind\":\"red\",\"odd\":1}],\"open\":{\"any\":[1]}}",
	       "{\"colour\":\"red\",\"count\":1,\"items\":[{\"name\":\"a\",\"kind\":\"red\"}],"
	       "\"open\":{\"any\":[1]}}",
	       "bogus\nitems[0].odd\n", "");
}

static void null_counts_as_absent_unless_nullable(void **state)
{
	(void)state;
	expect("{\"colour\":\"red\",\"count\":null,\"when\":null,\"amounts\":{\"cpu\":null}}",
	       "{\"colour\":\"red\",\"when\":null,\"amounts\":{},\"count\":3}", "", "");
}

static void missing_fields_are_required_by_path(void **state)
{
	(void)state;
	expect("{\"items\":[{\"kind\":\"red\"},{\"name\":\"b\",\"kind\":\"red\"}]}", NULL, "",
	       "items[0].name: Required value\ncolour: Required value\n");
}

static void wrong_types_are_named_by_path(void **state)
{
	(void)state;
	expect("{\"colour\":1,\"count\":\"2\",\"flag\":\"yes\",\"items\":{},\"set\":\"a\","
	       "\"amounts\":[],\"port\":true,\"open\":1}",
	       NULL, "",
	       "colour: Invalid value: \"number\": colour in body must be of type string: "
	       "\"number\"\n"
	       "count: Invalid value: \"string\": count in body must be of type integer: "
	       "\"string\"\n"
	       "flag: Invalid value: \"string\": flag in body must be of type boolean: "
	       "\"string\"\n"
	       "items: Invalid value: \"object\": items in body must be of type array: "
	       "\"object\"\n"
	       "set: Invalid value: \"string\": set in body must be of type array: \"string\"\n"
	       "amounts: Invalid value: \"array\": amounts in body must be of type object: "
	       "\"array\"\n"
	       "port: Invalid value: \"boolean\": port in body must be of type integer,string: "
	       "\"boolean\"\n"
	       "open: Invalid value: \"number\": open in body must be of type object: "
	       "\"number\"\n");
}

static void enumerations_list_what_is_supported(void **state)
{
	(void)state;
	expect("{\"colour\":\"blue\"}", NULL, "",
	       "colour: Unsupported value: \"blue\": supported values: \"red\", \"green\", "
	       "\"\"\n");
	expect("{\"colour\":\"\"}", NULL, "", "");
}

static void ranges_hold_at_their_ends(void **state)
{
	(void)state;
	expect("{\"colour\":\"red\",\"count\":0}", NULL, "", "");
	expect("{\"colour\":\"red\",\"count\":9}", NULL, "", "");
	expect("{\"colour\":\"red\",\"count\":9.0}", NULL, "", "");
	expect("{\"colour\":\"red\",\"count\":-1}", NULL, "",
	       "count: Invalid value: -1: count in body should be greater than or equal to 0\n");
	expect("{\"colour\":\"red\",\"count\":10}", NULL, "",
	       "count: Invalid value: 10: count in body should be less than or equal to 9\n");
	expect("{\"colour\":\"red\",\"count\":2147483648}", NULL, "",
	       "count: Invalid value: 2147483648: count in body should fit in 32 bits\n");
	expect("{\"colour\":\"red\",\"count\":1e99}", NULL, "",
	       "count: Invalid value: 1e99: count in body should fit in 32 bits\n");
	expect("{\"colour\":\"red\",\"count\":1.5}", NULL, "",
	       "count: Invalid value: \"number\": count in body must be of type integer: "
	       "\"number\"\n");
}

static void quantities_that_are_summed_must_be_whole_and_positive(void **state)
{
	(void)state;
	expect("{\"colour\":\"red\",\"amounts\":{\"cpu\":\"100m\",\"memory\":4,\"x\":\"1Gi\"}}",
	       NULL, "", "");
	struct {
		const char *value, *shown;
	} bad[] = {{"\"abc\"", "\"abc\""}, {"\"-1\"", "\"-1\""}, {"\"1e30\"", "\"1e30\""}};
	for (size_t i = 0; i < 3; i++) {
		auto_json *tree = NULL;
		auto_buf in = BUF_INIT;
		struct field_errors e = {.n = 0};
		buf_addf(&in, "{\"colour\":\"red\",\"amounts\":{\"cpu\":%s}}", bad[i].value);
		assert_int_equal(json_parse(buf_span(&in), NULL, &tree, NULL), 0);
		schema_apply(&root, tree, &e, NULL);
		assert_int_equal(e.n, 1);
		assert_string_equal(e.items[0].field, "amounts[cpu]");
		assert_string_equal(e.items[0].value, bad[i].shown);
		field_errors_done(&e);
	}
	expect("{\"colour\":\"red\",\"items\":[{\"name\":\"a\",\"amount\":\"-1\"},"
	       "{\"name\":\"b\",\"amount\":\"1e30\"}]}",
	       NULL, "", "");
}

static void strings_keep_their_formats(void **state)
{
	(void)state;
	expect("{\"colour\":\"red\",\"when\":\"2026-01-02T03:04:05Z\",\"bytes\":\"YQ==\","
	       "\"word\":\"abc\",\"port\":\"http\"}",
	       NULL, "", "");
	expect("{\"colour\":\"red\",\"when\":\"yesterday\",\"bytes\":\"a\",\"word\":\"abcde\"}",
	       NULL, "",
	       "when: Invalid value: \"yesterday\": must be a date and time as in RFC 3339\n"
	       "bytes: Invalid value: \"a\": must be base64\n"
	       "word: Too long: may not be more than 4 bytes\n");
	expect("{\"colour\":\"red\",\"word\":\"A1\"}", NULL, "",
	       "word: Invalid value: \"A1\": word in body should match '^[a-z]+$'\n");
	expect("{\"colour\":\"red\",\"word\":\"a\"}", NULL, "",
	       "word: Invalid value: \"a\": word in body should be at least 2 chars long\n");
}

static void keys_of_a_list_and_items_of_a_set_are_unique(void **state)
{
	(void)state;
	expect("{\"colour\":\"red\",\"items\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}],"
	       "\"set\":[\"x\",\"y\",\"x\",\"x\"]}",
	       NULL, "",
	       "items[2]: Duplicate value: {\"name\":\"a\"}\n"
	       "set[2]: Duplicate value: \"x\"\nset[3]: Duplicate value: \"x\"\n");
	expect("{\"colour\":\"red\",\"items\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"},"
	       "{\"name\":\"d\"}]}",
	       NULL, "", "items: Too many: 4: must have at most 3 items\n");
}

/* Names' patterns are matched by code: as the pattern would, which a group of nothing calls for. */
static void the_patterns_of_names_say_what_they_say(void **state)
{
	static const char *const patterns[][2] = {
	    {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "(?:)^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
	    {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
	     "(?:)^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"},
	};
	static const char letters[] = "a0-.A";
	char name[300] = "";

	(void)state;
	for (int n = 0; n < 5 * 5 * 5 * 5 * 6; n++) {
		size_t len = (size_t)n % 6;
		for (size_t i = 0, k = (size_t)n / 6; i < len; i++, k /= 5)
			name[i] = letters[k % 5];
		for (size_t p = 0; p < ARRAY_LEN(patterns); p++)
			assert_int_equal(
			    schema_pattern_matches(patterns[p][0], span_make(name, len)),
			    schema_pattern_matches(patterns[p][1], span_make(name, len)));
	}
	memset(name, 'a', sizeof(name));
	for (size_t p = 0; p < ARRAY_LEN(patterns); p++) {
		assert_true(schema_pattern_matches(patterns[p][0], span_make(name, 63)));
		assert_true(schema_pattern_matches(patterns[p][0], span_make(name, 300)));
	}
}

static void a_hostile_pattern_matches_nothing_and_ends(void **state)
{
	(void)state;
	assert_true(schema_pattern_matches("^a+$", span_of("aaaa")));
	assert_true(schema_pattern_matches("b", span_of("abc")));
	assert_false(schema_pattern_matches("^a$", span_of("a\n")));
	assert_false(schema_pattern_matches("(", span_of("(")));
	assert_false(schema_pattern_matches(
	    "^(a+)+$", span_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")));
}

static void noted_unknown_fields_are_bounded(void **state)
{
	(void)state;
	auto_buf in = BUF_INIT, unknown = BUF_INIT;
	auto_json *tree = NULL;
	struct field_errors e = {.n = 0};
	size_t lines = 0;

	buf_add_str(&in, "{\"colour\":\"red\"");
	for (int i = 0; i < 1000; i++)
		buf_addf(&in, ",\"u%d\":1", i);
	buf_add_char(&in, '}');
	assert_int_equal(json_parse(buf_span(&in), NULL, &tree, NULL), 0);
	schema_apply(&root, tree, &e, &unknown);
	for (size_t i = 0; i < unknown.len; i++)
		lines += unknown.ptr[i] == '\n';
	assert_int_equal(lines, SCHEMA_MAX_UNKNOWN);
	assert_int_equal(json_len(tree), 2);
	assert_int_equal(e.n, 0);
}

static void count_calls(const struct kind *k, const struct cJSON *object,
			const struct kind_write *w, struct field_errors *errors)
{
	(void)k;
	(void)object;
	(void)errors;
	(*(int *)(uintptr_t)w->subresource)++;
}

static void hooks_run_only_on_well_typed_objects(void **state)
{
	(void)state;
	int calls = 0;
	const struct kind k = {.schema = &root, .validate = count_calls};
	const struct kind_write w = {.subresource = (const char *)&calls};
	struct field_errors e = {.n = 0};
	auto_json *good = NULL, *bad = NULL;

	assert_int_equal(json_parse(SPAN("{\"colour\":\"red\"}"), NULL, &good, NULL), 0);
	assert_int_equal(json_parse(SPAN("{\"colour\":7}"), NULL, &bad, NULL), 0);
	schema_admit(&k, bad, &w, &e, NULL);
	assert_int_equal(calls, 0);
	schema_admit(&k, good, &w, &e, NULL);
	assert_int_equal(calls, 1);
	field_errors_done(&e);
}

static void what_the_stored_object_lends_is_passed_over(void **state)
{
	auto_json *stored = tree_of("{'items':[{'name':'a','x':1}],'port':'p','colour':'red'}");
	auto_json *object = json_object();
	auto_buf unknown = BUF_INIT;
	struct field_errors e = {.n = 0};

	(void)state;
	json_foreach (stored, m)
		json_add_member(object, json_lend(m));
	schema_apply(&root, object, &e, &unknown);
	assert_tree(object, "{'items':[{'name':'a','x':1}],'port':'p','colour':'red','count':3}");
	assert_int_equal(unknown.len, 0);
	assert_int_equal(e.n, 0);
	field_errors_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(defaults_are_filled_in_at_every_depth),
	    cmocka_unit_test(unknown_fields_are_pruned_and_named),
	    cmocka_unit_test(null_counts_as_absent_unless_nullable),
	    cmocka_unit_test(missing_fields_are_required_by_path),
	    cmocka_unit_test(wrong_types_are_named_by_path),
	    cmocka_unit_test(enumerations_list_what_is_supported),
	    cmocka_unit_test(ranges_hold_at_their_ends),
	    cmocka_unit_test(quantities_that_are_summed_must_be_whole_and_positive),
	    cmocka_unit_test(strings_keep_their_formats),
	    cmocka_unit_test(keys_of_a_list_and_items_of_a_set_are_unique),
	    cmocka_unit_test(the_patterns_of_names_say_what_they_say),
	    cmocka_unit_test(a_hostile_pattern_matches_nothing_and_ends),
	    cmocka_unit_test(noted_unknown_fields_are_bounded),
	    cmocka_unit_test(hooks_run_only_on_well_typed_objects),
	    cmocka_unit_test(what_the_stored_object_lends_is_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
