#include "base/compat.h"

#include <errno.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_socket_stays_in_epoll_when_its_events_change),
	    cmocka_unit_test(an_event_that_is_not_wanted_any_more_is_not_told),
	    cmocka_unit_test(a_handle_that_was_stopped_starts_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
