#include "http_load.h"

#include "bench.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE   65536
#define MILLISECOND 1000000LL

enum state { CONNECTING, IDLE, SENDING, RECEIVING };

struct conn {
	int fd;
	SSL *ssl;
	enum state state;
	bool want_write; /* epoll interest */
	uint64_t due;	 /* when the request was meant to start */
	uint64_t number; /* of the request */
	struct buf out, in;
	size_t sent;
	size_t head; /* length of the answer's header block; 0: not complete */
	size_t body; /* Content-Length */
};

struct run {
	const struct http_load *l;
	struct http_load_result *r;
	SSL_CTX *ctx;
	int epoll;
	struct conn *conns;
	uint64_t started, until, next; /* next: number of the next request */
	size_t cap;
	int ready;
};

static int fail(struct err *reterr, const char *what)
{
	char text[160];
	ERR_error_string_n(ERR_get_error(), text, sizeof(text));
	return err_set(reterr, ERR_INTERNAL, "%s: %s, %s", what, strerror(errno), text);
}

static void interest(struct run *run, struct conn *c, bool write)
{
	struct epoll_event ev = {.events = EPOLLIN | (write ? EPOLLOUT : 0), .data.ptr = c};
	if (c->want_write == write)
		return;
	c->want_write = write;
	(void)epoll_ctl(run->epoll, EPOLL_CTL_MOD, c->fd, &ev);
}

static int open_conn(struct run *run, struct conn *c, struct err *reterr)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)run->l->port)};
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT, .data.ptr = c};
	int one = 1;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return fail(reterr, "connect");
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)fcntl(c->fd, F_SETFL, O_NONBLOCK);
	c->ssl = SSL_new(run->ctx);
	if (!c->ssl || SSL_set_fd(c->ssl, c->fd) != 1)
		return fail(reterr, "SSL");
	SSL_set_connect_state(c->ssl);
	c->want_write = true;
	c->in.max = (size_t)1 << 30;
	return epoll_ctl(run->epoll, EPOLL_CTL_ADD, c->fd, &ev) < 0 ? fail(reterr, "epoll") : 0;
}

static bool over(const struct run *run)
{
	const struct http_load *l = run->l;
	return bench_now_ns() >= run->until || (l->requests && run->next >= l->requests) ||
	       (l->ended && l->ended(l->arg));
}

/* Puts the next request into c->out; false when there is none (yet). */
static bool next_request(struct run *run, struct conn *c)
{
	uint64_t now = bench_now_ns();
	c->due = now;
	if (over(run) || (run->l->allowed && run->next >= run->l->allowed(run->l->arg)))
		return false;
	if (run->l->rate > 0) {
		c->due = run->started + (uint64_t)((double)run->next / run->l->rate * 1e9);
		if (c->due > now)
			return false;
	}
	buf_clear(&c->out);
	c->number = run->next++;
	run->l->make(run->l->arg, c->number, &c->out);
	c->sent = 0;
	c->state = SENDING;
	return true;
}

static int progress(struct run *run, struct conn *c, struct err *reterr);

static int send_some(struct run *run, struct conn *c, struct err *reterr)
{
	while (c->sent < c->out.len) {
		int n = SSL_write(c->ssl, c->out.ptr + c->sent, (int)(c->out.len - c->sent));
		if (n <= 0) {
			int e = SSL_get_error(c->ssl, n);
			if (e == SSL_ERROR_WANT_WRITE || e == SSL_ERROR_WANT_READ) {
				interest(run, c, e == SSL_ERROR_WANT_WRITE);
				return 0;
			}
			return fail(reterr, "write");
		}
		c->sent += (size_t)n;
	}
	c->state = RECEIVING;
	interest(run, c, false);
	return 0;
}

static void parse_head(struct conn *c)
{
	char *end = c->in.len ? strstr(c->in.ptr, "\r\n\r\n") : NULL, *length;
	if (!end)
		return;
	c->head = (size_t)(end - c->in.ptr) + 4;
	length = strcasestr(c->in.ptr, "\r\nContent-Length: ");
	c->body = length && length < end ? strtoul(length + 18, NULL, 10) : 0;
}

static int status_of(const struct conn *c)
{
	return (int)strtol(c->in.ptr + strlen("HTTP/1.1 "), NULL, 10);
}

static void finish_request(struct run *run, struct conn *c)
{
	struct http_load_result *r = run->r;
	if (r->done == run->cap) {
		run->cap = run->cap ? run->cap * 2 : 65536;
		r->latencies = xrealloc(r->latencies, run->cap * sizeof(double));
	}
	r->latencies[r->done++] = (double)(bench_now_ns() - c->due) / 1e9;
	r->bytes_in += c->head + c->body;
	if (strncmp(c->in.ptr, "HTTP/1.1 2", 10) != 0 && !r->failed++)
		snprintf(r->first_failure, sizeof(r->first_failure), "%.*s",
			 (int)(c->in.len < 255 ? c->in.len : 255), c->in.ptr + 9);
	if (run->l->answered)
		run->l->answered(run->l->arg, c->number, c->in.len > 12 ? status_of(c) : 0);
	buf_clear(&c->in);
	c->head = c->body = 0;
	c->state = IDLE;
}

