/* The functions of the language itself (cel-spec, "List of Standard Definitions"). */
#include "base/num.h"
#include "kube/cel/cel_function.h"
#include "kube/cel/cel_list.h"
#include "kube/cel/cel_regex.h"
#include "kube/cel/cel_time.h"

#include <inttypes.h>
#include <math.h>

typedef struct cel_value value;
#define CALL(name) static value name(struct cel_run *r, const value *a, size_t n)

/* ---- finding them ---- */

static const struct cel_table *const tables[] = {&cel_table_core,	&cel_table_strings,
						 &cel_table_lists,	&cel_table_optionals,
						 &cel_table_quantities, &cel_table_addresses};

const struct cel_function *cel_function_next(const struct cel_function *from, const char *name,
					     bool method)
{
	bool found = !from;

	for (size_t t = 0; t < ARRAY_LEN(tables); t++)
		for (size_t i = 0; i < tables[t]->n; i++) {
			const struct cel_function *f = &tables[t]->functions[i];
			if (found && f->method == method && strcmp(f->name, name) == 0)
				return f;
			found |= f == from;
		}
	return NULL;
}

/* ---- sizes ---- */

size_t cel_characters(struct span s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
	return n;
}

CALL(size)
{
	(void)r, (void)n;
	if (a[0].kind == CEL_STRING)
		return cel_int((int64_t)cel_characters(a[0].text));
	if (a[0].kind == CEL_BYTES)
		return cel_int((int64_t)a[0].text.len);
	return cel_int((int64_t)cel_len(&a[0]));
}

/* ---- conversions ---- */

CALL(same)
{
	(void)r, (void)n;
	return a[0];
}

CALL(to_int)
{
	int64_t v;

	(void)r, (void)n;
	switch (a[0].kind) {
	case CEL_UINT:
		return a[0].natural > INT64_MAX ? cel_fail("integer overflow")
						: cel_int((int64_t)a[0].natural);
	case CEL_DOUBLE:
		return a[0].real > -9223372036854775808.0 && a[0].real < 9223372036854775808.0
			   ? cel_int((int64_t)a[0].real)
			   : cel_fail("integer overflow");
	case CEL_TIMESTAMP:
		return cel_int(a[0].number / 1000000000 - (a[0].number % 1000000000 < 0));
	default:
		break;
	}
	struct span s = a[0].text;
	if (s.len > 1 && s.ptr[0] == '+')
		s = span_make(s.ptr + 1, s.len - 1);
	if (num_parse_i64(s, INT64_MIN, INT64_MAX, &v) < 0)
		return cel_fail("type conversion error from 'string' to 'int'");
	return cel_int(v);
}

CALL(to_uint)
{
	value v = {.kind = CEL_UINT};

	(void)r, (void)n;
	switch (a[0].kind) {
	case CEL_INT:
		v.natural = (uint64_t)a[0].number;
		return a[0].number < 0 ? cel_fail("unsigned integer overflow") : v;
	case CEL_DOUBLE:
		if (!(a[0].real >= 0 && a[0].real < 18446744073709551616.0))
			return cel_fail("unsigned integer overflow");
		v.natural = (uint64_t)a[0].real;
		return v;
	default:
		return num_parse_u64(a[0].text, UINT64_MAX, &v.natural) < 0
			   ? cel_fail("type conversion error from 'string' to 'uint'")
			   : v;
	}
}

CALL(to_double)
{
	value v = {.kind = CEL_DOUBLE};

	(void)r, (void)n;
	if (a[0].kind == CEL_INT) {
		v.real = (double)a[0].number;
		return v;
	}
	if (a[0].kind == CEL_UINT) {
		v.real = (double)a[0].natural;
		return v;
	}
	return num_parse_double(a[0].text, &v.real) < 0
		   ? cel_fail("type conversion error from 'string' to 'double'")
		   : v;
}

/* The digits of %e in as few as read back. */
static int shortest(double v, char out[40])
{
	for (int digits = 0;; digits++) {
		(void)snprintf(out, 40, "%.*e", digits, v);
		double back = 0;
		if (num_parse_double(span_of(out), &back) < 0 || digits >= 17 ||
		    !(back < v || back > v))
			return digits;
	}
}

