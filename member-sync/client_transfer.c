#include "member-sync/client_private.h"

#include "base/json.h"
#include "base/num.h"

#include "member-sync/client_failure.h"
#include "wire/relay.h"

#include <openssl/ssl.h>
#include <unistd.h>

/* A member that is refused or hung must be reported within 10 s: connecting takes at most half. */
#define CONNECT_TIMEOUT_MS 5000L
#define KEEPALIVE_IDLE_S   30L
#define KEEPALIVE_STEP_S   15L
#define UPLOAD_BUFFER	   16384L /* a TLS record */
#define RETRY_AFTER_MAX	   (3600 * USEC_PER_SEC)
#define DEFAULT_MAX_BODY   ((size_t)1 << 20)

static char *format_text(const char *fmt, ...) PRINTF_LIKE(1, 2);
static char *format_text(const char *fmt, ...)
{
	char *out = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&out, fmt, ap) < 0)
		abort();
	va_end(ap);
	return out;
}

void client_transfer_prepare(struct client *c)
{
	const struct kubeconfig *k = c->k;

	if (k->token.ptr)
		c->auth = format_text("Authorization: Bearer %s", k->token.ptr);
	if (!k->tls_server_name) {
		c->base = xstrdup(k->server);
		return;
	}
	/* libcurl takes the name to verify from the URL: the URL gets the other name, and the
	 * connection is led to the real place. */
	const char *authority = k->server + strlen("https://");
	size_t len = strcspn(authority, "/");
	const char *bracket = memchr(authority, ']', len);
	const char *from = bracket ? bracket : authority;
	const char *colon = memchr(from, ':', len - (size_t)(from - authority));
	int host_len = (int)(colon ? colon - authority : (ptrdiff_t)len);
	int port_len = colon ? (int)(authority + len - colon - 1) : 3;
	const char *port = colon ? colon + 1 : "443";

	c->base =
	    format_text("https://%s:%.*s%s", k->tls_server_name, port_len, port, authority + len);
	c->connect_to = format_text("%s:%.*s:%.*s:%.*s", k->tls_server_name, port_len, port,
				    host_len, authority, port_len, port);
	c->host_header = format_text("Host: %.*s", (int)len, authority);
	c->connect_list = (struct curl_slist){c->connect_to, NULL};
}

void client_transfer_discard(struct client *c)
{
	if (c->auth)
		explicit_bzero(c->auth, strlen(c->auth));
	free(c->auth);
	free(c->base);
	free(c->connect_to);
	free(c->host_header);
}

/* ---- callbacks ---- */

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *addr)
{
	struct client *c = arg;
	int fd = socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);

	if (fd < 0)
		return CURL_SOCKET_BAD;
	c->sockets++;
	c->connects++;
	multi_loop_opened(c->ml, fd);
	return fd;
}

static int on_close_socket(void *arg, curl_socket_t fd)
{
	struct client *c = arg;

	c->sockets--;
	if (c->ml)
		multi_loop_closing(c->ml, fd);
	client_kick(c);
	return close(fd);
}

