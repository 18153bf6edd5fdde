#include "registry/wakeup.h"
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct wakeup {
	int fd;
	atomic_bool rung; /* saves the write when nobody has looked since the last ring */
};

int wakeup_create(struct wakeup **ret, struct err *reterr)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return err_set(reterr, ERR_INTERNAL, "eventfd: %s", strerror(errno));
	struct wakeup *w = xcalloc(1, sizeof(*w));
	w->fd = fd;
	*ret = w;
	return 0;
}

struct wakeup *wakeup_destroy(struct wakeup *w)
{
	if (w)
		close(w->fd);
	free(w);
	return NULL;
}

void wakeup_ring(struct wakeup *w)
{
	static const uint64_t one = 1;
	if (!atomic_exchange(&w->rung, true))
		(void)!write(w->fd, &one, sizeof(one));
}

bool wakeup_wait(struct wakeup *w, usec until)
{
	struct pollfd p = {.fd = w->fd, .events = POLLIN};
	for (;;) {
		struct timespec t = {0}, *timeout = NULL;
		if (until != INT64_MAX) {
			usec left = until - clock_monotonic();
			left = left < 0 ? 0 : left;
			t.tv_sec = (time_t)(left / USEC_PER_SEC);
			t.tv_nsec = (long)(left % USEC_PER_SEC) * 1000;
			timeout = &t;
		}
		int n = ppoll(&p, 1, timeout, NULL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		uint64_t count;
		/* Cleared before the caller looks: a ring from now on rings again. */
		(void)!read(w->fd, &count, sizeof(count));
		atomic_store(&w->rung, false);
		return true;
	}
}