void cel_print_double(double v, struct buf *out)
{
	char text[40];

	if (isnan(v) || isinf(v)) {
		buf_add_str(out, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
		return;
	}
	int digits = shortest(v, text);
	const char *e = strchr(text, 'e') + 1;
	int64_t exponent = 0;
	if (num_parse_i64(span_of(e + (*e == '+')), INT32_MIN, INT32_MAX, &exponent) < 0)
		return;
	/* strconv's 'g' in the fewest digits: %e outside these. */
	if (exponent < -4 || exponent >= 6) {
		buf_add_str(out, text);
		return;
	}
	(void)snprintf(text, sizeof(text), "%.*f", digits > exponent ? digits - (int)exponent : 0,
		       v);
	buf_add_str(out, text);
}

CALL(to_string)
{
	auto_buf b = BUF_INIT;

	(void)n;
	switch (a[0].kind) {
	case CEL_BOOL:
		return cel_text(CEL_STRING, a[0].flag ? SPAN("true") : SPAN("false"));
	case CEL_INT:
		buf_add_i64(&b, a[0].number);
		break;
	case CEL_UINT:
		buf_addf(&b, "%" PRIu64, a[0].natural);
		break;
	case CEL_DOUBLE:
		cel_print_double(a[0].real, &b);
		break;
	case CEL_TIMESTAMP:
		cel_timestamp_print(a[0].number, &b);
		break;
	case CEL_DURATION:
		cel_duration_print(a[0].number, &b);
		break;
	default: /* bytes */
		buf_add_span(&b, a[0].text);
	}
	return cel_string_of(r->mem, buf_span(&b));
}

CALL(to_bytes)
{
	(void)r, (void)n;
	return cel_text(CEL_BYTES, a[0].text);
}

CALL(to_bool)
{
	static const char *const yes[] = {"1", "t", "T", "TRUE", "true", "True"};
	static const char *const no[] = {"0", "f", "F", "FALSE", "false", "False"};

	(void)r, (void)n;
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (span_is(a[0].text, yes[i]))
			return cel_bool(true);
		if (span_is(a[0].text, no[i]))
			return cel_bool(false);
	}
	return cel_fail("type conversion error from 'string' to 'bool'");
}

CALL(to_duration)
{
	(void)r, (void)n;
	return cel_duration_of(a[0].text);
}

CALL(to_timestamp)
{
	value v = {.kind = CEL_TIMESTAMP};

	(void)r, (void)n;
	if (a[0].kind == CEL_STRING)
		return a[0].text.len == 10 ? cel_fail("a timestamp that is not RFC 3339")
					   : cel_timestamp_of(a[0].text);
	return num_mul_overflows(a[0].number, 1000000000, &v.number)
		   ? cel_fail("timestamp out of range")
		   : v;
}

CALL(type_of)
{
	(void)r, (void)n;
	return cel_text(CEL_TYPE, span_of(cel_kind_name(cel_kind_of(&a[0]))));
}

/* ---- text ---- */

CALL(contains)
{
	(void)r, (void)n;
	return cel_bool(!a[1].text.len || (a[0].text.len && memmem(a[0].text.ptr, a[0].text.len,
								   a[1].text.ptr, a[1].text.len)));
}

CALL(starts_with)
{
	(void)r, (void)n;
	return cel_bool(span_starts(a[0].text, a[1].text));
}

CALL(ends_with)
{
	(void)r, (void)n;
	return cel_bool(span_ends(a[0].text, a[1].text));
}

CALL(matches)
{
	(void)n;
	return cel_regex_matches(r, a[0].text, a[1].text);
}

/* ---- parts of times ---- */

#define PART(name, part)                                                                           \
	CALL(name)                                                                                 \
	{                                                                                          \
		(void)r, (void)n;                                                                  \
		return cel_int(cel_part_of(&a[0], part));                                          \
	}

PART(full_year, CEL_FULL_YEAR)
PART(month, CEL_MONTH)
PART(day_of_year, CEL_DAY_OF_YEAR)
PART(day_of_month, CEL_DAY_OF_MONTH)
PART(date, CEL_DATE)
PART(day_of_week, CEL_DAY_OF_WEEK)
PART(hours, CEL_HOURS)
PART(minutes, CEL_MINUTES)
PART(seconds, CEL_SECONDS)
PART(milliseconds, CEL_MILLISECONDS)

#define ONE(name, from, to, call)                                                                  \
	{                                                                                          \
		name, false, 1, {from}, to, CEL_GIVES_KIND, call                                   \
	}
#define OF(name, from, to, call)                                                                   \
	{                                                                                          \
		name, true, 1, {from}, to, CEL_GIVES_KIND, call                                    \
	}
#define TEXTS(name, call)                                                                          \
	{                                                                                          \
		name, true, 2, {CEL_STRING, CEL_STRING}, CEL_BOOL, CEL_GIVES_KIND, call            \
	}

