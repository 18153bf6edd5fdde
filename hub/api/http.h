#ifndef API_HTTP_H
#define API_HTTP_H
/*
 * HTTP as this program needs it: a request in; a response, or a stream of bytes, out.
 *
 * An http_server lives on one uv loop, and everything here belongs to that loop's thread.
 * http_lws.c stands on libwebsockets; nothing outside it knows, so that another engine can be
 * put under this interface. HTTP/1.1 over TLS, keep-alive, client certificates optional.
 *
 * An exchange is one request and its answer. The server makes it when the whole request (body
 * included) is there and gives it to handler->request. The handler answers it exactly once: with
 * http_respond(), or with http_stream_begin() ... http_stream_end() or http_abort(). When the
 * client goes away first, handler->gone is called, and the handler gives the exchange back with
 * http_abort().
 *
 * Limits (DESIGN section 10): body 3 MiB (413), header block 32 KiB (the library closes the
 * connection without an answer), 10 s for the header block and for each piece of a body, 60 s for
 * a whole body; a client that takes nothing for 30 s is closed. A body in chunks is
 * taken, and the connection ends with its answer.
 * A client that sends its next request while a request with a body, a stream or a long answer is
 * under way is closed; other pipelined requests are answered in order.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/span.h"
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct http_server;
struct http_listener;
struct http_conn;

#define HTTP_MAX_BODY	 ((size_t)3 << 20)
#define HTTP_MAX_HEADERS 32768
#define HTTP_HEADER_SECS 10
#define HTTP_BODY_SECS	 60
#define HTTP_STALL_SECS	 30
#define HTTP_MAX_PARAMS	 64
/* One write to the library; longer bodies go out in pieces of this size, one in a turn of the
 * loop. A piece is larger while nobody asks for anything: it is what others wait for. */
#define HTTP_PIECE	 ((size_t)64 << 10)
#define HTTP_QUIET_PIECE ((size_t)256 << 10)
#define HTTP_QUIET	 (20 * USEC_PER_MS) /* since the last request */

enum http_method {
	HTTP_GET,
	HTTP_HEAD,
	HTTP_POST,
	HTTP_PUT,
	HTTP_PATCH,
	HTTP_DELETE,
	HTTP_OPTIONS,
	HTTP_METHOD_MAX,
};
const char *http_method_name(enum http_method m);

struct http_param {
	struct span name, value; /* decoded */
};

/* Whom the client's certificate names. Lives as long as the connection. */
struct http_peer {
	bool presented;	     /* there was a certificate */
	bool verified;	     /* and it is valid against the listener's CA, now */
	bool proxy;	     /* it is valid against the CA of front proxies */
	char *common_name;   /* "" when absent */
	char *organizations; /* each ended by NUL, the list by an empty one */
	char *uid;	     /* NULL: none is named */
	bool uid_unreadable; /* several, or what is no text */
	char digest[65];     /* SHA-256 of the certificate, in hexadecimal digits */
	char address[48];    /* where it comes from; "" when that is not known */
};

/* Whom the request is to be made as. */
#define HTTP_MAX_IMPERSONATED 64
struct http_impersonation {
	struct span user, uid; /* absent when not given */
	struct span *groups;
	size_t n_groups;
	struct http_param *extra; /* names in lower case, decoded */
	size_t n_extra;
	bool unreadable; /* there are headers that could not be understood, or too many */
};

/* What a front proxy says besides: the headers that the engine has no field for. */
#define HTTP_MAX_PROXIED 256
struct http_proxied {
	struct http_param *headers; /* names in lower case, in the order they came in */
	size_t n;
	bool unreadable; /* they could not be understood, or are too many */
};

/* A request to become a WebSocket: its headers (RFC 6455 4.1), absent when not given. */
struct http_upgrade {
	struct span key, version, protocols;
};

struct http_request {
	enum http_method method;
	struct span path; /* decoded, "/./" and "/../" resolved by the library */
	size_t n_params;
	struct span accept, accept_encoding, authorization, content_type, if_none_match, user_agent;
	struct span audit_id;
	const struct http_impersonation *impersonation; /* NULL: no such headers */
	const struct http_proxied *proxied; /* NULL: of no front proxy, or without a user header */
	const struct http_upgrade *upgrade; /* NULL: none is asked for; GET only */
	struct buf body;
	const struct http_peer *peer; /* never NULL */
	struct arena mem;	      /* for whoever handles the request; reset afterwards */
	struct http_param params[HTTP_MAX_PARAMS]; /* the first n_params */
};

/* The value of the first parameter of that name; absent when there is none. */
struct span http_param(const struct http_request *r, const char *name);
/* A key that is part of a header's name, without its percent-encoding; as it is when that is
 * wrong. */
struct span http_header_key(struct arena *mem, struct span encoded);

struct http_exchange {
	struct http_request request;
	struct http_listener *listener;
	void *user;		    /* the handler's */
	struct http_conn *conn;	    /* engine's; NULL once the client is gone */
	struct http_exchange *next; /* engine's */
	bool streaming;
};

