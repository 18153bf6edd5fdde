#ifndef MEMBER_SYNC_REFLECTOR_H
#define MEMBER_SYNC_REFLECTOR_H
/*
 * One stream of one member: LIST, then WATCH for ever, and back to LIST only when it must.
 *
 * A state machine without socket or clock: bytes, ends of requests and `now` (monotonic) come
 * in; "open this path", facts and the next due time go out. Everything that decides which state
 * follows is in one table (reflector_next).
 *
 *   IDLE -> LISTING -> SYNCED -> WATCHING -> SYNCED ...   BACKOFF after failures, ABSENT on 404
 *
 * Invariants:
 *  - The cursor never goes down without a list. An event below the cursor means that the server
 *    repeats, reorders or was restored: the stream is listed anew. An event at the cursor is a
 *    repetition and is dropped.
 *  - FACT_LIST_BEGIN .. FACT_LIST_END brackets a complete list; a list that was cut is begun
 *    again. An object that cannot be decoded is reported and left out.
 *  - At most one request is open or wanted at a time.
 *  - A cursor given to reflector_start() is resumed without a list.
 * Rules: kubernetes-api.md section 3 (client-go's reflector): pages of 500, bookmarks,
 * timeoutSeconds jittered, 410 lists again, 429 and 503 wait for Retry-After, silence is death,
 * a watch that ends at once counts as a failure, backoff doubles with full jitter.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include "wire/fact.h"
#include <stdbool.h>
#include <stdint.h>

enum reflector_state {
	REFLECTOR_IDLE,
	REFLECTOR_LISTING,
	REFLECTOR_SYNCED,   /* the cursor is good; a watch is asked for */
	REFLECTOR_WATCHING, /* it answers */
	REFLECTOR_BACKOFF,
	REFLECTOR_ABSENT, /* the member does not serve this, or forbids it */
	REFLECTOR_STATE_MAX,
	REFLECTOR_INVALID = -1,
};

enum reflector_event {
	REFLECTOR_START_LIST,
	REFLECTOR_START_WATCH,
	REFLECTOR_PAGE,	  /* a page is complete, more follow */
	REFLECTOR_LISTED, /* the last page is complete */
	REFLECTOR_OPENED, /* the watch answered 200 */
	REFLECTOR_ENDED,  /* the watch ended as it should */
	REFLECTOR_FAILED,
	REFLECTOR_GONE, /* list at once */
	REFLECTOR_MISSING,
	REFLECTOR_STOP,
	REFLECTOR_EVENT_MAX,
};

/* The transition table; REFLECTOR_INVALID where the event cannot happen. */
enum reflector_state reflector_next(enum reflector_state state, enum reflector_event event);
const char *reflector_state_name(enum reflector_state state);

struct reflector;
struct reflector_ops {
	/* GET `path` (valid during the call) when sending is allowed: then reflector_sent(),
	 * reflector_opened() if it answers 2xx, reflector_data() with the body, reflector_end(). */
	void (*open)(void *arg, struct reflector *r, const char *path);
	/* Abandons the request that is open or wanted; nothing more comes of it. Never called
	 * from within reflector_opened() or reflector_data(). */
	void (*close)(void *arg, struct reflector *r);
	void (*emit)(void *arg, struct reflector *r, struct fact *take_fact);
	/* The stream fails, and why; or works again (NULL). For logs and the member's message. */
	void (*trouble)(void *arg, struct reflector *r, const struct err *err);
};

struct reflector_options {
	enum member_stream stream;
	const char *hub_uid; /* borrowed */
	const struct reflector_ops *ops;
	void *arg;
	uint64_t seed;	   /* of the jitter */
	usec silence;	   /* a watch without a byte for so long is dead */
	usec list_silence; /* the same for a list */
	usec watch;	   /* timeoutSeconds in [watch, 2 * watch) */
	usec backoff, backoff_max;
	unsigned limit; /* page size */
};

struct reflector *reflector_create(const struct reflector_options *options);
struct reflector *reflector_destroy(struct reflector *r); /* closes; NULL is fine; returns NULL */

/* Starts from IDLE or ABSENT: cursor 0 lists, else watches after it. Elsewhere does nothing. */
void reflector_start(struct reflector *r, uint64_t cursor, usec now);
void reflector_stop(struct reflector *r, usec now);	  /* to IDLE; the cursor is kept */
void reflector_set_absent(struct reflector *r, usec now); /* to ABSENT, as after a 404 */

/* The wanted request went out: silence counts from here. */
void reflector_sent(struct reflector *r, usec now);
/* It answered 2xx. */
void reflector_opened(struct reflector *r, usec now);
/* Bytes of a 2xx body. Negative: the caller must abandon the request, then call
 * reflector_end(). */
int reflector_data(struct reflector *r, struct span bytes, usec now) MUST_CHECK;

struct reflector_end {
	int code;	  /* 0: no answer, or a 2xx that was cut: see err */
	struct err err;	  /* for every end but a whole 2xx body */
	usec retry_after; /* 0: not given */
};
void reflector_end(struct reflector *r, const struct reflector_end *end, usec now);

/* While its bytes are held back on our side, silence is not the server's. */
void reflector_pause(struct reflector *r, bool paused, usec now);

/* The member was found well again: a backoff that a broken connection caused ends now. */
void reflector_retry(struct reflector *r, usec now);

/* When reflector_tick() wants to be called; 0: not by itself. */
usec reflector_due(const struct reflector *r);
void reflector_tick(struct reflector *r, usec now);

enum reflector_state reflector_state(const struct reflector *r);
enum member_stream reflector_stream(const struct reflector *r);
uint64_t reflector_cursor(const struct reflector *r);

#endif
