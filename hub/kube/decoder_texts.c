#include "kube/decoder_texts.h"

#include "base/compat.h"

/* ---- times ---- */

/* The elements of RFC 3339 in order, as Go's reference time names them. `n`: digits; 0: literal. */
static const struct element {
	const char *layout;
	size_t n;
	int min, max;
	const char *range; /* the word for a number out of it */
} elements[] = {
    {"2006", 4, 0, 9999, NULL}, {"-", 0, 0, 0, NULL},	    {"01", 2, 1, 12, "month"},
    {"-", 0, 0, 0, NULL},	{"02", 2, 1, 31, "day"},    {"T", 0, 0, 0, NULL},
    {"15", 2, 0, 23, "hour"},	{":", 0, 0, 0, NULL},	    {"04", 2, 0, 59, "minute"},
    {":", 0, 0, 0, NULL},	{"05", 2, 0, 59, "second"},
};

struct time_text {
	struct span whole, rest;
	const char *layout;
	struct buf *out;
};

/* As strconv.Quote, of what a JSON string can hold. */
static void quote(struct span s, struct buf *out)
{
	buf_add_json_str(out, s);
}

static bool no_element(const struct time_text *t, const char *element)
{
	buf_add_str(t->out, "parsing time ");
	quote(t->whole, t->out);
	buf_addf(t->out, " as \"%s\": cannot parse ", t->layout);
	quote(t->rest, t->out);
	buf_addf(t->out, " as \"%s\"", element);
	return true;
}

static bool out_of_range(const struct time_text *t, const char *what)
{
	buf_add_str(t->out, "parsing time ");
	quote(t->whole, t->out);
	buf_addf(t->out, ": %s out of range", what);
	return true;
}

static void skip(struct time_text *t, size_t n)
{
	t->rest = span_make(t->rest.ptr + n, t->rest.len - n);
}

static size_t digits(struct span s)
{
	size_t n = 0;
	while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
		n++;
	return n;
}

static bool bad_element(struct time_text *t, const struct element *e)
{
	size_t n = e->n ? e->n : 1;
	int v = 0;

	if (!e->n) {
		if (!t->rest.len || t->rest.ptr[0] != e->layout[0])
			return no_element(t, e->layout);
	} else {
		if (digits(t->rest) < n)
			return no_element(t, e->layout);
		for (size_t i = 0; i < n; i++)
			v = v * 10 + (t->rest.ptr[i] - '0');
		if (v < e->min || v > e->max)
			return out_of_range(t, e->range ? e->range : "year");
	}
	skip(t, n);
	return false;
}

/* "Z" or "+07:00". */
static bool bad_zone(struct time_text *t)
{
	struct span s = t->rest;
	bool signed_zone = s.len >= 6 && (s.ptr[0] == '+' || s.ptr[0] == '-') && s.ptr[3] == ':' &&
			   digits(span_make(s.ptr + 1, 2)) == 2 &&
			   digits(span_make(s.ptr + 4, 2)) == 2;

	if (!signed_zone && (!s.len || s.ptr[0] != 'Z'))
		return no_element(t, "Z07:00");
	skip(t, signed_zone ? 6 : 1);
	return false;
}

bool decoder_time_words(struct span text, bool micro, struct buf *out)
{
	struct time_text t = {.whole = text,
			      .rest = text,
			      .layout = micro ? "2006-01-02T15:04:05.000000Z07:00"
					      : "2006-01-02T15:04:05Z07:00",
			      .out = out};

	for (size_t i = 0; i < ARRAY_LEN(elements); i++)
		if (bad_element(&t, &elements[i]))
			return true;
	if (t.rest.len && t.rest.ptr[0] == '.') {
		size_t n = digits(span_make(t.rest.ptr + 1, t.rest.len - 1));
		if (!n || (micro && n < 6))
			return no_element(&t, micro ? ".000000" : "Z07:00");
		skip(&t, micro ? 7 : n + 1);
	} else if (micro) {
		return no_element(&t, ".000000");
	}
	if (bad_zone(&t))
		return true;
	if (!t.rest.len)
		return false;
	buf_add_str(out, "parsing time ");
	quote(text, out);
	buf_add_str(out, ": extra text: ");
	quote(t.rest, out);
	return true;
}

/* ---- base64 ---- */

static bool in_alphabet(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '+' || c == '/';
}

static bool illegal(size_t at, struct buf *out)
{
	buf_addf(out, "illegal base64 data at input byte %zu", at);
	return true;
}

/* Ends of lines may stand anywhere. */
static size_t past_newlines(struct span s, size_t at)
{
	while (at < s.len && (s.ptr[at] == '\n' || s.ptr[at] == '\r'))
		at++;
	return at;
}

/* From the first '=', with `n` characters of its group before it. */
static bool bad_padding(struct span s, size_t at, size_t n, struct buf *out)
{
	size_t next = past_newlines(s, at + 1);

	if (n < 2)
		return illegal(at, out);
	if (n == 2) {
		if (next == s.len)
			return illegal(s.len, out);
		if (s.ptr[next] != '=')
			return illegal(next - 1, out);
		next = past_newlines(s, next + 1);
	}
	return next < s.len && illegal(next, out);
}

bool decoder_base64_words(struct span s, struct buf *out)
{
	size_t n = 0; /* of a group of four */

	for (size_t at = past_newlines(s, 0); at < s.len; at = past_newlines(s, at + 1)) {
		if (s.ptr[at] == '=')
			return bad_padding(s, at, n, out);
		if (!in_alphabet(s.ptr[at]))
			return illegal(at, out);
		n = (n + 1) % 4;
	}
	return n && illegal(s.len - n, out);
}
