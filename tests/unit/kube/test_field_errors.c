#include "kube_test.h"

#include "kube/field_errors.h"

static void message(const struct field_errors *e, const char *want)
{
	auto_buf b = BUF_INIT;
	field_errors_message(e, "JobSet", "jobset.x-k8s.io", "x", &b);
	assert_text(buf_span(&b), want);
}

static void one_error_stands_without_brackets(void **state)
{
	struct field_errors e = {0};
	field_errors_add(&e, FIELD_REQUIRED, "spec.a", NULL, "%s", "");
	message(&e, "JobSet.jobset.x-k8s.io \"x\" is invalid: spec.a: Required value");
	field_errors_done(&e);
}

static void several_errors_stand_in_brackets_and_each_once(void **state)
{
	struct field_errors e = {0};
	field_errors_add(&e, FIELD_INVALID, "spec.n", "-1", "must be at least %d", 0);
	field_errors_add(&e, FIELD_INVALID, "spec.n", "-1", "must be at least %d", 0);
	field_errors_add(&e, FIELD_NOT_SUPPORTED, "spec.p", "\"no\"", "supported values: \"yes\"");
	message(&e, "JobSet.jobset.x-k8s.io \"x\" is invalid: [spec.n: Invalid value: -1: must be "
		    "at least 0, spec.p: Unsupported value: \"no\": supported values: \"yes\"]");
	field_errors_done(&e);
}

static void a_core_kind_is_named_without_a_group(void **state)
{
	struct field_errors e = {0};
	auto_buf b = BUF_INIT;
	field_errors_add(&e, FIELD_FORBIDDEN, "data", "{}", "no");
	field_errors_message(&e, "ConfigMap", "", "c", &b);
	assert_text(buf_span(&b), "ConfigMap \"c\" is invalid: data: Forbidden: no");
	field_errors_done(&e);
}

static void errors_over_the_bound_are_only_counted(void **state)
{
	struct field_errors e = {0};
	auto_buf b = BUF_INIT;
	for (int i = 0; i < FIELD_ERRORS_MAX + 3; i++) {
		char field[32];
		(void)snprintf(field, sizeof(field), "f[%d]", i);
		field_errors_add(&e, FIELD_DUPLICATE, field, "\"v\"", "%s", "");
	}
	assert_int_equal(e.n, FIELD_ERRORS_MAX);
	assert_int_equal(e.dropped, 3);
	field_errors_message(&e, "K", "", "n", &b);
	assert_true(span_ends(buf_span(&b), SPAN(", and 3 more]")));
	field_errors_done(&e);
}

static void a_huge_value_is_cut_at_a_character(void **state)
{
	struct field_errors e = {0};
	char value[4096];
	for (size_t i = 0; i + 2 < sizeof(value); i += 2)
		memcpy(value + i, "\xc3\xa4", 2);
	value[sizeof(value) - 2] = '\0';
	field_errors_add(&e, FIELD_INVALID, "f", value, "%s", "");
	struct span got = span_of(e.items[0].value);
	assert_true(got.len <= FIELD_ERROR_TEXT_MAX);
	assert_true(span_ends(got, SPAN("\xc3\xa4...")));
	field_errors_done(&e);
}

static void reasons_have_the_names_of_status_causes(void **state)
{
	assert_string_equal(field_reason_name(FIELD_REQUIRED), "FieldValueRequired");
	assert_string_equal(field_reason_name(FIELD_TOO_MANY), "FieldValueTooMany");
	assert_string_equal(field_reason_name(FIELD_TYPE_INVALID), "FieldValueTypeInvalid");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_error_stands_without_brackets),
	    cmocka_unit_test(several_errors_stand_in_brackets_and_each_once),
	    cmocka_unit_test(a_core_kind_is_named_without_a_group),
	    cmocka_unit_test(errors_over_the_bound_are_only_counted),
	    cmocka_unit_test(a_huge_value_is_cut_at_a_character),
	    cmocka_unit_test(reasons_have_the_names_of_status_causes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
