#ifndef API_WATCH_H
#define API_WATCH_H
/*
 * WATCH: one client's stream of changes. Internal to watch.c (the call, its ends), watch_read.c
 * (what is read of the store) and watch_live.c (what the feed hands over). Loop only.
 *
 * A watch goes through at most three phases. INITIAL: the objects that match, as ADDED, read at
 * one revision in short reads. CATCH_UP: the log from the watch's cursor, in short reads, as fast
 * as the client takes it. LIVE: it is in the feed's index and is handed frames. A live watch whose
 * queue had to be dropped goes back to CATCH_UP. In every phase a turn of the loop does about a
 * millisecond of work, and nothing is held while the client is slow but the queue.
 *
 * Ends: timeoutSeconds, a stopping front (both with a bookmark where asked for, and a clean last
 * chunk), a kind that is not served any more (the same, once the ends of its objects are told),
 * the client, 410 (an ERROR event), or too much lag.
 */
#include "api/call.h"
#include "api/feed.h"
#include "api/read_options.h"
#include "api/render.h"

enum watch_phase { WATCH_INITIAL, WATCH_CATCH_UP, WATCH_LIVE };

struct watch {
	struct feed_watcher feed; /* first */
	struct call *call;
	struct feed_frame *lent; /* a long one that is on its way, with a reference; or NULL */
	struct read_options options;
	struct render render;
	enum watch_phase phase;
	bool ended;
	uint64_t initial_revision;
	uint64_t final_revision; /* there is nothing to tell after it; 0: not known */
	bool has_last;
	char last_ns[STORE_MAX_NAMESPACE + 1], last_name[STORE_MAX_NAME + 1];
	struct store_key last;
	usec ends_at, bookmark_at; /* monotonic */
};

/* ---- watch.c ---- */

/* In the middle of a frame there is no clean end: the client resumes from what it has. */
void watch_close(struct watch *w, bool clean);
void watch_write_bookmark(struct watch *w, uint64_t revision, bool initial_end, struct buf *out);

/* ---- watch_read.c ---- */

/* Whether the watch begins, and in which phase: false when its revision is too old or not there
 * yet, and the call is answered. */
bool watch_begin(struct watch *w);
/* One turn of INITIAL or CATCH_UP: events appended to out, perhaps with a change of phase. -ETIME
 * when the log has lost what the watch wants, else what the store says. */
int watch_read(struct watch *w, struct buf *out) MUST_CHECK;

/* ---- watch_live.c ---- */

/* Into the feed's index; what the feed calls is set here, too. */
void watch_go_live(struct watch *w);
/* Writes what is queued, as far as the connection takes it. */
void watch_flush(struct watch *w);
/* A long frame that has been sent is the feed's again. */
void watch_take_back(struct watch *w);

#endif
