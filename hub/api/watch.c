/*
 * WATCH: one client's stream of changes.
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
#include "api/job_columns.h"
#include "api/listener.h"
#include "api/read_options.h"
#include "api/render.h"
#include "base/json.h"
#include <errno.h>
#include <stdlib.h>
#include <uv.h>

#define TURN_BYTES     ((size_t)64 << 10) /* of one write; objects may exceed it */
#define TURN_ROWS      1000
#define TURN_TIME      USEC_PER_MS
#define MAX_PARTS      128		     /* frames of one write */
#define BOOKMARK_EVERY (60 * USEC_PER_SEC)   /* apiserver's cacher: about once a minute */
#define MIN_TIMEOUT    (1800 * USEC_PER_SEC) /* apiserver's MinRequestTimeout, then up to twice */

enum phase { INITIAL, CATCH_UP, LIVE };

struct watch {
	struct feed_watcher feed; /* first */
	struct call *call;
	struct feed_frame *lent; /* a long one that is on its way, with a reference; or NULL */
	struct read_options options;
	struct render render;
	enum phase phase;
	bool ended;
	uint64_t initial_revision;
	uint64_t final_revision; /* there is nothing to tell after it; 0: not known */
	bool has_last;
	char last_ns[STORE_MAX_NAMESPACE + 1], last_name[STORE_MAX_NAME + 1];
	struct store_key last;
	usec ends_at, bookmark_at; /* monotonic */
};

static struct watch *watch_of(struct call *c)
{
	return c->state;
}

static void destroy(struct watch *w)
{
	feed_leave(call_feed(w->call), &w->feed);
	read_options_done(&w->options);
	api_stream_remove(call_api(w->call), w->call);
	call_api(w->call)->metrics.watches--;
}

/* In the middle of a frame there is no clean end: the client resumes from what it has. */
static void close_watch(struct watch *w, bool clean)
{
	struct call *c = w->call;
	struct feed_frame *lent = w->lent;
	if (w->ended)
		return;
	w->ended = true;
	destroy(w);
	call_count(c);
	if (clean && !lent)
		http_stream_end(c->x);
	else
		http_abort(c->x);
	if (lent) /* the watch went with its exchange */
		feed_frame_unref(lent);
}

static void write_bookmark(struct watch *w, uint64_t revision, bool initial_end, struct buf *out)
{
	buf_add_str(out, "{\"type\":\"BOOKMARK\",\"object\":");
	render_bookmark(&w->render, revision, initial_end, out);
	buf_add_str(out, "}\n");
}

/* An ERROR event, after which the stream ends. */
static void fail_stream(struct watch *w, enum err_kind kind, const char *words)
{
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	(void)err_set(&e, kind, "%s", words);
	buf_add_str(&out, "{\"type\":\"ERROR\",\"object\":");
	status_failure(&e, NULL, &out);
	buf_add_str(&out, "}\n");
	http_stream_write(w->call->x, buf_span(&out));
	buf_done(&out);
	close_watch(w, true);
}

/* ---- live ---- */

/* The oldest frames that fit into one write together; 0: the first is too long for that. */
static size_t gather(const struct feed_queue *q, struct span parts[MAX_PARTS])
{
	size_t n = 0, bytes = 0;
	const struct feed_frame *fr;
	while (n < MAX_PARTS && (fr = feed_queue_peek(q, (uint32_t)n)) &&
	       bytes + fr->len <= HTTP_PIECE) {
		parts[n++] = feed_frame_text(fr);
		bytes += fr->len;
	}
	return n;
}

/* A long frame is sent piece by piece: the library would keep a copy of what the client does not
 * take, one for each watcher. */
static void lend(struct watch *w, struct feed_frame *fr)
{
	fr->refs++;
	w->lent = fr;
	http_stream_lend(w->call->x, feed_frame_chunk(fr));
}

static void take_back(struct watch *w)
{
	struct feed_frame *fr = w->lent;
	if (!fr || !http_stream_ready(w->call->x))
		return;
	w->lent = NULL;
	feed_frame_unref(fr);
}

