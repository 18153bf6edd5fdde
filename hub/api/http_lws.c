/*
 * The HTTP engine on libwebsockets: connections and requests. Listeners are in http_lws_listen.c,
 * answers in http_lws_answer.c, parsing of what the library hands over in http_lws_request.c,
 * bodies in http_lws_body.c, TLS in http_lws_tls.c.
 *
 * Failure policy: whatever is wrong with one connection ends that connection.
 */
#include "api/http_lws.h"
#include "api/http.h"

#include "base/num.h"
#include <ctype.h>
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Freed exchanges that are kept for reuse, with one arena block each. */
#define SPARE_EXCHANGES 256
static const char *const method_names[HTTP_METHOD_MAX] = {
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
};

const char *http_method_name(enum http_method m)
{
	return m >= 0 && m < HTTP_METHOD_MAX ? method_names[m] : "?";
}

struct span http_param(const struct http_request *r, const char *name)
{
	for (size_t i = 0; i < r->n_params; i++)
		if (span_is(r->params[i].name, name))
			return r->params[i].value;
	return SPAN_NONE;
}

struct span http_header_key(struct arena *mem, struct span raw)
{
	char *out = arena_alloc(mem, raw.len + 1);
	size_t n = 0;
	for (size_t i = 0; i < raw.len; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *h, *l;
		if (raw.ptr[i] != '%') {
			out[n++] = raw.ptr[i];
			continue;
		}
		if (i + 2 >= raw.len)
			return raw;
		h = memchr(digits, tolower((unsigned char)raw.ptr[i + 1]), 16);
		l = memchr(digits, tolower((unsigned char)raw.ptr[i + 2]), 16);
		if (!h || !l)
			return raw;
		out[n++] = (char)((h - digits) << 4 | (l - digits));
		i += 2;
	}
	return span_make(out, n);
}

struct http_exchange *http_lws_exchange(struct http_conn *c)
{
	struct http_server *s = c->server;
	struct http_exchange *x = s->spare;
	if (x) {
		s->spare = x->next;
		s->n_spare--;
	} else {
		x = xcalloc(1, sizeof(*x));
	}
	x->next = NULL;
	x->conn = c;
	x->listener = lws_get_vhost_user(lws_get_vhost(c->wsi));
	x->request.peer = &c->peer;
	c->exchange = x;
	return x;
}

void http_lws_recycle(struct http_server *s, struct http_exchange *x)
{
	struct arena mem = x->request.mem;
	struct buf body = x->request.body;
	arena_reset(&mem);
	buf_clear(&body);
	if (s->n_spare >= SPARE_EXCHANGES || body.cap > HTTP_PIECE) {
		buf_done(&body);
		if (s->n_spare >= SPARE_EXCHANGES) {
			arena_done(&mem);
			free(x);
			return;
		}
	}
	memset(&x->request, 0, offsetof(struct http_request, params));
	x->request.mem = mem;
	x->request.body = body;
	x->listener = NULL;
	x->user = NULL;
	x->conn = NULL;
	x->streaming = false;
	x->next = s->spare;
	s->spare = x;
	s->n_spare++;
}

static struct http_conn *conn_create(struct http_server *s, struct lws *wsi)
{
	struct http_conn *c = xcalloc(1, sizeof(*c));
	c->server = s;
	c->wsi = wsi;
	c->next = s->conns;
	if (c->next)
		c->next->prev = c;
	s->conns = c;
	s->n_conns++;
	lws_set_opaque_user_data(wsi, c);
	return c;
}

static void conn_destroy(struct http_conn *c)
{
	struct http_server *s = c->server;
	struct http_exchange *x = c->exchange;
	http_lws_watch_hup(c, false);
	lws_set_opaque_user_data(c->wsi, NULL);
	if (c->prev)
		c->prev->next = c->next;
	else
		s->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->n_conns--;
	http_lws_drop_out(c);
	http_lws_frames_destroy(c);
	if (x) {
		x->conn = NULL;
		x->request.peer = NULL;
		if (!c->with_handler)
			http_lws_recycle(s, x);
		else
			s->handler->gone(s->handler->arg, x);
	}
	http_lws_peer_done(&c->peer);
	free(c);
}

static int hand_over(struct http_conn *c, bool had_body)
{
	struct http_server *s = c->server;
	struct http_exchange *x = c->exchange;
	c->receiving = false;
	c->since = 0;
	c->with_handler = true;
	s->n_active++;
	lws_set_timeout(c->wsi, NO_PENDING_TIMEOUT, 0);
	s->handler->request(s->handler->arg, x);
	/* After a body the library tells of further bytes, and reading can go off then; after a
	 * request without one it would spin on them. */
	if (c->with_handler && !had_body)
		http_lws_rx(c, c->want || lws_partial_buffered(c->wsi));
	return c->close ? -1 : 0;
}

