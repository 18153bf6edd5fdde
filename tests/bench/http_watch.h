#ifndef TESTS_BENCH_HTTP_WATCH_H
#define TESTS_BENCH_HTTP_WATCH_H
/*
 * One blocking HTTPS client: a GET whose body is handed out line by line as it comes, chunked or
 * counted. A watch is such a GET that does not end, read by a thread of its own.
 */
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct http_watch {
	int port; /* on 127.0.0.1 */
	const char *path, *token;
	/* One line without its end, terminated by a zero; false ends the reading. Lines are of at
	 * most 4 MiB. */
	bool (*line)(void *arg, char *line, size_t len);
	void *arg;
};

/* A whole GET: returns when the body ends, or `line` has had enough. -EPROTO for an answer other
 * than 200. */
int http_watch_get(const struct http_watch *w, struct err *reterr) MUST_CHECK;

/* The same on a thread. http_watch_start() returns when the answer's header is there, so that
 * nothing that happens later is missed. */
struct http_watch_thread;
struct http_watch_thread *http_watch_start(const struct http_watch *w, struct err *reterr);
/* Cuts the connection and joins. NULL is fine. */
void http_watch_stop(struct http_watch_thread *t);

#endif
