#include "request.h"

#include "api/timeout.h"

static void durations_pass(void **state)
{
	static const char *const given[] = {"0",	  "-0",		"+0",
					    "1s",	  "-1s",	"1.5s",
					    "1.s",	  ".5h",	"1h2m3s4ms5us6ns",
					    "2\xc2\xb5s", "2\xce\xbcs", "2562047h"};
	(void)state;
	assert_int_equal(timeout_check(SPAN_NONE, NULL), 0);
	assert_int_equal(timeout_check(SPAN(""), NULL), 0);
	for (size_t i = 0; i < ARRAY_LEN(given); i++)
		assert_int_equal(timeout_check(span_of(given[i]), NULL), 0);
}

static void what_is_no_duration_is_named(void **state)
{
	static const struct {
		const char *given, *words;
	} cases[] = {
	    {"x", "invalid duration \"x\""},
	    {"-", "invalid duration \"-\""},
	    {"--1s", "invalid duration \"--1s\""},
	    {".s", "invalid duration \".s\""},
	    {"s", "invalid duration \"s\""},
	    {"2562048h", "invalid duration \"2562048h\""},
	    {"2562047h2562047h", "invalid duration \"2562047h2562047h\""},
	    {"99999999999999999999s", "invalid duration \"99999999999999999999s\""},
	    {"1", "missing unit in duration \"1\""},
	    {"1h1", "missing unit in duration \"1h1\""},
	    {"1.", "missing unit in duration \"1.\""},
	    {"1d", "unknown unit \"d\" in duration \"1d\""},
	    {"1h x", "unknown unit \"h x\" in duration \"1h x\""},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = ERR_INIT;
		assert_true(timeout_check(span_of(cases[i].given), &e) < 0);
		assert_int_equal(e.kind, ERR_BAD_REQUEST);
		assert_non_null(strstr(e.text, cases[i].words));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(durations_pass),
	    cmocka_unit_test(what_is_no_duration_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
