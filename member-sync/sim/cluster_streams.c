#include "member-sync/sim/cluster_streams.h"

#include "api/ws_frame.h"
#include "kube/status.h"
#include "member-sync/sim/cluster_priv.h"
#include "member-sync/sim/kubelet_request.h"
#include "member-sync/sim/port_forward.h"
#include "member-sync/sim/remote_command.h"
#include "registry/wakeup.h"
#include <pthread.h>

#define MAX_STREAMS 1000
#define PIECE	    ((size_t)16 << 10)
#define ROOM	    RELAY_WINDOW	/* of what waits to be sent, when more is made */
#define TURN	    ((size_t)256 << 10) /* bytes that one moves in a step */

struct pod_stream {
	struct pod_stream *prev, *next;
	struct relay *relay;
	char *ns, *name; /* owned */
	uint8_t uid[STORE_UID_LEN];
	int32_t restarts; /* the run that it is connected to */
	struct buf in, out;
	size_t out_at;	 /* of out: what was pushed */
	bool full;	 /* until the relay's asker took something */
	bool over;	 /* it ends when `out` is pushed */
	bool last_frame; /* the one before ended its message */
	struct remote_options options;
	struct remote_command command;
	struct port_forward *forward; /* NULL: a command */
};

struct relay_list VEC(struct relay *);

struct cluster_streams {
	struct cluster *c;
	struct pod_stream *streams;
	size_t n_streams;
	pthread_mutex_t lock; /* over what follows: */
	struct relay_list asked, attended;
};

/* ---- other threads ---- */

static void post(struct cluster_streams *s, struct relay_list *list, struct relay *r)
{
	pthread_mutex_lock(&s->lock);
	vec_push(list, relay_ref(r));
	pthread_mutex_unlock(&s->lock);
	if (s->c->options.wakeup)
		wakeup_ring(s->c->options.wakeup);
}

static void on_attend(void *answerer, struct relay *r)
{
	struct cluster_streams *s = answerer;
	post(s, &s->attended, r);
}

int cluster_streams_proxy(struct cluster_streams *s, struct relay *r, struct err *reterr)
{
	(void)reterr;
	relay_accept(r, on_attend, s);
	post(s, &s->asked, r);
	return 0;
}

/* ---- the handshake ---- */

static const char *const command_protocols[] = {"v5.channel.k8s.io", "v4.channel.k8s.io"};
static const char *const forward_protocols[] = {"SPDY/3.1+portforward.k8s.io"};

static bool is_offered(struct span offers, const char *protocol)
{
	while (offers.len) {
		struct span one = span_split(&offers, ',');
		while (one.len && one.ptr[0] == ' ')
			one = span_make(one.ptr + 1, one.len - 1);
		if (span_is(one, protocol))
			return true;
	}
	return false;
}

static int negotiate(const struct relay_question *q, bool forwards, struct buf *headers,
		     struct err *reterr)
{
	const char *const *known = forwards ? forward_protocols : command_protocols;
	size_t n = forwards ? ARRAY_LEN(forward_protocols) : ARRAY_LEN(command_protocols), i = 0;
	char accept[WS_ACCEPT_LEN + 1];

	if (!q->upgrade || !ws_accept(span_of(q->ws_key ? q->ws_key : ""), accept))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "Upgrade request required: a WebSocket with a key");
	while (i < n && !is_offered(span_of(q->ws_protocols ? q->ws_protocols : ""), known[i]))
		i++;
	if (i == n)
		return err_set(reterr, ERR_FORBIDDEN,
			       "unable to negotiate protocol: client supports [%s], server accepts "
			       "[%s%s%s]",
			       q->ws_protocols ? q->ws_protocols : "", known[0], n > 1 ? " " : "",
			       n > 1 ? known[1] : "");
	buf_addf(headers,
		 "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n"
		 "Sec-WebSocket-Protocol: %s\r\n",
		 accept, known[i]);
	return 0;
}

static int check_running(const struct sim_pod *p, size_t container, struct err *reterr)
{
	const char *name = p->class->containers[container].name;

	if (sim_pod_over(p))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "cannot exec into a container in a completed pod; current phase is "
			       "%s",
			       p->phase == POD_SUCCEEDED ? "Succeeded" : "Failed");
	if (!p->started)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "unable to upgrade connection: container not found (\"%s\")", name);
	return 0;
}