static const struct cel_function functions[] = {
    ONE("size", CEL_STRING, CEL_INT, size),
    ONE("size", CEL_BYTES, CEL_INT, size),
    ONE("size", CEL_LIST, CEL_INT, size),
    ONE("size", CEL_MAP, CEL_INT, size),
    OF("size", CEL_STRING, CEL_INT, size),
    OF("size", CEL_BYTES, CEL_INT, size),
    OF("size", CEL_LIST, CEL_INT, size),
    OF("size", CEL_MAP, CEL_INT, size),
    ONE("int", CEL_INT, CEL_INT, same),
    ONE("int", CEL_UINT, CEL_INT, to_int),
    ONE("int", CEL_DOUBLE, CEL_INT, to_int),
    ONE("int", CEL_STRING, CEL_INT, to_int),
    ONE("int", CEL_TIMESTAMP, CEL_INT, to_int),
    ONE("uint", CEL_UINT, CEL_UINT, same),
    ONE("uint", CEL_INT, CEL_UINT, to_uint),
    ONE("uint", CEL_DOUBLE, CEL_UINT, to_uint),
    ONE("uint", CEL_STRING, CEL_UINT, to_uint),
    ONE("double", CEL_DOUBLE, CEL_DOUBLE, same),
    ONE("double", CEL_INT, CEL_DOUBLE, to_double),
    ONE("double", CEL_UINT, CEL_DOUBLE, to_double),
    ONE("double", CEL_STRING, CEL_DOUBLE, to_double),
    ONE("string", CEL_STRING, CEL_STRING, same),
    ONE("string", CEL_BOOL, CEL_STRING, to_string),
    ONE("string", CEL_INT, CEL_STRING, to_string),
    ONE("string", CEL_UINT, CEL_STRING, to_string),
    ONE("string", CEL_DOUBLE, CEL_STRING, to_string),
    ONE("string", CEL_BYTES, CEL_STRING, to_string),
    ONE("string", CEL_TIMESTAMP, CEL_STRING, to_string),
    ONE("string", CEL_DURATION, CEL_STRING, to_string),
    ONE("bytes", CEL_BYTES, CEL_BYTES, same),
    ONE("bytes", CEL_STRING, CEL_BYTES, to_bytes),
    ONE("bool", CEL_BOOL, CEL_BOOL, same),
    ONE("bool", CEL_STRING, CEL_BOOL, to_bool),
    ONE("duration", CEL_DURATION, CEL_DURATION, same),
    ONE("duration", CEL_STRING, CEL_DURATION, to_duration),
    ONE("timestamp", CEL_TIMESTAMP, CEL_TIMESTAMP, same),
    ONE("timestamp", CEL_STRING, CEL_TIMESTAMP, to_timestamp),
    ONE("timestamp", CEL_INT, CEL_TIMESTAMP, to_timestamp),
    ONE("type", CEL_DYN, CEL_TYPE, type_of),
    ONE("dyn", CEL_DYN, CEL_DYN, same),
    TEXTS("contains", contains),
    TEXTS("startsWith", starts_with),
    TEXTS("endsWith", ends_with),
    TEXTS("matches", matches),
    {"matches", false, 2, {CEL_STRING, CEL_STRING}, CEL_BOOL, CEL_GIVES_KIND, matches},
    OF("getFullYear", CEL_TIMESTAMP, CEL_INT, full_year),
    OF("getMonth", CEL_TIMESTAMP, CEL_INT, month),
    OF("getDayOfYear", CEL_TIMESTAMP, CEL_INT, day_of_year),
    OF("getDayOfMonth", CEL_TIMESTAMP, CEL_INT, day_of_month),
    OF("getDate", CEL_TIMESTAMP, CEL_INT, date),
    OF("getDayOfWeek", CEL_TIMESTAMP, CEL_INT, day_of_week),
    OF("getHours", CEL_TIMESTAMP, CEL_INT, hours),
    OF("getMinutes", CEL_TIMESTAMP, CEL_INT, minutes),
    OF("getSeconds", CEL_TIMESTAMP, CEL_INT, seconds),
    OF("getMilliseconds", CEL_TIMESTAMP, CEL_INT, milliseconds),
    OF("getHours", CEL_DURATION, CEL_INT, hours),
    OF("getMinutes", CEL_DURATION, CEL_INT, minutes),
    OF("getSeconds", CEL_DURATION, CEL_INT, seconds),
    OF("getMilliseconds", CEL_DURATION, CEL_INT, milliseconds),
};

const struct cel_table cel_table_core = {functions, ARRAY_LEN(functions)};
