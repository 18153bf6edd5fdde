#ifndef TESTS_BENCH_HTTP_LOAD_H
#define TESTS_BENCH_HTTP_LOAD_H
/*
 * A load generator for HTTPS: one thread, epoll, OpenSSL, N keep-alive connections.
 *
 * Closed loop: each connection sends its next request when the answer to the last is there. Open
 * loop (rate > 0): requests have a schedule that is fixed before the run, and a latency counts
 * from the intended time, so a slow server cannot hide behind a waiting generator.
 */
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_load {
	int port;	   /* on 127.0.0.1 */
	const char *token; /* bearer token */
	int connections;
	double seconds;	   /* length of the run; connecting comes before it */
	uint64_t requests; /* ends earlier after so many; 0: no bound */
	double rate;	   /* a second, all connections together; 0: closed loop */
	/* Appends the whole of the n-th request (header block and body), counting from 0. */
	void (*make)(void *arg, uint64_t n, struct buf *out);
	/* Requests below this number may start now; it is asked again each millisecond. NULL: all.
	 */
	uint64_t (*allowed)(void *arg);
	/* The answer to the n-th request: its status code. NULL: nobody asks. */
	void (*answered)(void *arg, uint64_t n, int status);
	/* Ends the run once it is true and no request is under way. NULL: never. */
	bool (*ended)(void *arg);
	void *arg;
};

struct http_load_result {
	uint64_t done, failed; /* answers; of them not 2xx */
	double seconds;
	double *latencies; /* of all answers, in seconds; owned */
	uint64_t bytes_in;
	char first_failure[256]; /* status line and the start of the body */
};

int http_load_run(const struct http_load *l, struct http_load_result *ret,
		  struct err *reterr) MUST_CHECK;
void http_load_done(struct http_load_result *r);
/* The usual header block: method, path, token and length of the body. */
void http_load_head(struct buf *out, const char *method, const char *path, const char *token,
		    size_t body);

#endif
