#include "http_download.h"

#include "base/buf.h"
#include "bench.h"
#include "http_load.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE ((size_t)64 << 10)
#define HEAD_MAX  4096
#define MIB	  ((size_t)1 << 20)

/* An event's time, when a read ends in the midst of it. */
#define MARK	 "\"due\":\""
#define MARK_LEN (sizeof(MARK) - 1)
#define DIGITS	 20

struct conn {
	int fd;
	SSL *ssl;
	char rest[MARK_LEN + DIGITS]; /* the end of what was read, while it may begin an event */
	size_t n_rest;
};

struct http_crowd {
	SSL_CTX *ctx;
	struct conn *conns;
	size_t n;
};

static void close_conn(struct conn *c)
{
	SSL_free(c->ssl);
	if (c->fd >= 0)
		close(c->fd);
}

static int open_conn(SSL_CTX *ctx, int port, struct conn *c, struct err *reterr)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int one = 1;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*c = (struct conn){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	if (c->fd >= 0 && connect(c->fd, (struct sockaddr *)&a, sizeof(a)) == 0) {
		(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		c->ssl = SSL_new(ctx);
		if (c->ssl && SSL_set_fd(c->ssl, c->fd) == 1 && SSL_connect(c->ssl) == 1)
			return 0;
	}
	close_conn(c);
	return err_set(reterr, ERR_UNAVAILABLE, "connect: %s", strerror(errno));
}

static int send_request(struct conn *c, const struct http_download *d, struct err *reterr)
{
	auto_buf out = BUF_INIT;
	http_load_head(&out, "GET", d->path, d->token, 0);
	if (SSL_write(c->ssl, out.ptr, (int)out.len) == (int)out.len)
		return 0;
	return err_set(reterr, ERR_UNAVAILABLE, "the request was not taken");
}

/* Reads to the end of the header block; what came of the body stays behind it. */
static int read_head(struct conn *c, char head[HEAD_MAX], size_t *ret_len, char **ret_body,
		     struct err *reterr)
{
	size_t len = 0;
	char *end = NULL;
	while (!end && len < HEAD_MAX - 1) {
		int n = SSL_read(c->ssl, head + len, (int)(HEAD_MAX - 1 - len));
		if (n <= 0)
			return err_set(reterr, ERR_UNAVAILABLE, "closed before an answer");
		len += (size_t)n;
		head[len] = '\0';
		end = strstr(head, "\r\n\r\n");
	}
	if (!end || strncmp(head, "HTTP/1.1 200", 12) != 0)
		return err_set(reterr, ERR_UNAVAILABLE, "%.120s", head);
	*ret_body = end + 4;
	*ret_len = len;
	return 0;
}

/* A chunked body ends with an empty chunk: `tail` holds the last bytes that were read. */
static bool ended(const char tail[5], size_t got, size_t wanted)
{
	return wanted ? got >= wanted : got >= 5 && memcmp(tail, "0\r\n\r\n", 5) == 0;
}

static void keep_tail(char tail[5], const char *bytes, size_t n)
{
	size_t keep = n < 5 ? n : 5;
	memmove(tail, tail + keep, 5 - keep);
	memcpy(tail + 5 - keep, bytes + n - keep, keep);
}

static int read_body(struct conn *c, const struct http_download *d, struct http_download_result *r,
		     struct err *reterr)
{
	auto_free char *room = xcalloc(1, READ_SIZE);
	char head[HEAD_MAX], tail[5] = "", *body = NULL;
	size_t len = 0, wanted = 0, told = 0;
	int rc = read_head(c, head, &len, &body, reterr);
	if (rc)
		return rc;
	const char *length = strcasestr(head, "\r\nContent-Length: ");
	size_t got = len - (size_t)(body - head);
	if (length && length < body)
		wanted = (size_t)strtoull(length + 18, NULL, 10);
	keep_tail(tail, body, got);
	while (!ended(tail, got, wanted)) {
		int n = SSL_read(c->ssl, room, (int)READ_SIZE);
		if (n <= 0)
			return err_set(reterr, ERR_UNAVAILABLE, "cut after %zu bytes", got);
		keep_tail(tail, room, (size_t)n);
		got += (size_t)n;
		if (d->progress && got - told > MIB) {
			told = got;
			d->progress(d->arg);
		}
	}
	r->bytes = got + (size_t)(body - head);
	return 0;
}

int http_download(const struct http_download *d, struct http_download_result *ret,
		  struct err *reterr)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	struct conn c;
	int rc = open_conn(ctx, d->port, &c, reterr);
	if (!rc) {
		uint64_t start = bench_now_ns();
		rc = send_request(&c, d, reterr);
		if (!rc)
			rc = read_body(&c, d, ret, reterr);
		ret->seconds = (double)(bench_now_ns() - start) / 1e9;
		close_conn(&c);
	}
	SSL_CTX_free(ctx);
	return rc;
}