struct http_handler {
	/* A complete request. May answer at once, or keep the exchange and answer later. */
	void (*request)(void *arg, struct http_exchange *x);
	/* A stream may take more: follows each http_stream_want(). */
	void (*writable)(void *arg, struct http_exchange *x);
	/* A tunnel has bytes, or its end: follows an http_tunnel_read() of 0. */
	void (*readable)(void *arg, struct http_exchange *x);
	/* The client is gone while the exchange was the handler's. */
	void (*gone)(void *arg, struct http_exchange *x);
	void *arg;
};

struct http_server_options {
	uv_loop_t *loop;
	const struct http_handler *handler; /* borrowed */
	int max_connections;
};

int http_server_create(const struct http_server_options *o, struct http_server **ret,
		       struct err *reterr) MUST_CHECK;
/* Closes everything and runs the loop until the library has let go of it. */
struct http_server *http_server_destroy(struct http_server *s);

struct http_listen_options {
	const char *host; /* an address; NULL or "": all interfaces */
	int port;	  /* 0: a free one */
	struct span cert_pem, key_pem, client_ca_pem;
	/* Who may speak for others: certificates that these (all of them trusted) signed, and the
	 * headers of which such a request has one. Absent, NULL: nobody. The names are borrowed. */
	struct span proxy_ca_pem;
	char *const *proxy_user_headers;
	void *user; /* http_listener_user() */
};
int http_server_listen(struct http_server *s, const struct http_listen_options *o,
		       struct http_listener **ret, struct err *reterr) MUST_CHECK;
int http_listener_port(const struct http_listener *l);
void *http_listener_user(const struct http_listener *l);

/* To be called about once a second: closes clients that do not take or send what they should. */
void http_server_sweep(struct http_server *s);
/* Exchanges that are with the handler, streams included. */
size_t http_server_active(const struct http_server *s);
size_t http_server_connections(const struct http_server *s);
/* Connections with bytes of answers that have not left for the kernel. */
size_t http_server_unsent(const struct http_server *s);

/* ---- answers; each ends the handler's ownership of the exchange ---- */

struct http_response {
	int code;
	const char *content_type; /* static text; NULL: none */
	struct span headers;	  /* more lines, each ended by CRLF; copied */
	char *body;		  /* malloc()ed, taken; or NULL */
	size_t len;
	bool close; /* and close the connection */
};
void http_respond(struct http_exchange *x, struct http_response *take);

/* Sends the header block of a chunked answer at once. False when the client is gone. */
bool http_stream_begin(struct http_exchange *x, int code, const char *content_type,
		       struct span headers);
/* The same for a request with an upgrade: answers 101, and what is written then goes out as text
 * messages of a WebSocket, one a line (RFC 6455; api/ws_frame.h). Pings are answered, what else the
 * client says is passed over, and its Close is its end. False when the client is gone, or will be.
 */
bool http_stream_begin_messages(struct http_exchange *x, struct span headers);
/* One write: bytes as one chunk. The bytes are sent or copied. Only when http_stream_ready(). */
void http_stream_write(struct http_exchange *x, struct span bytes);
/* As one write and one chunk; together at most HTTP_PIECE bytes. */
void http_stream_writev(struct http_exchange *x, const struct span *parts, size_t n);
/* What is around the text of a chunk. */
#define HTTP_CHUNK_HEAD ((size_t)8)
#define HTTP_CHUNK_TAIL ((size_t)2)
/* Frames the `len` bytes that stand at room + HTTP_CHUNK_HEAD as a chunk: less than 16 MiB, with
 * HTTP_CHUNK_TAIL bytes of room behind them. */
void http_chunk_frame(char *room, size_t len);
/* One write of a chunk that http_chunk_frame() made. The bytes are sent or copied. */
void http_stream_chunk(struct http_exchange *x, struct span framed);
/* The same for a chunk of any length: it goes out in pieces, over several turns of the loop. The
 * bytes stay as they are until http_stream_ready() says so again, or the exchange ends. */
void http_stream_lend(struct http_exchange *x, struct span framed);
/* Whether the last write has left for the kernel. */
bool http_stream_ready(const struct http_exchange *x);
/* Asks for handler->writable once it is ready; at once in the next turn when it is already. */
void http_stream_want(struct http_exchange *x);
/* The last chunk; keeps the connection. */
void http_stream_end(struct http_exchange *x);

/* ---- tunnels ---- */

/* Answers 101 with these header lines, each ended by CRLF. False when it cannot be: then the client
 * is gone, or will be. */
bool http_tunnel_begin(struct http_exchange *x, struct span headers);
/* At most `room` bytes of the client's; 0: none now, handler->readable follows; negative: its end.
 */
ptrdiff_t http_tunnel_read(struct http_exchange *x, void *into, size_t room);
/* How much was taken; less than all: handler->writable follows, and the next write must begin with
 * the same bytes. Negative: the connection is broken. */
ptrdiff_t http_tunnel_write(struct http_exchange *x, struct span bytes);
/* No byte follows: told to the client, whose own may still be read. http_abort() ends it. */
void http_tunnel_shutdown(struct http_exchange *x);

/* Gives up: closes the connection without a last chunk. Also how an exchange whose client is
 * gone is given back. */
void http_abort(struct http_exchange *x);

#endif
