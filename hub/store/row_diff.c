#include "store/row_diff.h"

static size_t common_prefix(const char *a, const char *b, size_t most)
{
	size_t n = 0;
	while (most - n >= 32 && memcmp(a + n, b + n, 32) == 0)
		n += 32;
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

static size_t common_suffix(const char *a_end, const char *b_end, size_t most)
{
	size_t n = 0;
	while (most - n >= 32 && memcmp(a_end - n - 32, b_end - n - 32, 32) == 0)
		n += 32;
	while (n < most && a_end[-(ptrdiff_t)n - 1] == b_end[-(ptrdiff_t)n - 1])
		n++;
	return n;
}

/* One stretch; *common: bytes that are the same since the last hunk. */
static void compare(struct span a, struct span b, uint32_t *common, struct row_diff *d)
{
	size_t most = a.len < b.len ? a.len : b.len;
	size_t prefix = most ? common_prefix(a.ptr, b.ptr, most) : 0;

	if (prefix == a.len && prefix == b.len) {
		*common += (uint32_t)prefix;
		return;
	}
	most -= prefix;
	size_t suffix = most ? common_suffix(a.ptr + a.len, b.ptr + b.len, most) : 0;
	d->hunks[d->n++] = (struct row_hunk){
	    .skip = *common + (uint32_t)prefix,
	    .old_len = (uint32_t)(a.len - prefix - suffix),
	    .new_len = (uint32_t)(b.len - prefix - suffix),
	};
	*common = (uint32_t)suffix;
}

/* No bytes may have no address. */
static const char *start_of(struct span s)
{
	return s.len ? s.ptr : "";
}

static struct span stretch(struct span s, size_t from, size_t to)
{
	return span_make(start_of(s) + from, to - from);
}

void row_diff(const struct row_side *before, const struct row_side *after, struct row_diff *ret)
{
	const struct store_extent *a = &before->extents.spec, *b = &after->extents.spec;
	uint32_t common = 0;

	*ret = (struct row_diff){0};
	if (a->len == 0 || b->len == 0) {
		compare(before->bare, after->bare, &common, ret);
		return;
	}
	size_t a_end = (size_t)a->at + a->len, b_end = (size_t)b->at + b->len;
	compare(stretch(before->bare, 0, a->at), stretch(after->bare, 0, b->at), &common, ret);
	compare(stretch(before->bare, a->at, a_end), stretch(after->bare, b->at, b_end), &common,
		ret);
	compare(stretch(before->bare, a_end, before->bare.len),
		stretch(after->bare, b_end, after->bare.len), &common, ret);
}

static size_t len_of(const struct row_hunk *h, bool old)
{
	return old ? h->old_len : h->new_len;
}

static size_t sum(const struct row_diff *d, bool old)
{
	size_t n = 0;
	for (uint32_t i = 0; i < d->n; i++)
		n += len_of(&d->hunks[i], old);
	return n;
}

size_t row_diff_old_len(const struct row_diff *d)
{
	return sum(d, true);
}

size_t row_diff_new_len(const struct row_diff *d)
{
	return sum(d, false);
}

bool row_diff_fits(const struct row_diff *d, size_t old_len, size_t new_len)
{
	size_t skipped = 0, olds = sum(d, true), news = sum(d, false);
	for (uint32_t i = 0; i < d->n; i++)
		skipped += d->hunks[i].skip;
	return olds <= old_len && news <= new_len && old_len - olds == new_len - news &&
	       skipped <= old_len - olds;
}

static void take(const struct row_diff *d, bool old, struct span text, char *out)
{
	const char *p = start_of(text);
	for (uint32_t i = 0; i < d->n; i++) {
		size_t n = len_of(&d->hunks[i], old);
		p += d->hunks[i].skip;
		memcpy(out, p, n);
		out += n;
		p += n;
	}
}

void row_diff_take_old(const struct row_diff *d, struct span before, char *out)
{
	take(d, true, before, out);
}

void row_diff_take_new(const struct row_diff *d, struct span after, char *out)
{
	take(d, false, after, out);
}

static void copy(char **out, const char *from, size_t n)
{
	if (n)
		memcpy(*out, from, n);
	*out += n;
}

/* `old`: whether the text that is there is the old one. */
static void change(const struct row_diff *d, bool old, struct span text, struct span put, char *out)
{
	const char *p = start_of(text), *end = p + text.len, *middle = start_of(put);

	for (uint32_t i = 0; i < d->n; i++) {
		const struct row_hunk *h = &d->hunks[i];
		copy(&out, p, h->skip);
		copy(&out, middle, len_of(h, !old));
		middle += len_of(h, !old);
		p += h->skip + len_of(h, old);
	}
	copy(&out, p, (size_t)(end - p));
}

void row_diff_forward(const struct row_diff *d, struct span before, struct span news, char *out)
{
	change(d, true, before, news, out);
}

void row_diff_backward(const struct row_diff *d, struct span after, struct span olds, char *out)
{
	change(d, false, after, olds, out);
}