static void stream_end(struct cluster_streams *s, struct pod_stream *st)
{
	if (st->prev)
		st->prev->next = st->next;
	else
		s->streams = st->next;
	if (st->next)
		st->next->prev = st->prev;
	s->n_streams--;
	relay_set_local(st->relay, NULL);
	relay_end(st->relay, NULL);
	port_forward_destroy(st->forward);
	buf_done(&st->in);
	buf_done(&st->out);
	free(st->ns);
	free(st->name);
	free(st);
}

static void start(struct cluster_streams *s, struct pod_stream *st, const struct sim_pod *p,
		  struct span subresource, struct relay *take)
{
	st->ns = xstrndup(p->ns.ptr, p->ns.len);
	st->name = xstrndup(p->name.ptr, p->name.len);
	memcpy(st->uid, p->uid, STORE_UID_LEN);
	st->restarts = p->restarts;
	st->relay = take;
	st->last_frame = true;
	relay_set_local(take, st);
	st->next = s->streams;
	if (st->next)
		st->next->prev = st;
	s->streams = st;
	s->n_streams++;
	if (span_is(subresource, "portforward"))
		st->forward = port_forward_create(p->name);
	else
		remote_command_start(&st->command, &st->options, span_is(subresource, "attach"),
				     p->name, &st->out);
}

static void open_stream(struct cluster_streams *s, struct relay *take)
{
	struct pod_stream *st = xcalloc(1, sizeof(*st));
	const struct relay_question *q = relay_question(take);
	struct kubelet_request at;
	struct err e = ERR_INIT;
	struct sim_pod *p = NULL, spare;
	char text[STORE_MAX_NAME + 1];
	auto_buf headers = BUF_MAX(RELAY_MAX_HEADERS);
	size_t container = 0;
	int r = 0;

	if (kubelet_request_parse(q->path, &at))
		p = kubelet_pod_get(s->c, at.ns, at.name, NULL, &spare);
	bool forwards = span_is(at.subresource, "portforward");
	snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(at.name));
	if (!p)
		r = status_set_not_found(&e, s->c->pod_kind, text);
	else if (s->n_streams >= MAX_STREAMS)
		r = err_set(&e, ERR_TOO_MANY, "%d connections are open already", MAX_STREAMS);
	else if (!forwards)
		r = remote_options_parse(at.query, span_is(at.subresource, "attach"), &st->options,
					 &e);
	if (!r && !forwards)
		r = kubelet_choose_container(p, st->options.container, &container, &e);
	if (!r)
		r = check_running(p, container, &e);
	if (!r)
		r = negotiate(q, forwards, &headers, &e);
	if (r) {
		free(st);
		kubelet_refuse(s->c, take, &e, text);
	} else {
		relay_head(take, 101, NULL, buf_span(&headers));
		start(s, st, p, at.subresource, take);
	}
	if (p)
		kubelet_pod_put(s->c, p, &spare);
}

/* ---- bytes ---- */

/* True when all is pushed. */
static bool push_out(struct pod_stream *st, size_t *moved)
{
	while (st->out_at < st->out.len) {
		size_t n = st->out.len - st->out_at;
		if (n > PIECE)
			n = PIECE;
		if (!relay_push(st->relay, span_make(st->out.ptr + st->out_at, n))) {
			st->full = true;
			return false;
		}
		st->out_at += n;
		*moved += n;
	}
	buf_clear(&st->out);
	st->out_at = 0;
	return true;
}

static void on_frame(struct pod_stream *st, const struct ws_frame *f)
{
	struct err e = ERR_INIT;
	bool continues = f->opcode == WS_CONTINUATION;

	switch (f->opcode) {
	case WS_CLOSE:
		ws_frame_begin(&st->out, WS_CLOSE, f->payload.len);
		buf_add_span(&st->out, f->payload);
		st->over = true;
		return;
	case WS_PING:
		ws_frame_begin(&st->out, WS_PONG, f->payload.len);
		buf_add_span(&st->out, f->payload);
		return;
	case WS_PONG:
		return;
	default:
		break;
	}
	if (continues == st->last_frame) { /* a part of nothing, or a message within another */
		st->over = true;
		return;
	}
	st->last_frame = f->last;
	if (!st->forward)
		remote_command_input(&st->command, f->payload, continues, &st->out);
	else if (port_forward_input(st->forward, f->payload, &st->out, &e) < 0)
		st->over = true;
}

