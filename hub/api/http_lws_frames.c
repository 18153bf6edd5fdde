/*
 * A stream as messages of a WebSocket: fabric8's Java client, and browsers, watch so
 * (kubernetes-api.md; kube-apiserver's WatchServer.HandleWS).
 *
 * The connection is a tunnel (http_lws_tunnel.c), with the frames made and read here. What the
 * socket does not take is kept until it does: one write, since the next waits for it, and answers
 * to at most MAX_KEPT bytes of pings. The client's bytes are read as they come, so that its pings
 * are answered while nothing happens, and its Close ends the exchange as its going away does.
 */
#include "api/http_lws.h"
#include "api/ws_frame.h"

#include <errno.h>

#define MAX_KEPT       ((size_t)64 << 10)
#define MAX_READS      64	  /* of one turn */
#define CLOSE_NORMALLY "\x03\xe8" /* 1000, RFC 6455 7.4.1 */

struct http_frames {
	struct buf out; /* frames; those before `at` are sent */
	size_t at;
	struct buf in;
};

/* Sends what is kept. */
static void pump(struct http_conn *c)
{
	struct http_frames *f = c->frames;
	struct span rest = span_make(f->out.ptr + f->at, f->out.len - f->at);
	ptrdiff_t n = rest.len ? http_tunnel_write(c->exchange, rest) : 0;

	if (n < 0 || !buf_ok(&f->out)) {
		http_lws_kill(c);
		return;
	}
	if (n > 0 || !rest.len)
		c->since = 0;
	f->at += (size_t)n;
	if (f->at < f->out.len) {
		if (!c->since)
			c->since = clock_monotonic();
		return;
	}
	f->at = 0;
	if (f->out.cap > MAX_KEPT)
		buf_done(&f->out);
	else
		buf_clear(&f->out);
}

void http_lws_frames_write(struct http_conn *c, struct span lines)
{
	ws_frame_lines(&c->frames->out, lines);
	pump(c);
}

bool http_lws_frames_ready(const struct http_conn *c)
{
	return !c->want && !c->frames->out.len;
}

void http_lws_frames_want(struct http_conn *c)
{
	c->want = true;
	http_lws_tunnel_want(c);
}

void http_lws_frames_writable(struct http_conn *c)
{
	const struct http_handler *h = c->server->handler;

	pump(c);
	if (c->frames->out.len || !c->want)
		return;
	c->want = false;
	h->writable(h->arg, c->exchange);
}

static void answer(struct http_conn *c, enum ws_opcode opcode, struct span payload)
{
	struct http_frames *f = c->frames;

	if (f->out.len - f->at > MAX_KEPT)
		return;
	ws_frame_begin(&f->out, opcode, payload.len);
	buf_add_span(&f->out, payload);
	pump(c);
}

void http_lws_frames_end(struct http_conn *c)
{
	ws_frame_begin(&c->frames->out, WS_CLOSE, 2);
	buf_add(&c->frames->out, CLOSE_NORMALLY, 2);
	pump(c);
}

/* False: the client said Close, or what no client may say. */
static bool take(struct http_conn *c, struct buf *in)
{
	struct ws_frame frame;
	ptrdiff_t n;
	size_t at = 0;

	while ((n = ws_frame_read(in->ptr + at, in->len - at, &frame, NULL)) > 0) {
		at += (size_t)n;
		if (frame.opcode == WS_PING)
			answer(c, WS_PONG, frame.payload);
		if (frame.opcode == WS_CLOSE) {
			answer(c, WS_CLOSE, span_make(frame.payload.ptr, frame.payload.len & 2));
			return false;
		}
	}
	if (n < 0)
		return false;
	memmove(in->ptr, in->ptr + at, in->len - at);
	in->len -= at;
	return true;
}

void http_lws_frames_readable(struct http_conn *c)
{
	struct buf *in = &c->frames->in;

	for (int i = 0; i < MAX_READS; i++) {
		char *room = buf_reserve(in, 1024);
		ptrdiff_t n = room ? http_tunnel_read(c->exchange, room, 1024) : -EPIPE;
		if (n == 0)
			break;
		if (n > 0)
			buf_advance(in, (size_t)n);
		if (n < 0 || !take(c, in)) {
			http_lws_kill(c);
			return;
		}
	}
	if (!in->len)
		buf_done(in);
}

bool http_stream_begin_messages(struct http_exchange *x, struct span headers)
{
	const struct http_upgrade *u = x->request.upgrade;
	struct buf lines = BUF_INIT;
	struct span protocols = u->protocols;
	char accept[WS_ACCEPT_LEN + 1];
	bool begun;

	if (!x->conn)
		return false;
	buf_add_span(&lines, headers);
	buf_add_str(&lines, "Upgrade: websocket\r\nConnection: Upgrade\r\n");
	if (ws_accept(u->key, accept))
		buf_addf(&lines, "Sec-WebSocket-Accept: %s\r\n", accept);
	if (protocols.len) {
		buf_add_str(&lines, "Sec-WebSocket-Protocol: ");
		buf_add_span(&lines, span_split(&protocols, ','));
		buf_add_str(&lines, "\r\n");
	}
	begun = http_tunnel_begin(x, buf_span(&lines));
	buf_done(&lines);
	if (!begun) {
		http_lws_kill(x->conn);
		return false;
	}
	x->conn->frames = xcalloc(1, sizeof(*x->conn->frames));
	x->conn->frames->in = BUF_MAX(WS_MAX_PAYLOAD + 2048);
	http_lws_frames_readable(x->conn);
	return true;
}

void http_lws_frames_destroy(struct http_conn *c)
{
	if (!c->frames)
		return;
	buf_done(&c->frames->out);
	buf_done(&c->frames->in);
	free(c->frames);
	c->frames = NULL;
}
