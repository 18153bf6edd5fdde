#include "api/timeout.h"

#include "base/buf.h"

static const struct {
	const char *name;
	int64_t nanoseconds;
} units[] = {
    {"ns", 1},
    {"us", 1000},
    {"\xc2\xb5s", 1000}, /* both letters that look like a mu */
    {"\xce\xbcs", 1000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", 60000000000},
    {"h", 3600000000000},
};

static int64_t unit_of(struct span name)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (span_is(name, units[i].name))
			return units[i].nanoseconds;
	return 0;
}

static int refuse(struct span text, const char *words, struct span unit, struct err *reterr)
{
	auto_buf shown = BUF_INIT, shown_unit = BUF_INIT;

	buf_add_json_str(&shown, span_make(text.ptr, text.len < 80 ? text.len : 80));
	if (unit.ptr)
		buf_add_json_str(&shown_unit, span_make(unit.ptr, unit.len < 80 ? unit.len : 80));
	return err_set(reterr, ERR_BAD_REQUEST,
		       "invalid timeout specified in the request URL - time: %s%s%s duration %s",
		       words, unit.ptr ? shown_unit.ptr : "", unit.ptr ? " in" : "", shown.ptr);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits from *at on; *ret_value is their number, negative when it is too large. */
static size_t read_digits(struct span s, size_t *at, int64_t *ret_value)
{
	size_t from = *at;

	*ret_value = 0;
	for (; *at < s.len && is_digit(s.ptr[*at]); ++*at)
		if (*ret_value >= 0 &&
		    (__builtin_mul_overflow(*ret_value, 10, ret_value) ||
		     __builtin_add_overflow(*ret_value, s.ptr[*at] - '0', ret_value)))
			*ret_value = -1;
	return *at - from;
}

int timeout_check(struct span text, struct err *reterr)
{
	struct span s = text;
	int64_t total = 0;

	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
		s = span_make(s.ptr + 1, s.len - 1);
	if (!text.len || span_is(s, "0"))
		return 0;
	if (!s.len)
		return refuse(text, "invalid", SPAN_NONE, reterr);
	for (size_t at = 0; at < s.len;) {
		int64_t whole, part, unit;
		size_t n = read_digits(s, &at, &whole), from;
		if (at < s.len && s.ptr[at] == '.') {
			at++;
			n += read_digits(s, &at, &part);
		}
		if (!n || whole < 0)
			return refuse(text, "invalid", SPAN_NONE, reterr);
		from = at;
		while (at < s.len && s.ptr[at] != '.' && !is_digit(s.ptr[at]))
			at++;
		if (at == from)
			return refuse(text, "missing unit in", SPAN_NONE, reterr);
		unit = unit_of(span_make(s.ptr + from, at - from));
		if (!unit)
			return refuse(text, "unknown unit ", span_make(s.ptr + from, at - from),
				      reterr);
		if (__builtin_mul_overflow(whole, unit, &whole) ||
		    __builtin_add_overflow(total, whole, &total))
			return refuse(text, "invalid", SPAN_NONE, reterr);
	}
	return 0;
}
