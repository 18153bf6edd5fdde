#ifndef MEMBER_SYNC_MULTI_LOOP_H
#define MEMBER_SYNC_MULTI_LOOP_H
/*
 * One libcurl multi handle driven by a libuv loop: a uv_poll per socket and one uv_timer, through
 * curl_multi_socket_action() (curl_multi_poll walks every handle at each wake and burns a core at
 * 1,000 watches: libraries.md section 4).
 *
 * libuv takes two system calls to poll a socket for something else, and libcurl changes its mind
 * several times a request. So what it wants is told to libuv once a turn of the loop, before the
 * loop waits; and a socket of which libcurl wants nothing for now, an idle connection, stays polled
 * for reading until something comes. For that libcurl's owner must say which sockets it opens and
 * closes (multi_loop_opened(), multi_loop_closing()); others are let go of at once.
 *
 * finished() is called for every completed transfer, from the loop, never from within a libcurl
 * callback, so it may add and remove handles. The multi handle's connection pool is its owner's
 * alone. Belongs to the loop's thread.
 */
#include "base/err.h"
#include <curl/curl.h>
#include <stdbool.h>
#include <uv.h>

struct multi_loop;

struct multi_loop_ops {
	/* The transfer is complete; `easy` is still added. */
	void (*finished)(void *arg, CURL *easy, CURLcode result);
};

/* ERR_INTERNAL when libcurl refuses. `ops` and `arg` are borrowed. */
int multi_loop_create(uv_loop_t *loop, const struct multi_loop_ops *ops, void *arg,
		      struct multi_loop **ret, struct err *reterr) MUST_CHECK;

/* Every easy handle must have been removed. Closes the connections; the memory follows when the
 * loop has run once more. NULL is fine; returns NULL. */
struct multi_loop *multi_loop_destroy(struct multi_loop *m);

CURLM *multi_loop_handle(struct multi_loop *m);

/* The owner's socket functions (CURLOPT_OPENSOCKETFUNCTION, CURLOPT_CLOSESOCKETFUNCTION): a socket
 * of this multi handle was opened, is about to be closed. */
void multi_loop_opened(struct multi_loop *m, curl_socket_t fd);
void multi_loop_closing(struct multi_loop *m, curl_socket_t fd);

/* After something was done outside of a callback that may have completed transfers
 * (curl_easy_pause): reports them from the loop soon. */
void multi_loop_poke(struct multi_loop *m);

#endif