static int on_http(struct http_server *s, struct lws *wsi, struct span path)
{
	struct http_conn *c = lws_get_opaque_user_data(wsi);
	struct http_exchange *x;
	uint64_t length;
	if (!c)
		c = conn_create(s, wsi);
	if (c->exchange || c->out)
		return -1;
	if (!c->peer_read) {
		http_lws_read_peer(c);
		http_lws_send_open(c);
		c->peer_read = true;
	}
	s->asked_at = clock_monotonic();
	x = http_lws_exchange(c);
	x->request.body.max = HTTP_MAX_BODY;
	c->close = false;
	c->in_chunks = false;
	c->keep_alive = true;
	if (!http_lws_read_request(c, x, path))
		http_lws_refuse(x, 400, "400 Bad Request\n");
	else if (http_lws_body_length(c, x, &length)) {
		/* The library completes a POST of length 0 by itself, others not. */
		if (!length && !c->in_chunks && x->request.method != HTTP_POST)
			return hand_over(c, false);
		if (x->request.upgrade) { /* whose bytes would those be? */
			http_lws_refuse(x, 400, "400 Bad Request: a body before an upgrade\n");
			return c->close ? -1 : 0;
		}
		c->receiving = true;
		c->since = clock_monotonic();
		return 0;
	}
	return c->close ? -1 : 0;
}

static int on_body(struct http_conn *c, struct span bytes)
{
	int r;

	if (!c || !c->receiving)
		return 0;
	r = http_lws_take_body(c, bytes);
	if (r > 0)
		return hand_over(c, true);
	return r < 0 || c->close ? -1 : 0;
}

static int on_body_end(struct http_conn *c)
{
	if (!c || !c->exchange)
		return 0;
	if (c->receiving)
		return hand_over(c, true);
	/* Bytes of a next request while this one is being answered: the library can neither keep
	 * nor skip them, and would call again and again. */
	return -1;
}

static int on_writable(struct http_conn *c)
{
	if (!c)
		return 0;
	http_lws_continue(c);
	return c->close ? -1 : 0;
}

static int dispatch(struct http_server *s, struct lws *wsi, enum lws_callback_reasons reason,
		    void *in, size_t len)
{
	struct http_conn *c = lws_get_opaque_user_data(wsi);
	switch (reason) {
	case LWS_CALLBACK_HTTP:
		return on_http(s, wsi, span_make(in, len));
	case LWS_CALLBACK_HTTP_BODY:
		return on_body(c, span_make(in, len));
	case LWS_CALLBACK_HTTP_BODY_COMPLETION:
		return on_body_end(c);
	case LWS_CALLBACK_HTTP_WRITEABLE:
		return on_writable(c);
	default:
		return 0;
	}
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
		    size_t len)
{
	struct http_server *s;
	struct http_conn *c;
	bool created;
	int r;
	switch (reason) {
	case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS: {
		struct http_listener *l = lws_get_vhost_user((struct lws_vhost *)in);
		if (l && l->server)
			http_lws_load_ca((SSL_CTX *)user, l);
		return 0;
	}
	case LWS_CALLBACK_OPENSSL_PERFORM_CLIENT_CERT_VERIFICATION:
		return 0; /* go on: the verdict stays in the session, and becomes a 401 */
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return http_lws_confirm_upgrade(wsi, in);
	case LWS_CALLBACK_CLOSED_HTTP:
	case LWS_CALLBACK_WSI_DESTROY:
		c = lws_get_opaque_user_data(wsi);
		if (c)
			conn_destroy(c);
		return 0;
	case LWS_CALLBACK_HTTP:
	case LWS_CALLBACK_HTTP_BODY:
	case LWS_CALLBACK_HTTP_BODY_COMPLETION:
	case LWS_CALLBACK_HTTP_WRITEABLE:
		break;
	default:
		return 0;
	}
	s = lws_context_user(lws_get_context(wsi));
	c = lws_get_opaque_user_data(wsi);
	created = c != NULL;
	if (created)
		c->in_callback = true;
	r = dispatch(s, wsi, reason, in, len);
	c = lws_get_opaque_user_data(wsi);
	if (c)
		c->in_callback = false;
	return r;
}

