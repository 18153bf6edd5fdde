#include "base/clock.h"

#include "test.h"

static void times_are_formatted_in_utc(void **state)
{
	char out[CLOCK_TEXT_MAX];
	(void)state;
	assert_string_equal(clock_format(0, out), "1970-01-01T00:00:00Z");
	assert_string_equal(clock_format(1795231513000123, out), "2026-11-21T03:25:13Z");
	assert_string_equal(clock_format_micro(1795231513000123, out),
			    "2026-11-21T03:25:13.000123Z");
	assert_string_equal(clock_format(-1, out), "1969-12-31T23:59:59Z");
	assert_string_equal(clock_format(-62135596800000000, out), "0001-01-01T00:00:00Z");
	assert_string_equal(clock_format(253402300800000000, out), "10000-01-01T00:00:00Z");
	assert_string_equal(clock_format_micro(-1, out), "1969-12-31T23:59:59.999999Z");
}

static void formatted_times_parse_back(void **state)
{
	static const usec times[] = {
	    0, 1, -1, 1795231513000123, 4102444799999999, -62135596800000000};
	char out[CLOCK_TEXT_MAX];
	usec t;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		assert_int_equal(clock_parse(span_of(clock_format_micro(times[i], out)), &t), 0);
		assert_int_equal(t, times[i]);
	}
}

static void offsets_and_fractions_are_understood(void **state)
{
	static const struct {
		const char *text;
		usec want;
	} rows[] = {
	    {"1970-01-01T01:00:00+01:00", 0},
	    {"1969-12-31T22:30:00-01:30", 0},
	    {"1970-01-01t00:00:00z", 0},
	    {"1970-01-01T00:00:00.5Z", 500000},
	    {"1970-01-01T00:00:00.1234567891Z", 123456},
	    {"2024-02-29T00:00:00Z", 1709164800000000},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		usec t = -5;
		assert_int_equal(clock_parse(span_of(rows[i].text), &t), 0);
		assert_int_equal(t, rows[i].want);
	}
}

static void anything_else_is_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    "2026",
	    "2026-11-21",
	    "2026-11-21T03:25:13",
	    "2026-11-21 03:25:13Z",
	    "2026-13-21T03:25:13Z",
	    "2026-00-21T03:25:13Z",
	    "2026-11-00T03:25:13Z",
	    "2026-11-31T03:25:13Z",
	    "2026-02-29T03:25:13Z",
	    "1900-02-29T00:00:00Z",
	    "2026-11-21T24:25:13Z",
	    "2026-11-21T03:60:13Z",
	    "2026-11-21T03:25:61Z",
	    "2026-11-21T03:25:13.Z",
	    "2026-11-21T03:25:13Zx",
	    "2026-11-21T03:25:13+1:00",
	    "2026-11-21T03:25:13+24:00",
	    "2026-11-21T03:25:13+01:60",
	    "-026-11-21T03:25:13Z",
	    "2026-11-21T03:25:13+0100",
	    "2026/11/21T03:25:13Z",
	    "2026-11-21T03.25.13Z",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		usec t = 42;
		if (clock_parse(span_of(bad[i]), &t) != -EINVAL)
			fail_msg("accepted %s", bad[i]);
		assert_int_equal(t, 42);
	}
}

/* As HumanDuration of apimachinery's util/duration writes them. */
static void ages_are_written_as_kubectl_does(void **state)
{
	static const struct {
		int64_t seconds;
		const char *want;
	} rows[] = {
	    {-5, "0s"},		{0, "0s"},	   {119, "119s"},      {120, "2m"},
	    {125, "2m5s"},	{599, "9m59s"},	   {600, "10m"},       {3600, "60m"},
	    {10799, "179m"},	{10800, "3h"},	   {11000, "3h3m"},    {28799, "7h59m"},
	    {28800, "8h"},	{172799, "47h"},   {172800, "2d"},     {180000, "2d2h"},
	    {691199, "7d23h"},	{691200, "8d"},	   {63071999, "729d"}, {63072000, "2y"},
	    {63158400, "2y1d"}, {252288000, "8y"},
	};
	char out[CLOCK_TEXT_MAX];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(clock_human(rows[i].seconds * USEC_PER_SEC, out), rows[i].want);
}

static void the_monotonic_clock_does_not_go_back(void **state)
{
	(void)state;
	usec a = clock_monotonic();
	for (int i = 0; i < 1000; i++) {
		usec b = clock_monotonic();
		assert_true(b >= a);
		a = b;
	}
	assert_true(clock_now() > 1700000000 * USEC_PER_SEC);
}

RUN(T(times_are_formatted_in_utc), T(formatted_times_parse_back),
    T(offsets_and_fractions_are_understood), T(anything_else_is_refused),
    T(ages_are_written_as_kubectl_does), T(the_monotonic_clock_does_not_go_back))
