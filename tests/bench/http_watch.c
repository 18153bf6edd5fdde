#include "http_watch.h"

#include "base/buf.h"
#include "http_load.h"
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <semaphore.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE  ((size_t)64 << 10)
#define LINE_BYTES ((size_t)4 << 20)

struct stream {
	const struct http_watch *w;
	int fd;
	SSL_CTX *ctx;
	SSL *ssl;
	struct buf in, line;
	bool chunked, ended;
	size_t left; /* of the chunk or of the body */
};

struct http_watch_thread {
	struct http_watch w;
	struct stream stream;
	pthread_t thread;
	sem_t opened;
	struct err err;
	int status;
};

static int stream_fail(struct err *reterr, const char *what)
{
	return err_set(reterr, ERR_INTERNAL, "%s: %s", what, strerror(errno));
}

static int stream_connect(struct stream *s, struct err *reterr)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s->w->port)};
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || connect(s->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return stream_fail(reterr, "connect");
	s->ctx = SSL_CTX_new(TLS_client_method());
	s->ssl = s->ctx ? SSL_new(s->ctx) : NULL;
	if (!s->ssl || SSL_set_fd(s->ssl, s->fd) != 1 || SSL_connect(s->ssl) != 1)
		return stream_fail(reterr, "TLS");
	return 0;
}

/* More bytes into `in`. */
static bool stream_fill(struct stream *s)
{
	char *at = buf_reserve(&s->in, READ_SIZE);
	int n = at ? SSL_read(s->ssl, at, READ_SIZE) : -1;
	if (n <= 0)
		return false;
	buf_advance(&s->in, (size_t)n);
	return true;
}

static void stream_drop(struct stream *s, size_t n)
{
	memmove(s->in.ptr, s->in.ptr + n, s->in.len - n);
	s->in.len -= n;
	s->in.ptr[s->in.len] = '\0';
}

static int stream_open(struct stream *s, struct err *reterr)
{
	auto_buf head = BUF_INIT;
	char *end, *length;
	s->in = s->line = (struct buf)BUF_MAX(LINE_BYTES + READ_SIZE);
	if (stream_connect(s, reterr) < 0)
		return -EIO;
	http_load_head(&head, "GET", s->w->path, s->w->token, 0);
	if (SSL_write(s->ssl, head.ptr, (int)head.len) <= 0)
		return stream_fail(reterr, "write");
	do {
		if (!stream_fill(s))
			return stream_fail(reterr, "no answer");
		s->in.ptr[s->in.len] = '\0';
	} while (!(end = strstr(s->in.ptr, "\r\n\r\n")));
	if (strncmp(s->in.ptr, "HTTP/1.1 200", 12) != 0)
		return err_set(reterr, ERR_INTERNAL, "%s: %.60s", s->w->path, s->in.ptr);
	*end = '\0';
	length = strcasestr(s->in.ptr, "\r\nContent-Length: ");
	s->chunked = !length;
	s->left = length ? strtoul(length + 18, NULL, 10) : 0;
	stream_drop(s, (size_t)(end - s->in.ptr) + 4);
	return 0;
}

/* Whole lines of the body so far; false when their reader has had enough. */
static bool hand_out(struct stream *s, bool last)
{
	char *at = s->line.ptr, *end = at + s->line.len, *stop;
	while (at < end && ((stop = memchr(at, '\n', (size_t)(end - at))) || last)) {
		stop = stop ? stop : end;
		*stop = '\0';
		if (!s->w->line(s->w->arg, at, (size_t)(stop - at)))
			return false;
		at = stop < end ? stop + 1 : end;
	}
	memmove(s->line.ptr, at, (size_t)(end - at));
	s->line.len = (size_t)(end - at);
	return true;
}

/* Moves body bytes that are there from `in` to `line`; -1 when more must come first, 0 at the end
 * of the body. */
static int take_body(struct stream *s)
{
	if (s->chunked && !s->left) {
		char *eol = s->in.len ? memmem(s->in.ptr, s->in.len, "\r\n", 2) : NULL;
		if (!eol)
			return -1;
		if (eol == s->in.ptr) { /* the end of the chunk before */
			stream_drop(s, 2);
			return 1;
		}
		s->left = strtoul(s->in.ptr, NULL, 16);
		stream_drop(s, (size_t)(eol - s->in.ptr) + 2);
		return s->left ? 1 : 0;
	}
	if (!s->left)
		return 0;
	size_t n = s->left < s->in.len ? s->left : s->in.len;
	if (!n)
		return -1;
	buf_add(&s->line, s->in.ptr, n);
	(void)buf_reserve(&s->line, 1);
	stream_drop(s, n);
	s->left -= n;
	return 1;
}

static void stream_read(struct stream *s)
{
	for (;;) {
		int r = take_body(s);
		if (r == 0)
			break;
		if (r > 0)
			continue;
		if (!hand_out(s, false) || !stream_fill(s))
			return;
	}
	(void)hand_out(s, true);
}

static void stream_close(struct stream *s)
{
	SSL_free(s->ssl);
	SSL_CTX_free(s->ctx);
	if (s->fd >= 0)
		close(s->fd);
	buf_done(&s->in);
	buf_done(&s->line);
}

int http_watch_get(const struct http_watch *w, struct err *reterr)
{
	struct stream s = {.w = w, .fd = -1};
	int r = stream_open(&s, reterr);
	if (r == 0)
		stream_read(&s);
	stream_close(&s);
	return r;
}

static void *watch_main(void *arg)
{
	struct http_watch_thread *t = arg;
	t->status = stream_open(&t->stream, &t->err);
	sem_post(&t->opened);
	if (t->status == 0)
		stream_read(&t->stream);
	return NULL;
}

struct http_watch_thread *http_watch_start(const struct http_watch *w, struct err *reterr)
{
	struct http_watch_thread *t = xcalloc(1, sizeof(*t));
	t->w = *w;
	t->stream = (struct stream){.w = &t->w, .fd = -1};
	sem_init(&t->opened, 0, 0);
	if (pthread_create(&t->thread, NULL, watch_main, t) != 0)
		abort();
	while (sem_wait(&t->opened) < 0)
		;
	if (t->status == 0)
		return t;
	*reterr = t->err;
	http_watch_stop(t);
	return NULL;
}

void http_watch_stop(struct http_watch_thread *t)
{
	if (!t)
		return;
	if (t->stream.fd >= 0)
		shutdown(t->stream.fd, SHUT_RDWR);
	pthread_join(t->thread, NULL);
	stream_close(&t->stream);
	sem_destroy(&t->opened);
	free(t);
}
