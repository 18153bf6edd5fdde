/*
 * The strict checker: one pass over the text, no recursion deeper than the limit.
 *
 * Keys of open objects stand in one array, innermost last. Those of a small object, which nearly
 * all are, are compared one by one, by a few of their bytes first. A wider object's are each linked
 * to the key before it in its hash bucket, and leave when the object closes, in reverse order, so a
 * bucket's chain always goes from the innermost key outwards and a search stops at the object's
 * first key: the duplicate test costs the same however wide an object is. The hash is seeded by an
 * address, so that an outsider cannot fill one bucket on purpose.
 */
#include "base/json.h"

#include "base/json_escape.h"
#include "base/vec.h"

#include <errno.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define N_BUCKETS 512
#define SMALL	  16 /* keys of an object that needs no buckets */

struct key_ref {
	uint32_t at, len; /* raw, between the quotes */
	uint32_t hash;	  /* of the decoded key; in a small object its tag */
	uint32_t next;	  /* in its bucket: index + 1; 0: end */
	bool escaped;
};

/* The keys of one open object. */
struct key_set {
	size_t first;
	bool wide; /* they are in buckets */
};

struct checker {
	const char *start, *p, *end;
	int depth, max_depth;
	bool allow_duplicates;
	uint64_t seed;
	struct VEC(struct key_ref) keys;
	struct err *reterr;
	bool has_buckets;	     /* they are set up */
	uint32_t buckets[N_BUCKETS]; /* index + 1 of the innermost key; 0: empty */
};

static int fail(struct checker *c, const char *what)
{
	return err_set(c->reterr, ERR_BAD_REQUEST, "invalid JSON at offset %zu: %s",
		       (size_t)(c->p - c->start), what);
}

static inline void skip_space(struct checker *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t' || *c->p == '\r'))
		c->p++;
}

/* ---- strings ---- */

static int check_escape(struct checker *c)
{
	unsigned u, low;
	char ch = c->p + 1 < c->end ? c->p[1] : 0;

	if (ch == '"' || ch == '\\' || ch == '/' || ch == 'b' || ch == 'f' || ch == 'n' ||
	    ch == 'r' || ch == 't') {
		c->p += 2;
		return 0;
	}
	if (ch != 'u' || json_hex4(c->p + 2, c->end, &u) < 0)
		return fail(c, "bad escape");
	if (u == 0)
		return fail(c, "NUL in a string");
	if (u >= 0xdc00 && u <= 0xdfff)
		return fail(c, "lone low surrogate");
	if (u >= 0xd800 && u <= 0xdbff) {
		if (c->end - c->p < 12 || c->p[6] != '\\' || c->p[7] != 'u' ||
		    json_hex4(c->p + 8, c->end, &low) < 0 || low < 0xdc00 || low > 0xdfff)
			return fail(c, "lone high surrogate");
		c->p += 6;
	}
	c->p += 6;
	return 0;
}

/* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
static int check_utf8(struct checker *c)
{
	const unsigned char *p = (const unsigned char *)c->p;
	size_t left = (size_t)(c->end - c->p);
	size_t n = p[0] >= 0xc2 && p[0] <= 0xdf	  ? 2
		   : (p[0] & 0xf0) == 0xe0	  ? 3
		   : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4
						  : 0;

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

/* To the first byte that is not plain ASCII, or is a quote, a backslash or a control. */
static inline const char *skip_plain(const char *p, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
	const __m128i blank = _mm_set1_epi8(0x20);
	while (end - p >= 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		/* Signed: bytes from 0x80 on are below the blank too. */
		__m128i bad =
		    _mm_or_si128(_mm_cmplt_epi8(v, blank),
				 _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
		int mask = _mm_movemask_epi8(bad);
		if (mask)
			return p + __builtin_ctz((unsigned)mask);
		p += 16;
	}
#endif
	while (p < end && plain_byte((unsigned char)*p))
		p++;
	return p;
}

/* At the opening quote; *ret_escaped when there was a backslash. */
static int check_string(struct checker *c, bool *ret_escaped)
{
	c->p++;
	for (;;) {
		int r;
		c->p = skip_plain(c->p, c->end);
		if (c->p >= c->end)
			return fail(c, "unterminated string");
		unsigned char ch = (unsigned char)*c->p;
		if (ch == '"') {
			c->p++;
			return 0;
		}
		if (ch == '\\') {
			*ret_escaped = true;
			r = check_escape(c);
		} else if (ch >= 0x80) {
			r = check_utf8(c);
		} else {
			r = fail(c, "control character in a string");
		}
		if (r < 0)
			return r;
	}
}

/* ---- numbers and words ---- */

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

/* ---- keys ---- */

static uint32_t hash_of(const struct checker *c, const char *p, size_t len)
{
	uint64_t h = c->seed ^ len, w;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0x9fb21c651e98df25ULL;
		h ^= h >> 32;
	}
	w = 0;
	memcpy(&w, p, len);
	h = (h ^ w) * 0x9fb21c651e98df25ULL;
	return (uint32_t)(h ^ (h >> 29) ^ (h >> 47));
}

static struct span raw_key(const struct checker *c, const struct key_ref *k)
{
	return span_make(c->start + k->at, k->len);
}

/* Two keys are one when they decode to the same text, however they are written. */
static bool same_key(const struct checker *c, const struct key_ref *a, const struct key_ref *b)
{
	if (a->hash != b->hash)
		return false;
	if (!a->escaped && !b->escaped)
		return span_eq(raw_key(c, a), raw_key(c, b));
	auto_buf x = BUF_MAX(a->len), y = BUF_MAX(b->len);
	json_unescape(raw_key(c, a), &x);
	json_unescape(raw_key(c, b), &y);
	return span_eq(buf_span(&x), buf_span(&y));
}

/* The usual escapes, of a quote and of a backslash, into `out`, which has room; false for others.
 */
static bool unescape_plainly(const char *p, size_t len, char *out, size_t *ret_len)
{
	size_t n = 0;
	for (size_t i = 0; i < len; i++) {
		if (p[i] == '\\' && p[++i] != '"' && p[i] != '\\')
			return false;
		out[n++] = p[i];
	}
	*ret_len = n;
	return true;
}

static uint32_t hash_key(const struct checker *c, const struct key_ref *k)
{
	char plain[256];
	size_t len;

	if (!k->escaped)
		return hash_of(c, c->start + k->at, k->len);
	if (k->len <= sizeof(plain) && unescape_plainly(c->start + k->at, k->len, plain, &len))
		return hash_of(c, plain, len);
	auto_buf text = BUF_MAX(k->len);
	json_unescape(raw_key(c, k), &text);
	return hash_of(c, buf_span(&text).ptr, text.len);
}

/* Of a key without escapes: its length and its first and last bytes. */
static uint32_t tag_of(const char *p, size_t len)
{
	uint32_t head = 0, tail = 0;

	if (len >= 4) {
		memcpy(&head, p, 4);
		memcpy(&tail, p + len - 4, 4);
	} else {
		memcpy(&head, p, len);
	}
	return head ^ (tail << 7 | tail >> 25) ^ (uint32_t)len;
}

static int duplicate(const struct checker *c, const struct key_ref *k)
{
	struct span key = raw_key(c, k);

	return err_set(c->reterr, ERR_BAD_REQUEST,
		       "invalid JSON at offset %zu: duplicate key \"%.*s\"", (size_t)k->at,
		       (int)(key.len < 80 ? key.len : 80), key.ptr);
}

static int note_small(struct checker *c, const struct key_set *set, struct key_ref *k)
{
	k->hash = tag_of(c->start + k->at, k->len);
	for (size_t i = set->first; i < c->keys.len && !c->allow_duplicates; i++)
		if (same_key(c, k, &c->keys.items[i]))
			return duplicate(c, k);
	vec_push(&c->keys, *k);
	return 0;
}

