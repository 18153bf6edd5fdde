#include "api/watch.h"

#include "api/listener.h"
#include "api/ws_frame.h"
#include <errno.h>
#include <uv.h>

#define BOOKMARK_EVERY (60 * USEC_PER_SEC)   /* apiserver's cacher: about once a minute */
#define MIN_TIMEOUT    (1800 * USEC_PER_SEC) /* apiserver's MinRequestTimeout, then up to twice */

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

void watch_close(struct watch *w, bool clean)
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

void watch_write_bookmark(struct watch *w, uint64_t revision, bool initial_end, struct buf *out)
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
	watch_close(w, true);
}

/* What is queued, a last bookmark where asked for, the last chunk. */
static void end_well(struct call *c)
{
	struct watch *w = watch_of(c);
	struct buf out = BUF_INIT;
	watch_take_back(w);
	if ((w->phase == WATCH_LIVE || w->final_revision) && http_stream_ready(c->x)) {
		while (w->feed.queue.len) {
			const struct feed_frame *fr = feed_queue_peek(&w->feed.queue, 0);
			http_stream_chunk(c->x, feed_frame_chunk(fr));
			call_series(c)->events += fr->events;
			feed_queue_pop(&w->feed.queue);
		}
		if (w->options.bookmarks)
			watch_write_bookmark(w, feed_told(call_feed(c), &w->feed), false, &out);
		if (out.len)
			http_stream_write(c->x, buf_span(&out));
	}
	buf_done(&out);
	watch_close(w, true);
}

/* One turn of WATCH_INITIAL or WATCH_CATCH_UP, and its write. */
static void step(struct watch *w)
{
	struct http_exchange *x = w->call->x;
	struct buf out = BUF_INIT;
	int r = watch_read(w, &out);
	if (!r && out.len)
		http_stream_write(x, buf_span(&out));
	buf_done(&out);
	if (r == -ETIME)
		fail_stream(w, ERR_EXPIRED,
			    "The resourceVersion for the provided watch is too old.");
	else if (r)
		watch_close(w, false); /* the hub is ending: what was sent is to be resumed from */
	else if (w->final_revision && w->phase == WATCH_CATCH_UP &&
		 w->feed.cursor >= w->final_revision)
		end_well(w->call);
	else if (w->phase != WATCH_LIVE)
		http_stream_want(x);
}

/* ---- the call ---- */

static void on_writable(struct call *c)
{
	struct watch *w = watch_of(c);
	watch_take_back(w);
	if (w->phase == WATCH_LIVE)
		watch_flush(w);
	else
		step(w);
}

static void on_gone(struct call *c)
{
	watch_close(watch_of(c), false);
}

/* The feed has perhaps not come to the ends of the kind's objects yet: the log has them all. */
static void on_kind_gone(struct call *c)
{
	struct watch *w = watch_of(c);
	w->final_revision = store_revision(call_store(c));
	if (w->phase == WATCH_LIVE) {
		if (w->feed.queue.len)
			w->feed.cursor = feed_queue_peek(&w->feed.queue, 0)->first - 1;
		feed_leave(call_feed(c), &w->feed);
		w->phase = WATCH_CATCH_UP;
	}
	http_stream_want(c->x);
}

static void on_tick(struct call *c, usec now)
{
	struct watch *w = watch_of(c);
	struct buf out = BUF_INIT;
	watch_take_back(w);
	if (now >= w->ends_at && !w->lent) {
		end_well(c);
		return;
	}
	if (!w->options.bookmarks || now < w->bookmark_at || w->phase != WATCH_LIVE ||
	    w->feed.queue.len)
		return;
	w->bookmark_at = now + BOOKMARK_EVERY;
	uint64_t told = feed_told(call_feed(c), &w->feed);
	watch_write_bookmark(w, told, false, &out);
	feed_push_text(call_feed(c), &w->feed, told, buf_span(&out));
	buf_done(&out);
}

static usec default_timeout(void)
{
	uint32_t r = 0;
	(void)uv_random(NULL, NULL, &r, sizeof(r), 0, NULL);
	return MIN_TIMEOUT + (usec)(r % 1800) * USEC_PER_SEC;
}

/* What RFC 6455 4.2.1 asks of who wants events as a WebSocket's messages. */
static int check_upgrade(const struct http_upgrade *u, struct err *e)
{
	if (u && !span_is(u->version, "13"))
		return err_set(e, ERR_BAD_REQUEST, "Sec-WebSocket-Version must be 13");
	if (u && u->key.len != WS_KEY_LEN)
		return err_set(e, ERR_BAD_REQUEST, "Sec-WebSocket-Key must be 16 bytes in base64");
	return 0;
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
		r = check_upgrade(c->request->upgrade, &e);
	if (!r)
		r = read_options_parse(c, true, &w->options, &e);
	if (r)
		call_fail(c, &e);
	if (r || !watch_begin(w)) {
		read_options_done(&w->options);
		call_finish(c);
		return;
	}
	w->feed.selector = &w->options.selector;
	w->feed.render = &w->render;
	w->feed.needs_old = feed_needs_old(&w->options.selector);
	w->ends_at = now + (w->options.timeout ? w->options.timeout : default_timeout());
	w->bookmark_at = now + BOOKMARK_EVERY;
	c->on_writable = on_writable;
	c->on_gone = on_gone;
	c->on_stop = end_well;
	c->on_tick = on_tick;
	c->on_kind_gone = on_kind_gone;
	c->answer.code = c->request->upgrade ? 101 : 200;
	api_stream_add(call_api(c), c);
	call_api(c)->metrics.watches++;
	if (!listener_serves(c->listener, c->kind)) /* it went while the request was on its way */
		w->final_revision = store_revision(call_store(c));
	if (call_stream(c, c->request->upgrade))
		step(w);
}
