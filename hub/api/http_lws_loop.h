#ifndef API_HTTP_LWS_LOOP_H
#define API_HTTP_LWS_LOOP_H
/*
 * Changes of what a socket waits for without taking it out of epoll (http_lws_loop.c says how, and
 * why there). Any thread.
 */
#include <stdbool.h>
#include <uv.h>

/* Tries out, on a loop and sockets of its own, whether a handle that `start` starts can be changed
 * in place: `start` is libuv's uv_poll_start. False: it must not be done. */
bool http_lws_loop_works(int (*start)(uv_poll_t *, int, uv_poll_cb));

#endif