static int receive_some(struct run *run, struct conn *c, struct err *reterr)
{
	for (;;) {
		char *at = buf_reserve(&c->in, READ_SIZE);
		int n = at ? SSL_read(c->ssl, at, READ_SIZE - 1) : -1;
		if (n <= 0) {
			if (SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_READ)
				return 0;
			return fail(reterr, "read");
		}
		buf_advance(&c->in, (size_t)n);
		c->in.ptr[c->in.len] = '\0';
		if (!c->head)
			parse_head(c);
		if (c->head && c->in.len >= c->head + c->body) {
			finish_request(run, c);
			if (next_request(run, c))
				return send_some(run, c, reterr);
			return 0;
		}
	}
}

static int reopen(struct run *run, struct conn *c, struct err *reterr)
{
	SSL_free(c->ssl);
	c->ssl = NULL;
	close(c->fd);
	c->state = CONNECTING;
	run->ready--;
	return open_conn(run, c, reterr);
}

static int progress(struct run *run, struct conn *c, struct err *reterr)
{
	int n;
	switch (c->state) {
	case CONNECTING:
		n = SSL_do_handshake(c->ssl);
		if (n == 1) {
			c->state = IDLE;
			run->ready++;
			interest(run, c, false);
			return 0;
		}
		n = SSL_get_error(c->ssl, n);
		if (n != SSL_ERROR_WANT_READ && n != SSL_ERROR_WANT_WRITE)
			return fail(reterr, "handshake");
		interest(run, c, n == SSL_ERROR_WANT_WRITE);
		return 0;
	case SENDING:
		return send_some(run, c, reterr);
	case RECEIVING:
		return receive_some(run, c, reterr);
	case IDLE: { /* a session ticket, or the server's end */
		char byte;
		n = SSL_peek(c->ssl, &byte, 1);
		if (n <= 0 && SSL_get_error(c->ssl, n) != SSL_ERROR_WANT_READ)
			return reopen(run, c, reterr); /* it has idled for too long */
		return 0;
	}
	}
	return 0;
}

static int turn(struct run *run, int64_t timeout_ns, struct err *reterr)
{
	struct epoll_event ev[128];
	struct timespec t = {timeout_ns / 1000000000, timeout_ns % 1000000000};
	int n = epoll_pwait2(run->epoll, ev, 128, &t, NULL), r = 0;
	for (int i = 0; i < n && !r; i++)
		r = progress(run, ev[i].data.ptr, reterr);
	return r;
}

/* Idle connections take what is due. True while some request is under way or to come. */
static bool feed_idle(struct run *run, int *ret, struct err *reterr)
{
	bool busy = false;
	for (int i = 0; i < run->l->connections && !*ret; i++) {
		struct conn *c = &run->conns[i];
		if (c->state == IDLE && next_request(run, c))
			*ret = send_some(run, c, reterr);
		busy = busy || c->state != IDLE;
	}
	return busy || !over(run);
}

/* How long nothing has to be sent: a generator that spins takes a core from the server. */
static int64_t idle_time(const struct run *run)
{
	uint64_t now = bench_now_ns(), due;
	if (run->l->allowed)
		return MILLISECOND;
	if (run->l->rate <= 0)
		return 10 * MILLISECOND;
	due = run->started + (uint64_t)((double)run->next / run->l->rate * 1e9);
	return due <= now		      ? 0
	       : due - now > 10 * MILLISECOND ? 10 * MILLISECOND
					      : (int64_t)(due - now);
}

static int drive(struct run *run, struct err *reterr)
{
	int r = 0;
	bool open_loop = run->l->rate > 0, paced = run->l->allowed;
	for (int i = 0; i < run->l->connections && !r; i++) {
		r = open_conn(run, &run->conns[i], reterr);
		/* One handshake at a time: a storm of them is another benchmark. */
		while (!r && run->ready <= i)
			r = turn(run, 1000 * MILLISECOND, reterr);
	}
	run->started = bench_now_ns();
	run->until = run->started + (uint64_t)(run->l->seconds * 1e9);
	while (!r && feed_idle(run, &r, reterr)) {
		if (!r)
			r = turn(run, idle_time(run), reterr);
		while (!r && !open_loop && !paced && !over(run))
			r = turn(run, 10 * MILLISECOND, reterr);
	}
	run->r->seconds = (double)(bench_now_ns() - run->started) / 1e9;
	return r;
}

int http_load_run(const struct http_load *l, struct http_load_result *ret, struct err *reterr)
{
	struct run run = {.l = l, .r = ret, .epoll = epoll_create1(EPOLL_CLOEXEC)};
	int r;
	*ret = (struct http_load_result){0};
	run.ctx = SSL_CTX_new(TLS_client_method());
	run.conns = xcalloc((size_t)l->connections, sizeof(struct conn));
	r = run.ctx && run.epoll >= 0 ? drive(&run, reterr) : fail(reterr, "setup");
	for (int i = 0; i < l->connections; i++) {
		SSL_free(run.conns[i].ssl);
		if (run.conns[i].fd > 0)
			close(run.conns[i].fd);
		buf_done(&run.conns[i].out);
		buf_done(&run.conns[i].in);
	}
	free(run.conns);
	SSL_CTX_free(run.ctx);
	close(run.epoll);
	if (r)
		http_load_done(ret);
	return r;
}

void http_load_done(struct http_load_result *r)
{
	free(r->latencies);
	r->latencies = NULL;
}

void http_load_head(struct buf *out, const char *method, const char *path, const char *token,
		    size_t body)
{
	buf_addf(out,
		 "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
		 "Accept: application/json\r\n",
		 method, path, token);
	if (body)
		buf_addf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", body);
	buf_add_str(out, "\r\n");
}
