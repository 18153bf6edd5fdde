/*
 * A passage that became a connection: bytes both ways, none of them looked at.
 *
 * Down: a window in the relay, one here, and what the socket holds. Up: TUNNEL_PIECE here and a
 * window in the relay. What does not fit waits where it is, and its sender with it. One turn of the
 * loop moves TUNNEL_TURN bytes at most, then others have theirs.
 *
 * When the member's end comes, all that it sent is written, the client is told that nothing
 * follows, and has TUNNEL_LINGER to close its own side: else bytes of it that nobody read would
 * make the kernel drop the last ones of ours. When the client goes, the relay is cancelled.
 */
#include "api/passage_private.h"

#include "wire/relay.h"

#define TUNNEL_PIECE  ((size_t)16 << 10) /* a TLS record */
#define TUNNEL_TURN   ((size_t)256 << 10)
#define TUNNEL_LINGER (5 * USEC_PER_SEC)
/* As kubelet's streamingConnectionIdleTimeout. */
#define TUNNEL_IDLE (4 * 3600 * USEC_PER_SEC)

static void moved(struct passage *p)
{
	p->moved_at = clock_monotonic();
}

/* True when the turn is over and there may be more; the passage may be left. */
static bool pump_down(struct passage *p)
{
	struct http_exchange *x = p->call->x;

	for (size_t sent = 0; sent < TUNNEL_TURN;) {
		ptrdiff_t n = 0;
		if (p->at < p->bytes.len)
			n = http_tunnel_write(
			    x, span_make(p->bytes.ptr + p->at, p->bytes.len - p->at));
		if (n < 0) {
			passage_leave(p, passage_abort);
			return false;
		}
		if (n > 0)
			moved(p);
		sent += (size_t)n;
		p->at += (size_t)n;
		if (p->at < p->bytes.len)
			return false;
		buf_clear(&p->bytes);
		p->at = 0;
		if (p->answer.ended)
			return false;
		passage_take(p);
		if (!p->bytes.len && !p->answer.ended)
			return false;
	}
	return true;
}

static bool pump_up(struct passage *p)
{
	struct http_exchange *x = p->call->x;

	for (size_t sent = 0; sent < TUNNEL_TURN;) {
		if (p->up_len && !p->lingers && !relay_send(p->relay, span_make(p->up, p->up_len)))
			return false;
		sent += p->up_len;
		p->up_len = 0;
		ptrdiff_t n = http_tunnel_read(x, p->up, TUNNEL_PIECE);
		if (n < 0)
			passage_leave(p, passage_abort);
		if (n <= 0)
			return false;
		p->up_len = (size_t)n;
		if (!p->lingers)
			moved(p);
	}
	return true;
}

void tunnel_pump(struct passage *p)
{
	bool more = pump_down(p);

	if (p->last)
		return;
	if (p->answer.ended && p->at == p->bytes.len && !p->bytes.len && !p->lingers) {
		p->lingers = true;
		moved(p);
		http_tunnel_shutdown(p->call->x);
	}
	more |= pump_up(p);
	if (more && !p->last)
		passage_post(p);
}

static void on_tick(struct call *c, usec now)
{
	struct passage *p = c->state;

	if (!p->last && now - p->moved_at > (p->lingers ? TUNNEL_LINGER : TUNNEL_IDLE))
		passage_leave(p, passage_abort);
}

static void on_event(struct call *c)
{
	struct passage *p = c->state;

	if (!p->last)
		tunnel_pump(p);
}

static void on_stop(struct call *c)
{
	struct passage *p = c->state;

	if (!p->last)
		passage_leave(p, passage_abort);
}

void tunnel_begin(struct passage *p)
{
	struct call *c = p->call;

	bool begun;

	buf_add_span(&c->answer.headers, p->answer.headers);
	call_add_headers(c);
	begun = c->request->upgrade && http_tunnel_begin(c->x, buf_span(&c->answer.headers));
	buf_done(&c->answer.headers);
	if (!begun) {
		passage_leave(p, passage_abort);
		return;
	}
	p->up = xcalloc(1, TUNNEL_PIECE);
	p->begun = true;
	c->on_writable = on_event;
	c->on_readable = on_event;
	c->on_stop = on_stop;
	c->on_tick = on_tick;
	moved(p);
	api_stream_add(call_api(c), c);
	tunnel_pump(p);
}
