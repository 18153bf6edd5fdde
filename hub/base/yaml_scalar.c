/*
 * The order of the tests is that of kubectl's decoder: fixed words by the first byte, then
 * integers with a base prefix, then decimal fractions; whatever is none of them is a string.
 * Decimals are rewritten digit by digit into JSON's form and never pass through a double.
 */
#include "base/yaml_scalar.h"

#include "base/base64.h"
#include "base/num.h"

#include <errno.h>

struct word {
	const char *text;
	enum json_type type;
	bool truth;
};

static const struct word words[] = {
    {"y", JSON_BOOL, true},	 {"Y", JSON_BOOL, true},      {"yes", JSON_BOOL, true},
    {"Yes", JSON_BOOL, true},	 {"YES", JSON_BOOL, true},    {"true", JSON_BOOL, true},
    {"True", JSON_BOOL, true},	 {"TRUE", JSON_BOOL, true},   {"on", JSON_BOOL, true},
    {"On", JSON_BOOL, true},	 {"ON", JSON_BOOL, true},     {"n", JSON_BOOL, false},
    {"N", JSON_BOOL, false},	 {"no", JSON_BOOL, false},    {"No", JSON_BOOL, false},
    {"NO", JSON_BOOL, false},	 {"false", JSON_BOOL, false}, {"False", JSON_BOOL, false},
    {"FALSE", JSON_BOOL, false}, {"off", JSON_BOOL, false},   {"Off", JSON_BOOL, false},
    {"OFF", JSON_BOOL, false},	 {"", JSON_NULL, false},      {"~", JSON_NULL, false},
    {"null", JSON_NULL, false},	 {"Null", JSON_NULL, false},  {"NULL", JSON_NULL, false},
};

/* JSON has no word for these. */
static const char *const not_numbers[] = {
    ".nan",  ".NaN",  ".NAN",  ".inf",	".Inf",	 ".INF",
    "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
};

#define TAG_PREFIX "tag:yaml.org,2002:"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Drops a base prefix: 0x, 0o, 0b, or a leading 0 before octal digits. */
static int take_base(struct span *s)
{
	if (s->len < 2 || s->ptr[0] != '0')
		return 10;
	char c = (char)(s->ptr[1] | 0x20);
	int base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
	size_t skip = base ? 2 : 1;
	*s = span_make(s->ptr + skip, s->len - skip);
	return base ? base : 8;
}

/* Integers of int64 and uint64, as Go's ParseInt and ParseUint read them with base 0. */
static bool add_integer(struct span s, struct buf *out)
{
	uint64_t v = 0;
	bool negative = s.len > 0 && s.ptr[0] == '-';

	if (s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+'))
		s = span_make(s.ptr + 1, s.len - 1);
	int base = take_base(&s);
	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		int d = digit_value(s.ptr[i]);
		if (d >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)d, &v))
			return false;
	}
	if (negative && v > (uint64_t)INT64_MAX + 1)
		return false;
	if (negative && v)
		buf_add_char(out, '-');
	buf_add_u64(out, v);
	return true;
}

/* A decimal in parts: digits without leading or trailing zeros, the first of them standing at
 * 10^exponent. */
