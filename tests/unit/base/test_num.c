#include "base/num.h"

#include <math.h>

#include "test.h"

static void unsigned_numbers_parse_up_to_their_maximum(void **state)
{
	uint64_t v = 99;
	(void)state;
	assert_int_equal(num_parse_u64(SPAN("0"), 10, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(num_parse_u64(SPAN("18446744073709551615"), UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
	v = 99;
	assert_int_equal(num_parse_u64(SPAN("18446744073709551616"), UINT64_MAX, &v), -ERANGE);
	assert_int_equal(num_parse_u64(SPAN("11"), 10, &v), -ERANGE);
	assert_int_equal(num_parse_u64(SPAN("99999999999999999999999999"), UINT64_MAX, &v),
			 -ERANGE);
	assert_int_equal(v, 99);
	assert_int_equal(num_parse_u64(SPAN("000010"), 10, &v), 0);
	assert_int_equal(v, 10);
}

static void anything_but_digits_is_no_number(void **state)
{
	static const char *const bad[] = {"",	"-",  "+1",  "-1",  " 1",
					  "1 ", "1a", "0x1", "1.0", "1e3"};
	uint64_t v;
	int64_t i;
	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(bad); n++) {
		assert_int_equal(num_parse_u64(span_of(bad[n]), UINT64_MAX, &v), -EINVAL);
		if (strcmp(bad[n], "-1") != 0)
			assert_int_equal(num_parse_i64(span_of(bad[n]), INT64_MIN, INT64_MAX, &i),
					 -EINVAL);
	}
	assert_int_equal(num_parse_i64(SPAN("--1"), INT64_MIN, INT64_MAX, &i), -EINVAL);
	assert_int_equal(num_parse_u64(SPAN_NONE, 1, &v), -EINVAL);
	/* A wrong digit late in a number that is too large is still no number. */
	assert_int_equal(num_parse_u64(SPAN("99999999999999999999999999x"), UINT64_MAX, &v),
			 -EINVAL);
}

static void signed_numbers_parse_at_the_edges(void **state)
{
	int64_t v;
	(void)state;
	assert_int_equal(num_parse_i64(SPAN("9223372036854775807"), INT64_MIN, INT64_MAX, &v), 0);
	assert_true(v == INT64_MAX);
	assert_int_equal(num_parse_i64(SPAN("-9223372036854775808"), INT64_MIN, INT64_MAX, &v), 0);
	assert_true(v == INT64_MIN);
	assert_int_equal(num_parse_i64(SPAN("9223372036854775808"), INT64_MIN, INT64_MAX, &v),
			 -ERANGE);
	assert_int_equal(num_parse_i64(SPAN("-9223372036854775809"), INT64_MIN, INT64_MAX, &v),
			 -ERANGE);
	assert_int_equal(num_parse_i64(SPAN("-0"), 0, 1, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(num_parse_i64(SPAN("-6"), -5, 5, &v), -ERANGE);
	assert_int_equal(num_parse_i64(SPAN("6"), -5, 5, &v), -ERANGE);
}

static void overflow_is_told_and_leaves_the_result_alone(void **state)
{
	int64_t v = 42;
	(void)state;
	assert_true(num_add_overflows(INT64_MAX, 1, &v));
	assert_true(num_sub_overflows(INT64_MIN, 1, &v));
	assert_true(num_mul_overflows(INT64_MAX, 2, &v));
	assert_true(num_mul_overflows(INT64_MIN, -1, &v));
	assert_int_equal(v, 42);
	assert_false(num_add_overflows(INT64_MAX, -1, &v));
	assert_true(v == INT64_MAX - 1);
}

static void saturation_stays_at_the_right_end(void **state)
{
	(void)state;
	assert_true(num_add_sat(INT64_MAX, 1) == INT64_MAX);
	assert_true(num_add_sat(INT64_MIN, -1) == INT64_MIN);
	assert_true(num_sub_sat(INT64_MIN, 1) == INT64_MIN);
	assert_true(num_sub_sat(INT64_MAX, -1) == INT64_MAX);
	assert_true(num_sub_sat(0, INT64_MIN) == INT64_MAX);
	assert_true(num_mul_sat(INT64_MAX, 2) == INT64_MAX);
	assert_true(num_mul_sat(INT64_MAX, -2) == INT64_MIN);
	assert_true(num_mul_sat(INT64_MIN, -1) == INT64_MAX);
	assert_true(num_mul_sat(-3, 4) == -12);
	assert_true(num_min(-1, 2) == -1 && num_max(-1, 2) == 2);
}

static void doubles_are_written_with_as_few_digits_as_say_which(void **state)
{
	static const struct {
		double v;
		const char *want;
	} cases[] = {
	    {0, "0"},
	    {-0.0, "-0"},
	    {1, "1"},
	    {-12345678901234, "-12345678901234"},
	    {0.1, "0.1"},
	    {1.0 / 3, "0.3333333333333333"},
	    {-0.25, "-0.25"},
	    {1e21, "1e+21"},
	    {5e-324, "4.94065645841247e-324"},
	    {1.7976931348623157e308, "1.7976931348623157e+308"},
	    {0.1 + 0.2, "0.30000000000000004"},
	    {INFINITY, NULL},
	    {-INFINITY, NULL},
	    {NAN, NULL},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[NUM_DOUBLE_TEXT];
		const char *got = num_format_double(cases[i].v, text);
		if (cases[i].want)
			assert_string_equal(got, cases[i].want);
		else
			assert_null(got);
	}
}

static void a_double_is_the_whole_of_a_text(void **state)
{
	double v = 7;

	(void)state;
	assert_int_equal(num_parse_double(SPAN("-1.5e3"), &v), 0);
	assert_true(v < -1499.9 && v > -1500.1);
	assert_int_equal(num_parse_double(SPAN("1e400"), &v), 0);
	assert_true(isinf(v));
	v = 7;
	assert_int_equal(num_parse_double(SPAN(""), &v), -EINVAL);
	assert_int_equal(num_parse_double(SPAN(" 1"), &v), -EINVAL);
	assert_int_equal(num_parse_double(SPAN("1x"), &v), -EINVAL);
	assert_int_equal(num_parse_double(SPAN("1\0"), &v), -EINVAL);
	assert_int_equal(num_parse_double(SPAN("0000000000000000000000000000000000000000000000000"
					       "000000000000000"),
					  &v),
			 -EINVAL);
	assert_true(v > 6.9 && v < 7.1);
}

RUN(T(unsigned_numbers_parse_up_to_their_maximum), T(anything_but_digits_is_no_number),
    T(signed_numbers_parse_at_the_edges), T(overflow_is_told_and_leaves_the_result_alone),
    T(saturation_stays_at_the_right_end), T(doubles_are_written_with_as_few_digits_as_say_which),
    T(a_double_is_the_whole_of_a_text))