/* What the TLS handshake settled on, known before any answer. */
static void learn_version(struct client_request *q)
{
	const struct curl_tlssessioninfo *info = NULL;
	const unsigned char *alpn = NULL;
	unsigned len = 0;

	if (curl_easy_getinfo(q->easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info ||
	    !info->internals || info->backend != CURLSSLBACKEND_OPENSSL)
		return;
	SSL_get0_alpn_selected(info->internals, &alpn, &len);
	q->c->version = len == 2 && memcmp(alpn, "h2", 2) == 0 ? CLIENT_HTTP2 : CLIENT_HTTP1;
}

/* On a usable connection, before the first byte of the request. A second call means that libcurl
 * lost a reused connection and wants to send once more. */
static int on_prerequest(void *arg, char *ip, char *local_ip, int port, int local_port)
{
	struct client_request *q = arg;

	if (q->aborted || q->early)
		return CURL_PREREQFUNC_ABORT;
	if (q->sent++ > 0 && !q->spec.repeatable)
		return CURL_PREREQFUNC_ABORT;
	learn_version(q);
	client_note_connected(q);
	if (q->sent == 1 && q->spec.on_sent)
		q->spec.on_sent(q->spec.arg, q);
	return CURL_PREREQFUNC_OK;
}

static void take_status_line(struct client_request *q, struct span line)
{
	const char *space = memchr(line.ptr, ' ', line.len);
	uint64_t code;

	if (!space || space + 4 > line.ptr + line.len ||
	    num_parse_u64(span_make(space + 1, 3), 999, &code) < 0)
		return;
	q->code = (int)code;
	q->c->version = span_starts(line, SPAN("HTTP/2")) ? CLIENT_HTTP2 : CLIENT_HTTP1;
}

/* RFC 9110 10.2.3, RFC 9111 5.5; of a 101, RFC 6455 4.2.2 and RFC 9110 7.8. */
static bool is_passed_on(const struct client_request *q, struct span name)
{
	static const char *const always[] = {"retry-after", "warning"};
	static const char *const upgrade[] = {"connection", "upgrade", "sec-websocket-accept",
					      "sec-websocket-protocol"};
	const char *const *names = q->code == 101 ? upgrade : always;
	size_t n = q->code == 101 ? ARRAY_LEN(upgrade) : ARRAY_LEN(always);

	if (!q->spec.any_code)
		return false;
	for (size_t i = 0; i < n; i++)
		if (name.len == strlen(names[i]) && !strncasecmp(name.ptr, names[i], name.len))
			return true;
	return false;
}

static void pass_on(struct client_request *q, struct span line)
{
	if (q->passed.len + line.len + 2 > RELAY_MAX_HEADERS)
		return;
	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.ptr[i] < ' ' && line.ptr[i] != '\t')
			return;
	buf_add_span(&q->passed, line);
	buf_add_str(&q->passed, "\r\n");
}

static void take_header(struct client_request *q, struct span line)
{
	struct span value = line;
	struct span name = span_split(&value, ':');
	uint64_t seconds;

	while (value.len && (*value.ptr == ' ' || *value.ptr == '\t'))
		value = span_make(value.ptr + 1, value.len - 1);
	if (name.len == strlen("retry-after") &&
	    strncasecmp(name.ptr, "retry-after", name.len) == 0) {
		if (num_parse_u64(value, RETRY_AFTER_MAX / USEC_PER_SEC, &seconds) == 0)
			q->retry_after = (usec)seconds * USEC_PER_SEC;
	} else if (name.len == strlen("content-type") &&
		   strncasecmp(name.ptr, "content-type", name.len) == 0) {
		snprintf(q->content_type, sizeof(q->content_type), "%.*s", SPAN_ARGS(value));
	}
	if (is_passed_on(q, name))
		pass_on(q, line);
}

static bool is_final(const struct client_request *q)
{
	return q->code >= 200 || (q->code == 101 && q->spec.upgrade);
}

static size_t on_header(char *bytes, size_t size, size_t n, void *arg)
{
	struct client_request *q = arg;
	struct span line = {bytes, size * n};

	q->c->last_byte = clock_monotonic();
	while (line.len && (line.ptr[line.len - 1] == '\r' || line.ptr[line.len - 1] == '\n'))
		line.len--;
	if (q->headers_seen)
		return size * n; /* trailers */
	if (span_starts(line, SPAN("HTTP/"))) {
		take_status_line(q, line);
		buf_clear(&q->passed);
	} else if (line.len) {
		take_header(q, line);
	} else if (is_final(q)) {
		q->headers_seen = true;
		q->unpause = q->spec.upgrade && q->code != 101;
		client_kick(q->c);
		if ((q->code < 300 || q->spec.any_code) && q->spec.on_headers)
			q->spec.on_headers(q->spec.arg, q, q->code);
	}
	return size * n;
}

static bool keep_body(struct client_request *q, struct span bytes)
{
	bool good = q->code / 100 == 2;
	size_t max = q->spec.max_body ? q->spec.max_body : DEFAULT_MAX_BODY;

	if (!good) /* the start of a refusal is enough */
		max = CLIENT_ERROR_BODY;
	if (bytes.len > max - q->body.len) {
		q->too_large = good;
		bytes.len = max - q->body.len;
	}
	q->body.max = max;
	buf_add_span(&q->body, bytes);
	return !q->too_large;
}