static void on_hup(uv_poll_t *poll, int status, int events)
{
	struct http_server *s = poll->data;
	struct epoll_event ev[64];
	int n;
	if (status < 0 || !(events & UV_READABLE))
		return;
	n = epoll_wait(s->hup_fd, ev, 64, 0);
	for (int i = 0; i < n; i++) {
		struct http_conn *c = ev[i].data.ptr;
		if (c->tunnel)
			http_lws_tunnel_event(c, ev[i].events);
		else
			http_lws_kill(c);
	}
}

/* Ends of connections from which nothing is read: sockets join while the handler has a stream. */
void http_lws_watch_hup(struct http_conn *c, bool on)
{
	struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = c};
	int fd = (int)lws_get_socket_fd(c->wsi);
	if (c->watched == on || fd < 0)
		return;
	c->watched = on;
	(void)epoll_ctl(c->server->hup_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &ev);
}

static int open_hup(struct http_server *s)
{
	s->hup_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->hup_fd < 0 || uv_poll_init(s->loop, &s->hup_poll, s->hup_fd) < 0)
		return -EIO;
	s->hup_poll.data = s;
	s->hup_open = true;
	return uv_poll_start(&s->hup_poll, UV_READABLE, on_hup) < 0 ? -EIO : 0;
}

int http_server_create(const struct http_server_options *o, struct http_server **ret,
		       struct err *reterr)
{
	struct http_server *s = xcalloc(1, sizeof(*s));
	struct lws_context_creation_info info = {0};
	void *loops[1] = {o->loop};
	s->loop = o->loop;
	s->handler = o->handler;
	s->hup_fd = -1;
	s->date_at = -1;
	s->scratch = xcalloc(1, LWS_PRE + HTTP_PIECE + 4096);
	s->send_method = http_lws_send_method();
	s->protocols[0] = (struct lws_protocols){.name = "http",
						 .callback = callback,
						 .rx_buffer_size = 16384,
						 .tx_packet_size = HTTP_QUIET_PIECE * 2};
	lws_set_log_level(0, NULL);
	info.port = CONTEXT_PORT_NO_LISTEN;
	info.protocols = s->protocols;
	info.user = s;
	info.foreign_loops = loops;
	info.pcontext = &s->context; /* set to NULL when the context is really gone */
	info.fd_limit_per_thread = (unsigned int)o->max_connections;
	info.timeout_secs = HTTP_HEADER_SECS;
	info.max_http_header_data2 = HTTP_MAX_HEADERS;
	info.pt_serv_buf_size = 16384;
	info.options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT |
		       LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
	s->context = lws_create_context(&info);
	if (!s->context || open_hup(s) < 0) {
		http_server_destroy(s);
		return err_set(reterr, ERR_INTERNAL, "cannot make the HTTP service");
	}
	*ret = s;
	return 0;
}

struct http_server *http_server_destroy(struct http_server *s)
{
	struct http_listener *l;
	struct http_exchange *x;
	if (!s)
		return NULL;
	if (s->hup_open)
		uv_close((uv_handle_t *)&s->hup_poll, NULL);
	/* Each phase of the library's end waits for handles that close in later turns. */
	for (int phase = 0; phase < 3; phase++) {
		if (s->context)
			lws_context_destroy(s->context);
		while (uv_run(s->loop, UV_RUN_NOWAIT))
			usleep(0);
	}
	if (s->hup_fd >= 0)
		close(s->hup_fd);
	while ((l = s->listeners)) {
		s->listeners = l->next;
		http_lws_listener_destroy(l);
	}
	while ((x = s->spare)) {
		s->spare = x->next;
		arena_done(&x->request.mem);
		buf_done(&x->request.body);
		free(x);
	}
	free(s->scratch);
	BIO_meth_free(s->send_method);
	free(s);
	return NULL;
}

void http_server_sweep(struct http_server *s)
{
	usec now = clock_monotonic();
	for (struct http_conn *c = s->conns; c; c = c->next) {
		usec limit = c->receiving ? HTTP_BODY_SECS : HTTP_STALL_SECS;
		if (c->since && now - c->since > limit * USEC_PER_SEC)
			http_lws_kill(c);
	}
}

size_t http_server_active(const struct http_server *s)
{
	return s->n_active;
}

size_t http_server_unsent(const struct http_server *s)
{
	size_t n = 0;
	for (const struct http_conn *c = s->conns; c; c = c->next)
		n += c->out || (c->frames && !http_lws_frames_ready(c)) ||
		     lws_partial_buffered(c->wsi);
	return n;
}

size_t http_server_connections(const struct http_server *s)
{
	return s->n_conns;
}
