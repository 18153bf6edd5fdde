#include "../kube/kube_test.h"

#include "base/json.h"
#include "kube/table.h"

#include <errno.h>

static const struct kind_column columns[] = {
    {"State", "string", "", ".status.conditions[-1:].type", "", 0},
    {"Computed", "string", "", NULL, "", 0},
    {"Count", "integer", "", ".spec.count", "", 0},
    {"Ok", "boolean", "", ".spec.ok", "", 1},
    {"Age", "date", "", ".metadata.creationTimestamp", "", 0},
};

static void cells(const struct kind *k, const struct cJSON *object, usec now, struct cJSON *out)
{
	(void)k;
	(void)now;
	json_append(out, json_new_str(json_str(json_get(object, "metadata"), "name")));
}

static const struct kind with_columns = {.columns = columns, .n_columns = 5, .cells = cells};
static const struct kind without_columns = {.n_columns = 0};

static usec at(const char *text)
{
	usec t = 0;
	assert_int_equal(clock_parse(span_of(text), &t), 0);
	return t;
}

static void expect_row(const struct kind *k, const char *object, enum table_include include,
		       const char *want)
{
	auto_buf out = BUF_INIT;
	table_row(k, "v1", span_of(object), include, at("2026-01-01T00:05:03Z"), true, &out);
	assert_string_equal(out.ptr, want);
}

static void a_row_has_typed_cells_and_metadata(void **state)
{
	(void)state;
	expect_row(&with_columns,
		   "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},"
		   "\"spec\":{\"count\":2,\"ok\":true},"
		   "\"status\":{\"conditions\":[{\"type\":\"Created\"},{\"type\":\"Running\"}]}}",
		   TABLE_METADATA,
		   "{\"cells\":[\"a\",\"Running\",\"a\",2,true,\"5m3s\"],\"object\":{\"kind\":"
		   "\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":"
		   "{\"name\":\"a\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"}}}");
}

static void missing_and_mistyped_values_are_null(void **state)
{
	(void)state;
	expect_row(&with_columns,
		   "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"count\":\"2\",\"ok\":1}}",
		   TABLE_NONE, "{\"cells\":[\"a\",null,\"a\",null,null,null],\"object\":null}");
	expect_row(
	    &with_columns,
	    "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"soon\"},"
	    "\"status\":{\"conditions\":[{\"type\":[1,\"x\"]}]}}",
	    TABLE_NONE,
	    "{\"cells\":[\"a\",\"[1,\\\"x\\\"]\",\"a\",null,null,\"<invalid>\"],\"object\":null}");
}

static void a_kind_without_columns_shows_its_age(void **state)
{
	(void)state;
	expect_row(&without_columns,
		   "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2025-12-31T00:00:00Z\"}}",
		   TABLE_OBJECT,
		   "{\"cells\":[\"a\",\"24h\"],\"object\":{\"metadata\":{\"name\":\"a\","
		   "\"creationTimestamp\":\"2025-12-31T00:00:00Z\"}}}");
}

static void a_whole_table_is_valid_json(void **state)
{
	(void)state;
	auto_buf out = BUF_INIT;
	auto_json *t = NULL;
	struct table_meta meta = {42, SPAN("tok\"en"), 7};

	table_begin(&with_columns, "v1", &meta, true, &out);
	table_row(&with_columns, "v1", SPAN("{\"metadata\":{\"name\":\"a\"}}"), TABLE_METADATA, 0,
		  true, &out);
	table_row(&with_columns, "v1", SPAN("{\"metadata\":{\"name\":\"b\"}}"), TABLE_METADATA, 0,
		  false, &out);
	table_end(&out);
	assert_int_equal(json_parse(buf_span(&out), NULL, &t, NULL), 0);
	assert_string_equal(json_str(json_get(t, "metadata"), "resourceVersion"), "42");
	assert_string_equal(json_str(json_get(t, "metadata"), "continue"), "tok\"en");
	assert_int_equal(json_len(json_get(t, "rows")), 2);
	const struct cJSON *defs = json_get(t, "columnDefinitions");
	assert_int_equal(json_len(defs), 6);
	assert_string_equal(json_str(json_at(defs, 0), "format"), "name");
	int64_t priority = 0;
	assert_int_equal(json_int64(json_at(defs, 4), "priority", &priority), 0);
	assert_int_equal(priority, 1);
}

static void include_object_takes_three_words(void **state)
{
	(void)state;
	enum table_include i = TABLE_NONE;
	assert_int_equal(table_include_parse(SPAN(""), &i), 0);
	assert_int_equal(i, TABLE_METADATA);
	assert_int_equal(table_include_parse(SPAN("Object"), &i), 0);
	assert_int_equal(i, TABLE_OBJECT);
	assert_int_equal(table_include_parse(SPAN("None"), &i), 0);
	assert_int_equal(i, TABLE_NONE);
	assert_int_equal(table_include_parse(SPAN("object"), &i), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_row_has_typed_cells_and_metadata),
	    cmocka_unit_test(missing_and_mistyped_values_are_null),
	    cmocka_unit_test(a_kind_without_columns_shows_its_age),
	    cmocka_unit_test(a_whole_table_is_valid_json),
	    cmocka_unit_test(include_object_takes_three_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