struct decimal {
	struct buf *mem; /* the digits */
	int64_t exponent;
	bool negative;
};

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool scan_decimal(struct span s, struct decimal *d)
{
	size_t i = 0, before = 0, after = 0;
	int64_t e = 0;

	d->negative = s.len > 0 && s.ptr[0] == '-';
	if (s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+'))
		i++;
	for (; i < s.len && is_digit(s.ptr[i]); i++, before++)
		buf_add_char(d->mem, s.ptr[i]);
	if (i < s.len && s.ptr[i] == '.')
		for (i++; i < s.len && is_digit(s.ptr[i]); i++, after++)
			buf_add_char(d->mem, s.ptr[i]);
	if (before + after == 0)
		return false;
	if (i < s.len && (s.ptr[i] | 0x20) == 'e') {
		struct span rest = span_make(s.ptr + i + 1, s.len - i - 1);
		if (rest.len && rest.ptr[0] == '+')
			rest = span_make(rest.ptr + 1, rest.len - 1);
		int r = num_parse_i64(rest, INT32_MIN, INT32_MAX, &e);
		if (r == -ERANGE)
			e = rest.ptr[0] == '-' ? INT32_MIN : INT32_MAX;
		else if (r < 0)
			return false;
		i = s.len;
	}
	d->exponent = e + (int64_t)before - 1;
	return i == s.len && buf_ok(d->mem);
}

static struct span trim_zeros(struct decimal *d)
{
	struct span s = buf_span(d->mem);
	while (s.len && s.ptr[0] == '0') {
		s = span_make(s.ptr + 1, s.len - 1);
		d->exponent--;
	}
	while (s.len && s.ptr[s.len - 1] == '0')
		s.len--;
	return s;
}

static void add_zeros(struct buf *out, int64_t n)
{
	while (n-- > 0)
		buf_add_char(out, '0');
}

/* The form of Go's encoding/json: an exponent only below 1e-6 and from 1e21 on. */
static void print_decimal(const struct decimal *d, struct span digits, struct buf *out)
{
	int64_t point = d->exponent + 1; /* digits before the point */
	int64_t n = (int64_t)digits.len;

	if (d->negative)
		buf_add_char(out, '-');
	if (d->exponent >= 21 || d->exponent < -6) {
		buf_add(out, digits.ptr, 1);
		if (n > 1)
			buf_add_char(out, '.');
		buf_add(out, digits.ptr + 1, digits.len - 1);
		buf_add_str(out, d->exponent < 0 ? "e" : "e+");
		buf_add_i64(out, d->exponent);
	} else if (point <= 0) {
		buf_add_str(out, "0.");
		add_zeros(out, -point);
		buf_add_span(out, digits);
	} else if (n <= point) {
		buf_add_span(out, digits);
		add_zeros(out, point - n);
	} else {
		buf_add(out, digits.ptr, (size_t)point);
		buf_add_char(out, '.');
		buf_add(out, digits.ptr + point, (size_t)(n - point));
	}
}

/* False also for what overflows a double: kubectl makes a string of it. */
static bool add_decimal(struct span s, struct buf *out)
{
	auto_buf mem = BUF_INIT;
	struct decimal d = {.mem = &mem};
	struct span digits;

	if (!scan_decimal(s, &d))
		return false;
	digits = trim_zeros(&d);
	/* Half a step above the greatest double, and half the smallest. */
	if (d.exponent > 308 ||
	    (d.exponent == 308 && span_cmp(digits, SPAN("179769313486231580793")) > 0))
		return digits.len == 0 ? (buf_add_char(out, '0'), true) : false;
	if (digits.len == 0 || d.exponent < -324 ||
	    (d.exponent == -324 && span_cmp(digits, SPAN("24703282292062327")) < 0)) {
		buf_add_char(out, '0');
		return true;
	}
	print_decimal(&d, digits, out);
	return true;
}

static bool add_number(struct span text, struct buf *out)
{
	auto_buf plain = BUF_INIT;

	if (!is_digit(text.ptr[0]) && !memchr("+-.", text.ptr[0], 3))
		return false;
	if (memchr(text.ptr, '_', text.len)) {
		for (size_t i = 0; i < text.len; i++)
			if (text.ptr[i] != '_')
				buf_add_char(&plain, text.ptr[i]);
		text = buf_span(&plain);
	}
	return add_integer(text, out) || add_decimal(text, out);
}

static int resolve_plain(struct span text, struct buf *out, struct yaml_scalar *ret,
			 struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (span_is(text, words[i].text)) {
			*ret = (struct yaml_scalar){words[i].type, words[i].truth};
			return 0;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(not_numbers); i++)
		if (span_is(text, not_numbers[i]))
			return err_set(reterr, ERR_BAD_REQUEST, "%s has no form in JSON",
				       not_numbers[i]);
	*ret = (struct yaml_scalar){.type = JSON_NUMBER};
	if (add_number(text, out))
		return 0;
	ret->type = JSON_STRING;
	buf_add_span(out, text);
	return 0;
}

/* JSON strings are UTF-8 without NUL; what !!binary decodes to need not be. */
static bool is_text(struct span bytes)
{
	auto_buf quoted = BUF_MAX(bytes.len * 6 + 2);
	buf_add_json_str(&quoted, bytes);
	return !(bytes.len && memchr(bytes.ptr, '\0', bytes.len)) &&
	       json_check(buf_span(&quoted), NULL, NULL) == 0;
}

static int bad_tag(struct err *reterr, struct span text, struct span tag)
{
	return err_set(reterr, ERR_BAD_REQUEST, "cannot decode \"%.*s\" as !!%.*s",
		       (int)(text.len < 80 ? text.len : 80), text.ptr ? text.ptr : "",
		       SPAN_ARGS(tag));
}

static int resolve_tagged(struct span text, struct span tag, struct buf *out,
			  struct yaml_scalar *ret, struct err *reterr)
{
	static const struct {
		const char *tag;
		enum json_type type;
	} types[] = {
	    {"int", JSON_NUMBER}, {"float", JSON_NUMBER}, {"bool", JSON_BOOL}, {"null", JSON_NULL}};
	const struct span short_tag =
	    span_make(tag.ptr + strlen(TAG_PREFIX), tag.len - strlen(TAG_PREFIX));

	*ret = (struct yaml_scalar){.type = JSON_STRING};
	if (span_is(short_tag, "binary")) {
		size_t from = out->len;
		if (base64_read(text, out) < 0 ||
		    !is_text(span_make(buf_span(out).ptr + from, out->len - from)))
			return bad_tag(reterr, text, short_tag);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (!span_is(short_tag, types[i].tag))
			continue;
		size_t from = out->len;
		int r = resolve_plain(text, out, ret, reterr);
		if (r < 0)
			return r;
		struct span number = span_make(buf_span(out).ptr + from, out->len - from);
		bool fraction = number.len && (memchr(number.ptr, '.', number.len) ||
					       memchr(number.ptr, 'e', number.len));
		if (ret->type != types[i].type || (fraction && span_is(short_tag, "int")))
			return bad_tag(reterr, text, short_tag);
		return 0;
	}
	buf_add_span(out, text); /* !!str, !!timestamp, and tags of others */
	return 0;
}

int yaml_scalar_resolve(struct span text, struct span tag, bool plain, struct buf *out,
			struct yaml_scalar *ret, struct err *reterr)
{
	if (text.len && memchr(text.ptr, '\0', text.len))
		return err_set(reterr, ERR_BAD_REQUEST, "NUL in a string");
	if (span_starts(tag, SPAN(TAG_PREFIX)))
		return resolve_tagged(text, tag, out, ret, reterr);
	if (plain && !tag.ptr)
		return resolve_plain(text, out, ret, reterr);
	*ret = (struct yaml_scalar){.type = JSON_STRING};
	buf_add_span(out, text);
	return 0;
}
