/*
 * Connections that become WebSockets, as two streams of bytes that go through.
 *
 * The library makes a WebSocket by itself, at once and with its own framing; ours must wait for the
 * answer of who is at the other end, and nobody here reads its frames. So the request stays a GET
 * for the library, which keeps the connection and has its reading off, as for every stream
 * (http_lws.h); from the 101 on the TLS session is read and written here, driven by the epoll set
 * that else only tells of peers' ends. The library closes it in the end.
 */
#include "api/http_lws.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* A browser cannot set headers for a WebSocket: the token is a protocol (kube-apiserver's
 * authentication/request/websocket). */
#define BEARER_PROTOCOL "base64url.bearer.authorization.k8s.io."
#define MAX_BEARER	16384

int http_lws_confirm_upgrade(struct lws *wsi, char *value)
{
	char word[16];

	/* Of what it does not know it has answered, and `value` may point nowhere
	 * (CVE-2025-11677): the header is asked for again. */
	if (lws_hdr_copy(wsi, word, sizeof(word), WSI_TOKEN_UPGRADE) <= 0 ||
	    strcasecmp(word, "websocket") != 0)
		return -1;
	value[0] = HTTP_LWS_CONFIRMED[0];
	return 0;
}

/* RFC 4648 section 5, without padding. */
static struct span decode_bearer(struct arena *mem, struct span text)
{
	unsigned char *in, *out;
	size_t n = text.len, padded = (n + 3) / 4 * 4;
	int len;

	if (!n || n > MAX_BEARER || n % 4 == 1)
		return SPAN_NONE;
	in = arena_alloc(mem, padded + 1);
	out = arena_alloc(mem, padded);
	for (size_t i = 0; i < n; i++)
		in[i] = (unsigned char)(text.ptr[i] == '-'   ? '+'
					: text.ptr[i] == '_' ? '/'
							     : text.ptr[i]);
	memset(in + n, '=', padded - n);
	len = EVP_DecodeBlock(out, in, (int)padded);
	if (len < 0)
		return SPAN_NONE;
	n = (size_t)len - (padded - n);
	for (size_t i = 0; i < n; i++)
		if (out[i] <= ' ' || out[i] >= 0x7f)
			return SPAN_NONE;
	return span_make((char *)out, n);
}

/* Takes the token out of the list of protocols: it must not be passed on. */
static void take_bearer(struct http_request *r, struct http_upgrade *u)
{
	struct span rest = u->protocols, token = SPAN_NONE;
	char *left = arena_alloc(&r->mem, u->protocols.len + 1);
	size_t n = 0;

	while (rest.len) {
		struct span one = span_split(&rest, ',');
		while (one.len && one.ptr[0] == ' ')
			one = span_make(one.ptr + 1, one.len - 1);
		while (one.len && one.ptr[one.len - 1] == ' ')
			one.len--;
		if (span_starts(one, SPAN(BEARER_PROTOCOL))) {
			size_t skip = strlen(BEARER_PROTOCOL);
			token = decode_bearer(&r->mem, span_make(one.ptr + skip, one.len - skip));
			continue;
		}
		if (!one.len)
			continue;
		if (n)
			left[n++] = ',';
		memcpy(left + n, one.ptr, one.len);
		n += one.len;
	}
	u->protocols = n ? span_make(left, n) : SPAN_NONE;
	if (token.len && !r->authorization.len) {
		char *text = arena_alloc(&r->mem, token.len + 8);
		memcpy(text, "Bearer ", 7);
		memcpy(text + 7, token.ptr, token.len);
		r->authorization = span_make(text, token.len + 7);
	}
}

void http_lws_read_upgrade(struct http_conn *c, struct http_request *r)
{
	struct span word;
	struct http_upgrade *u;

	if (lws_hdr_total_length(c->wsi, WSI_TOKEN_UPGRADE) != (int)strlen(HTTP_LWS_CONFIRMED))
		return;
	word = http_lws_copy_header(c, &r->mem, WSI_TOKEN_UPGRADE);
	if (strncasecmp(word.ptr, HTTP_LWS_CONFIRMED, strlen(HTTP_LWS_CONFIRMED)) != 0)
		return;
	u = arena_new(&r->mem, struct http_upgrade);
	u->key = http_lws_copy_header(c, &r->mem, WSI_TOKEN_KEY);
	u->version = http_lws_copy_header(c, &r->mem, WSI_TOKEN_VERSION);
	u->protocols = http_lws_copy_header(c, &r->mem, WSI_TOKEN_PROTOCOL);
	if (u->protocols.len)
		take_bearer(r, u);
	r->upgrade = u;
}

