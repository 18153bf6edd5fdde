#ifndef TESTS_BENCH_HTTP_DOWNLOAD_H
#define TESTS_BENCH_HTTP_DOWNLOAD_H
/*
 * Blocking HTTPS clients that throw away what they read: one large answer, timed; and many
 * connections that each hold an open watch, unread or followed by one thread.
 */
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_download {
	int port; /* on 127.0.0.1 */
	const char *path, *token;
	/* Called about every MiB; or NULL. */
	void (*progress)(void *arg);
	void *arg;
};

struct http_download_result {
	size_t bytes;	/* with header block and chunk framing */
	double seconds; /* from the request to the last byte, the handshake not counted */
};

/* -EPROTO for an answer other than 200 or a body that is cut. */
int http_download(const struct http_download *d, struct http_download_result *ret,
		  struct err *reterr) MUST_CHECK;

/* n connections, each with a GET whose answer's header block has come; they stay open and
 * unread. */
struct http_crowd;
int http_crowd_open(const struct http_download *d, size_t n, struct http_crowd **ret,
		    struct err *reterr) MUST_CHECK;
/* Lets `seconds` pass; -EAGAIN as soon as one of the connections is cut. */
int http_crowd_stay(struct http_crowd *c, int seconds, struct err *reterr) MUST_CHECK;

/* What a crowd has read. An event is a piece of text with `"due":"N"` in it: when it was meant to
 * happen, in nanoseconds of bench_now_ns(). */
struct http_crowd_count {
	_Atomic uint64_t events, bytes;
	/* Bytes before the due of the event that was counted last, on a crowd of one connection:
	 * between two of them are as many bytes as an event has. */
	_Atomic uint64_t last_at;
	double *lags; /* seconds between due and read, of the first max_lags events; borrowed */
	size_t max_lags, n_lags;
	_Atomic bool stop; /* the follower returns soon */
};

/* Reads from all connections until stop; ERR_UNAVAILABLE as soon as one of them is cut. */
int http_crowd_follow(struct http_crowd *c, struct http_crowd_count *count,
		      struct err *reterr) MUST_CHECK;
struct http_crowd *http_crowd_close(struct http_crowd *c); /* NULL is fine; returns NULL */

#endif
