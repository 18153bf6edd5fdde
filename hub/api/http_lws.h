#ifndef API_HTTP_LWS_H
#define API_HTTP_LWS_H
/*
 * What the files of the libwebsockets engine share; private to them.
 *
 * Rules of libwebsockets 4.1.6 that shape this code (libraries.md 1.3 and its source):
 *  - In the state after LWS_CALLBACK_HTTP it does not read, so that readable bytes (a next
 *    request, or the peer's end) would make the loop spin: reading is switched off while the
 *    handler has the exchange, and the peer's end is learned from an epoll set of our own.
 *  - With reading off it does not serve POLLOUT either: reading is on while a write is pending.
 *  - A body without Content-Length is one of 100 MiB for it where it knows of any, handed over as
 * it comes: chunks are taken apart here, and the connection ends with the answer.
 *  - Bodies go through lws_write() as raw HTTP/1.1; what the socket does not take it keeps.
 *  - lws_http_transaction_completed() may say "close now"; inside a callback that is its return
 *    value, outside it is a timeout of kind LWS_TO_KILL_ASYNC, and a wake of the service.
 */
#include "api/chunked_body.h"
#include "api/http.h"
#include "base/clock.h"
#include <libwebsockets.h>

struct http_server {
	uv_loop_t *loop;
	struct lws_context *context;
	const struct http_handler *handler;
	struct http_listener *listeners;
	struct http_conn *conns;
	size_t n_conns, n_active;
	size_t n_long;		     /* connections with `out` */
	usec asked_at;		     /* monotonic: the last request */
	struct http_exchange *spare; /* freed ones, kept with their memory */
	size_t n_spare;
	int hup_fd; /* epoll set of sockets whose end we wait for */
	uv_poll_t hup_poll;
	bool hup_open;
	char *scratch; /* header block and small bodies, framing of chunks */
	char date[40]; /* "Date: ...\r\n" of date_at */
	int64_t date_at;
	struct lws_protocols protocols[2];
	BIO_METHOD *send_method;
};

struct http_listener {
	struct http_listener *next;
	struct http_server *server;
	struct lws_vhost *vhost;
	char *host;
	struct span client_ca_pem; /* owned copy; read while the vhost is made */
	X509_STORE *proxy_cas;	   /* NULL: there are no front proxies */
	char *const *proxy_user_headers;
	void *user;
	int port;
};

struct http_conn {
	struct http_conn *prev, *next;
	struct http_server *server;
	struct lws *wsi;
	struct http_exchange *exchange; /* being received, with the handler, or being answered */
	struct http_peer peer;
	struct http_send *send; /* the TLS session's; NULL: the library's own is used */
	bool peer_read;
	bool receiving; /* exchange's body is coming */
	bool in_chunks; /* it comes in chunks */
	struct chunked_body chunks;
	bool with_handler;
	bool in_callback;
	bool close; /* the callback that runs returns -1 */
	bool keep_alive;
	bool watched; /* in hup_fd */
	bool tunnel;
	struct http_frames *frames; /* a tunnel that is a stream of messages; or NULL */
	uint32_t read_on, write_on; /* of a tunnel: the events that let it go on; 0: not awaited */
	bool rx_off;
	bool want;	/* handler asked for writable */
	bool in_direct; /* http_stream_want outside of a callback: posted */
	char *out;	/* a long body, or a chunk that was lent; of it, out_at bytes are sent */
	size_t out_len, out_at;
	bool lent;
	usec since; /* monotonic: body began, or output began to wait; 0: neither */
};

struct http_exchange *http_lws_exchange(struct http_conn *c); /* takes a spare one */
void http_lws_recycle(struct http_server *s, struct http_exchange *x);
/* Reads method, path, parameters and headers of the request at hand. False: malformed. */
bool http_lws_read_request(struct http_conn *c, struct http_exchange *x, struct span path);
/* A header's value, absent when it was not given. */
struct span http_lws_copy_header(struct http_conn *c, struct arena *mem, enum lws_token_indexes t);
/* The same for one that the library has no number for: "audit-id:". */
struct span http_lws_custom_header(struct http_conn *c, struct arena *mem, const char *name);
/* Calls `each` for every header that the library has no number for, in their order, names in lower
 * case with their colon; found from one of them. False: they cannot be read, or `each` said so. */
typedef bool http_lws_custom_fn(void *arg, struct span name, struct span value);
bool http_lws_each_custom(const char *uri, struct span name, struct span value,
			  http_lws_custom_fn *each, void *arg);
/* The first header that the library has no number for and whose name begins with `prefix`; name in
 * lower case with its colon, both where the library keeps them. False: there is none. */