static void flush(struct feed_watcher *fw)
{
	struct watch *w = (struct watch *)fw;
	struct http_exchange *x = w->call->x;
	struct span parts[MAX_PARTS];
	take_back(w);
	while (fw->queue.len && http_stream_ready(x)) {
		size_t n = gather(&fw->queue, parts);
		take_back(w);
		if (n > 1)
			http_stream_writev(x, parts, n);
		else if (n == 1)
			http_stream_chunk(x, feed_frame_chunk(feed_queue_peek(&fw->queue, 0)));
		else
			lend(w, feed_queue_peek(&fw->queue, 0));
		n = n ? n : 1;
		while (n--) {
			const struct feed_frame *fr = feed_queue_peek(&fw->queue, 0);
			fw->cursor = fr->last;
			call_series(w->call)->events += fr->events;
			feed_queue_pop(&fw->queue);
		}
	}
	if (fw->queue.len || w->lent)
		http_stream_want(x);
}

static void catch_up_later(struct feed_watcher *fw)
{
	struct watch *w = (struct watch *)fw;
	w->phase = CATCH_UP;
	http_stream_want(w->call->x);
}

static void overrun(struct feed_watcher *fw)
{
	struct watch *w = (struct watch *)fw;
	call_api(w->call)->metrics.watch_closed_slow++;
	log_info(call_api(w->call)->options.log, "slow watch closed",
		 "path=%.*s user=%.*s queued_bytes=%zu", SPAN_ARGS(w->call->info.path),
		 SPAN_ARGS(w->call->user.name), fw->queue.bytes);
	close_watch(w, false);
}

static void go_live(struct watch *w)
{
	struct span ns = w->call->info.ns, name = selector_name(&w->options.selector);
	struct span only = selector_namespace(&w->options.selector);
	if (!ns.ptr && only.len)
		ns = only;
	w->phase = LIVE;
	feed_join(call_feed(w->call), &w->feed, w->call->kind->type, ns,
		  name.len ? name : SPAN_NONE);
}

/* ---- catching up ---- */

struct turn {
	struct watch *w;
	struct store_reader *reader;
	struct buf out, old;
	usec until;
	int rows;
	bool more;
};

static void add_event(struct turn *t, enum watch_event e, const struct store_object *o)
{
	struct job_columns jobs = {.reader = t->reader};
	struct watch *w = t->w;
	struct render render = w->render;
	render.jobs = &jobs;
	buf_addf(&t->out, "{\"type\":\"%s\",\"object\":", watch_event_name(e));
	render_event_object(&render, o, !w->feed.columns_sent, &t->out);
	buf_add_str(&t->out, "}\n");
	w->feed.columns_sent = true;
	call_series(w->call)->events++;
}

static bool turn_over(struct turn *t)
{
	t->rows++;
	return t->out.len >= TURN_BYTES || t->rows > TURN_ROWS ||
	       ((t->rows & 15) == 0 && clock_monotonic() > t->until);
}

static bool in_scope(const struct watch *w, const struct store_key *k)
{
	const struct span ns = w->call->info.ns;
	return k->type == w->call->kind->type && (!ns.ptr || span_eq(k->ns, ns));
}

static int on_row(void *arg, const struct store_log_row *row)
{
	struct turn *t = arg;
	struct watch *w = t->w;
	enum watch_event e = WATCH_NOTHING;
	if (turn_over(t)) {
		t->more = true;
		return 1;
	}
	if (in_scope(w, &row->object.key) && !row->object.json.ptr)
		return -ETIME; /* sealed with a key that is gone */
	if (in_scope(w, &row->object.key))
		e = feed_event_for(&w->options.selector, w->feed.needs_old, t->reader, row,
				   &t->old);
	if (e != WATCH_NOTHING)
		add_event(t, e, &row->object);
	w->feed.cursor = row->revision;
	return 0;
}

static int read_log(struct turn *t)
{
	struct watch *w = t->w;
	int r = store_log_scan(t->reader, w->feed.cursor, on_row, t);
	if (r)
		return r;
	if (!t->more && w->feed.cursor < store_reader_revision(t->reader))
		w->feed.cursor = store_reader_revision(t->reader);
	if (!t->more && !w->final_revision && w->feed.cursor >= feed_revision(call_feed(w->call)))
		go_live(w);
	return 0;
}

