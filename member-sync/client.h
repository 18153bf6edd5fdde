#ifndef MEMBER_SYNC_CLIENT_H
#define MEMBER_SYNC_CLIENT_H
/*
 * HTTP requests to one member: a pool of connections of its own, a bound on what is under way,
 * a deadline on everything, and an exact word on what became of each request.
 *
 * Outcomes. A request that nothing was sent of is NOT_SENT; one whose whole answer arrived is
 * ANSWERED; everything else is UNKNOWN. The line between the first and the last is libcurl's
 * prerequest callback: it fires on a usable connection just before the first byte. libcurl
 * repeats a request on a fresh connection when a reused one turns out dead; that second firing is
 * refused unless the request says that it is repeatable. So a write goes out at most once, and a
 * read does not land on another cluster that took over the address.
 *
 * Connections. HTTP/2 where the server offers it: one connection, CLIENT_STREAMS at most, and
 * nobody opens a second one while the first is being made (libraries.md section 4). Else
 * HTTP/1.1 with at most CLIENT_CONNECTIONS. No redirects, no netrc, no cookies, no proxy from
 * the environment; https only, TLS 1.2 or newer; the system's authorities only when the
 * kubeconfig names none. Handshakes in flight are capped over all clients by a client_gate, with
 * a smaller share for clients whose last attempt failed, so that dead members do not keep
 * healthy ones waiting.
 *
 * Belongs to the loop's thread. Callbacks are called from the loop; on_data from within libcurl,
 * where nothing of this header may be called but what is said so.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include "member-sync/client_gate.h"
#include "member-sync/kubeconfig.h"
#include "wire/fact.h"
#include <stdbool.h>
#include <uv.h>

#define CLIENT_STREAMS	   100 /* Go servers allow 250, other proxies 100 */
#define CLIENT_CONNECTIONS 24  /* over HTTP/1.1: nine streams and calls; a handshake costs 2 ms */
#define CLIENT_ERROR_BODY  ((size_t)16 << 10)
#define CLIENT_HANDSHAKES  50 /* in flight over all members of one gate */

struct client;
struct client_request;

enum client_take {
	CLIENT_TAKEN,
	CLIENT_PAUSE, /* nothing of it was taken: the same bytes come again after
		       * client_resume() */
	CLIENT_ABORT, /* cut the request; done() follows with UNKNOWN */
};

struct client_result {
	enum { CLIENT_ANSWERED, CLIENT_NOT_SENT, CLIENT_UNKNOWN } outcome;
	int http_code;	/* 0: no status line came. With UNKNOWN: the code of an answer that was cut
			 */
	bool aborted;	/* by CLIENT_ABORT */
	struct err err; /* for all but a whole 2xx answer: the Status's message, or the cause */
	enum member_condition condition; /* what a failure to connect says about the member;
					  * MEMBER_READY when nothing */
	usec retry_after;		 /* 0: not given; at most an hour */
	struct span body;		 /* unless on_data took it; valid during done() */
	const char *content_type;	 /* valid during done(); NULL when not given */
};

/* More headers of a request, "Name: value" each. */
#define CLIENT_MAX_HEADERS 6

struct client_spec {
	const char *method;	  /* static text */
	const char *path;	  /* with query; copied */
	const char *content_type; /* copied or NULL */
	const char *accept;	  /* copied; NULL: application/json */
	struct span body;	  /* copied; absent for none */
	/* From now until the last byte of the answer; 0: none (watches). A request that waited for
	 * nine tenths of it is not sent any more. */
	usec timeout;
	bool timeout_when_sent; /* the timeout runs from when the gate lets it through */
	bool repeatable;	/* libcurl may send it again on a fresh connection */
	bool any_code;		/* a refusal's body goes to on_data too, whole */
	/* The connection is to become another: with an answer of 101, whose headers are told, bytes
	 * go both ways as they are until either side ends. Over HTTP/1.1 only
	 * (client_use_connections), and not with a body. */
	bool upgrade;
	const char *headers[CLIENT_MAX_HEADERS]; /* copied; NULL: no more */
	bool urgent;	 /* before all that waits, and beyond the bound: health checks */
	size_t max_body; /* 0: 1 MiB; a longer answer is UNKNOWN with ERR_TOO_LARGE */
	/* Every one may be NULL. on_headers and on_data only for 2xx, or with any_code. */
	void (*on_sent)(void *arg, struct client_request *q);
	void (*on_headers)(void *arg, struct client_request *q, int http_code);
	enum client_take (*on_data)(void *arg, struct client_request *q, struct span bytes);
	/* Bytes to send on an upgraded connection, at most `room`; 0: none now, client_resume()
	 * when there are. */
	size_t (*on_upload)(void *arg, struct client_request *q, char *into, size_t room);
	void (*done)(void *arg, struct client_request *q, const struct client_result *result);
	void *arg;
};

/* `k` is borrowed and must outlive the client. */
int client_create(uv_loop_t *loop, struct client_gate *gate, const struct kubeconfig *k,
		  struct client **ret, struct err *reterr) MUST_CHECK;
/* A client whose requests each have an HTTP/1.1 connection of their own, at most `n` at a time:
 * for answers that may be paused. Over HTTP/2 libcurl 7.88 stops reading the whole connection when
 * one of its streams is paused, and every other stream with it (lib/http2.c). Right after
 * client_create(). */
void client_use_connections(struct client *c, unsigned n);

/* Cuts all requests without calling anyone. NULL is fine; returns NULL. Not from within any
 * callback. */
struct client *client_destroy(struct client *c);

/* Queues a request. Returned handle: borrowed, valid until done() returned or client_cancel().
 * done() is never called from within. */
struct client_request *client_send(struct client *c, const struct client_spec *spec);

/* Cuts a request; its callbacks are not called. Tells what done() would have: whether a byte may
 * have gone out. Not from within on_sent, on_headers or on_data, nor on a request whose done() is
 * under way. */
bool client_cancel(struct client_request *q);

/* From on_headers: the answer takes as long as it takes. */
void client_lift_deadline(struct client_request *q);
/* From on_headers on: as in client_result. */
const char *client_content_type(const struct client_request *q);

/* From on_headers on, of a request with any_code: the headers that are for the asker's ears too
 * (Retry-After, Warning; of a 101 those of RFC 6455 4.2.2), as lines each ended by CRLF. */
struct span client_passed_headers(const struct client_request *q);

/* Reads on after CLIENT_PAUSE, and sends on. Not from within on_data or on_upload. */
void client_resume(struct client_request *q);

/* Cuts every request (done() is called for each, soon) and every connection: the peer is
 * dead or deaf. */
void client_reset(struct client *c);

/* When the last byte of any answer came (monotonic); 0: never. */
usec client_last_byte(const struct client *c);
/* Requests queued and under way. */
size_t client_load(const struct client *c);
/* Connections that were opened so far. */
size_t client_connects(const struct client *c);
bool client_is_http2(const struct client *c);

#endif
