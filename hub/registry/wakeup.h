#ifndef REGISTRY_WAKEUP_H
#define REGISTRY_WAKEUP_H
/*
 * The one thing a core thread sleeps on: an eventfd that any thread may ring.
 *
 * Several queues may share one. Rings between two waits count once, and only the first of them
 * costs a system call. wakeup_wait() must be followed by a look at every queue.
 */
#include "base/clock.h"
#include "base/compat.h"
#include "base/err.h"
#include <stdbool.h>

struct wakeup;

int wakeup_create(struct wakeup **ret, struct err *reterr) MUST_CHECK;
struct wakeup *wakeup_destroy(struct wakeup *w); /* NULL is fine; returns NULL */
/* Any thread; async-signal-safe. */
void wakeup_ring(struct wakeup *w);
/* Sleeps until rung, or until clock_monotonic() reaches `until` (INT64_MAX: for ever). True when
 * it was rung. One thread. */
bool wakeup_wait(struct wakeup *w, usec until);

#endif
