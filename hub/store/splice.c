#include "store/splice.h"

#include <string.h>

size_t splice_digits(uint64_t revision, char out[STORE_REVISION_TEXT])
{
	char digits[STORE_REVISION_TEXT];
	size_t at = sizeof(digits);

	digits[--at] = '\0';
	do {
		digits[--at] = (char)('0' + revision % 10);
		revision /= 10;
	} while (revision);
	memcpy(out, digits + at, sizeof(digits) - at);
	return sizeof(digits) - 1 - at;
}

static struct store_extent shift(struct store_extent e, uint32_t at, uint32_t n)
{
	if (e.len == 0)
		return (struct store_extent){0, 0};
	if (e.at >= at)
		e.at += n;
	else if (e.at + e.len > at)
		e.len += n;
	return e;
}

struct store_extents splice_shift(const struct store_extents *bare, size_t n)
{
	uint32_t at = bare->revision.at, by = (uint32_t)n;
	return (struct store_extents){
	    .revision = {at, by},
	    .metadata = shift(bare->metadata, at, by),
	    .spec = shift(bare->spec, at, by),
	    .status = shift(bare->status, at, by),
	};
}

static struct store_extent unshift(struct store_extent e, const struct store_extent *digits)
{
	if (e.len == 0)
		return e;
	if (e.at > digits->at)
		e.at -= digits->len;
	else if (e.at + e.len > digits->at)
		e.len -= digits->len;
	return e;
}

struct store_extents splice_unshift(const struct store_extents *full)
{
	const struct store_extent *digits = &full->revision;
	return (struct store_extents){
	    .revision = {digits->at, 0},
	    .metadata = unshift(full->metadata, digits),
	    .spec = unshift(full->spec, digits),
	    .status = unshift(full->status, digits),
	};
}

static bool within(const struct store_extent *e, size_t len)
{
	return e->len == 0 || (e->at <= len && e->len <= len - e->at);
}

bool splice_check(const struct store_extents *bare, size_t len)
{
	return bare->revision.len == 0 && bare->revision.at <= len &&
	       within(&bare->metadata, len) && within(&bare->spec, len) &&
	       within(&bare->status, len);
}

void splice_in(struct span bare, uint32_t at, const char *digits, size_t n, char *out)
{
	if (at)
		memcpy(out, bare.ptr, at);
	if (n)
		memcpy(out + at, digits, n);
	if (bare.len > at)
		memcpy(out + at + n, bare.ptr + at, bare.len - at);
}

void splice_out(struct span json, const struct store_extent *revision, char *out)
{
	size_t after = (size_t)revision->at + revision->len;
	if (revision->at)
		memcpy(out, json.ptr, revision->at);
	if (json.len > after)
		memcpy(out + revision->at, json.ptr + after, json.len - after);
}
