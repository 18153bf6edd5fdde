/*
 * A quantity is mantissa * 10^ten * 2^two. The mantissa holds at most MAX_DIGITS digits in 128
 * bits; digits that are cut only leave a mark, which rounds the result away from zero. Powers of
 * ten are taken apart into powers of five and two, so that "1.5Ei" shifts by a few bits instead
 * of overflowing in between.
 */
#include "kube/quantity.h"

#include "base/json.h"
#include "base/num.h"

#include <errno.h>

typedef unsigned __int128 u128;

/* 10^27 * 2^33 (the most that is left of 2^60 once 10^27 has given its twos) fits in 128 bits. */
#define MAX_FRACTION 27
#define MAX_DIGITS   28

struct number {
	u128 mantissa;
	int digits; /* significant ones in the mantissa */
	int64_t ten;
	int two;
	bool negative, cut;
};

static void add_digit(struct number *n, char c, bool fraction)
{
	bool room =
	    n->digits < MAX_DIGITS && (!fraction || n->mantissa == 0 || n->ten > -MAX_FRACTION);

	if (!room) {
		n->cut = n->cut || c != '0';
		n->ten += !fraction;
		return;
	}
	n->mantissa = n->mantissa * 10 + (unsigned)(c - '0');
	n->digits += n->mantissa != 0;
	n->ten -= fraction;
}

static bool is_digit(struct span s, size_t i)
{
	return i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9';
}

/* Sign and digits with at most one point. Returns where the suffix starts, 0 if there are none. */
static size_t read_number(struct span s, struct number *n)
{
	size_t i = 0;
	bool any = false;

	if (s.len && (s.ptr[0] == '-' || s.ptr[0] == '+'))
		n->negative = s.ptr[i++] == '-';
	for (; is_digit(s, i); i++, any = true)
		add_digit(n, s.ptr[i], false);
	if (i < s.len && s.ptr[i] == '.')
		for (i++; is_digit(s, i); i++, any = true)
			add_digit(n, s.ptr[i], true);
	return any ? i : 0;
}

static int read_exponent(struct span s, struct number *n)
{
	int64_t e;
	bool signed_one = s.len && (s.ptr[0] == '-' || s.ptr[0] == '+');
	struct span digits = signed_one ? span_make(s.ptr + 1, s.len - 1) : s;
	int r = num_parse_i64(digits, 0, 1000000, &e);

	if (r == -ERANGE && digits.ptr[0] != '-')
		e = 1000000; /* beyond every mantissa: too large, or as good as nothing */
	else if (r < 0)
		return -EINVAL;
	n->ten += signed_one && s.ptr[0] == '-' ? -e : e;
	return 0;
}

