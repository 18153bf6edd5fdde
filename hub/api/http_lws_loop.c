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
 * Why here, and not by an interface of libwebsockets. Debian's 4.1.6 is built without
 * LWS_WITH_EXTERNAL_POLL: no callback tells of changes of a socket's events (tried: none comes),
 * and lws_service_fd() alone does not know them. An event loop of one's own (event_lib_custom) is
 * not in it yet, and its plugins for event loops stand on its private structures. libev makes such
 * changes lazily by itself, but does not tell when its next timer is due, so that it cannot be a
 * guest of libuv, whose loop everything else here needs.
 *
 * What it stands on: struct uv__io_t, which is in libuv's installed header since callers allocate
 * it, so that its layout is fixed within 1.x; and what libuv does with three of its fields, which
 * is not said anywhere: a watcher whose mask changed is on a circular list of the loop, each link
 * being next and previous, and its `pevents` go to epoll before the next wait. The first change in
 * the program tries this out on a loop of its own (http_lws_loop_works). Where it is found to be
 * otherwise, every call goes to libuv as it is.
 *
 * _lws_log(): called for every debug line although the log is off (lws_set_log_level(0)).
 */
#include "api/http_lws_loop.h"

#include "api/http_lws.h"
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

typedef int (*poll_start_fn)(uv_poll_t *, int, uv_poll_cb);

/* libuv's own; looked up each time that it is needed, which is when a socket comes. */
static int start_anew(uv_poll_t *handle, int events, uv_poll_cb cb)
{
	void *found = dlsym(RTLD_NEXT, "uv_poll_start");
	poll_start_fn real;
	memcpy(&real, &found, sizeof(real));
	return real ? real(handle, events, cb) : UV_ENOSYS;
}

/* Puts the watcher on the list of those whose mask changed. */
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

static void set_mask(uv_poll_t *handle, unsigned wanted)
{
	if (handle->io_watcher.pevents == wanted)
		return;
	handle->io_watcher.pevents = wanted;
	change_later(handle->loop, &handle->io_watcher);
}

/* ---- the trial ---- */

struct trial {
	uv_loop_t loop;
	uv_poll_t poll;
	int fds[2];
	int events; /* that were told */
	poll_start_fn start;
};

static void on_trial(uv_poll_t *poll, int status, int events)
{
	struct trial *t = poll->data;
	t->events |= status < 0 ? -1 : events;
}

static int events_of_a_turn(struct trial *t)
{
	t->events = 0;
	(void)uv_run(&t->loop, UV_RUN_NOWAIT);
	return t->events;
}

/* Whether libuv's start of a handle leaves it where a change of ours is going to put it. */
static bool starts_as_expected(struct trial *t)
{
	void **all = (void **)(void *)&t->loop.watcher_queue;
	void **own = (void **)(void *)&t->poll.io_watcher.watcher_queue;
	if (own[0] != own || own[1] != own)
		return false;
	if (t->start(&t->poll, UV_READABLE, on_trial) < 0)
		return false;
	return t->poll.io_watcher.pevents == POLLIN && t->poll.poll_cb == on_trial &&
	       own[0] == all && all[1] == own && ((void **)own[1])[0] == own;
}

/* Nothing to read: only a change to "writable" is told, and only until it is taken back. */
static bool changes_as_expected(struct trial *t)
{
	void **own = (void **)(void *)&t->poll.io_watcher.watcher_queue;
	if (events_of_a_turn(t) || own[0] != own)
		return false;
	set_mask(&t->poll, POLLIN | POLLOUT);
	if (events_of_a_turn(t) != UV_WRITABLE || own[0] != own)
		return false;
	set_mask(&t->poll, POLLIN);
	if (events_of_a_turn(t) || write(t->fds[1], "x", 1) != 1)
		return false;
	return events_of_a_turn(t) == UV_READABLE;
}

bool http_lws_loop_works(int (*start)(uv_poll_t *, int, uv_poll_cb))
{
	struct trial t = {.start = start};
	bool works = false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, t.fds) < 0)
		return false;
	if (uv_loop_init(&t.loop) == 0) {
		if (uv_poll_init(&t.loop, &t.poll, t.fds[0]) == 0) {
			t.poll.data = &t;
			works = starts_as_expected(&t) && changes_as_expected(&t);
			uv_close((uv_handle_t *)&t.poll, NULL);
		}
		(void)uv_run(&t.loop, UV_RUN_DEFAULT);
		(void)uv_loop_close(&t.loop);
	}
	close(t.fds[0]);
	close(t.fds[1]);
	return works;
}

/* ---- what stands before libuv's ---- */

/* A fact about the library that this process has loaded, found out once. */
static pthread_once_t tried = PTHREAD_ONCE_INIT;
static bool works;

static void try_out(void)
{
	works = http_lws_loop_works(start_anew);
}

int uv_poll_start(uv_poll_t *handle, int events, uv_poll_cb cb)
{
	unsigned wanted =
	    (events & UV_READABLE ? POLLIN : 0) | (events & UV_WRITABLE ? POLLOUT : 0);
	if (!uv_is_active((const uv_handle_t *)handle) || !wanted ||
	    (events & ~(UV_READABLE | UV_WRITABLE)))
		return start_anew(handle, events, cb);
	(void)pthread_once(&tried, try_out);
	if (!works || !handle->io_watcher.pevents)
		return start_anew(handle, events, cb);
	handle->poll_cb = cb;
	set_mask(handle, wanted);
	return 0;
}

void _lws_log(int filter, const char *format, ...)
{
	(void)filter;
	(void)format;
}