bool http_lws_find_custom(struct http_conn *c, const char *uri, struct span prefix,
			  struct span *ret_name, struct span *ret_value);
/* Fills r->impersonation; uri: as the library gives it. */
void http_lws_read_impersonation(struct http_conn *c, struct http_request *r, const char *uri);
/* Fills r->proxied when the peer is a front proxy. */
void http_lws_read_proxied(struct http_conn *c, struct http_request *r, const char *uri);
/* Fills conn->peer from the TLS session. */
void http_lws_read_peer(struct http_conn *c);
void http_lws_peer_done(struct http_peer *p);
/* Sets up certificates and verification of a new vhost's context. */
void http_lws_load_ca(SSL_CTX *ctx, const struct http_listener *l);
/* The certificates of a PEM as what others are verified by; NULL when there are none. */
X509_STORE *http_lws_proxy_store(struct span pem);

/* Sends bytes, or has them sent. */
void http_lws_write(struct http_conn *c, const char *bytes, size_t len);
/* Takes the exchange from its handler. NULL when the client is gone: then all is done. */
struct http_conn *http_lws_take_back(struct http_exchange *x);
/* `bytes` go out in pieces; lent: they are not the connection's, and do not end its answer. */
void http_lws_set_out(struct http_conn *c, char *bytes, size_t len, bool lent);
void http_lws_next_piece(struct http_conn *c);
/* Nothing more of c->out is sent. */
void http_lws_drop_out(struct http_conn *c);
void http_lws_rx(struct http_conn *c, bool on);
void http_lws_kill(struct http_conn *c);
void http_lws_complete(struct http_conn *c); /* the answer is out */
void http_lws_continue(struct http_conn *c); /* next piece of a long body, or handler->writable */
void http_lws_watch_hup(struct http_conn *c, bool on);
/* The header block of an answer into server->scratch; `framing` is its last line. Its length, 0
 * when it does not fit. */
size_t http_lws_put_header(struct http_server *s, int code, const char *content_type,
			   struct span headers, const char *framing);

/* ---- http_lws_listen.c ---- */

/* What the listener keeps beside its vhost, which is the library's. */
void http_lws_listener_destroy(struct http_listener *l);

/* ---- http_lws_body.c ---- */

/* Answers with a line of text, and ends the connection. */
void http_lws_refuse(struct http_exchange *x, int code, const char *text);
/* How the body of the request at hand comes: its length, or in chunks (c->in_chunks). False: it is
 * answered already. */
bool http_lws_body_length(struct http_conn *c, struct http_exchange *x, uint64_t *ret);
/* The next bytes of the body. 0: go on; 1: these were the last chunk; -1: end the connection. What
 * is no body in chunks is answered, and c->receiving ends. */
int http_lws_take_body(struct http_conn *c, struct span bytes);

/* ---- http_lws_send.c ---- */

/* Of the server, for its connections; NULL when there is no memory. */
BIO_METHOD *http_lws_send_method(void);
/* Puts c->send between the connection's session and its socket. */
void http_lws_send_open(struct http_conn *c);
/* lws_write(). */
int http_lws_send(struct http_conn *c, const char *bytes, size_t len);

/* ---- http_lws_tunnel.c ---- */

/* The library's copy of "websocket" with its first letter changed: a word it does not know. */
#define HTTP_LWS_CONFIRMED "-ebsocket"
/* LWS_CALLBACK_HTTP_CONFIRM_UPGRADE; `value`: the library's. */
int http_lws_confirm_upgrade(struct lws *wsi, char *value);
/* Fills r->upgrade of a confirmed request; takes a token out of its protocols. */
void http_lws_read_upgrade(struct http_conn *c, struct http_request *r);
/* The socket of a tunnel has one of these epoll events. */
void http_lws_tunnel_event(struct http_conn *c, uint32_t events);
/* handler->writable in a later turn, when the socket takes bytes. */
void http_lws_tunnel_want(struct http_conn *c);

/* ---- http_lws_frames.c; of connections with c->frames ---- */

/* Lines into messages, and those to the client, as far as it takes them. */
void http_lws_frames_write(struct http_conn *c, struct span lines);
bool http_lws_frames_ready(const struct http_conn *c);
void http_lws_frames_want(struct http_conn *c);
/* Says Close. */
void http_lws_frames_end(struct http_conn *c);
/* The client has sent, or takes, bytes. */
void http_lws_frames_readable(struct http_conn *c);
void http_lws_frames_writable(struct http_conn *c);
void http_lws_frames_destroy(struct http_conn *c);

#endif