/* ---- the initial state ---- */

static void remember(struct watch *w, const struct store_key *k)
{
	w->last = (struct store_key){k->type, {w->last_ns, k->ns.len}, {w->last_name, k->name.len}};
	if (k->ns.len)
		memcpy(w->last_ns, k->ns.ptr, k->ns.len);
	memcpy(w->last_name, k->name.ptr, k->name.len);
	w->has_last = true;
}

static void end_initial(struct turn *t)
{
	struct watch *w = t->w;
	if (w->options.send_initial && w->options.bookmarks)
		write_bookmark(w, w->initial_revision, true, &t->out);
	w->feed.cursor = w->initial_revision;
	w->phase = CATCH_UP;
}

/* The one object that the selector names needs no scan. */
static bool read_one(struct turn *t)
{
	struct watch *w = t->w;
	struct span ns = w->call->info.ns, name = selector_name(&w->options.selector);
	struct store_key key = {w->call->kind->type, ns.ptr ? ns : SPAN(""), name};
	struct store_object o;
	if (!name.len || name.len > STORE_MAX_NAME ||
	    (!ns.ptr && w->call->kind->scope != KIND_CLUSTER))
		return false;
	if (store_get(t->reader, &key, &o) == 0 && selector_matches_row(&w->options.selector, &o))
		add_event(t, WATCH_ADDED, &o);
	end_initial(t);
	return true;
}

static int read_state(struct turn *t)
{
	struct watch *w = t->w;
	struct store_range range = {.type = w->call->kind->type,
				    .ns = w->call->info.ns,
				    .after = w->has_last ? &w->last : NULL};
	struct store_iter *it = NULL;
	struct store_object o;
	int r, e = 0;
	if (!w->initial_revision)
		w->initial_revision = store_reader_revision(t->reader);
	if (!w->has_last && read_one(t))
		return 0;
	if (w->initial_revision != store_reader_revision(t->reader))
		range.at_revision = w->initial_revision;
	r = store_iter_begin(t->reader, &range, &it, NULL);
	while (!r && !turn_over(t)) {
		if (!store_iter_next(it, &o, &e)) {
			if (!e)
				end_initial(t);
			break;
		}
		if (selector_matches_row(&w->options.selector, &o))
			add_event(t, WATCH_ADDED, &o);
		remember(w, &o.key);
	}
	store_iter_end(it);
	return r ? r : e;
}

/* What is queued, a last bookmark where asked for, the last chunk. */
static void end_well(struct call *c)
{
	struct watch *w = watch_of(c);
	struct buf out = BUF_INIT;
	take_back(w);
	if ((w->phase == LIVE || w->final_revision) && http_stream_ready(c->x)) {
		while (w->feed.queue.len) {
			const struct feed_frame *fr = feed_queue_peek(&w->feed.queue, 0);
			http_stream_chunk(c->x, feed_frame_chunk(fr));
			call_series(c)->events += fr->events;
			feed_queue_pop(&w->feed.queue);
		}
		if (w->options.bookmarks)
			write_bookmark(
			    w, w->phase == LIVE ? feed_revision(call_feed(c)) : w->feed.cursor,
			    false, &out);
		if (out.len)
			http_stream_write(c->x, buf_span(&out));
	}
	buf_done(&out);
	close_watch(w, true);
}

/* One turn of INITIAL or CATCH_UP, and its write. */
static void step(struct watch *w)
{
	auto_reader *reader = NULL;
	struct turn t = {.w = w, .until = clock_monotonic() + TURN_TIME};
	struct http_exchange *x = w->call->x;
	int r = store_read_begin(call_store(w->call), &reader, NULL);
	t.reader = reader;
	t.out.max = t.old.max = STORE_MAX_OBJECT * 4;
	if (!r)
		r = w->phase == INITIAL ? read_state(&t) : read_log(&t);
	reader = store_read_end(reader);
	if (!r && t.out.len)
		http_stream_write(x, buf_span(&t.out));
	buf_done(&t.out);
	buf_done(&t.old);
	if (r == -ETIME)
		fail_stream(w, ERR_EXPIRED,
			    "The resourceVersion for the provided watch is too old.");
	else if (r)
		close_watch(w, false); /* the hub is ending: what was sent is to be resumed from */
	else if (w->final_revision && w->phase == CATCH_UP && w->feed.cursor >= w->final_revision)
		end_well(w->call);
	else if (w->phase != LIVE)
		http_stream_want(x);
}