int http_crowd_open(const struct http_download *d, size_t n, struct http_crowd **ret,
		    struct err *reterr)
{
	struct http_crowd *c = xcalloc(1, sizeof(*c));
	char head[HEAD_MAX], *body;
	size_t len;
	int rc = 0;
	c->ctx = SSL_CTX_new(TLS_client_method());
	c->conns = xcalloc(n, sizeof(*c->conns));
	while (!rc && c->n < n) {
		struct conn *one = &c->conns[c->n];
		rc = open_conn(c->ctx, d->port, one, reterr);
		if (rc)
			break;
		c->n++;
		rc = send_request(one, d, reterr);
		if (!rc)
			rc = read_head(one, head, &len, &body, reterr);
	}
	if (rc) {
		http_crowd_close(c);
		return rc;
	}
	*ret = c;
	return 0;
}

int http_crowd_stay(struct http_crowd *c, int seconds, struct err *reterr)
{
	struct pollfd *fds = xcalloc(c->n, sizeof(*fds));
	for (size_t i = 0; i < c->n; i++)
		fds[i] = (struct pollfd){.fd = c->conns[i].fd, .events = POLLRDHUP};
	int rc = poll(fds, c->n, seconds * 1000);
	free(fds);
	return rc ? err_set(reterr, ERR_UNAVAILABLE, "a watch was cut") : 0;
}

static void count_event(struct http_crowd_count *count, uint64_t now, const char *digits,
			uint64_t at)
{
	uint64_t due = strtoull(digits, NULL, 10);
	count->last_at = at;
	count->events++;
	if (count->n_lags < count->max_lags)
		count->lags[count->n_lags++] = now > due ? (double)(now - due) / 1e9 : 0;
}

/* Counts the events in text; how much of its end has to be looked at again with what follows. */
static size_t count_events(struct http_crowd_count *count, const char *text, size_t n)
{
	uint64_t now = bench_now_ns();
	const char *at = text, *end = text + n, *found;
	uint64_t before = count->bytes - n;
	while ((found = memmem(at, (size_t)(end - at), MARK, MARK_LEN))) {
		if ((size_t)(end - found) < MARK_LEN + DIGITS)
			return (size_t)(end - found);
		count_event(count, now, found + MARK_LEN, before + (uint64_t)(found - text));
		at = found + MARK_LEN + DIGITS;
	}
	return (size_t)(end - at) < MARK_LEN ? (size_t)(end - at) : MARK_LEN - 1;
}

static int follow_one(struct conn *c, struct http_crowd_count *count, char *room,
		      struct err *reterr)
{
	for (;;) {
		int n = SSL_read(c->ssl, room + c->n_rest, (int)READ_SIZE);
		if (n <= 0) {
			if (SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_READ)
				return 0;
			return err_set(reterr, ERR_UNAVAILABLE, "a watch was cut");
		}
		count->bytes += (uint64_t)n;
		memcpy(room, c->rest, c->n_rest);
		size_t len = c->n_rest + (size_t)n, keep = count_events(count, room, len);
		memcpy(c->rest, room + len - keep, keep);
		c->n_rest = keep;
	}
}

int http_crowd_follow(struct http_crowd *c, struct http_crowd_count *count, struct err *reterr)
{
	auto_free char *room = xcalloc(1, READ_SIZE + sizeof(c->conns->rest));
	int epoll = epoll_create1(EPOLL_CLOEXEC), rc = 0;
	for (size_t i = 0; i < c->n; i++) {
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &c->conns[i]};
		(void)fcntl(c->conns[i].fd, F_SETFL, O_NONBLOCK);
		(void)epoll_ctl(epoll, EPOLL_CTL_ADD, c->conns[i].fd, &ev);
	}
	while (!rc && !count->stop) {
		struct epoll_event ev[256];
		int n = epoll_wait(epoll, ev, 256, 20);
		for (int i = 0; i < n && !rc; i++)
			rc = follow_one(ev[i].data.ptr, count, room, reterr);
	}
	close(epoll);
	return rc;
}

struct http_crowd *http_crowd_close(struct http_crowd *c)
{
	if (!c)
		return NULL;
	while (c->n)
		close_conn(&c->conns[--c->n]);
	SSL_CTX_free(c->ctx);
	free(c->conns);
	free(c);
	return NULL;
}
