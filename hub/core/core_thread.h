#ifndef CORE_CORE_THREAD_H
#define CORE_CORE_THREAD_H
/*
 * What stands behind the public handle: the core thread's own state, and what other threads may
 * touch of it. Private to core.c and turn.c.
 */
#include "core/state.h"

#include <pthread.h>
#include <stdatomic.h>

struct core_thread {
	struct core core; /* first */
	pthread_t thread;
	bool running;
	atomic_bool stop, failed;
	_Atomic usec keep_finished;
	pthread_t main_thread;
	int (*proxy)(void *arg, struct relay *r, struct err *reterr);
	void *proxy_arg;
	const char *version;
	usec (*clock)(void *arg);
	void *clock_arg;
};

static inline struct core_thread *core_thread_of(const struct core *c)
{
	return (struct core_thread *)(uintptr_t)c;
}

/* UTC, from the clock that the core was given. */
static inline usec core_thread_now(const struct core *c)
{
	const struct core_thread *t = core_thread_of(c);
	return t->clock ? t->clock(t->clock_arg) : clock_now();
}

#endif
