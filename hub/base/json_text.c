/*
 * The strict checker and the readers of checked text. One pass, no allocation except a small
 * table of key spans per open object for the duplicate test (bounded by depth and size).
 */
#include "base/json.h"

#include "base/num.h"
#include "base/vec.h"

#include <errno.h>
#include <stdarg.h>

struct key_ref {
	uint32_t at, len;
	uint32_t hash;
};

struct checker {
	const char *start, *p, *end;
	int depth, max_depth;
	bool allow_duplicates;
	struct VEC(struct key_ref) keys; /* of all open objects, innermost last */
	struct err *reterr;
};

static int fail(struct checker *c, const char *what)
{
	return err_set(c->reterr, ERR_BAD_REQUEST, "invalid JSON at offset %zu: %s",
		       (size_t)(c->p - c->start), what);
}

static void skip_space(struct checker *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t' || *c->p == '\r'))
		c->p++;
}

static int hex4(const char *p, const char *end, unsigned *ret)
{
	unsigned v = 0;
	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char ch = p[i];
		v <<= 4;
		if (ch >= '0' && ch <= '9')
			v |= (unsigned)(ch - '0');
		else if ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'f')
			v |= (unsigned)((ch | 0x20) - 'a' + 10);
		else
			return -1;
	}
	*ret = v;
	return 0;
}

static int check_escape(struct checker *c)
{
	unsigned u, low;
	char ch = c->p + 1 < c->end ? c->p[1] : 0;

	if (ch == '"' || ch == '\\' || ch == '/' || ch == 'b' || ch == 'f' || ch == 'n' ||
	    ch == 'r' || ch == 't') {
		c->p += 2;
		return 0;
	}
	if (ch != 'u' || hex4(c->p + 2, c->end, &u) < 0)
		return fail(c, "bad escape");
	if (u == 0)
		return fail(c, "NUL in a string");
	c->p += 6;
	if (u >= 0xdc00 && u <= 0xdfff)
		return fail(c, "lone low surrogate");
	if (u >= 0xd800 && u <= 0xdbff) {
		if (c->end - c->p < 6 || c->p[0] != '\\' || c->p[1] != 'u' ||
		    hex4(c->p + 2, c->end, &low) < 0 || low < 0xdc00 || low > 0xdfff)
			return fail(c, "lone high surrogate");
		c->p += 6;
	}
	return 0;
}

/* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
static int check_utf8(struct checker *c)
{
	const unsigned char *p = (const unsigned char *)c->p;
	size_t left = (size_t)(c->end - c->p);
	size_t n = p[0] >= 0xc2 && p[0] <= 0xdf ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 :
		   p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : 0;

	if (n == 0 || left < n)
		return fail(c, "invalid UTF-8");
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return fail(c, "invalid UTF-8");
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return fail(c, "invalid UTF-8");
	c->p += n;
	return 0;
}

static inline bool plain_byte(unsigned char ch)
{
	return ch >= 0x20 && ch < 0x80 && ch != '"' && ch != '\\';
}

/* Eight bytes at a time: true when all are plain ASCII without quote, backslash or control. */
static inline bool plain_word(const char *p)
{
	uint64_t w;
	memcpy(&w, p, 8);
	const uint64_t ones = 0x0101010101010101ULL, high = 0x8080808080808080ULL;
	uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
	uint64_t bad = w | (w - ones * 0x20) | (quote - ones) | (slash - ones);
	return (bad & high) == 0;
}

static int check_string(struct checker *c)
{
	int r = 0;
	c->p++;
	while (r == 0) {
		while (c->end - c->p >= 8 && plain_word(c->p))
			c->p += 8;
		while (c->p < c->end && plain_byte((unsigned char)*c->p))
			c->p++;
		if (c->p >= c->end)
			return fail(c, "unterminated string");
		unsigned char ch = (unsigned char)*c->p;
		if (ch == '"') {
			c->p++;
			return 0;
		}
		if (ch == '\\')
			r = check_escape(c);
		else if (ch >= 0x80)
			r = check_utf8(c);
		else
			return fail(c, "control character in a string");
	}
	return r;
}

static bool is_digit(const struct checker *c)
{
	return c->p < c->end && *c->p >= '0' && *c->p <= '9';
}

static int check_number(struct checker *c)
{
	if (*c->p == '-')
		c->p++;
	if (!is_digit(c))
		return fail(c, "bad number");
	if (*c->p == '0')
		c->p++;
	else
		while (is_digit(c))
			c->p++;
	if (is_digit(c))
		return fail(c, "leading zero in a number");
	if (c->p < c->end && *c->p == '.') {
		c->p++;
		if (!is_digit(c))
			return fail(c, "bad fraction");
		while (is_digit(c))
			c->p++;
	}
	if (c->p < c->end && (*c->p == 'e' || *c->p == 'E')) {
		c->p++;
		if (c->p < c->end && (*c->p == '+' || *c->p == '-'))
			c->p++;
		if (!is_digit(c))
			return fail(c, "bad exponent");
		while (is_digit(c))
			c->p++;
	}
	return 0;
}

