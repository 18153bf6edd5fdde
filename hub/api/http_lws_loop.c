/*
 * Two functions that stand before those of the same name in libuv and libwebsockets, for every
 * caller in the program: the dynamic linker finds the program's own first. Where it does not (a
 * library that was linked statically, or bound to its own symbols) everything works as before, and
 * costs what it did.
 *
 * uv_poll_start(): libwebsockets changes what it waits for four times in a request that is answered
 * at once, and says so again when nothing changes. libuv takes the socket out of epoll each time,
 * and puts it back: six calls of the kernel for a request, a seventh of its price. A change of an
 * active handle is left to the loop's next turn instead, which libuv makes by one EPOLL_CTL_MOD.
 * What a handle that starts, stops or closes needs is libuv's own affair.
 *
 * _lws_log(): called for every debug line although the log is off (lws_set_log_level(0)).
 */
#include "api/http_lws.h"

#include <dlfcn.h>
#include <poll.h>

typedef int (*poll_start_fn)(uv_poll_t *, int, uv_poll_cb);

/* libuv's own; looked up each time that it is needed, which is when a socket comes. */
static int start_anew(uv_poll_t *handle, int events, uv_poll_cb cb)
{
	void *found = dlsym(RTLD_NEXT, "uv_poll_start");
	poll_start_fn real;
	memcpy(&real, &found, sizeof(real));
	return real ? real(handle, events, cb) : UV_ENOSYS;
}

/* Puts the watcher on the list of those whose mask changed: two pointers, next and previous, in
 * every libuv 1.x. */
static void change_later(uv_loop_t *loop, uv__io_t *w)
{
	void **all = (void **)(void *)&loop->watcher_queue,
	     **own = (void **)(void *)&w->watcher_queue;
	if (own[0] != own)
		return; /* it is there already */
	own[0] = all;
	own[1] = all[1];
	((void **)own[1])[0] = own;
	all[1] = own;
}

int uv_poll_start(uv_poll_t *handle, int events, uv_poll_cb cb)
{
	uv__io_t *w = &handle->io_watcher;
	unsigned wanted =
	    (events & UV_READABLE ? POLLIN : 0) | (events & UV_WRITABLE ? POLLOUT : 0);
	if (!uv_is_active((const uv_handle_t *)handle) || !w->pevents || !wanted ||
	    (events & ~(UV_READABLE | UV_WRITABLE)))
		return start_anew(handle, events, cb);
	handle->poll_cb = cb;
	if (w->pevents != wanted) {
		w->pevents = wanted;
		change_later(handle->loop, w);
	}
	return 0;
}

void _lws_log(int filter, const char *format, ...)
{
	(void)filter;
	(void)format;
}
