#ifndef API_TASK_H
#define API_TASK_H
/*
 * Work that moves between threads: a pool of workers, and the mailbox of a loop.
 *
 * A task is embedded in what it works on and is in one queue at a time; whoever runs it may put
 * it into another. Order is kept in both.
 */
#include "base/err.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

struct task {
	struct task *next;
	void (*run)(struct task *self);
};

/* ---- workers ---- */

struct workers;
int workers_create(int n, struct workers **ret, struct err *reterr) MUST_CHECK;
/* Runs what is queued, then joins. NULL is fine; returns NULL. */
struct workers *workers_destroy(struct workers *w);
/* Any thread. */
void workers_submit(struct workers *w, struct task *t);

/* ---- mailbox ---- */

/* Tasks posted from any thread run on the loop's thread, in order of posting per thread. */
struct mailbox {
	_Atomic(struct task *) head; /* newest first */
	uv_async_t async;
};
int mailbox_open(struct mailbox *m, uv_loop_t *loop) MUST_CHECK;
void mailbox_post(struct mailbox *m, struct task *t); /* any thread */
bool mailbox_is_empty(const struct mailbox *m);
/* Runs what is there now; loop's thread. */
void mailbox_drain(struct mailbox *m);
/* The handle closes in a later turn of the loop. Nothing may be posted any more. */
void mailbox_close(struct mailbox *m);

#endif