static int read_suffix(struct span s, struct number *n)
{
	static const struct {
		const char *text;
		int ten, two;
	} suffixes[] = {
	    {"", 0, 0},	   {"m", -3, 0},  {"k", 3, 0},	 {"M", 6, 0},
	    {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},	 {"E", 18, 0},
	    {"u", -6, 0},  {"n", -9, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
	    {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
	};
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (span_is(s, suffixes[i].text)) {
			n->ten += suffixes[i].ten;
			n->two = suffixes[i].two;
			return 0;
		}
	}
	if (s.ptr[0] != 'e' && s.ptr[0] != 'E')
		return -EINVAL;
	return read_exponent(span_make(s.ptr + 1, s.len - 1), n);
}

static bool times_ten_overflows(u128 *v, int64_t n)
{
	for (; n > 0; n--) {
		*v *= 10;
		if (*v > INT64_MAX)
			return true;
	}
	return *v > INT64_MAX;
}

/* mantissa * 5^ten * 2^(ten + two) for a negative ten, rounded up. */
static int divide(const struct number *n, u128 *ret)
{
	int64_t shift = n->two + n->ten;
	u128 v = n->mantissa, divisor = 1;
	bool rest = n->cut;

	if (shift > 0) {
		if (v >> (128 - shift))
			return -ERANGE;
		v <<= shift;
	}
	for (int64_t i = n->ten; i < 0; i++)
		divisor *= 5;
	rest = rest || v % divisor;
	v /= divisor;
	if (shift < 0) {
		rest = rest || (v & (((u128)1 << -shift) - 1));
		v >>= -shift;
	}
	*ret = v + rest;
	return 0;
}

/* The magnitude in whole units of the caller's scale. */
static int evaluate(const struct number *n, u128 *ret)
{
	if (n->mantissa == 0) {
		*ret = 0;
		return 0;
	}
	/* Below 10^28 * 2^60 * 10^-50 nothing reaches 1; 5^50 still fits in 128 bits. */
	if (n->ten < -50) {
		*ret = 1;
		return 0;
	}
	if (n->ten < 0)
		return divide(n, ret);
	u128 v = n->mantissa;
	if (times_ten_overflows(&v, n->ten))
		return -ERANGE;
	*ret = (v << n->two) + n->cut;
	return 0;
}

int quantity_parse(struct span text, unsigned flags, int64_t *ret)
{
	struct number n = {0};
	u128 v = 0;
	size_t at = read_number(text, &n);

	if (at == 0 || read_suffix(span_make(text.ptr + at, text.len - at), &n) < 0)
		return -EINVAL;
	if (flags & QUANTITY_MILLI)
		n.ten += 3;
	if (n.negative && n.mantissa && !(flags & QUANTITY_NEGATIVE))
		return -EDOM;
	if (evaluate(&n, &v) < 0 || v > INT64_MAX)
		return -ERANGE;
	*ret = n.negative ? -(int64_t)v : (int64_t)v;
	return 0;
}

int quantity_from_node(const struct cJSON *node, unsigned flags, int64_t *ret)
{
	if (json_is(node, JSON_NUMBER))
		return quantity_parse(json_number_text(node), flags, ret);
	return quantity_parse(span_of(json_value_str(node)), flags, ret);
}

int quantity_from_json(struct span value, unsigned flags, int64_t *ret)
{
	if (json_text_type(value) == JSON_NUMBER)
		return quantity_parse(value, flags, ret);
	return quantity_parse(json_text_plain(value), flags, ret);
}

const char *quantity_error_text(int error)
{
	if (error == -EDOM)
		return "must be greater than or equal to 0";
	if (error == -ERANGE)
		return "must fit in 64 bits";
	return "quantities must match the regular expression "
	       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
}

/* ---- canonical text ---- */

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static const char *print(int64_t v, uint64_t shown, const char *suffix, char out[QUANTITY_TEXT])
{
	(void)snprintf(out, QUANTITY_TEXT, "%s%llu%s", v < 0 ? "-" : "", (unsigned long long)shown,
		       suffix);
	return out;
}

const char *quantity_format_decimal(int64_t v, unsigned flags, char out[QUANTITY_TEXT])
{
	static const char *const suffixes[] = {"m", "", "k", "M", "G", "T", "P", "E"};
	uint64_t shown = magnitude(v);
	size_t s = flags & QUANTITY_MILLI ? 0 : 1;

	if (shown == 0)
		return print(0, 0, "", out);
	while (shown % 1000 == 0 && s + 1 < ARRAY_LEN(suffixes)) {
		shown /= 1000;
		s++;
	}
	return print(v, shown, suffixes[s], out);
}

const char *quantity_format_binary(int64_t v, char out[QUANTITY_TEXT])
{
	static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	uint64_t shown = magnitude(v);
	size_t s = 0;

	if (shown < 1024)
		return quantity_format_decimal(v, QUANTITY_WHOLE, out);
	while (shown % 1024 == 0 && s + 1 < ARRAY_LEN(suffixes)) {
		shown /= 1024;
		s++;
	}
	return print(v, shown, suffixes[s], out);
}

/* What a text's suffix says of the form that it is printed in. */
enum form { FORM_DECIMAL, FORM_BINARY, FORM_EXPONENT };

static enum form form_of(struct span suffix)
{
	if (suffix.len && suffix.ptr[suffix.len - 1] == 'i')
		return FORM_BINARY;
	return suffix.len > 1 ? FORM_EXPONENT : FORM_DECIMAL;
}

static bool ends_in(struct span s, const char *end)
{
	size_t n = strlen(end);

	return s.len >= n && memcmp(s.ptr + s.len - n, end, n) == 0;
}

/* The reader keeps a text whose digits promise that printing gives it back: as upstream's does,
 * they are looked at one by one here, without their value. */
static bool is_kept(struct span number, const struct number *n, enum form form)
{
	char digits[40];
	size_t used = 0, i = 0;

	if (number.ptr[0] == '-' || number.ptr[0] == '+')
		i++;
	while (i < number.len && number.ptr[i] == '0')
		i++;
	if (i == number.len || number.ptr[i] == '.')
		return false; /* begins with 0: upstream prints it anew */
	for (; i < number.len && used < sizeof(digits); i++)
		if (number.ptr[i] != '.')
			digits[used++] = number.ptr[i];
	if (used > 18)
		return false;
	if (form == FORM_BINARY)
		return !memchr(number.ptr, '.', number.len) && (n->mantissa & 7);
	return n->ten % 3 == 0 && n->ten >= -3 && !ends_in(span_make(digits, used), "000");
}

static const char *print_exponent(int64_t v, char out[QUANTITY_TEXT])
{
	uint64_t shown = magnitude(v);
	int e = -3;

	/* An int64 has no more than six thousands in it. */
	for (; e < 15 && shown && shown % 1000 == 0; e += 3)
		shown /= 1000;
	if (e == 0 || !shown)
		return print(v, shown, "", out);
	(void)snprintf(out, QUANTITY_TEXT, "%s%llue%d", v < 0 ? "-" : "", (unsigned long long)shown,
		       e);
	return out;
}

static const char *print_form(int64_t milli, enum form form, char out[QUANTITY_TEXT])
{
	int64_t v = milli / 1000;

	if (form == FORM_EXPONENT)
		return print_exponent(milli, out);
	if (form == FORM_BINARY && milli % 1000 == 0 && (v >= 1024 || v <= -1024))
		return quantity_format_binary(v, out);
	return quantity_format_decimal(milli, QUANTITY_MILLI, out);
}

const char *quantity_canonical(struct span text, char out[QUANTITY_TEXT])
{
	struct number n = {0};
	size_t at = read_number(text, &n);
	int64_t v;
	int r;

	if (at == 0 || read_suffix(span_make(text.ptr + at, text.len - at), &n) < 0)
		return NULL;
	enum form form = form_of(span_make(text.ptr + at, text.len - at));
	if (is_kept(span_make(text.ptr, at), &n, form))
		return NULL;
	r = quantity_parse(text, QUANTITY_MILLI | QUANTITY_NEGATIVE, &v);
	if (r == 0)
		print_form(v, form, out);
	else if (form == FORM_DECIMAL && quantity_parse(text, QUANTITY_NEGATIVE, &v) == 0)
		quantity_format_decimal(v, QUANTITY_WHOLE, out);
	else
		return NULL;
	return span_is(text, out) ? NULL : out;
}

struct cJSON *quantity_reprint(const struct cJSON *value)
{
	char out[QUANTITY_TEXT];
	struct span number = json_number_text(value);
	struct span text = number.ptr ? number : span_of(json_value_str(value));

	if (!text.ptr)
		return NULL;
	if (quantity_canonical(text, out))
		return json_new_str(out);
	return number.ptr ? json_new_span(number) : NULL;
}

/* ---- by resource name ---- */

/* Quotas name the same resources as requests.cpu and limits.memory. */
static struct span plain_name(struct span resource)
{
	static const char *const prefixes[] = {"requests.", "limits."};
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		struct span p = span_of(prefixes[i]);
		if (span_starts(resource, p))
			return span_make(resource.ptr + p.len, resource.len - p.len);
	}
	return resource;
}

unsigned quantity_unit(struct span resource)
{
	return span_is(plain_name(resource), "cpu") ? QUANTITY_MILLI : QUANTITY_WHOLE;
}

const char *quantity_format(struct span resource, int64_t v, char out[QUANTITY_TEXT])
{
	struct span name = plain_name(resource);
	if (span_is(name, "memory") || span_is(name, "storage") ||
	    span_is(name, "ephemeral-storage") || span_starts(name, SPAN("hugepages-")))
		return quantity_format_binary(v, out);
	return quantity_format_decimal(v, quantity_unit(resource), out);
}