static int check_word(struct checker *c, const char *word)
{
	size_t n = strlen(word);
	if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0)
		return fail(c, "unexpected character");
	c->p += n;
	return 0;
}

static int check_value(struct checker *c);

/* Objects in practice have few keys, so a scan over 32-bit hashes beats a table; past the limit
 * the quadratic scan would be an outsider's weapon, so wide objects are refused. */
static bool has_escape(const char *at, size_t len)
{
	return len && memchr(at, '\\', len);
}

/* "a" and "\u0061" are one key: escaped ones are compared by what they mean. */
static struct span key_meaning(const char *at, size_t len, struct buf *scratch)
{
	if (!has_escape(at, len))
		return span_make(at, len);
	(void)json_text_string(span_make(at - 1, len + 2), scratch);
	return buf_span(scratch);
}

static bool same_key(const struct checker *c, const struct key_ref *k, const char *at, size_t len)
{
	const char *other = c->start + k->at;
	if (!has_escape(at, len) && !has_escape(other, k->len))
		return k->len == len && memcmp(other, at, len) == 0;
	auto_buf one = BUF_MAX(len + 1), two = BUF_MAX(k->len + 1);
	return span_eq(key_meaning(at, len, &one), key_meaning(other, k->len, &two));
}

static uint32_t key_hash(const char *at, size_t len)
{
	auto_buf scratch = BUF_MAX(len + 1);
	struct span key = key_meaning(at, len, &scratch);
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < key.len; i++)
		h = (h ^ (unsigned char)key.ptr[i]) * 16777619u;
	return h;
}

static int note_key(struct checker *c, size_t first, const char *at, size_t len)
{
	uint32_t h = key_hash(at, len);
	for (size_t i = first; i < c->keys.len && !c->allow_duplicates; i++) {
		const struct key_ref *k = &c->keys.items[i];
		if (k->hash == h && same_key(c, k, at, len)) {
			return err_set(c->reterr, ERR_BAD_REQUEST,
				       "invalid JSON at offset %zu: duplicate key \"%.*s\"",
				       (size_t)(at - c->start), (int)(len < 80 ? len : 80), at);
		}
	}
	if (c->keys.len - first >= JSON_MAX_KEYS)
		return fail(c, "more than 10000 keys in one object");
	vec_push(&c->keys, (struct key_ref){(uint32_t)(at - c->start), (uint32_t)len, h});
	return 0;
}

static int check_member(struct checker *c, size_t first_key)
{
	skip_space(c);
	if (c->p >= c->end || *c->p != '"')
		return fail(c, "expected a key");
	const char *key = c->p + 1;
	int r = check_string(c);
	if (r == 0)
		r = note_key(c, first_key, key, (size_t)(c->p - 1 - key));
	if (r < 0)
		return r;
	skip_space(c);
	if (c->p >= c->end || *c->p != ':')
		return fail(c, "expected ':'");
	c->p++;
	skip_space(c);
	return check_value(c);
}

static int check_container(struct checker *c, bool object)
{
	char close = object ? '}' : ']';
	size_t first_key = c->keys.len;

	if (++c->depth > c->max_depth)
		return fail(c, "nested too deeply");
	c->p++;
	skip_space(c);
	if (c->p < c->end && *c->p == close)
		goto done;
	for (;;) {
		int r;
		if (object) {
			r = check_member(c, first_key);
		} else {
			skip_space(c);
			r = check_value(c);
		}
		if (r < 0)
			return r;
		skip_space(c);
		if (c->p < c->end && *c->p == close)
			break;
		if (c->p >= c->end || *c->p != ',')
			return fail(c, object ? "expected ',' or '}'" : "expected ',' or ']'");
		c->p++;
	}
done:
	c->p++;
	c->keys.len = first_key;
	c->depth--;
	return 0;
}

static int check_value(struct checker *c)
{
	if (c->p >= c->end)
		return fail(c, "unexpected end");
	switch (*c->p) {
	case '{':
		return check_container(c, true);
	case '[':
		return check_container(c, false);
	case '"':
		return check_string(c);
	case 't':
		return check_word(c, "true");
	case 'f':
		return check_word(c, "false");
	case 'n':
		return check_word(c, "null");
	default:
		if (*c->p == '-' || is_digit(c))
			return check_number(c);
		return fail(c, "unexpected character");
	}
}

int json_check(struct span text, const struct json_limits *limits, struct err *reterr)
{
	size_t max = limits && limits->max_bytes ? limits->max_bytes : JSON_MAX_BYTES;
	struct checker c = {
		.start = text.ptr,
		.p = text.ptr,
		.end = text.ptr + text.len,
		.max_depth = limits && limits->max_depth ? limits->max_depth : JSON_MAX_DEPTH,
		.allow_duplicates = limits && limits->allow_duplicates,
		.reterr = reterr,
	};
	if (text.len > max || text.len > UINT32_MAX)
		return err_set(reterr, ERR_TOO_LARGE, "JSON of %zu bytes is over the limit of %zu",
			       text.len, max);
	skip_space(&c);
	int r = check_value(&c);
	if (r == 0) {
		skip_space(&c);
		if (c.p != c.end)
			r = fail(&c, "bytes after the value");
	}
	vec_done(&c.keys);
	return r;
}