/* ---- the call ---- */

static void on_writable(struct call *c)
{
	struct watch *w = watch_of(c);
	take_back(w);
	if (w->phase == LIVE)
		flush(&w->feed);
	else
		step(w);
}

static void on_gone(struct call *c)
{
	close_watch(watch_of(c), false);
}

/* The feed has perhaps not come to the ends of the kind's objects yet: the log has them all. */
static void on_kind_gone(struct call *c)
{
	struct watch *w = watch_of(c);
	w->final_revision = store_revision(call_store(c));
	if (w->phase == LIVE) {
		if (w->feed.queue.len)
			w->feed.cursor = feed_queue_peek(&w->feed.queue, 0)->first - 1;
		feed_leave(call_feed(c), &w->feed);
		w->phase = CATCH_UP;
	}
	http_stream_want(c->x);
}

static void on_tick(struct call *c, usec now)
{
	struct watch *w = watch_of(c);
	struct buf out = BUF_INIT;
	take_back(w);
	if (now >= w->ends_at && !w->lent) {
		end_well(c);
		return;
	}
	if (!w->options.bookmarks || now < w->bookmark_at || w->phase != LIVE || w->feed.queue.len)
		return;
	w->bookmark_at = now + BOOKMARK_EVERY;
	write_bookmark(w, feed_revision(call_feed(c)), false, &out);
	feed_push_text(call_feed(c), &w->feed, feed_revision(call_feed(c)), buf_span(&out));
	buf_done(&out);
}

static bool start_at(struct call *c, struct watch *w)
{
	struct store *s = call_store(c);
	uint64_t now = store_revision(s);
	const struct read_options *o = &w->options;
	if (o->revision > now) {
		read_fail_future(c, o->revision, now);
		return false;
	}
	if (o->has_send_initial ? o->send_initial : !o->revision) {
		w->phase = INITIAL;
		return true;
	}
	w->phase = CATCH_UP;
	w->feed.cursor = o->revision ? o->revision : now;
	if (w->feed.cursor < store_floor(s)) {
		call_failf(c, ERR_EXPIRED, "too old resource version: %llu (%llu)",
			   (unsigned long long)o->revision, (unsigned long long)store_floor(s));
		return false;
	}
	return true;
}

static usec default_timeout(void)
{
	uint32_t r = 0;
	(void)uv_random(NULL, NULL, &r, sizeof(r), 0, NULL);
	return MIN_TIMEOUT + (usec)(r % 1800) * USEC_PER_SEC;
}

void call_watch(struct call *c)
{
	struct watch *w = arena_new(c->mem, struct watch);
	struct err e = ERR_INIT;
	usec now = clock_monotonic();
	int r = read_options_render(c, &w->render, &e);
	c->state = w;
	w->call = c;
	if (!r)
		r = read_options_parse(c, true, &w->options, &e);
	if (r)
		call_fail(c, &e);
	if (r || !start_at(c, w)) {
		read_options_done(&w->options);
		call_finish(c);
		return;
	}
	w->feed.selector = &w->options.selector;
	w->feed.render = &w->render;
	w->feed.needs_old = feed_needs_old(&w->options.selector);
	w->feed.flush = flush;
	w->feed.fell_behind = catch_up_later;
	w->feed.overrun = overrun;
	w->ends_at = now + (w->options.timeout ? w->options.timeout : default_timeout());
	w->bookmark_at = now + BOOKMARK_EVERY;
	c->on_writable = on_writable;
	c->on_gone = on_gone;
	c->on_stop = end_well;
	c->on_tick = on_tick;
	c->on_kind_gone = on_kind_gone;
	c->answer.code = 200;
	api_stream_add(call_api(c), c);
	call_api(c)->metrics.watches++;
	if (!listener_serves(c->listener, c->kind)) /* it went while the request was on its way */
		w->final_revision = store_revision(call_store(c));
	if (call_stream(c))
		step(w);
}
