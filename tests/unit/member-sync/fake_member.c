#include "fake_member.h"

#include "base/buf.h"
#include "base/num.h"
#include "base/vec.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

struct fake_connection {
	struct fake_connection *next;
	struct fake_member *f;
	int fd;
	SSL *ssl;
	pthread_t thread;
	_Atomic bool over; /* this side is done with it */
	bool ended;	   /* its thread is about to return */
};

struct resource {
	char name[64];
	char revision[32];
	char *items;
	struct fake_connection *watcher; /* the latest; earlier ones have lost their client */
	struct VEC(char *) lines;
};

struct fake_member {
	struct fake_member_options o;
	char uid[64];
	char url[64];
	int fd, port;
	SSL_CTX *ctx;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stopping;
	struct fake_connection *connections;
	struct VEC(struct resource *) resources;
	struct VEC(char *) requests;
	size_t open, most;
};

struct fake_member *fake_member_of(struct fake_connection *c)
{
	return c->f;
}

/* ---- bytes ---- */

static bool write_all(struct fake_connection *c, const char *p, size_t len)
{
	while (len && !c->over) {
		ssize_t n =
		    c->ssl ? SSL_write(c->ssl, p, (int)len) : send(c->fd, p, len, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return !c->over;
}

void fake_write(struct fake_connection *c, const char *bytes)
{
	if (!write_all(c, bytes, strlen(bytes)))
		c->over = true;
}

void fake_reply(struct fake_connection *c, int code, const char *body)
{
	struct buf b = BUF_INIT;

	buf_addf(&b,
		 "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		 code, strlen(body));
	buf_add_str(&b, body);
	if (!write_all(c, b.ptr, b.len))
		c->over = true;
	buf_done(&b);
}

void fake_reset(struct fake_connection *c)
{
	struct linger hard = {1, 0};

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	c->over = true;
}

void fake_close(struct fake_connection *c)
{
	c->over = true;
}

void fake_hang(struct fake_connection *c)
{
	pthread_mutex_lock(&c->f->lock);
	while (!c->f->stopping && !c->over)
		pthread_cond_wait(&c->f->changed, &c->f->lock);
	pthread_mutex_unlock(&c->f->lock);
	c->over = true;
}

static ssize_t read_some(struct fake_connection *c, char *p, size_t len)
{
	return c->ssl ? SSL_read(c->ssl, p, (int)len) : recv(c->fd, p, len, 0);
}

/* Reads one request; false at the end of the connection. `in` keeps what came too early. */
static bool read_request(struct fake_connection *c, struct buf *in, struct fake_request *r)
{
	char chunk[4096], *end;
	uint64_t body_len = 0;

	while (!in->ptr || !(end = strstr(in->ptr, "\r\n\r\n"))) {
		ssize_t n = read_some(c, chunk, sizeof(chunk));
		if (n <= 0)
			return false;
		buf_add(in, chunk, (size_t)n);
	}
	if (sscanf(in->ptr, "%15s %2047s", r->method, r->path) != 2)
		return false;
	const char *length = strcasestr(in->ptr, "content-length:");
	if (length && length < end) {
		length += strlen("content-length:");
		length += strspn(length, " ");
		if (num_parse_u64(span_make(length, strcspn(length, "\r")), 1 << 24, &body_len) < 0)
			return false;
	}
	size_t head = (size_t)(end - in->ptr) + 4;
	while (in->len < head + body_len) {
		ssize_t n = read_some(c, chunk, sizeof(chunk));
		if (n <= 0)
			return false;
		buf_add(in, chunk, (size_t)n);
	}
	r->body = xstrndup(in->ptr + head, body_len);
	r->body_len = body_len;
	memmove(in->ptr, in->ptr + head + body_len, in->len - head - body_len);
	in->len -= head + body_len;
	in->ptr[in->len] = '\0';
	return true;
}

/* ---- the healthy cluster ---- */

static struct resource *resource_of(struct fake_member *f, const char *name)
{
	vec_foreach (&f->resources, r)
		if (strcmp((*r)->name, name) == 0)
			return *r;
	struct resource *r = xcalloc(1, sizeof(*r));
	snprintf(r->name, sizeof(r->name), "%s", name);
	snprintf(r->revision, sizeof(r->revision), "1");
	r->items = xstrdup("");
	vec_push(&f->resources, r);
	return r;
}

/* The next line of a watch, or NULL when the server stops or the connection was cut. */
static char *next_line(struct fake_connection *c, const char *resource)
{
	struct fake_member *f = c->f;
	char *line = NULL;

	pthread_mutex_lock(&f->lock);
	struct resource *r = resource_of(f, resource);
	while (!f->stopping && !c->over && r->watcher == c && r->lines.len == 0)
		pthread_cond_wait(&f->changed, &f->lock);
	if (!f->stopping && !c->over && r->watcher == c) {
		line = r->lines.items[0];
		memmove(r->lines.items, r->lines.items + 1, --r->lines.len * sizeof(char *));
	}
	pthread_mutex_unlock(&f->lock);
	return line;
}

static void say_chunk(struct fake_connection *c, const char *text)
{
	struct buf b = BUF_INIT;

	buf_addf(&b, "%zx\r\n", strlen(text));
	buf_add_str(&b, text);
	buf_add_str(&b, "\r\n");
	if (!write_all(c, b.ptr, b.len))
		c->over = true;
	buf_done(&b);
}

static void watch(struct fake_connection *c, const char *resource)
{
	char *line;

	fake_write(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n");
	while (!c->over && (line = next_line(c, resource))) {
		struct buf b = BUF_MAX((size_t)64 << 20);
		bool end = strcmp(line, "END") == 0;
		buf_add_str(&b, strcmp(line, "HALF") == 0 ? "{\"type\":\"ADD" : line);
		if (strcmp(line, "HALF") != 0)
			buf_add_char(&b, '\n');
		if (end)
			fake_write(c, "0\r\n\r\n");
		else if (strcmp(line, "CUT") != 0)
			say_chunk(c, b.ptr);
		if (strcmp(line, "CUT") == 0 || strcmp(line, "HALF") == 0)
			fake_reset(c);
		buf_done(&b);
		free(line);
		if (end)
			return;
	}
	c->over = true;
}

static void list(struct fake_connection *c, const char *resource)
{
	struct buf b = BUF_MAX((size_t)64 << 20);

	pthread_mutex_lock(&c->f->lock);
	struct resource *r = resource_of(c->f, resource);
	buf_addf(&b,
		 "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
		 "\"%s\"},\"items\":[",
		 r->revision);
	buf_add_str(&b, r->items);
	buf_add_str(&b, "]}");
	pthread_mutex_unlock(&c->f->lock);
	fake_reply(c, 200, b.ptr);
	buf_done(&b);
}

/* The last segment of the path. */
static void resource_name(const struct fake_request *r, char ret[64])
{
	size_t len = strcspn(r->path, "?"), from = len;

	while (from > 0 && r->path[from - 1] != '/')
		from--;
	snprintf(ret, 64, "%.*s", (int)(len - from), r->path + from);
}

static void answer(struct fake_connection *c, const struct fake_request *r)
{
	char resource[64], body[512];

	resource_name(r, resource);
	if (strcmp(resource, "kube-system") == 0) {
		pthread_mutex_lock(&c->f->lock);
		snprintf(body, sizeof(body),
			 "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
			 "\"kube-system\",\"uid\":\"%s\",\"resourceVersion\":\"1\"}}",
			 c->f->uid);
		pthread_mutex_unlock(&c->f->lock);
		fake_reply(c, 200, body);
	} else if (strcmp(resource, "version") == 0) {
		fake_reply(c, 200, "{\"gitVersion\":\"v1.33.1\"}");
	} else if (strcmp(r->path, "/apis/batch/v1") == 0) {
		fake_reply(c, 200,
			   "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"jobs\"},"
			   "{\"name\":\"jobs/status\"}]}");
	} else if (strstr(r->path, "watch=true")) {
		watch(c, resource);
	} else if (strcmp(resource, "nodes") == 0 || strcmp(resource, "pods") == 0 ||
		   (strcmp(resource, "jobs") == 0 && strcmp(r->method, "GET") == 0)) {
		list(c, resource);
	} else {
		fake_reply(c, 404,
			   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
			   "\"NotFound\",\"message\":\"not found here\",\"code\":404}");
	}
}

/* ---- connections ---- */

static void record(struct fake_connection *c, const struct fake_request *r)
{
	struct fake_member *f = c->f;
	struct buf b = BUF_INIT;
	char resource[64];

	buf_addf(&b, "%s %s", r->method, r->path);
	resource_name(r, resource);
	pthread_mutex_lock(&f->lock);
	vec_push(&f->requests, buf_steal(&b, NULL));
	/* From here on lines are for this watcher, not for one whose client has gone. */
	if (strstr(r->path, "watch=true"))
		resource_of(f, resource)->watcher = c;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

static void serve(struct fake_connection *c)
{
	struct buf in = BUF_INIT;

	while (!c->over) {
		struct fake_request r = {0};
		if (!read_request(c, &in, &r))
			break;
		record(c, &r);
		if (!c->f->o.hook || !c->f->o.hook(c->f->o.arg, c, &r))
			answer(c, &r);
		free(r.body);
	}
	buf_done(&in);
}

static void *run_connection(void *arg)
{
	struct fake_connection *c = arg;

	if (c->f->o.deaf)
		fake_hang(c);
	else if (!c->ssl || SSL_accept(c->ssl) == 1)
		serve(c);
	pthread_mutex_lock(&c->f->lock);
	c->ended = true;
	c->f->open--;
	if (c->ssl)
		SSL_free(c->ssl);
	close(c->fd);
	pthread_mutex_unlock(&c->f->lock);
	return NULL;
}

static void *run(void *arg)
{
	struct fake_member *f = arg;

	for (;;) {
		int fd = accept(f->fd, NULL, NULL);
		if (fd < 0)
			return NULL;
		struct fake_connection *c = xcalloc(1, sizeof(*c));
		c->f = f;
		c->fd = fd;
		/* What was written before a reset must have gone out. */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
		if (f->ctx) {
			c->ssl = SSL_new(f->ctx);
			SSL_set_fd(c->ssl, fd);
		}
		pthread_mutex_lock(&f->lock);
		c->next = f->connections;
		f->connections = c;
		if (++f->open > f->most)
			f->most = f->open;
		pthread_create(&c->thread, NULL, run_connection, c);
		pthread_mutex_unlock(&f->lock);
	}
}

/* ---- life ---- */

static int take_http1(SSL *ssl, const unsigned char **out, unsigned char *out_len,
		      const unsigned char *in, unsigned in_len, void *arg)
{
	static const unsigned char http1[] = "\x08http/1.1";
	unsigned char *chosen = NULL;

	if (SSL_select_next_proto(&chosen, out_len, http1, sizeof(http1) - 1, in, in_len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_NOACK;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static void use_pem(SSL_CTX *ctx, const struct test_certificate *cert)
{
	BIO *in = BIO_new_mem_buf(cert->cert, -1);
	X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);
	BIO_free(in);
	in = BIO_new_mem_buf(cert->key, -1);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
	BIO_free(in);
	int ok = SSL_CTX_use_certificate(ctx, x) == 1 && SSL_CTX_use_PrivateKey(ctx, key) == 1;
	assert(ok);
	X509_free(x);
	EVP_PKEY_free(key);
}

static SSL_CTX *make_context(const struct fake_member_options *o)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	use_pem(ctx, o->certificate);
	SSL_CTX_set_alpn_select_cb(ctx, take_http1, NULL);
	if (o->client_authority) {
		X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), o->client_authority->cert);
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	}
	return ctx;
}

struct fake_member *fake_member_start(const struct fake_member_options *o)
{
	struct fake_member *f = xcalloc(1, sizeof(*f));
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)o->port)};
	socklen_t len = sizeof(a);
	int one = 1;

	signal(SIGPIPE, SIG_IGN); /* SSL_write() to a client that is gone */
	f->o = *o;
	snprintf(f->uid, sizeof(f->uid), "%s", o->uid ? o->uid : FAKE_UID);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(f->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	int r = bind(f->fd, (struct sockaddr *)&a, sizeof(a));
	assert(r == 0);
	r = listen(f->fd, 256);
	assert(r == 0);
	getsockname(f->fd, (struct sockaddr *)&a, &len);
	f->port = ntohs(a.sin_port);
	snprintf(f->url, sizeof(f->url), "https://127.0.0.1:%d", f->port);
	if (!o->plain && !o->deaf)
		f->ctx = make_context(o);
	pthread_create(&f->thread, NULL, run, f);
	return f;
}

void fake_member_cut(struct fake_member *f)
{
	struct linger hard = {1, 0};

	pthread_mutex_lock(&f->lock);
	for (struct fake_connection *c = f->connections; c; c = c->next)
		if (!c->ended) {
			setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
			c->over = true;
			shutdown(c->fd, SHUT_RDWR);
		}
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

void fake_member_stop(struct fake_member *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stopping = true;
	pthread_mutex_unlock(&f->lock);
	shutdown(f->fd, SHUT_RDWR);
	pthread_join(f->thread, NULL);
	close(f->fd);
	fake_member_cut(f);
	while (f->connections) {
		struct fake_connection *c = f->connections;
		f->connections = c->next;
		pthread_join(c->thread, NULL);
		free(c);
	}
	vec_foreach (&f->resources, r) {
		vec_foreach (&(*r)->lines, l)
			free(*l);
		vec_done(&(*r)->lines);
		free((*r)->items);
		free(*r);
	}
	vec_done(&f->resources);
	vec_foreach (&f->requests, q)
		free(*q);
	vec_done(&f->requests);
	SSL_CTX_free(f->ctx);
	free(f);
}

int fake_member_port(const struct fake_member *f)
{
	return f->port;
}

const char *fake_member_url(const struct fake_member *f)
{
	return f->url;
}

void fake_member_set_list(struct fake_member *f, const char *resource, const char *revision,
			  const char *items)
{
	pthread_mutex_lock(&f->lock);
	struct resource *r = resource_of(f, resource);
	snprintf(r->revision, sizeof(r->revision), "%s", revision);
	free(r->items);
	r->items = xstrdup(items);
	pthread_mutex_unlock(&f->lock);
}

void fake_member_say(struct fake_member *f, const char *resource, const char *line)
{
	pthread_mutex_lock(&f->lock);
	struct resource *r = resource_of(f, resource);
	vec_push(&r->lines, xstrdup(line));
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

void fake_member_set_uid(struct fake_member *f, const char *uid)
{
	pthread_mutex_lock(&f->lock);
	snprintf(f->uid, sizeof(f->uid), "%s", uid);
	pthread_mutex_unlock(&f->lock);
}

static size_t count(const struct fake_member *f, const char *a, const char *b)
{
	size_t n = 0;

	vec_foreach (&f->requests, q)
		n += strstr(*q, a) && strstr(*q, b);
	return n;
}

size_t fake_member_count(struct fake_member *f, const char *a, const char *b)
{
	pthread_mutex_lock(&f->lock);
	size_t n = count(f, a, b);
	pthread_mutex_unlock(&f->lock);
	return n;
}

bool fake_member_await(struct fake_member *f, const char *a, const char *b, size_t n, usec timeout)
{
	struct timespec end;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += timeout / USEC_PER_SEC;
	pthread_mutex_lock(&f->lock);
	while (count(f, a, b) < n && r == 0)
		r = pthread_cond_timedwait(&f->changed, &f->lock, &end);
	pthread_mutex_unlock(&f->lock);
	return r == 0;
}

size_t fake_member_most_connections(struct fake_member *f)
{
	pthread_mutex_lock(&f->lock);
	size_t n = f->most;
	pthread_mutex_unlock(&f->lock);
	return n;
}
