#include "kube_test.h"

#include "kube/names.h"

#define LONG63 "a23456789012345678901234567890123456789012345678901234567890123"

static void each_rule_takes_and_refuses(void **state)
{
	static const struct {
		const char *s;
		bool label, subdomain, dns1035, qualified, value;
	} rows[] = {
	    {"", false, false, false, false, true},
	    {"a", true, true, true, true, true},
	    {"1a", true, true, false, true, true},
	    {"a-1", true, true, true, true, true},
	    {"a-", false, false, false, false, false},
	    {"-a", false, false, false, false, false},
	    {"a.b", false, true, false, true, true},
	    {"a..b", false, false, false, true, true},
	    {"a.-b", false, false, false, true, true},
	    {"a-.b", false, false, false, true, true},
	    {".a", false, false, false, false, false},
	    {"a.", false, false, false, false, false},
	    {"A", false, false, false, true, true},
	    {"a_b", false, false, false, true, true},
	    {"x.io/a", false, false, false, true, false},
	    {"x.io/", false, false, false, false, false},
	    {"/a", false, false, false, false, false},
	    {"X.io/a", false, false, false, false, false},
	    {"a/b/c", false, false, false, false, false},
	    {"a b", false, false, false, false, false},
	    {LONG63, true, true, true, true, true},
	    {LONG63 "4", false, true, false, false, false},
	    {LONG63 "." LONG63 "." LONG63 ".a" LONG63, false, false, false, false, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct span s = span_of(rows[i].s);
		if (names_is_dns_label(s) != rows[i].label ||
		    names_is_dns_subdomain(s) != rows[i].subdomain ||
		    names_is_dns1035(s) != rows[i].dns1035 ||
		    names_is_qualified(s) != rows[i].qualified ||
		    names_is_label_value(s) != rows[i].value)
			fail_msg("%s", rows[i].s);
	}
}

/* Each sentence tells what is wrong with this text. The words are upstream's. */
static void a_rule_names_the_part_that_breaks_it(void **state)
{
	static const char key[] =
	    "name part must consist of alphanumeric characters, '-', '_' or "
	    "'.', and must start and end with an alphanumeric character (e.g. "
	    "'MyName',  or 'my.name',  or '123-abc', regex used for "
	    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
	assert_string_equal(names_qualified_rule(SPAN("a b")), key);
	assert_string_equal(names_qualified_rule(SPAN("")), "name part must be non-empty");
	assert_string_equal(names_qualified_rule(SPAN("x.io/")), "name part must be non-empty");
	assert_string_equal(names_qualified_rule(SPAN("/a")), "prefix part must be non-empty");
	assert_string_equal(names_qualified_rule(SPAN(LONG63 "4")),
			    "name part must be no more than 63 bytes");
	assert_true(span_starts(span_of(names_qualified_rule(SPAN("X.io/a"))),
				SPAN("prefix part a lowercase RFC 1123 subdomain must consist")));
	assert_true(span_starts(span_of(names_qualified_rule(SPAN("a/b/c"))),
				SPAN("a valid label key must consist of")));
	assert_string_equal(names_label_value_rule(SPAN(LONG63 "4")),
			    "must be no more than 63 bytes");
	assert_string_equal(names_dns_label_rule(SPAN(LONG63 "4")),
			    "must be no more than 63 characters");
	assert_string_equal(
	    names_dns_subdomain_rule(SPAN("A")),
	    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
	    "'-' or '.', and must start and end with an alphanumeric character (e.g. "
	    "'example.com', regex used for validation is "
	    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
	assert_string_equal(names_path_segment_rule(SPAN("..")), "may not be '..'");
	assert_string_equal(names_path_segment_rule(SPAN("a/b")), "may not contain '/'");
	assert_string_equal(names_path_segment_rule(SPAN("a%b")), "may not contain '%'");
}

static void a_path_segment_is_anything_that_stays_one(void **state)
{
	assert_true(names_is_path_segment(SPAN("system:node Admin")));
	assert_false(names_is_path_segment(SPAN("")));
	assert_false(names_is_path_segment(SPAN(".")));
	assert_false(names_is_path_segment(SPAN("..")));
	assert_false(names_is_path_segment(SPAN("a/b")));
	assert_false(names_is_path_segment(SPAN("a%2fb")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_rule_takes_and_refuses),
	    cmocka_unit_test(a_rule_names_the_part_that_breaks_it),
	    cmocka_unit_test(a_path_segment_is_anything_that_stays_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