static size_t on_write(char *bytes, size_t size, size_t n, void *arg)
{
	struct client_request *q = arg;
	struct span s = {bytes, size * n};

	if (q->aborted || q->early)
		return 0;
	q->c->last_byte = clock_monotonic();
	if ((q->code / 100 != 2 && !q->spec.any_code) || !q->spec.on_data)
		return keep_body(q, s) ? s.len : 0;
	switch (q->spec.on_data(q->spec.arg, q, s)) {
	case CLIENT_TAKEN:
		return s.len;
	case CLIENT_PAUSE:
		return CURL_WRITEFUNC_PAUSE;
	case CLIENT_ABORT:
	default:
		q->aborted = true;
		return 0;
	}
}

static size_t on_read(char *into, size_t size, size_t n, void *arg)
{
	struct client_request *q = arg;
	size_t sent;

	if (q->aborted || q->early)
		return CURL_READFUNC_ABORT;
	if (q->headers_seen && q->code != 101)
		return 0;
	sent = q->headers_seen ? q->spec.on_upload(q->spec.arg, q, into, size * n) : 0;
	return sent ? sent : CURL_READFUNC_PAUSE;
}

/* ---- setup ---- */

static void add_header(struct client_request *q, int *n, char *text)
{
	q->headers[*n] = (struct curl_slist){text, NULL};
	if (*n > 0)
		q->headers[*n - 1].next = &q->headers[*n];
	(*n)++;
}

static struct curl_slist *build_headers(struct client_request *q)
{
	static char no_expect[] = "Expect:", no_chunks[] = "Transfer-Encoding:";
	int n = 0;

	snprintf(q->header_text[0], sizeof(q->header_text[0]), "Accept: %s",
		 q->spec.accept ? q->spec.accept : "application/json");
	add_header(q, &n, q->header_text[0]);
	snprintf(q->header_text[1], sizeof(q->header_text[1]), "Content-Type:%s%s",
		 q->spec.content_type ? " " : "", q->spec.content_type ? q->spec.content_type : "");
	add_header(q, &n, q->header_text[1]);
	add_header(q, &n, no_expect);
	if (q->spec.upgrade)
		add_header(q, &n, no_chunks);
	for (size_t i = 0; i < CLIENT_MAX_HEADERS && q->spec.headers[i]; i++)
		add_header(q, &n, (char *)(uintptr_t)q->spec.headers[i]);
	if (q->c->auth)
		add_header(q, &n, q->c->auth);
	if (q->c->host_header)
		add_header(q, &n, q->c->host_header);
	return q->headers;
}

static void set_blob(CURL *e, CURLoption option, const struct kubeconfig_blob *b)
{
	/* Not copied: the kubeconfig outlives the client, and no more copies of keys are made. */
	struct curl_blob blob = {b->ptr, b->len, CURL_BLOB_NOCOPY};

	if (b->ptr)
		curl_easy_setopt(e, option, &blob);
}

static void set_tls(CURL *e, const struct kubeconfig *k)
{
	curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (k->insecure) {
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (k->ca.ptr) {
		set_blob(e, CURLOPT_CAINFO_BLOB, &k->ca);
		/* Debian's libcurl has a default directory that would be trusted besides. */
		curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	}
	if (k->cert.ptr) {
		set_blob(e, CURLOPT_SSLCERT_BLOB, &k->cert);
		set_blob(e, CURLOPT_SSLKEY_BLOB, &k->key);
	}
}

static void set_connection(CURL *e, struct client *c)
{
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(e, CURLOPT_PROXY, c->k->proxy_url ? c->k->proxy_url : "");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
			 c->own_connections ? (long)CURL_HTTP_VERSION_1_1
					    : (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(e, CURLOPT_PIPEWAIT, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_STEP_S);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	/* Made and freed with every request; 64 KiB, the default, would be a trip to the kernel. */
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
	/* Else cutting a request would wait for a name lookup that hangs. */
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, c);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, on_close_socket);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, c);
}

