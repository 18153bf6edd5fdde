#ifndef BASE_BUF_H
#define BASE_BUF_H
/*
 * A growing byte buffer with a maximum chosen by its owner, always NUL-terminated after the
 * content once something was added.
 *
 * A failure (over the maximum) sticks: later additions do nothing and buf_ok() says false, so
 * that callers build straight through and test once. Binary content is fine.
 */
#include "base/compat.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

struct buf {
	char *ptr;
	size_t len;
	size_t cap;
	size_t max; /* greatest content length in bytes; 0 means BUF_DEFAULT_MAX */
	bool failed;
};

/* Enough for the largest object (1.5 MiB) printed with its log row, and then some. */
#define BUF_DEFAULT_MAX ((size_t)16 << 20)

#define BUF_INIT   ((struct buf){0})
#define BUF_MAX(m) ((struct buf){.max = (m)})
#define auto_buf   AUTO(buf_done) struct buf

void buf_done(struct buf *b);  /* frees the content; the struct may be used again */
void buf_clear(struct buf *b); /* empties it, keeps the memory and the maximum */
static inline bool buf_ok(const struct buf *b)
{
	return !b->failed;
}
static inline struct span buf_span(const struct buf *b)
{
	return (struct span){b->ptr ? b->ptr : "", b->len};
}

/* Room for `n` more bytes: a pointer to write at, or NULL over the maximum. Follow with
 * buf_advance(). */
char *buf_reserve(struct buf *b, size_t n);
void buf_advance(struct buf *b, size_t n);

void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_add_span(struct buf *b, struct span s);
void buf_add_str(struct buf *b, const char *s);
void buf_add_char(struct buf *b, char c);
void buf_add_u64(struct buf *b, uint64_t v); /* decimal */
void buf_add_i64(struct buf *b, int64_t v);  /* decimal */
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A JSON string literal with quotes: escapes quote, backslash and control characters; other
 * bytes as they are (callers pass valid UTF-8). */
void buf_add_json_str(struct buf *b, struct span s);

/* Moves the content out: the caller frees it. NULL when it failed; an empty buffer gives "". */
char *buf_steal(struct buf *b, size_t *ret_len);

#endif
