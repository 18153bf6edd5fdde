#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

void buf_done(struct buf *b)
{
	size_t max = b->max;
	free(b->ptr);
	*b = (struct buf){.max = max};
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->ptr)
		b->ptr[0] = '\0';
}

char *buf_reserve(struct buf *b, size_t n)
{
	size_t max = b->max ? b->max : BUF_DEFAULT_MAX;
	if (b->failed || n > max || b->len > max - n) {
		b->failed = true;
		return NULL;
	}
	size_t need = b->len + n + 1;
	if (need > b->cap) {
		size_t cap = b->cap ? b->cap : 64;
		while (cap < need)
			cap += cap / 2 + 64;
		b->ptr = xrealloc(b->ptr, cap);
		b->cap = cap;
	}
	return b->ptr + b->len;
}

void buf_advance(struct buf *b, size_t n)
{
	assert(b->len + n < b->cap);
	b->len += n;
	b->ptr[b->len] = '\0';
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
	char *at = buf_reserve(b, n);
	if (!at)
		return;
	if (n)
		memcpy(at, bytes, n);
	buf_advance(b, n);
}

void buf_add_span(struct buf *b, struct span s)
{
	buf_add(b, s.ptr, s.len);
}

void buf_add_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_add_char(struct buf *b, char c)
{
	/* Printers live on this: no call when there is room. */
	if (!b->failed && b->len + 1 < b->cap && b->len < (b->max ? b->max : BUF_DEFAULT_MAX)) {
		b->ptr[b->len++] = c;
		b->ptr[b->len] = '\0';
		return;
	}
	buf_add(b, &c, 1);
}

void buf_add_u64(struct buf *b, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	buf_add(b, digits + at, sizeof(digits) - at);
}

void buf_add_i64(struct buf *b, int64_t v)
{
	if (v < 0)
		buf_add_char(b, '-');
	buf_add_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* ---- formatting ---- */

struct args {
	va_list list;
};

/* %d, %u and %lld with their kin; `longs` counts l and z. */
static bool add_number(struct buf *b, char what, int longs, struct args *a)
{
	if (what != 'd' && what != 'u')
		return false;
	if (what == 'd')
		buf_add_i64(b, longs > 1   ? va_arg(a->list, long long)
			       : longs > 0 ? va_arg(a->list, long)
					   : va_arg(a->list, int));
	else
		buf_add_u64(b, longs > 1   ? va_arg(a->list, unsigned long long)
			       : longs > 0 ? va_arg(a->list, unsigned long)
					   : va_arg(a->list, unsigned));
	return true;
}

static void add_text(struct buf *b, const char *s, int most)
{
	if (most < 0)
		buf_add_str(b, s ? s : "(null)");
	else if (most > 0)
		buf_add(b, s, strnlen(s, (size_t)most));
}

/* One directive at *fmt, behind its '%'. */
static bool add_directive(struct buf *b, const char **fmt, struct args *a)
{
	const char *p = *fmt;
	int longs = 0;

	if (*p == 's') {
		add_text(b, va_arg(a->list, const char *), -1);
	} else if (strncmp(p, ".*s", 3) == 0) {
		int most = va_arg(a->list, int);
		add_text(b, va_arg(a->list, const char *), most);
		p += 2;
	} else {
		for (; *p == 'l' || *p == 'z'; p++)
			longs++;
		if (!add_number(b, *p, longs, a))
			return false;
	}
	*fmt = p + 1;
	return true;
}

/* What keys and objects are made of, at a tenth of printf()'s price. False at any directive that is
 * not of these. */
static bool add_simply(struct buf *b, const char *fmt, struct args *a)
{
	for (;;) {
		const char *stop = strchrnul(fmt, '%');
		buf_add(b, fmt, (size_t)(stop - fmt));
		if (!*stop)
			return true;
		fmt = stop + 1;
		if (!add_directive(b, &fmt, a))
			return false;
	}
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	struct args args;
	va_list ap;
	char small[256];
	size_t before = b->len;
	bool failed = b->failed;

	va_start(args.list, fmt);
	bool done = add_simply(b, fmt, &args);
	va_end(args.list);
	if (done && !b->failed)
		return;
	/* From the start again: a failure adds nothing. */
	b->len = before;
	if (b->ptr)
		b->ptr[before] = '\0';
	if (done)
		return;
	b->failed = failed;
	va_start(ap, fmt);
	int n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	if ((size_t)n < sizeof(small)) {
		buf_add(b, small, (size_t)n);
		return;
	}
	char *at = buf_reserve(b, (size_t)n);
	if (!at)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(at, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_advance(b, (size_t)n);
}

static bool json_plain(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\';
}

/* How many of the first bytes need no escape. */
static size_t plain_prefix(struct span s)
{
	size_t n = 0;
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
	const __m128i last_control = _mm_set1_epi8(0x1f);
	for (; s.len - n >= 16; n += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(s.ptr + n));
		__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, last_control), v);
		int stop = _mm_movemask_epi8(_mm_or_si128(
		    control, _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash))));
		if (stop)
			return n + (size_t)__builtin_ctz((unsigned)stop);
	}
#endif
	while (n < s.len && json_plain((unsigned char)s.ptr[n]))
		n++;
	return n;
}

static void add_escaped(struct buf *b, unsigned char c)
{
	if (c == '"' || c == '\\') {
		char two[2] = {'\\', (char)c};
		buf_add(b, two, 2);
	} else if (c == '\n') {
		buf_add_str(b, "\\n");
	} else if (c == '\t') {
		buf_add_str(b, "\\t");
	} else if (c == '\r') {
		buf_add_str(b, "\\r");
	} else {
		buf_addf(b, "\\u%04x", c);
	}
}

void buf_add_json_str(struct buf *b, struct span s)
{
	if (!s.ptr)
		s = SPAN("");
	size_t plain = plain_prefix(s);
	char *at = buf_reserve(b, plain + 2);
	if (!at)
		return;
	at[0] = '"';
	if (plain)
		memcpy(at + 1, s.ptr, plain);
	at[plain + 1] = '"';
	/* Mostly that was all; else the closing quote is written over. */
	buf_advance(b, plain + (plain == s.len ? 2 : 1));
	if (plain == s.len)
		return;
	for (size_t i = plain; i < s.len; i++) {
		size_t from = i;
		while (i < s.len && json_plain((unsigned char)s.ptr[i]))
			i++;
		buf_add(b, s.ptr + from, i - from);
		if (i < s.len)
			add_escaped(b, (unsigned char)s.ptr[i]);
	}
	buf_add_char(b, '"');
}

char *buf_steal(struct buf *b, size_t *ret_len)
{
	if (b->failed) {
		buf_done(b);
		return NULL;
	}
	char *p = b->ptr ? b->ptr : xstrdup("");
	if (ret_len)
		*ret_len = b->len;
	*b = (struct buf){.max = b->max};
	return p;
}