static void set_request(CURL *e, struct client_request *q)
{
	const struct client_spec *s = &q->spec;
	bool get = strcmp(s->method, "GET") == 0;

	curl_easy_setopt(e, CURLOPT_URL, q->url);
	curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L); /* what was authorized is what is asked */
	if (s->body.ptr || strcmp(s->method, "POST") == 0) {
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)s->body.len);
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, s->body.ptr ? s->body.ptr : "");
	}
	if (s->upgrade) {
		/* An upload of unknown length that is not framed, and begins after the 101. */
		curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(e, CURLOPT_READFUNCTION, on_read);
		curl_easy_setopt(e, CURLOPT_READDATA, q);
	}
	if (!get || s->upgrade)
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, s->method);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, build_headers(q));
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, q->detail);
	curl_easy_setopt(e, CURLOPT_PRIVATE, q);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_prerequest);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, q);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, q);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_write);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, q);
}

bool client_transfer_start(struct client_request *q)
{
	struct client *c = q->c;
	CURL *e = c->n_spare ? c->spare[--c->n_spare] : curl_easy_init();

	if (!e)
		return false;
	q->easy = e;
	set_tls(e, c->k);
	set_connection(e, c);
	set_request(e, q);
	if (c->connect_to)
		curl_easy_setopt(e, CURLOPT_CONNECT_TO, &c->connect_list);
	return curl_multi_add_handle(multi_loop_handle(c->ml), e) == CURLM_OK;
}

void client_transfer_stop(struct client_request *q)
{
	struct client *c = q->c;

	if (!q->easy)
		return;
	curl_multi_remove_handle(multi_loop_handle(c->ml), q->easy);
	curl_easy_reset(q->easy);
	if (c->n_spare < CLIENT_SPARE_HANDLES && !c->timers.dead)
		c->spare[c->n_spare++] = q->easy;
	else
		curl_easy_cleanup(q->easy);
	q->easy = NULL;
}

/* ---- results ---- */

/* A refusal in the server's own words: metav1.Status (kubernetes-api.md 1.6). */
static void explain_refusal(const struct client_request *q, struct client_result *ret)
{
	enum err_kind kind = err_kind_from_http(q->code);
	struct span message, reason, body = buf_span(&q->body);
	auto_buf words = BUF_MAX(400);

	if (body.len && json_check(body, NULL, NULL) == 0 && json_text_type(body) == JSON_OBJECT) {
		if (json_text_member(body, "message", &message) == 0)
			(void)json_text_string(message, &words);
		if (json_text_member(body, "reason", &reason) == 0 &&
		    span_is(json_text_plain(reason), "AlreadyExists"))
			kind = ERR_ALREADY_EXISTS;
	}
	err_set(&ret->err, kind, "the server answered %d%s%.*s", q->code, words.len ? ": " : "",
		SPAN_ARGS(buf_span(&words)));
}

static void explain_failure(struct client_request *q, CURLcode code, struct client_result *ret)
{
	struct client_failure f = {
	    .code = code, .detail = q->detail, .sent = q->sent > 0, .server = q->c->k->server};

	if (q->aborted) {
		ret->aborted = true;
		err_set(&ret->err, ERR_UNAVAILABLE, "the request was cut by its reader");
	} else if (q->too_large) {
		err_set(&ret->err, ERR_TOO_LARGE, "the answer is over %zu bytes", q->body.max);
	} else {
		curl_easy_getinfo(q->easy, CURLINFO_SSL_VERIFYRESULT, &f.verify);
		curl_easy_getinfo(q->easy, CURLINFO_OS_ERRNO, &f.os_errno);
		/* Our own refusal to send twice stands for the connection that broke. */
		if (code == CURLE_ABORTED_BY_CALLBACK)
			f.code = CURLE_GOT_NOTHING;
		ret->condition = client_failure_explain(&f, &ret->err);
	}
}

void client_transfer_result(struct client_request *q, CURLcode code, struct client_result *ret)
{
	*ret = (struct client_result){
	    .http_code = q->code,
	    .condition = MEMBER_READY,
	    .retry_after = q->retry_after,
	    .content_type = q->content_type[0] ? q->content_type : NULL,
	    .body = buf_span(&q->body),
	};
	if (code != CURLE_OK) {
		ret->outcome = q->sent ? CLIENT_UNKNOWN : CLIENT_NOT_SENT;
		explain_failure(q, code, ret);
		return;
	}
	ret->outcome = CLIENT_ANSWERED;
	if (q->code / 100 != 2)
		explain_refusal(q, ret);
}
