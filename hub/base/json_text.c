/*
 * Readers of checked text: they trust json_check() and test nothing twice.
 */
#include "base/json.h"

#include "base/json_escape.h"
#include "base/num.h"

#include <errno.h>
#include <stdarg.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

/* Bytes of a word that equal c: the lowest mark is exact, those above it may be false. */
static inline uint64_t marks_of(uint64_t w, char c)
{
	const uint64_t ones = 0x0101010101010101ULL, high = 0x8080808080808080ULL;
	uint64_t x = w ^ (ones * (unsigned char)c);
	return (x - ones) & ~x & high;
}

/* The next quote or backslash at or after p: eight bytes at a time. */
static inline const char *string_stop(const char *p, const char *end)
{
	while (end - p >= 8) {
		uint64_t w;
		memcpy(&w, p, 8);
		uint64_t found = marks_of(w, '"') | marks_of(w, '\\');
		if (found) {
			/* The lowest byte of a word comes first only where bytes are counted so. */
			if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
				return p + (__builtin_ctzll(found) >> 3);
			break;
		}
		p += 8;
	}
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

static inline const char *past_string(const char *p, const char *end)
{
	for (p = string_stop(p + 1, end); p < end && *p == '\\';)
		p = end - p > 2 ? string_stop(p + 2, end) : end;
	return p < end ? p + 1 : end;
}

static const char *past_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

#ifdef __SSE2__
#define BLOCK 64

/* One bit per byte of a block. */
struct block_bits {
	uint64_t quotes, slashes, opens, closes;
};

static inline uint64_t spread(const __m128i v[4], char c)
{
	const __m128i want = _mm_set1_epi8(c);
	uint64_t bits = 0;
	for (int i = 0; i < 4; i++)
		bits |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], want))
			<< (16 * i);
	return bits;
}

static inline struct block_bits block_read(const char *p)
{
	const __m128i fold =
	    _mm_set1_epi8(0x20); /* '[' and '{' differ in this bit, ']' and '}' too */
	__m128i v[4], f[4];
	for (int i = 0; i < 4; i++) {
		v[i] = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
		f[i] = _mm_or_si128(v[i], fold);
	}
	return (struct block_bits){spread(v, '"'), spread(v, '\\'), spread(f, '{'), spread(f, '}')};
}

/* Each bit becomes the parity of those at and below it. */
static inline uint64_t prefix_parity(uint64_t x)
{
	for (int shift = 1; shift < BLOCK; shift *= 2)
		x ^= x << shift;
	return x;
}

/* Without the quotes that a backslash escapes. The block begins outside of strings, so none is
 * carried in; one that is carried out is part of the string that goes on. */
static inline uint64_t plain_quotes(const struct block_bits *b)
{
	uint64_t quotes = b->quotes;
	for (uint64_t left = b->slashes; left;) {
		uint64_t slash = left & -left;
		quotes &= ~(slash << 1);
		left &= ~(slash | slash << 1);
	}
	return quotes;
}

/* Reads a container by blocks, counting brackets outside of strings: past its end, or where the
 * bytes must be read one by one for a while: before a string that is longer than a block, or the
 * end of the text. That place is outside of strings; *depth counts on. */
static const char *past_blocks(const char *p, const char *end, int *depth)
{
	while (end - p >= BLOCK) {
		struct block_bits b = block_read(p);
		uint64_t quotes = plain_quotes(&b);
		uint64_t inside = prefix_parity(quotes), used = ~(uint64_t)0;
		size_t n = BLOCK;
		if (inside >> (BLOCK - 1)) { /* stop before the string that goes on */
			n = (size_t)(BLOCK - 1 - __builtin_clzll(quotes));
			if (n == 0)
				break;
			used >>= BLOCK - n;
		}
		used &= ~inside;
		for (uint64_t left = (b.opens | b.closes) & used; left; left &= left - 1) {
			*depth += b.opens & left & -left ? 1 : -1;
			if (*depth == 0)
				return p + __builtin_ctzll(left) + 1;
		}
		p += n;
	}
	return p;
}
#else
static const char *past_blocks(const char *p, const char *end, int *depth)
{
	(void)end;
	(void)depth;
	return p;
}
#endif

static const char *past_container(const char *p, const char *end)
{
	int depth = 1;

	for (p++; p < end;) {
		p = past_blocks(p, end, &depth);
		for (const char *stop = p + 64; depth && p < end && p < stop;) {
			if (*p == '"') {
				p = past_string(p, end);
				continue;
			}
			depth += *p == '{' || *p == '[';
			depth -= *p == '}' || *p == ']';
			p++;
		}
		if (!depth)
			return p;
	}
	return end;
}

static const char *past_value(const char *p, const char *end)
{
	if (p < end && *p == '"')
		return past_string(p, end);
	if (p < end && (*p == '{' || *p == '['))
		return past_container(p, end);
	while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != ' ' && *p != '\n' &&
	       *p != '\t' && *p != '\r')
		p++;
	return p;
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

int json_text_string(struct span v, struct buf *out)
{
	if (v.len < 2 || v.ptr[0] != '"')
		return -EINVAL;
	json_unescape(span_make(v.ptr + 1, v.len - 2), out);
	return 0;
}

int json_text_int64(struct span v, int64_t *ret)
{
	return num_parse_i64(v, INT64_MIN, INT64_MAX, ret);
}
