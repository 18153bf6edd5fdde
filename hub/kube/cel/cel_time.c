#include "kube/cel/cel_time.h"

#include "base/clock.h"
#include "base/num.h"

#include <inttypes.h>
#include <time.h>

#define NS_PER_SEC INT64_C(1000000000)

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* The digits behind the point, as nanoseconds; what clock_parse() cuts. */
static int64_t fraction(struct span text)
{
	const char *dot = memchr(text.ptr, '.', text.len);
	int64_t ns = 0, unit = NS_PER_SEC;

	for (const char *p = dot ? dot + 1 : NULL; p && p < text.ptr + text.len; p++) {
		if (*p < '0' || *p > '9')
			break;
		unit /= 10;
		ns += (*p - '0') * unit;
	}
	return ns;
}

struct cel_value cel_timestamp_of(struct span text)
{
	char whole[32];
	usec t;
	int64_t ns;

	if (text.len == 10) {
		(void)snprintf(whole, sizeof(whole), "%.*sT00:00:00Z", SPAN_ARGS(text));
		text = span_of(whole);
	}
	if (!text.len || clock_parse(text, &t) < 0)
		return cel_fail("a timestamp that is not RFC 3339");
	int64_t seconds = floor_div(t, USEC_PER_SEC);
	if (num_mul_overflows(seconds, NS_PER_SEC, &ns) ||
	    num_add_overflows(ns, fraction(text), &ns))
		return cel_fail("timestamp out of range");
	return (struct cel_value){.kind = CEL_TIMESTAMP, .number = ns};
}

/* ---- durations ---- */

static bool take_unit(struct span *s, int64_t *ret)
{
	static const struct {
		struct span name;
		int64_t ns;
	} units[] = {{SPAN("ns"), 1},
		     {SPAN("us"), 1000},
		     {SPAN("\xc2\xb5s"), 1000},
		     {SPAN("\xce\xbcs"), 1000},
		     {SPAN("ms"), 1000000},
		     {SPAN("s"), NS_PER_SEC},
		     {SPAN("m"), 60 * NS_PER_SEC},
		     {SPAN("h"), 3600 * NS_PER_SEC}};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (span_starts(*s, units[i].name)) {
			*ret = units[i].ns;
			*s = span_make(s->ptr + units[i].name.len, s->len - units[i].name.len);
			return true;
		}
	return false;
}

static size_t digits(struct span s)
{
	size_t n = 0;

	while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
		n++;
	return n;
}

/* One "1.5h"; false when it is none, or too much. */
static bool take_term(struct span *s, int64_t *sum)
{
	size_t n = digits(*s), m = 0;
	struct span whole = span_make(s->ptr, n), part = SPAN_NONE;
	int64_t unit, v = 0;

	*s = span_make(s->ptr + n, s->len - n);
	if (s->len && s->ptr[0] == '.') {
		part = span_make(s->ptr + 1, s->len - 1);
		m = digits(part);
		*s = span_make(part.ptr + m, part.len - m);
	}
	if ((n == 0 && m == 0) || !take_unit(s, &unit) ||
	    (n && num_parse_i64(whole, 0, INT64_MAX, &v) < 0) || num_mul_overflows(v, unit, &v))
		return false;
	double scale = 1, f = 0; /* as time.ParseDuration does it */
	for (size_t i = 0; i < m && i < 18; i++) {
		scale *= 10;
		f = f * 10 + (part.ptr[i] - '0');
	}
	return !num_add_overflows(v, (int64_t)(f * ((double)unit / scale)), &v) &&
	       !num_add_overflows(*sum, v, sum);
}

struct cel_value cel_duration_of(struct span text)
{
	bool negative = text.len && text.ptr[0] == '-';
	int64_t sum = 0;

	if (negative || (text.len && text.ptr[0] == '+'))
		text = span_make(text.ptr + 1, text.len - 1);
	if (!text.len)
		return cel_fail("a duration without a unit");
	if (span_is(text, "0"))
		return (struct cel_value){.kind = CEL_DURATION};
	while (text.len)
		if (!take_term(&text, &sum))
			return cel_fail("a duration that cannot be read");
	return (struct cel_value){.kind = CEL_DURATION, .number = negative ? -sum : sum};
}

/* ---- text ---- */

/* ".5", without zeros at the end. */
static void add_fraction(int64_t ns, struct buf *out)
{
	char text[16];
	size_t n = 10;

	if (!ns)
		return;
	(void)snprintf(text, sizeof(text), ".%09" PRId64, ns);
	while (text[n - 1] == '0')
		n--;
	buf_add(out, text, n);
}

void cel_timestamp_print(int64_t ns, struct buf *out)
{
	int64_t seconds = floor_div(ns, NS_PER_SEC);
	char text[CLOCK_TEXT_MAX];

	(void)clock_format(seconds * USEC_PER_SEC, text);
	buf_add(out, text, strlen(text) - 1);
	add_fraction(ns - seconds * NS_PER_SEC, out);
	buf_add_char(out, 'Z');
}

void cel_duration_print(int64_t ns, struct buf *out)
{
	uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	buf_addf(out, "%s%" PRIu64, ns < 0 ? "-" : "", v / (uint64_t)NS_PER_SEC);
	add_fraction((int64_t)(v % (uint64_t)NS_PER_SEC), out);
	buf_add_char(out, 's');
}

/* ---- parts ---- */

static int64_t part_of_duration(int64_t ns, enum cel_part part)
{
	switch (part) {
	case CEL_HOURS:
		return ns / (3600 * NS_PER_SEC);
	case CEL_MINUTES:
		return ns / (60 * NS_PER_SEC);
	case CEL_SECONDS:
		return ns / NS_PER_SEC;
	default:
		return ns / 1000000;
	}
}

int64_t cel_part_of(const struct cel_value *v, enum cel_part part)
{
	struct tm tm;
	int64_t seconds = floor_div(v->number, NS_PER_SEC);
	time_t t = (time_t)seconds;

	if (v->kind == CEL_DURATION)
		return part_of_duration(v->number, part);
	if (!gmtime_r(&t, &tm))
		return 0;
	switch (part) {
	case CEL_FULL_YEAR:
		return tm.tm_year + 1900;
	case CEL_MONTH:
		return tm.tm_mon;
	case CEL_DAY_OF_YEAR:
		return tm.tm_yday;
	case CEL_DAY_OF_MONTH:
		return tm.tm_mday - 1;
	case CEL_DATE:
		return tm.tm_mday;
	case CEL_DAY_OF_WEEK:
		return tm.tm_wday;
	case CEL_HOURS:
		return tm.tm_hour;
	case CEL_MINUTES:
		return tm.tm_min;
	case CEL_SECONDS:
		return tm.tm_sec;
	default:
		return (v->number - seconds * NS_PER_SEC) / 1000000;
	}
}
