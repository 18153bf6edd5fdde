#include "member-sync/sim/port_forward.h"

#include "api/ws_frame.h"
#include "base/num.h"
#include "base/vec.h"
#include "member-sync/sim/spdy.h"

#define MAX_HEAD  8192
#define MAX_BYTES ((uint64_t)1 << 40)
#define PIECE	  ((size_t)16 << 10)

struct forwarded {
	uint32_t id;
	bool is_error, answered, heard; /* heard: the client said its last */
	char port[8], request_id[24];
	struct buf head; /* of its HTTP request */
	uint64_t left;	 /* bytes of the answer's body to send */
};

struct port_forward {
	struct spdy *spdy;
	struct span pod;  /* owned */
	struct buf in;	  /* a frame that is not whole yet */
	struct buf plain; /* frames that are to be wrapped */
	struct VEC(struct forwarded) streams;
};

struct port_forward *port_forward_create(struct span pod)
{
	struct port_forward *p = xcalloc(1, sizeof(*p));

	p->spdy = spdy_create();
	p->pod = span_make(xstrndup(pod.ptr, pod.len), pod.len);
	return p;
}

struct port_forward *port_forward_destroy(struct port_forward *p)
{
	if (!p)
		return NULL;
	spdy_destroy(p->spdy);
	vec_foreach (&p->streams, s)
		buf_done(&s->head);
	vec_done(&p->streams);
	buf_done(&p->in);
	buf_done(&p->plain);
	free((char *)(uintptr_t)p->pod.ptr);
	free(p);
	return NULL;
}

static struct forwarded *find(struct port_forward *p, uint32_t id)
{
	vec_foreach (&p->streams, s)
		if (s->id == id)
			return s;
	return NULL;
}

static void drop(struct port_forward *p, struct forwarded *s)
{
	buf_done(&s->head);
	*s = p->streams.items[--p->streams.len];
}

/* The data stream said its last: so does the error stream of the same request, without a word. */
static void end_pair(struct port_forward *p, struct forwarded *data)
{
	uint32_t id = data->id;
	char request[sizeof(data->request_id)];

	memcpy(request, data->request_id, sizeof(request));
	spdy_put_data(id, SPAN(""), true, &p->plain);
	drop(p, data);
	for (size_t i = 0; i < p->streams.len; i++) {
		struct forwarded *s = &p->streams.items[i];
		if (!s->is_error || strcmp(s->request_id, request) != 0)
			continue;
		spdy_put_data(s->id, SPAN(""), true, &p->plain);
		drop(p, s);
		return;
	}
}

/* Once the request's head is whole. The stream may be gone afterwards. */
static void answer(struct port_forward *p, struct forwarded *s)
{
	struct span head = buf_span(&s->head), line = span_split(&head, '\n');
	auto_buf body = BUF_MAX(512), text = BUF_MAX(1024);
	uint64_t n = 0;

	s->answered = true;
	(void)span_split(&line, ' ');
	struct span path = span_split(&line, ' ');
	bool bytes = span_starts(path, SPAN("/bytes/")) &&
		     num_parse_u64(span_make(path.ptr + 7, path.len - 7), MAX_BYTES, &n) == 0;
	if (!bytes) {
		buf_addf(&body, "muster-sim: pod %.*s, port %s\n", SPAN_ARGS(p->pod), s->port);
		n = body.len;
	}
	buf_addf(&text,
		 "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %llu\r\n"
		 "Connection: close\r\n\r\n",
		 (unsigned long long)n);
	buf_add_span(&text, buf_span(&body));
	spdy_put_data(s->id, buf_span(&text), false, &p->plain);
	s->left = bytes ? n : 0;
	if (!s->left)
		end_pair(p, s);
}

static int opened(struct port_forward *p, const struct spdy_event *e, struct err *reterr)
{
	struct forwarded s = {.id = e->stream, .is_error = !strcmp(e->stream_type, "error")};

	if (p->streams.len >= PORT_FORWARD_STREAMS || find(p, e->stream))
		return err_set(reterr, ERR_TOO_MANY, "too many streams, or one twice");
	memcpy(s.port, e->port, sizeof(s.port));
	memcpy(s.request_id, e->request_id, sizeof(s.request_id));
	s.head = BUF_MAX(MAX_HEAD);
	vec_push(&p->streams, s);
	spdy_put_reply(p->spdy, e->stream, &p->plain);
	return 0;
}

static void heard(struct port_forward *p, const struct spdy_event *e)
{
	struct forwarded *s = find(p, e->stream);

	if (!s || s->is_error)
		return;
	s->heard = s->heard || e->fin;
	if (!s->answered) {
		buf_add_span(&s->head, e->data);
		if (memmem(s->head.ptr ? s->head.ptr : "", s->head.len, "\r\n\r\n", 4)) {
			answer(p, s);
			return;
		}
	}
	if (!s->answered && (s->heard || !buf_ok(&s->head)))
		end_pair(p, s);
}

static void wrap(struct port_forward *p, struct buf *out)
{
	if (!p->plain.len)
		return;
	ws_frame_begin(out, WS_BINARY, p->plain.len);
	buf_add_span(out, buf_span(&p->plain));
	buf_clear(&p->plain);
}

static int on_event(struct port_forward *p, const struct spdy_event *e, struct err *reterr)
{
	struct forwarded *s;

	switch (e->kind) {
	case SPDY_OPENED:
		return opened(p, e, reterr);
	case SPDY_DATA:
		heard(p, e);
		return 0;
	case SPDY_RESET:
		s = find(p, e->stream);
		if (s)
			drop(p, s);
		return 0;
	default:
		return 0;
	}
}

int port_forward_input(struct port_forward *p, struct span bytes, struct buf *out,
		       struct err *reterr)
{
	struct spdy_event e;
	size_t at = 0;
	ptrdiff_t n;

	p->in.max = SPDY_MAX_FRAME + WS_MAX_PAYLOAD + 16;
	buf_add_span(&p->in, bytes);
	while ((n = spdy_read(p->spdy, p->in.ptr + at, p->in.len - at, &e, &p->plain, reterr)) >
	       0) {
		int r = on_event(p, &e, reterr);
		if (r)
			return r;
		at += (size_t)n;
	}
	if (n < 0)
		return (int)n;
	if (at) {
		memmove(p->in.ptr, p->in.ptr + at, p->in.len - at);
		p->in.len -= at;
	}
	wrap(p, out);
	return 0;
}

/* A piece of one stream's body. */
static void push_body(struct port_forward *p, struct forwarded *s)
{
	char piece[PIECE];
	size_t n = s->left < sizeof(piece) ? (size_t)s->left : sizeof(piece);

	for (size_t i = 0; i < n; i++)
		piece[i] = (char)('a' + i % 16);
	spdy_put_data(s->id, span_make(piece, n), false, &p->plain);
	s->left -= n;
	if (!s->left)
		end_pair(p, s);
}

bool port_forward_run(struct port_forward *p, size_t room, struct buf *out)
{
	size_t until = out->len + room;
	bool any = true;

	while (any && out->len < until) {
		any = false;
		for (size_t i = p->streams.len; i-- > 0;) {
			if (i >= p->streams.len || !p->streams.items[i].left)
				continue;
			any = true;
			push_body(p, &p->streams.items[i]);
		}
		wrap(p, out);
	}
	return any;
}
