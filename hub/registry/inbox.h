#ifndef REGISTRY_INBOX_H
#define REGISTRY_INBOX_H
/*
 * The door of a core thread: a bounded queue of commands, and the list of those who are told
 * of commits. Together they are a struct backend for an API front.
 *
 * Senders are any threads; taking and publishing is the core thread's. A full queue refuses
 * (ERR_TOO_MANY) and does not take the command. Order is kept.
 */
#include "base/err.h"
#include "registry/wakeup.h"
#include "wire/backend.h"

struct inbox;

#define INBOX_MAX_COMMANDS 10000 /* DESIGN section 2 */
#define INBOX_MAX_BYTES	   ((size_t)64 << 20)

struct inbox_options {
	const struct kind_set *kinds; /* these five are what the backend shows */
	struct kind_source *source;
	struct store *truth, *mirror;
	const char *version;
	struct wakeup *wakeup; /* borrowed; rung when a command comes */
	size_t max_commands;   /* 0: INBOX_MAX_COMMANDS */
	size_t max_bytes;      /* 0: INBOX_MAX_BYTES */
	bool runs_pods;	       /* as in the backend */
	/* What backend->ops->proxy calls; NULL: nobody answers relays, the op is NULL. */
	int (*proxy)(void *arg, struct relay *r, struct err *reterr);
	void *proxy_arg;
};

struct inbox *inbox_create(const struct inbox_options *o);
/* Commands still inside are answered as by inbox_end(). NULL is fine; returns NULL. */
struct inbox *inbox_destroy(struct inbox *in);
struct backend *inbox_backend(struct inbox *in); /* borrowed */

/* What backend->ops->submit does. Any thread. ERR_TOO_MANY, or ERR_UNAVAILABLE after
 * inbox_shut(). */
int inbox_submit(struct inbox *in, struct command *take_command, struct err *reterr) MUST_CHECK;
/* No new commands from now on; those inside may still be taken. Any thread. */
void inbox_shut(struct inbox *in);

/* Shuts it, and answers what is inside ERR_UNAVAILABLE: for a core thread that ends before it took
 * everything, so that no front waits for it. Core thread. */
void inbox_end(struct inbox *in);

/* The oldest command, or NULL. Core thread. */
struct command *inbox_take(struct inbox *in);
/* Puts a command back to be the next one taken (registry_execute: -EINPROGRESS). Core thread. */
void inbox_untake(struct inbox *in, struct command *c);
bool inbox_is_empty(struct inbox *in);
size_t inbox_depth(struct inbox *in); /* for metrics; any thread */

/* Tells every listener that `store` is at `revision` now. Core thread, after a commit. */
void inbox_publish(struct inbox *in, struct store *store, uint64_t revision);

struct registry_batch;
/* Takes commands and executes them until the inbox is empty or the batch is full. */
void inbox_drain(struct inbox *in, struct registry_batch *b);
/* After registry_commit(): publishes the revisions of both stores, then registry_reply(). */
void inbox_release(struct inbox *in, struct registry_batch *b);

#endif
