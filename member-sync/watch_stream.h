#ifndef MEMBER_SYNC_WATCH_STREAM_H
#define MEMBER_SYNC_WATCH_STREAM_H
/*
 * A push parser for the body of a Kubernetes watch: bytes in as they come from the socket, one
 * event out per complete line.
 *
 * Pure: no socket, no clock, no memory beyond one line. The cut is the network's: an event may
 * span many chunks and a chunk may hold many events; a line that never ends is refused at
 * WATCH_STREAM_MAX_LINE. Each line goes through json_check() before anyone looks inside. Errors
 * stick: what follows a broken line cannot be trusted.
 * Format: kubernetes-api.md 1.9 (`{"type":T,"object":O}` and a newline per event).
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

/* Objects are at most 1.5 MiB in etcd; JSON escapes and a server with larger limits fit. */
#define WATCH_STREAM_MAX_LINE ((size_t)8 << 20)

enum watch_event_type {
	WATCH_ADDED,
	WATCH_MODIFIED,
	WATCH_DELETED,
	WATCH_BOOKMARK,
	WATCH_ERROR,
};

struct watch_event {
	enum watch_event_type type;
	struct span object;  /* checked JSON text; valid during the call only */
	uint64_t revision;   /* metadata.resourceVersion; 0 for WATCH_ERROR */
	int code;	     /* WATCH_ERROR: the Status's code, 0 when it has none */
	struct span message; /* WATCH_ERROR: the text of its message without quotes, as it stands */
};

struct watch_stream {
	struct buf line; /* what came of a line that is not complete */
	size_t max_line;
	size_t events; /* delivered so far */
	bool broken;
};

/* max_line 0: WATCH_STREAM_MAX_LINE. */
void watch_stream_init(struct watch_stream *w, size_t max_line);
void watch_stream_done(struct watch_stream *w);

/* Feeds bytes and calls each() for every event that became complete. each() returns 0, or a
 * negative errno that ends the call and is returned; the stream is then broken.
 * ERR_TOO_LARGE: a line over the maximum. ERR_BAD_REQUEST: not JSON. ERR_INVALID: not an event,
 * or an object without a numeric resourceVersion. */
int watch_stream_feed(struct watch_stream *w, struct span bytes,
		      int (*each)(void *arg, const struct watch_event *event), void *arg,
		      struct err *reterr) MUST_CHECK;

/* Whether the stream, if it ended now, was cut inside an event. */
bool watch_stream_partial(const struct watch_stream *w);

/* metadata.resourceVersion of checked object text as a number; -EINVAL without a numeric one. */
int watch_stream_revision(struct span object, uint64_t *ret) MUST_CHECK;

#endif