/* ---- the tunnel ---- */

/* Waits for what is awaited; at least for the client's end. */
static void arm(struct http_conn *c)
{
	uint32_t events = EPOLLRDHUP | EPOLLONESHOT | c->read_on | c->write_on;
	struct epoll_event ev = {.events = events, .data.ptr = c};
	int fd = (int)lws_get_socket_fd(c->wsi);

	if (fd < 0)
		return;
	(void)epoll_ctl(c->server->hup_fd, c->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev);
	c->watched = true;
}

void http_lws_tunnel_want(struct http_conn *c)
{
	c->write_on = EPOLLOUT;
	arm(c);
}

bool http_tunnel_begin(struct http_exchange *x, struct span headers)
{
	struct http_conn *c = x->conn;
	SSL *ssl = c ? lws_get_ssl(c->wsi) : NULL;
	size_t n;

	if (!ssl || lws_partial_buffered(c->wsi))
		return false;
	n = http_lws_put_header(c->server, 101, NULL, headers, "");
	SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	ERR_clear_error();
	if (!n || SSL_write(ssl, c->server->scratch + LWS_PRE, (int)n) != (int)n)
		return false;
	x->streaming = true;
	c->tunnel = true;
	c->keep_alive = false;
	http_lws_rx(c, false);
	arm(c);
	return true;
}

/* What a call of the TLS library that did nothing waits for; negative: nothing any more. */
static int awaited(SSL *ssl, int r, uint32_t *events)
{
	switch (SSL_get_error(ssl, r)) {
	case SSL_ERROR_WANT_READ:
		*events = EPOLLIN;
		return 0;
	case SSL_ERROR_WANT_WRITE:
		*events = EPOLLOUT;
		return 0;
	default:
		return -EPIPE;
	}
}

ptrdiff_t http_tunnel_read(struct http_exchange *x, void *into, size_t room)
{
	struct http_conn *c = x->conn;
	SSL *ssl = c ? lws_get_ssl(c->wsi) : NULL;
	int n;

	if (!ssl)
		return -EPIPE;
	ERR_clear_error();
	c->read_on = 0;
	n = SSL_read(ssl, into, room > INT_MAX ? INT_MAX : (int)room);
	if (n > 0)
		return n;
	n = awaited(ssl, n, &c->read_on);
	if (!n)
		arm(c);
	return n;
}

ptrdiff_t http_tunnel_write(struct http_exchange *x, struct span bytes)
{
	struct http_conn *c = x->conn;
	SSL *ssl = c ? lws_get_ssl(c->wsi) : NULL;
	size_t sent = 0;

	if (!ssl)
		return -EPIPE;
	ERR_clear_error();
	c->write_on = 0;
	while (sent < bytes.len) {
		size_t left = bytes.len - sent;
		int n = SSL_write(ssl, bytes.ptr + sent, left > INT_MAX ? INT_MAX : (int)left);
		if (n > 0) {
			sent += (size_t)n;
			continue;
		}
		if (awaited(ssl, n, &c->write_on) < 0)
			return -EPIPE;
		arm(c);
		break;
	}
	return (ptrdiff_t)sent;
}

void http_tunnel_shutdown(struct http_exchange *x)
{
	struct http_conn *c = x->conn;
	SSL *ssl = c ? lws_get_ssl(c->wsi) : NULL;

	if (!ssl)
		return;
	ERR_clear_error();
	(void)SSL_shutdown(ssl);
	(void)shutdown((int)lws_get_socket_fd(c->wsi), SHUT_WR);
}

void http_lws_tunnel_event(struct http_conn *c, uint32_t events)
{
	const struct http_handler *h = c->server->handler;
	bool ends = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
	bool in = c->read_on && (ends || (events & c->read_on));
	bool out = c->write_on && (events & c->write_on);

	if (!c->exchange)
		return; /* it is being closed */
	/* Nobody reads, and the client has closed: what it sent is stuck, and will be. */
	if (ends && !c->read_on) {
		http_lws_kill(c);
		return;
	}
	if (in) {
		c->read_on = 0;
		if (c->frames)
			http_lws_frames_readable(c);
		else
			h->readable(h->arg, c->exchange);
	}
	if (out && c->exchange) {
		c->write_on = 0;
		if (c->frames)
			http_lws_frames_writable(c);
		else
			h->writable(h->arg, c->exchange);
	}
	if (c->exchange && c->tunnel)
		arm(c);
}
