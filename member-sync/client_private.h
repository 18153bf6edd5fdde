#ifndef MEMBER_SYNC_CLIENT_PRIVATE_H
#define MEMBER_SYNC_CLIENT_PRIVATE_H
/*
 * What client.c (queue, bounds, deadlines) and client_transfer.c (one transfer in libcurl's
 * hands) share. For these two files only.
 */
#include "base/buf.h"
#include "member-sync/client.h"
#include "member-sync/multi_loop.h"

#include <curl/curl.h>

#define CLIENT_SPARE_HANDLES 16 /* an easy handle costs 6 KB and tens of microseconds to make */

enum client_version { CLIENT_VERSION_UNKNOWN, CLIENT_HTTP1, CLIENT_HTTP2 };

enum request_state {
	REQUEST_WAITING, /* in client.waiting */
	REQUEST_GATED,	 /* in client.running, waits for a handshake slot */
	REQUEST_ACTIVE,	 /* in client.running, libcurl has it */
};

struct client_request {
	struct client_request *prev, *next;
	struct client *c;
	struct client_spec spec; /* its pointers are this struct's own copies */
	enum request_state state;
	usec deadline; /* monotonic; 0: none */
	struct client_ticket ticket;
	bool connecting; /* counted in client.connecting */
	CURL *easy;
	/* built by hand, so that the secret one is shared */
	struct curl_slist headers[6 + CLIENT_MAX_HEADERS];
	char header_text[2][528]; /* RELAY_MAX_HEADER and the name */
	char *url;
	char detail[CURL_ERROR_SIZE];
	unsigned sent; /* how often libcurl was about to send it */
	bool aborted, too_large;
	bool early; /* ended outside of libcurl's own report: */
	CURLcode early_result;
	int code;	   /* of the status line */
	bool headers_seen; /* of the final answer */
	bool unpause;	   /* an upload that will not happen is to end */
	struct buf passed; /* headers, for client_passed_headers() */
	usec retry_after;
	char content_type[128];
	struct buf body;
};

struct client {
	uv_loop_t *loop;
	struct client_gate *gate;
	const struct kubeconfig *k;
	struct multi_loop *ml;
	struct {
		uv_timer_t kick;     /* 0 ms: start what may be started */
		uv_timer_t deadline; /* at the earliest deadline that was seen */
		int open;
		bool dead; /* free the client when both are closed */
	} timers;
	usec deadline_at; /* what the deadline timer is set to; 0: not set */
	enum client_version version;
	unsigned own_connections; /* client_use_connections(); 0: as the server offers */
	bool failing;		  /* the last attempt to connect failed */
	bool resetting;
	unsigned connecting; /* requests that wait for, or make, a connection */
	unsigned sockets;    /* open ones */
	size_t connects;
	usec last_byte;
	struct client_request *waiting, *waiting_tail;
	struct client_request *running;
	size_t n_waiting, n_running;
	CURL *spare[CLIENT_SPARE_HANDLES];
	unsigned n_spare;
	char *auth;	  /* "Authorization: Bearer ..." or NULL; wiped */
	char *base;	  /* URL before the path */
	char *connect_to; /* or NULL */
	struct curl_slist connect_list;
	char *host_header; /* or NULL */
};

/* client_transfer.c */

/* Makes URL templates and the credential header from c->k. */
void client_transfer_prepare(struct client *c);
void client_transfer_discard(struct client *c);
/* Sets up an easy handle and adds it. False when libcurl refuses. */
bool client_transfer_start(struct client_request *q);
/* Takes the handle back from libcurl. */
void client_transfer_stop(struct client_request *q);
/* Fills `ret` from how the transfer ended. */
void client_transfer_result(struct client_request *q, CURLcode code, struct client_result *ret);

/* client_queue.c: the two lists of a client's requests */

/* Into the waiting list, at its front or end. */
void client_queue_push(struct client_request *q, bool first);
/* From the waiting to the running list: its state is REQUEST_GATED then. */
void client_queue_run(struct client_request *q);
/* Out of the list that it is in. */
void client_queue_unlink(struct client_request *q);

/* client.c, called from libcurl's callbacks: only notes and timers */

void client_note_connected(struct client_request *q);
void client_kick(struct client *c);

#endif
