/* A watch that lives on the feed: frames from its queue to its connection. */
#include "api/watch.h"

#define MAX_PARTS 128 /* frames of one write */

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

void watch_take_back(struct watch *w)
{
	struct feed_frame *fr = w->lent;
	if (!fr || !http_stream_ready(w->call->x))
		return;
	w->lent = NULL;
	feed_frame_unref(fr);
}

void watch_flush(struct watch *w)
{
	struct feed_watcher *fw = &w->feed;
	struct http_exchange *x = w->call->x;
	struct span parts[MAX_PARTS];
	watch_take_back(w);
	while (fw->queue.len && http_stream_ready(x)) {
		size_t n = gather(&fw->queue, parts);
		watch_take_back(w);
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

static void flush(struct feed_watcher *fw)
{
	watch_flush((struct watch *)fw);
}

static void catch_up_later(struct feed_watcher *fw)
{
	struct watch *w = (struct watch *)fw;
	w->phase = WATCH_CATCH_UP;
	http_stream_want(w->call->x);
}

static void overrun(struct feed_watcher *fw)
{
	struct watch *w = (struct watch *)fw;
	call_api(w->call)->metrics.watch_closed_slow++;
	log_info(call_api(w->call)->options.log, "slow watch closed",
		 "path=%.*s user=%.*s queued_bytes=%zu", SPAN_ARGS(w->call->info.path),
		 SPAN_ARGS(w->call->user.name), fw->queue.bytes);
	watch_close(w, false);
}

void watch_go_live(struct watch *w)
{
	struct span ns = w->call->info.ns, name = selector_name(&w->options.selector);
	struct span only = selector_namespace(&w->options.selector);
	if (!ns.ptr && only.len)
		ns = only;
	w->feed.flush = flush;
	w->feed.fell_behind = catch_up_later;
	w->feed.overrun = overrun;
	w->phase = WATCH_LIVE;
	feed_join(call_feed(w->call), &w->feed, w->call->kind->type, ns,
		  name.len ? name : SPAN_NONE);
}