static void take_frames(struct pod_stream *st)
{
	struct err e = ERR_INIT;
	struct ws_frame f;
	size_t at = 0;
	ptrdiff_t n = 0;

	while (!st->over && at < st->in.len &&
	       (n = ws_frame_read(st->in.ptr + at, st->in.len - at, &f, &e)) > 0) {
		on_frame(st, &f);
		at += (size_t)n;
	}
	if (n < 0)
		st->over = true;
	if (at)
		memmove(st->in.ptr, st->in.ptr + at, st->in.len - at);
	st->in.len -= at;
}

/* False: nothing came. */
static bool take_in(struct pod_stream *st, size_t *moved)
{
	size_t n = 0;

	st->in.max = WS_MAX_PAYLOAD + 4 * PIECE;
	char *room = buf_reserve(&st->in, PIECE);
	if (room)
		n = relay_receive(st->relay, room, PIECE);
	if (!n)
		return false;
	buf_advance(&st->in, n);
	*moved += n;
	take_frames(st);
	return true;
}

static bool run(struct pod_stream *st)
{
	if (st->over)
		return false;
	if (st->forward)
		return port_forward_run(st->forward, ROOM, &st->out);
	bool more = remote_command_run(&st->command, ROOM, &st->out);
	st->over = st->command.over;
	return more;
}

/* 0: there is more to do at once; INT64_MAX: not before something comes, or is taken. */
static usec serve(struct cluster_streams *s, struct pod_stream *st)
{
	size_t moved = 0;

	while (moved < TURN) {
		if (!push_out(st, &moved))
			return INT64_MAX;
		if (st->over) {
			stream_end(s, st);
			return INT64_MAX;
		}
		bool more = run(st);
		if (st->out.len)
			continue;
		if (!take_in(st, &moved) && !more && !st->out.len && !st->over)
			return INT64_MAX;
	}
	return 0;
}

static void check_pod(struct cluster_streams *s, struct pod_stream *st)
{
	struct sim_pod spare;
	struct sim_pod *p =
	    kubelet_pod_get(s->c, span_of(st->ns), span_of(st->name), st->uid, &spare);

	if (!p || sim_pod_over(p) || p->restarts != st->restarts) {
		if (!st->forward && !st->over)
			remote_command_kill(&st->command, &st->out);
		st->over = true;
	}
	if (p)
		kubelet_pod_put(s->c, p, &spare);
}

static void attend(struct cluster_streams *s, struct relay *r)
{
	struct pod_stream *st = relay_local(r);

	if (st && relay_attended(r))
		st->full = false;
	else if (st)
		stream_end(s, st);
	relay_unref(r);
}

usec cluster_streams_step(struct cluster_streams *s)
{
	usec due = INT64_MAX;

	pthread_mutex_lock(&s->lock);
	struct relay_list asked = s->asked, attended = s->attended;
	s->asked = s->attended = (struct relay_list){0};
	pthread_mutex_unlock(&s->lock);
	vec_foreach (&asked, r)
		open_stream(s, *r);
	vec_foreach (&attended, r)
		attend(s, *r);
	vec_done(&asked);
	vec_done(&attended);
	for (struct pod_stream *st = s->streams, *next; st; st = next) {
		next = st->next;
		check_pod(s, st);
		usec at = st->full ? INT64_MAX : serve(s, st);
		if (at < due)
			due = at;
	}
	return due;
}

struct cluster_streams *cluster_streams_create(struct cluster *c)
{
	struct cluster_streams *s = xcalloc(1, sizeof(*s));
	s->c = c;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

struct cluster_streams *cluster_streams_destroy(struct cluster_streams *s)
{
	struct err e = ERR_INIT;

	if (!s)
		return NULL;
	(void)err_set(&e, ERR_UNAVAILABLE, "the simulator is stopping");
	while (s->streams)
		stream_end(s, s->streams);
	vec_foreach (&s->asked, r)
		relay_end(*r, &e);
	vec_foreach (&s->attended, r)
		relay_unref(*r);
	vec_done(&s->asked);
	vec_done(&s->attended);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}
