#ifndef BASE_SPAN_H
#define BASE_SPAN_H
/*
 * A borrowed run of bytes: pointer and length, never owned, not NUL-terminated.
 *
 * A span lives as long as the memory it points into: a row of a store for the read transaction,
 * an arena's bytes until its reset, a literal for ever. An absent value is {NULL, 0}; an empty
 * string has a pointer and length 0.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
	const char *ptr;
	size_t len;
};

#define SPAN(literal) ((struct span){("" literal ""), sizeof(literal) - 1})
#define SPAN_NONE     ((struct span){NULL, 0})
/* For printf: printf("%.*s", SPAN_ARGS(s)). */
#define SPAN_ARGS(s) (int)(s).len, ((s).ptr ? (s).ptr : "")

/* The span over a NUL-terminated string; NULL gives an absent span. */
static inline struct span span_of(const char *s)
{
	return (struct span){s, s ? strlen(s) : 0};
}

static inline struct span span_make(const char *ptr, size_t len)
{
	return (struct span){ptr, len};
}

static inline bool span_eq(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool span_is(struct span a, const char *s)
{
	return span_eq(a, span_of(s));
}

static inline bool span_starts(struct span a, struct span prefix)
{
	return a.len >= prefix.len &&
	       (prefix.len == 0 || memcmp(a.ptr, prefix.ptr, prefix.len) == 0);
}

static inline bool span_ends(struct span a, struct span suffix)
{
	return a.len >= suffix.len &&
	       (suffix.len == 0 || memcmp(a.ptr + a.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

/* Byte order, shorter first on a common prefix: negative, 0 or positive as memcmp. */
static inline int span_cmp(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
	return c ? c : (a.len > b.len) - (a.len < b.len);
}

/* Splits at the first `sep`: returns what stands before it and leaves the rest in `*rest`
 * (absent when there was no separator). An absent `*rest` returns an absent span. */
static inline struct span span_split(struct span *rest, char sep)
{
	struct span head = *rest;
	const char *at = rest->len ? memchr(rest->ptr, sep, rest->len) : NULL;
	if (!at) {
		*rest = SPAN_NONE;
		return head;
	}
	head.len = (size_t)(at - head.ptr);
	*rest = (struct span){at + 1, rest->len - head.len - 1};
	return head;
}

#endif
