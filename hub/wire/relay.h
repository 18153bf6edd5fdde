#ifndef WIRE_RELAY_H
#define WIRE_RELAY_H
/*
 * One request that goes through this process to where it is answered: a member's API server, or
 * the kubelet's part of a simulated cluster (clusters/NAME/proxy, the log of a pod).
 *
 * Two threads share a relay and nothing else: the asker (an api loop) and the answerer (the net
 * thread, a simulator's core). The question is written before the relay is handed over and never
 * changed. The answer comes in pieces: a head once, then bytes, then an end. Bytes wait in the
 * relay until the asker takes them, at most RELAY_WINDOW of them (one longer piece is taken when
 * nothing waits); when there is no room the answerer is told, stops reading, and hears with its
 * `attend` hook when there is room again. So a relay costs two windows of memory however long the
 * answer is, and a client that does not read stalls its own relay alone.
 *
 * A question may ask for a WebSocket (`upgrade`). When the answer's head has the code 101, the
 * relay is a connection: bytes go both ways as they are, a second window holds those of the asker,
 * and nobody here looks into them. The answerer hears of them with the same `attend` hook, the
 * asker of room with its `wake`. Any other code is an answer like all others.
 *
 * Ownership. Each side holds one reference; what relay_create() returns is the asker's, and
 * handing the relay over (backend_ops.proxy) adds the answerer's when it succeeds. The asker gives
 * its own back with relay_leave(), at any time: before the end that cancels. The answerer gives
 * its own back with relay_end(), exactly once, cancelled or not.
 *
 * Hooks are called under the relay's lock, so that none is under way when relay_leave() or
 * relay_end() returned; they may only post to their own thread and never call back. Each is
 * called once until the side has looked (relay_take(), relay_attended()).
 */
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>

#define RELAY_WINDOW	  ((size_t)64 << 10)
#define RELAY_MAX_HEADER  500  /* bytes of each header of a question */
#define RELAY_MAX_HEADERS 2500 /* bytes of an answer's */

struct relay;

struct relay_question {
	char *cluster;	    /* owned; NULL: this cluster itself (a backend that runs pods) */
	char *method;	    /* owned */
	char *path;	    /* owned; with query, from the root: "/api/v1/nodes" */
	char *accept;	    /* owned or NULL */
	char *content_type; /* owned or NULL */
	char *body;	    /* owned or NULL */
	size_t body_len;
	bool upgrade; /* to a WebSocket; then, as the headers of RFC 6455 4.1, owned or NULL: */
	char *ws_key, *ws_version, *ws_protocols;
};

/* The asker's: something came; on any thread. */
typedef void (*relay_wake_fn)(void *asker);
/* The answerer's: the asker left, or there is room again; on any thread. It may keep the relay
 * with relay_ref() until it has looked. */
typedef void (*relay_attend_fn)(void *answerer, struct relay *r);

/* Takes what the question points to. */
struct relay *relay_create(struct relay_question *take, relay_wake_fn wake, void *asker);
const struct relay_question *relay_question(const struct relay *r);

struct relay *relay_ref(struct relay *r);   /* any thread */
struct relay *relay_unref(struct relay *r); /* returns NULL */

/* ---- the asker's side ---- */

struct relay_answer {
	int http_code;		/* 0: the head has not come */
	char content_type[128]; /* "" when not given */
	struct span headers;	/* more lines, each ended by CRLF; the relay's, until it is left */
	bool ended;		/* nothing comes after the bytes that were taken with this */
	struct err err;		/* of the end: the answer is cut, or never came */
};

/* Moves the bytes that wait into `bytes`, which must be empty (its memory is used for the next
 * ones), and tells how far the answer is. */
void relay_take(struct relay *r, struct buf *bytes, struct relay_answer *ret);

/* Bytes of an upgraded connection, after a head of 101. False: no room, nothing was taken; `wake`
 * follows when there is. True when the answer has ended, too: they go nowhere. */
bool relay_send(struct relay *r, struct span bytes);

/* Gives the asker's reference back; no wake is called any more. Before the end this cancels.
 * What an earlier wake posted to the asker's own thread may still arrive there. */
void relay_leave(struct relay *r);

/* ---- the answerer's side ---- */

/* Who is to be told. Before the first of the following. */
void relay_accept(struct relay *r, relay_attend_fn attend, void *answerer);
/* The next relay_attend is wanted; true while the asker is there. */
bool relay_attended(struct relay *r);
/* A pointer of the answerer's own, NULL at first; its thread only. */
void relay_set_local(struct relay *r, void *local);
void *relay_local(const struct relay *r);
/* `headers`: more lines, each ended by CRLF, together at most RELAY_MAX_HEADERS bytes (else they
 * are dropped); copied. */
void relay_head(struct relay *r, int http_code, const char *content_type, struct span headers);
/* False: no room, nothing was taken; `attend` follows when there is. True when the asker has
 * left, too: the bytes go nowhere. */
bool relay_push(struct relay *r, struct span bytes);
/* Moves at most `room` bytes of an upgraded connection to `into`; their number. 0: nothing waits,
 * `attend` follows when something does. */
size_t relay_receive(struct relay *r, char *into, size_t room);
/* err: NULL or of kind ERR_NONE for a whole answer. Gives the answerer's reference back. */
void relay_end(struct relay *r, const struct err *err);

#endif
