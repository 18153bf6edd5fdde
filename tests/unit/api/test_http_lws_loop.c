#include "api/http_lws_loop.h"
#include "base/compat.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

struct pair {
	uv_loop_t loop;
	uv_poll_t poll;
	int fds[2], events, calls;
};

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct pair *p = poll->data;
	assert_int_equal(status, 0);
	p->events |= events;
	p->calls++;
}

static void pair_open(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p->fds), 0);
	assert_int_equal(uv_loop_init(&p->loop), 0);
	assert_int_equal(uv_poll_init(&p->loop, &p->poll, p->fds[0]), 0);
	p->poll.data = p;
}

static void pair_close(struct pair *p)
{
	uv_close((uv_handle_t *)&p->poll, NULL);
	(void)uv_run(&p->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&p->loop), 0);
	close(p->fds[0]);
	close(p->fds[1]);
}

/* What epoll waits for on the socket, as the kernel tells; -1: it is not there. */
static int mask_of(const struct pair *p)
{
	char path[64], line[256];
	int fd, mask = -1;
	unsigned events;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", uv_backend_fd(&p->loop));
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "tfd: %d events: %x", &fd, &events) == 2 && fd == p->fds[0])
			mask = (int)(events & 5); /* EPOLLIN | EPOLLOUT */
	fclose(f);
	return mask;
}

static void a_socket_stays_in_epoll_when_its_events_change(void **state)
{
	struct pair p;
	(void)state;
	pair_open(&p);
	assert_int_equal(uv_poll_start(&p.poll, UV_READABLE, on_poll), 0);
	(void)uv_run(&p.loop, UV_RUN_NOWAIT);
	assert_int_equal(mask_of(&p), 1);
	assert_int_equal(uv_poll_start(&p.poll, UV_READABLE | UV_WRITABLE, on_poll), 0);
	assert_int_equal(mask_of(&p), 1); /* libuv by itself would have taken it out */
	(void)uv_run(&p.loop, UV_RUN_NOWAIT);
	assert_int_equal(mask_of(&p), 5);
	assert_int_equal(p.events, UV_WRITABLE);
	pair_close(&p);
}

static void an_event_that_is_not_wanted_any_more_is_not_told(void **state)
{
	struct pair p;
	(void)state;
	pair_open(&p);
	assert_int_equal(uv_poll_start(&p.poll, UV_READABLE | UV_WRITABLE, on_poll), 0);
	(void)uv_run(&p.loop, UV_RUN_NOWAIT);
	assert_int_equal(p.events, UV_WRITABLE);
	p.events = p.calls = 0;
	assert_int_equal(uv_poll_start(&p.poll, UV_READABLE, on_poll), 0);
	(void)uv_run(&p.loop, UV_RUN_NOWAIT);
	assert_int_equal(p.calls, 0);
	assert_int_equal(write(p.fds[1], "x", 1), 1);
	(void)uv_run(&p.loop, UV_RUN_NOWAIT);
	assert_int_equal(p.events, UV_READABLE);
	pair_close(&p);
}

static void a_handle_that_was_stopped_starts_again(void **state)
{
	struct pair p;
	(void)state;
	pair_open(&p);
	assert_int_equal(uv_poll_start(&p.poll, UV_WRITABLE, on_poll), 0);
	assert_int_equal(uv_poll_start(&p.poll, UV_READABLE, on_poll), 0);
	assert_int_equal(uv_poll_stop(&p.poll), 0);
	assert_int_equal(mask_of(&p), -1);
	assert_int_equal(uv_poll_start(&p.poll, UV_READABLE, on_poll), 0);
	assert_int_equal(write(p.fds[1], "x", 1), 1);
	(void)uv_run(&p.loop, UV_RUN_NOWAIT);
	assert_int_equal(mask_of(&p), 1);
	assert_int_equal(p.events, UV_READABLE);
	assert_int_equal(uv_poll_stop(&p.poll), 0);
	pair_close(&p);
}

/* ---- libraries that are not as expected ---- */

static int start_of_libuv(uv_poll_t *handle, int events, uv_poll_cb cb)
{
	int (*start)(uv_poll_t *, int, uv_poll_cb);
	void *found = dlsym(RTLD_NEXT, "uv_poll_start");
	assert_non_null(found);
	memcpy(&start, &found, sizeof(start));
	return start(handle, events, cb);
}

/* Keeps its watchers on a list of another kind. */
static int start_without_a_list(uv_poll_t *handle, int events, uv_poll_cb cb)
{
	int r = start_of_libuv(handle, events, cb);
	(void)uv_run(handle->loop, UV_RUN_NOWAIT);
	return r;
}

/* Has the mask elsewhere, or in other words. */
static int start_with_another_mask(uv_poll_t *handle, int events, uv_poll_cb cb)
{
	int r = start_of_libuv(handle, events, cb);
	handle->io_watcher.pevents = POLLPRI;
	return r;
}

static int refuse_to_start(uv_poll_t *handle, int events, uv_poll_cb cb)
{
	(void)handle;
	(void)events;
	(void)cb;
	return UV_EINVAL;
}

static void a_library_that_is_not_as_expected_is_left_alone(void **state)
{
	(void)state;
	assert_true(http_lws_loop_works(start_of_libuv));
	assert_false(http_lws_loop_works(start_without_a_list));
	assert_false(http_lws_loop_works(start_with_another_mask));
	assert_false(http_lws_loop_works(refuse_to_start));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_socket_stays_in_epoll_when_its_events_change),
	    cmocka_unit_test(an_event_that_is_not_wanted_any_more_is_not_told),
	    cmocka_unit_test(a_handle_that_was_stopped_starts_again),
	    cmocka_unit_test(a_library_that_is_not_as_expected_is_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
