#ifndef TESTS_BENCH_HTTP_FLOOR_H
#define TESTS_BENCH_HTTP_FLOOR_H
/*
 * What libwebsockets does by itself: an HTTPS server of one thread on a libuv loop, with the
 * options of hub/api and a handler that does nothing. GET /N is answered with N bytes, up to 32 KiB
 * in one write together with the header block, more in pieces of 64 KiB: the floor for a GET and
 * for a LIST.
 */

/* Serves for ever on a free port of 127.0.0.1, which it writes as an int to ready_fd. Returns only
 * when it cannot start. */
void http_floor_serve(const char *cert_file, const char *key_file, int ready_fd);

#endif
