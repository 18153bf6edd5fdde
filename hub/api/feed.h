#ifndef API_FEED_H
#define API_FEED_H
/*
 * The fan-out of one store's watch log to the watchers of one loop (DESIGN section 2, "The watch
 * log"). Belongs to the loop's thread.
 *
 * When a commit is out, the feed reads the new log rows once, in short reads. For each row it
 * finds the watchers by an index on (type, namespace, name), renders the event once for each
 * form that any of them takes, as an immutable counted frame, and queues the frame with them.
 * Those who are told every row of the index's entry in the same form share one frame for all rows
 * of a read. A watcher sends what is queued in few writes.
 *
 * Rounds. A write costs the loop as much as some thousand bytes do, so that events which go out
 * one by one cost several times what they do together. What comes after a pause is told at once;
 * then the feed rests, and what comes meanwhile is told together. The rest grows with the number
 * of watchers that were told something, so that the fixed price of their writes is a part of the
 * loop's time which does not depend on that number; few watchers need none, and FEED_REST_MAX is
 * the longest. A round begins when all of the last one is out: on a loop that is late, rounds
 * become longer, and fewer.
 *
 * Bounds: frames that are queued together at most FEED_MAX_BYTES; beyond it watchers that lag lose
 * their queue and go on from the log, at their own pace. A watcher with more than WATCH_MAX_LAG
 * queued is closed; it may resume from its last revision. Beside its queue a watcher keeps at most
 * one frame, a long one that is on its way out (watch.c).
 */
#include "api/feed_frame.h"
#include "api/task.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/span.h"
#include "kube/selector.h"
#include "store/store.h"
#include <stdint.h>

struct call;
struct feed;
struct feed_group;

#define FEED_MAX_BYTES ((size_t)64 << 20)
#define WATCH_MAX_LAG  ((size_t)4 << 20)

#define FEED_REST_EACH	((usec)30)
#define FEED_REST_LEAST USEC_PER_MS /* a shorter rest is none */
#define FEED_REST_MAX	(50 * USEC_PER_MS)
/* How long a feed rests that told so many watchers something. */
usec feed_rest(size_t n);

enum watch_event { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_BOOKMARK, WATCH_NOTHING };
const char *watch_event_name(enum watch_event e);

/* What this watcher is told of a log row: selectors turn MODIFIED into ADDED and DELETED.
 * reader: where the row was read; scratch: for the old bytes. */
enum watch_event feed_event_for(const struct selector *s, bool needs_old,
				struct store_reader *reader, const struct store_log_row *row,
				struct buf *scratch);
/* Whether the selector looks at more than name and namespace, which never change. */
bool feed_needs_old(const struct selector *s);

/* The part of a watcher that the feed knows; embedded in watch.c's. */
struct feed_watcher {
	struct feed_group *group; /* in the index; NULL while not live */
	struct feed_watcher *prev, *next;
	struct feed_watcher *prev_due, *next_due;
	bool due;   /* is to be flushed */
	bool ahead; /* the index's */
	const struct selector *selector;
	bool needs_old;
	const struct render *render;
	bool columns_sent; /* tables: columnDefinitions come with the first event */
	uint64_t cursor;   /* all up to here is sent, or in the queue when live */
	struct feed_queue queue;
	/* Sends what is queued as far as the client takes it; may destroy the watcher. */
	void (*flush)(struct feed_watcher *w);
	/* The queue was dropped: go on from the log after `cursor`. */
	void (*fell_behind)(struct feed_watcher *w);
	/* Too far behind: to be closed. */
	void (*overrun)(struct feed_watcher *w);
};

/* A part of the program that follows a few kinds: called on the loop, in the order of the log, for
 * every row of the feed's store after feed_revision() at the time of feed_observe(). It sees a row
 * with the watchers' round, FEED_REST_MAX after its commit where there are many. */
struct feed_observer {
	const uint16_t *types; /* static */
	size_t n_types;
	void (*row)(void *arg, const struct store_log_row *row);
	void (*lost)(void *arg);    /* rows were trimmed before they were seen: read all again */
	void (*settled)(void *arg); /* no more rows for now */
	void *arg;
};

struct feed *feed_create(struct store *store, struct mailbox *mailbox);
/* No watcher may be left. Its timer closes in a later turn of the mailbox's loop. */
struct feed *feed_destroy(struct feed *f);

/* Any thread: rows up to the store's revision are committed. Coalesced. */
void feed_wake(struct feed *f);
/* The one observer of a feed; borrowed, before the loop runs. */
void feed_observe(struct feed *f, const struct feed_observer *o);
uint64_t feed_revision(const struct feed *f); /* rows up to here went through */
/* Up to where a watcher has been told all, when nothing is queued for it. One that has just caught
 * up from the log may be ahead of the feed. */
uint64_t feed_told(const struct feed *f, const struct feed_watcher *w);

/* Makes a watcher live: it gets every row after w->cursor from now on, which must be at least
 * feed_revision(). ns absent: all; name absent: all. */
void feed_join(struct feed *f, struct feed_watcher *w, uint16_t type, struct span ns,
	       struct span name);
/* Leaves the index and drops the queue. Fine when it is not live. */
void feed_leave(struct feed *f, struct feed_watcher *w);
/* Queues text as a frame of this watcher alone (bookmarks). */
void feed_push_text(struct feed *f, struct feed_watcher *w, uint64_t revision, struct span text);

#endif