/* ---- readers of checked text ---- */

enum json_type json_text_type(struct span v)
{
	if (v.len == 0)
		return JSON_INVALID;
	switch (v.ptr[0]) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
	case 'f':
		return JSON_BOOL;
	case 'n':
		return JSON_NULL;
	default:
		return JSON_NUMBER;
	}
}

static const char *past_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

static const char *past_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

static const char *past_value(const char *p, const char *end)
{
	int depth = 0;
	if (p < end && *p == '"')
		return past_string(p, end);
	if (p >= end || (*p != '{' && *p != '[')) {
		while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != ' ' && *p != '\n' &&
		       *p != '\t' && *p != '\r')
			p++;
		return p;
	}
	while (p < end) {
		if (*p == '"') {
			p = past_string(p, end);
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if ((*p == '}' || *p == ']') && --depth == 0)
			return p + 1;
		p++;
	}
	return end;
}

bool json_text_next(struct span container, size_t *pos, struct span *ret_key,
		    struct span *ret_value)
{
	const char *end = container.ptr + container.len;
	const char *p = container.ptr + *pos;

	if (container.len < 2 || (container.ptr[0] != '{' && container.ptr[0] != '['))
		return false;
	if (*pos == 0)
		p++;
	p = past_space(p, end);
	if (p < end && *p == ',')
		p = past_space(p + 1, end);
	if (p >= end || *p == '}' || *p == ']')
		return false;
	if (container.ptr[0] == '{') {
		const char *close = past_string(p, end);
		*ret_key = span_make(p + 1, (size_t)(close - p) - 2);
		p = past_space(close, end);
		p = past_space(p + 1, end); /* over ':' */
	}
	const char *stop = past_value(p, end);
	*ret_value = span_make(p, (size_t)(stop - p));
	*pos = (size_t)(stop - container.ptr);
	return true;
}

int json_text_member(struct span object, const char *key, struct span *ret)
{
	size_t pos = 0;
	struct span k, v, want = span_of(key);

	if (json_text_type(object) != JSON_OBJECT)
		return -ENOENT;
	while (json_text_next(object, &pos, &k, &v)) {
		if (span_eq(k, want)) {
			*ret = v;
			return 0;
		}
	}
	return -ENOENT;
}

int json_text_path(struct span object, struct span *ret, ...)
{
	va_list ap;
	const char *key;
	int r = 0;

	va_start(ap, ret);
	while (r == 0 && (key = va_arg(ap, const char *)))
		r = json_text_member(object, key, &object);
	va_end(ap);
	if (r == 0)
		*ret = object;
	return r;
}

struct span json_text_plain(struct span v)
{
	if (v.len < 2 || v.ptr[0] != '"' || memchr(v.ptr, '\\', v.len))
		return SPAN_NONE;
	return span_make(v.ptr + 1, v.len - 2);
}

static void add_utf8(struct buf *out, unsigned u)
{
	char b[4];
	if (u < 0x80) {
		buf_add_char(out, (char)u);
	} else if (u < 0x800) {
		b[0] = (char)(0xc0 | u >> 6);
		b[1] = (char)(0x80 | (u & 0x3f));
		buf_add(out, b, 2);
	} else if (u < 0x10000) {
		b[0] = (char)(0xe0 | u >> 12);
		b[1] = (char)(0x80 | (u >> 6 & 0x3f));
		b[2] = (char)(0x80 | (u & 0x3f));
		buf_add(out, b, 3);
	} else {
		b[0] = (char)(0xf0 | u >> 18);
		b[1] = (char)(0x80 | (u >> 12 & 0x3f));
		b[2] = (char)(0x80 | (u >> 6 & 0x3f));
		b[3] = (char)(0x80 | (u & 0x3f));
		buf_add(out, b, 4);
	}
}

/* Decodes the escape at *p (a backslash) and moves past it. */
static void add_escape(struct buf *out, const char **p, const char *end)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	unsigned u = 0, low = 0;
	const char *at = strchr(from, (*p)[1]);

	if (at && (*p)[1]) {
		buf_add_char(out, to[at - from]);
		*p += 2;
		return;
	}
	(void)hex4(*p + 2, end, &u);
	*p += 6;
	if (u >= 0xd800 && u <= 0xdbff && end - *p >= 6) {
		(void)hex4(*p + 2, end, &low);
		u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
		*p += 6;
	}
	add_utf8(out, u);
}

int json_text_string(struct span v, struct buf *out)
{
	if (v.len < 2 || v.ptr[0] != '"')
		return -EINVAL;
	const char *p = v.ptr + 1, *end = v.ptr + v.len - 1;
	while (p < end) {
		const char *slash = memchr(p, '\\', (size_t)(end - p));
		const char *stop = slash ? slash : end;
		buf_add(out, p, (size_t)(stop - p));
		p = stop;
		if (slash)
			add_escape(out, &p, end);
	}
	return 0;
}

int json_text_int64(struct span v, int64_t *ret)
{
	return num_parse_i64(v, INT64_MIN, INT64_MAX, ret);
}