static void link_key(struct checker *c, size_t i)
{
	uint32_t *bucket = &c->buckets[c->keys.items[i].hash % N_BUCKETS];

	c->keys.items[i].next = *bucket;
	*bucket = (uint32_t)i + 1;
}

static void widen(struct checker *c, struct key_set *set)
{
	if (!c->has_buckets)
		memset(c->buckets, 0, sizeof(c->buckets));
	c->has_buckets = set->wide = true;
	for (size_t i = set->first; i < c->keys.len; i++) {
		c->keys.items[i].hash = hash_key(c, &c->keys.items[i]);
		link_key(c, i);
	}
}

static int note_wide(struct checker *c, const struct key_set *set, struct key_ref *k)
{
	k->hash = hash_key(c, k);
	for (size_t i = c->buckets[k->hash % N_BUCKETS]; i > set->first && !c->allow_duplicates;
	     i = c->keys.items[i - 1].next)
		if (same_key(c, k, &c->keys.items[i - 1]))
			return duplicate(c, k);
	vec_push(&c->keys, *k);
	link_key(c, c->keys.len - 1);
	return 0;
}

static int note_key(struct checker *c, struct key_set *set, const char *at, size_t len,
		    bool escaped)
{
	size_t n = c->keys.len - set->first;
	struct key_ref k = {
	    .at = (uint32_t)(at - c->start),
	    .len = (uint32_t)len,
	    .escaped = escaped,
	};
	if (n >= JSON_MAX_KEYS)
		return fail(c, "more than 10000 keys in one object");
	if (!set->wide && n < SMALL && !escaped)
		return note_small(c, set, &k);
	if (!set->wide)
		widen(c, set);
	return note_wide(c, set, &k);
}

static void forget_keys(struct checker *c, const struct key_set *set)
{
	if (!set->wide)
		c->keys.len = set->first;
	while (c->keys.len > set->first) {
		const struct key_ref *k = &c->keys.items[--c->keys.len];
		c->buckets[k->hash % N_BUCKETS] = k->next;
	}
}

/* ---- values ---- */

static int check_value(struct checker *c);

static int check_member(struct checker *c, struct key_set *keys)
{
	skip_space(c);
	if (c->p >= c->end || *c->p != '"')
		return fail(c, "expected a key");
	const char *key = c->p + 1;
	bool escaped = false;
	int r = check_string(c, &escaped);
	if (r == 0)
		r = note_key(c, keys, key, (size_t)(c->p - 1 - key), escaped);
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
	struct key_set keys = {.first = c->keys.len};

	if (++c->depth > c->max_depth)
		return fail(c, "nested too deeply");
	c->p++;
	skip_space(c);
	if (c->p < c->end && *c->p == close)
		goto done;
	for (;;) {
		int r;
		if (object) {
			r = check_member(c, &keys);
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
	forget_keys(c, &keys);
	c->depth--;
	return 0;
}

static int check_value(struct checker *c)
{
	bool escaped;
	if (c->p >= c->end)
		return fail(c, "unexpected end");
	switch (*c->p) {
	case '{':
		return check_container(c, true);
	case '[':
		return check_container(c, false);
	case '"':
		return check_string(c, &escaped);
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
	struct checker c;

	memset(&c, 0,
	       offsetof(struct checker, buckets)); /* those are set up when they are needed */
	c.max_depth = limits && limits->max_depth ? limits->max_depth : JSON_MAX_DEPTH;
	c.allow_duplicates = limits && limits->allow_duplicates;
	c.reterr = reterr;
	if (text.len > max || text.len > UINT32_MAX)
		return err_set(reterr, ERR_TOO_LARGE, "JSON of %zu bytes is over the limit of %zu",
			       text.len, max);
	if (!text.ptr)
		text = SPAN("");
	c.start = c.p = text.ptr;
	c.end = text.ptr + text.len;
	c.seed = (uint64_t)(uintptr_t)&c * 0x9e3779b97f4a7c15ULL;
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
