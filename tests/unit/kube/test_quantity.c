#include "kube_test.h"

#include "kube/quantity.h"

#include <errno.h>

struct row {
	const char *text;
	int error;
	int64_t whole, milli; /* milli -1: over int64 */
};

static void every_suffix_is_understood(void **state)
{
	static const struct row rows[] = {
	    {"0", 0, 0, 0},
	    {"1", 0, 1, 1000},
	    {"5", 0, 5, 5000},
	    {"+7", 0, 7, 7000},
	    {"500m", 0, 1, 500},
	    {"1500m", 0, 2, 1500},
	    {"100u", 0, 1, 1},
	    {"100000u", 0, 1, 100},
	    {"1n", 0, 1, 1},
	    {"1000000000n", 0, 1, 1000},
	    {"9223372036854775807000000000n", 0, INT64_MAX, -1},
	    {"3k", 0, 3000, 3000000},
	    {"3M", 0, 3000000, 3000000000},
	    {"3G", 0, 3000000000, 3000000000000},
	    {"3T", 0, 3000000000000, 3000000000000000},
	    {"3P", 0, 3000000000000000, 3000000000000000000},
	    {"3E", 0, 3000000000000000000, -1},
	    {"1Ki", 0, 1024, 1024000},
	    {"1Mi", 0, 1 << 20, 1048576000},
	    {"1Gi", 0, 1 << 30, 1073741824000},
	    {"1Ti", 0, (int64_t)1 << 40, ((int64_t)1 << 40) * 1000},
	    {"1Pi", 0, (int64_t)1 << 50, ((int64_t)1 << 50) * 1000},
	    {"1Ei", 0, (int64_t)1 << 60, -1},
	    {"1e3", 0, 1000, 1000000},
	    {"1E3", 0, 1000, 1000000},
	    {"1e+3", 0, 1000, 1000000},
	    {"1500e-3", 0, 2, 1500},
	    {"1e-400", 0, 1, 1},
	    {"0e99999999999999999999", 0, 0, 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *t = &rows[i];
		int64_t whole = -7, milli = -1;
		if (quantity_parse(span_of(t->text), QUANTITY_WHOLE, &whole) != 0 ||
		    whole != t->whole)
			fail_msg("%s in whole units: %lld", t->text, (long long)whole);
		int r = quantity_parse(span_of(t->text), QUANTITY_MILLI, &milli);
		if (r != (t->milli < 0 ? -ERANGE : 0) || milli != t->milli)
			fail_msg("%s in milli-units: %lld", t->text, (long long)milli);
	}
}

static void fractions_are_exact_and_round_up(void **state)
{
	static const struct row rows[] = {
	    {"0.1m", 0, 1, 1},
	    {"0.0001", 0, 1, 1},
	    {"1.5Gi", 0, 1610612736, 1610612736000},
	    {"0.1Ki", 0, 103, 102400},
	    {".5", 0, 1, 500},
	    {"5.", 0, 5, 5000},
	    {"1.0000000000000000000000000000000000000000", 0, 1, 1000},
	    {"1.0000000000000000000000000000000000000001", 0, 2, 1001},
	    {"0.00000000000000000000000000000000000001", 0, 1, 1},
	    {"0.00000000000000000000000000000000000001e38", 0, 1, 1000},
	    {"100000000000000000000000000000000000000e-38", 0, 1, 1000},
	    {"100000000000000000000000000000000000001e-38", 0, 2, 1001},
	    {"7.99999999999999999Ei", 0, INT64_MAX - 10, -1},
	    {"000000000000000000000000000000000000000001", 0, 1, 1000},
	    {"1.125Ki", 0, 1152, 1152000},
	    {"0.333333333333333333333333333Ki", 0, 342, 341334},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *t = &rows[i];
		int64_t whole = -7, milli = -1;
		if (quantity_parse(span_of(t->text), QUANTITY_WHOLE, &whole) != 0 ||
		    whole != t->whole)
			fail_msg("%s in whole units: %lld", t->text, (long long)whole);
		(void)!quantity_parse(span_of(t->text), QUANTITY_MILLI, &milli);
		if (milli != t->milli)
			fail_msg("%s in milli-units: %lld", t->text, (long long)milli);
	}
}

static void what_is_no_quantity_is_refused(void **state)
{
	static const char *const texts[] = {
	    "",	    "-",    "+",   ".",	  "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu",
	    ".5i",  "1i",   "1K",  "1ki", "1kI",   "1e",     "1E-",   "1e1.5", "1e--1",
	    "1e 1", " 1",   "1 ",  "Ki",  "m",	   "0x10",   "1_000", "--1",   "1ee3",
	    "1mm",  "1Eii", "1,5", "NaN", "inf",   "1e+-3",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		int64_t v = 99;
		if (quantity_parse(span_of(texts[i]), QUANTITY_NEGATIVE, &v) != -EINVAL || v != 99)
			fail_msg("%s was taken", texts[i]);
	}
	int64_t v;
	assert_int_equal(quantity_parse(SPAN_NONE, 0, &v), -EINVAL);
	assert_int_equal(quantity_parse(span_make("1\0", 2), 0, &v), -EINVAL);
}

static void what_does_not_fit_is_refused_not_capped(void **state)
{
	static const char *const texts[] = {
	    "9223372036854775808",
	    "1e30",
	    "8Ei",
	    "9.3E",
	    "1e999999999999999999999999",
	    "100000000000000000000000000000000000000000000000000000",
	    "9007199254740992Ki",
	    "9223372036854775807.1",
	    "1000000000000Ei",
	    "99999999999999999999999999999Ei",
	    "0.00000000000000000000000000001e99",
	    "7.9999999999999999999999Ei",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		int64_t v = 99;
		if (quantity_parse(span_of(texts[i]), QUANTITY_WHOLE, &v) != -ERANGE || v != 99)
			fail_msg("%s gave %lld", texts[i], (long long)v);
	}
	int64_t v;
	assert_int_equal(quantity_parse(SPAN("9223372036854775807"), 0, &v), 0);
	assert_true(v == INT64_MAX);
}

static void negative_values_need_the_flag(void **state)
{
	int64_t v = 99;
	assert_int_equal(quantity_parse(SPAN("-1"), 0, &v), -EDOM);
	assert_int_equal(quantity_parse(SPAN("-0.1m"), QUANTITY_MILLI, &v), -EDOM);
	assert_int_equal(v, 99);
	assert_int_equal(quantity_parse(SPAN("-0"), 0, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(quantity_parse(SPAN("-1500m"), QUANTITY_NEGATIVE, &v), 0);
	assert_int_equal(v, -2); /* away from zero */
	assert_int_equal(quantity_parse(SPAN("-9223372036854775807"), QUANTITY_NEGATIVE, &v), 0);
	assert_true(v == -INT64_MAX);
}

static void json_numbers_and_strings_are_both_quantities(void **state)
{
	auto_json *o = tree_of("{'n':4,'f':0.5,'s':'2Gi','b':true}");
	int64_t v = 0;
	assert_int_equal(quantity_from_node(json_get(o, "n"), QUANTITY_MILLI, &v), 0);
	assert_int_equal(v, 4000);
	assert_int_equal(quantity_from_node(json_get(o, "f"), QUANTITY_MILLI, &v), 0);
	assert_int_equal(v, 500);
	assert_int_equal(quantity_from_node(json_get(o, "s"), 0, &v), 0);
	assert_true(v == (int64_t)2 << 30);
	assert_int_equal(quantity_from_node(json_get(o, "b"), 0, &v), -EINVAL);
	assert_int_equal(quantity_from_node(NULL, 0, &v), -EINVAL);
	assert_int_equal(quantity_from_json(SPAN("\"3\""), 0, &v), 0);
	assert_int_equal(v, 3);
	assert_int_equal(quantity_from_json(SPAN("12"), 0, &v), 0);
	assert_int_equal(v, 12);
	assert_int_equal(quantity_from_json(SPAN("null"), 0, &v), -EINVAL);
	assert_int_equal(quantity_from_json(SPAN("\"1\\u0030\""), 0, &v), -EINVAL);
}

static void canonical_text_has_the_largest_suffix_that_loses_nothing(void **state)
{
	static const struct {
		int64_t v;
		const char *whole, *milli, *binary;
	} rows[] = {
	    {0, "0", "0", "0"},
	    {1, "1", "1m", "1"},
	    {500, "500", "500m", "500"},
	    {1000, "1k", "1", "1k"},
	    {1024, "1024", "1024m", "1Ki"},
	    {1500, "1500", "1500m", "1500"},
	    {5000, "5k", "5", "5000"},
	    {-2000, "-2k", "-2", "-2000"},
	    {-1048576, "-1048576", "-1048576m", "-1Mi"},
	    {4294967296, "4294967296", "4294967296m", "4Gi"},
	    {1610612736, "1610612736", "1610612736m", "1536Mi"},
	    {1000000000000000000, "1E", "1P", "976562500000000Ki"},
	    {INT64_MAX, "9223372036854775807", "9223372036854775807m", "9223372036854775807"},
	    {INT64_MIN, "-9223372036854775808", "-9223372036854775808m", "-8Ei"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[QUANTITY_TEXT];
		assert_string_equal(quantity_format_decimal(rows[i].v, 0, out), rows[i].whole);
		assert_string_equal(quantity_format_decimal(rows[i].v, QUANTITY_MILLI, out),
				    rows[i].milli);
		if (rows[i].v != 1000000000000000000)
			assert_string_equal(quantity_format_binary(rows[i].v, out), rows[i].binary);
	}
}

/* What a kube-apiserver 1.36 answered for a Job's request of that much. */
static void texts_are_printed_as_kubernetes_own_types_print_them(void **state)
{
	static const struct {
		const char *text, *printed; /* NULL: stays */
	} rows[] = {
	    {"1000m", "1"},	  {"1", NULL},
	    {"1.5", "1500m"},	  {"0.5", "500m"},
	    {".5", "500m"},	  {"1500m", NULL},
	    {"0.1m", "1m"},	  {"1e3", NULL},
	    {"1E3", NULL},	  {"1e0", NULL},
	    {"12e-3", NULL},	  {"1.5e3", "1500"},
	    {"15e2", "1500"},	  {"150e1", "1500"},
	    {"1e19", NULL},	  {"1e6", NULL},
	    {"1e-10", "1e-3"},	  {"1024Mi", "1Gi"},
	    {"1024Ki", "1Mi"},	  {"1.5Gi", "1536Mi"},
	    {"1.50Gi", "1536Mi"}, {"0.5Gi", "512Mi"},
	    {"1000Ki", NULL},	  {"1536Mi", NULL},
	    {"1000k", "1M"},	  {"1000000", "1M"},
	    {"1000G", "1T"},	  {"1000P", "1E"},
	    {"100000", "100k"},	  {"1023", NULL},
	    {"2048", NULL},	  {"+5", NULL},
	    {"0100", NULL},	  {"1.", NULL},
	    {"5.0", "5"},	  {"-0", "0"},
	    {"0", NULL},	  {"00", "0"},
	    {"0m", "0"},	  {"0Gi", "0"},
	    {"0.0001", "1m"},	  {"0.0000000001", "1m"},
	    {"100n", "1m"},	  {"1000u", "1m"},
	    {"1000000m", "1k"},	  {"1.1Gi", "1181116006400m"},
	    {"0.001Ki", "1024m"}, {"0.3Gi", "322122547200m"},
	    {"3Ki", NULL},	  {"1Pi", NULL},
	    {"1Ei", NULL},	  {"9E", NULL},
	    {"x", NULL},	  {"", NULL},
	    {"1Qi", NULL},	  {"9223372036854775807", NULL},
	    {"1000.0", "1k"},	  {"123456789012345678901234567890", NULL},
	};
	char out[QUANTITY_TEXT];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *printed = quantity_canonical(span_of(rows[i].text), out);
		if (!printed != !rows[i].printed ||
		    (printed && strcmp(printed, rows[i].printed) != 0))
			fail_msg("%s is printed as %s", rows[i].text,
				 printed ? printed : rows[i].text);
	}
}

static void resources_choose_their_unit_and_form(void **state)
{
	char out[QUANTITY_TEXT];
	assert_int_equal(quantity_unit(SPAN("cpu")), QUANTITY_MILLI);
	assert_int_equal(quantity_unit(SPAN("requests.cpu")), QUANTITY_MILLI);
	assert_int_equal(quantity_unit(SPAN("memory")), QUANTITY_WHOLE);
	assert_string_equal(quantity_format(SPAN("cpu"), 2500, out), "2500m");
	assert_string_equal(quantity_format(SPAN("limits.memory"), 1 << 30, out), "1Gi");
	assert_string_equal(quantity_format(SPAN("hugepages-2Mi"), 1 << 21, out), "2Mi");
	assert_string_equal(quantity_format(SPAN("nvidia.com/gpu"), 1024, out), "1024");
}

/* A slow but plain reference: long double has 64 bits of mantissa, enough for int64 results whose
 * text has few digits. */
static void random_quantities_agree_with_a_naive_evaluation(void **state)
{
	static const struct {
		const char *s;
		int ten, two;
	} suffixes[] = {{"m", -3, 0},  {"", 0, 0},    {"k", 3, 0},   {"M", 6, 0},
			{"Ki", 0, 10}, {"Mi", 0, 20}, {"Gi", 0, 30}, {"u", -6, 0}};
	uint64_t seed = 42;
	for (int i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		unsigned a = (unsigned)(seed >> 33) % 100000, f = (unsigned)(seed >> 20) % 1000;
		size_t s = (size_t)(seed >> 50) % ARRAY_LEN(suffixes);
		char text[64];
		int64_t got = -1;
		(void)snprintf(text, sizeof(text), "%u.%03u%s", a, f, suffixes[s].s);
		/* thousandths of the suffix's unit, exactly */
		unsigned __int128 v = (unsigned __int128)a * 1000 + f;
		unsigned __int128 den = 1;
		for (int t = suffixes[s].ten; t > 0; t--)
			v *= 10;
		for (int t = suffixes[s].ten; t < 0; t++)
			den *= 10;
		v <<= suffixes[s].two;
		int64_t want = (int64_t)((v + den - 1) / den);
		assert_int_equal(quantity_parse(span_of(text), QUANTITY_MILLI, &got), 0);
		if (got != want)
			fail_msg("%s: got %lld, want %lld", text, (long long)got, (long long)want);
	}
}

static void canonical_text_parses_back_to_the_same_number(void **state)
{
	uint64_t seed = 7;
	for (int i = 0; i < 20000; i++) {
		char out[QUANTITY_TEXT];
		int64_t back = 0;
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		int64_t v = (int64_t)(seed >> (seed % 60)) & ~(int64_t)((seed >> 7) % 2 ? 1023 : 0);
		if (v == INT64_MIN)
			continue;
		assert_int_equal(quantity_parse(span_of(quantity_format_binary(v, out)),
						QUANTITY_NEGATIVE, &back),
				 0);
		assert_true(back == v);
		assert_int_equal(
		    quantity_parse(span_of(quantity_format_decimal(v, QUANTITY_MILLI, out)),
				   QUANTITY_NEGATIVE | QUANTITY_MILLI, &back),
		    0);
		assert_true(back == v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_suffix_is_understood),
	    cmocka_unit_test(fractions_are_exact_and_round_up),
	    cmocka_unit_test(what_is_no_quantity_is_refused),
	    cmocka_unit_test(what_does_not_fit_is_refused_not_capped),
	    cmocka_unit_test(negative_values_need_the_flag),
	    cmocka_unit_test(json_numbers_and_strings_are_both_quantities),
	    cmocka_unit_test(canonical_text_has_the_largest_suffix_that_loses_nothing),
	    cmocka_unit_test(texts_are_printed_as_kubernetes_own_types_print_them),
	    cmocka_unit_test(resources_choose_their_unit_and_form),
	    cmocka_unit_test(random_quantities_agree_with_a_naive_evaluation),
	    cmocka_unit_test(canonical_text_parses_back_to_the_same_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
