#ifndef API_PASSAGE_H
#define API_PASSAGE_H
/*
 * A call that is answered elsewhere: its request goes through as a relay (wire/relay.h), and the
 * answer comes back to the client as it arrives.
 *
 * An answer that is whole when its head is seen goes out like any other, with its length. A longer
 * one is a stream: at most a window waits here, the next one is taken when the client's socket
 * took the last, so that a client that reads slowly slows its own relay down to its own speed.
 * A client that goes away cancels the relay. An answer that is cut is cut for the client too: a
 * chunked stream without its last chunk.
 *
 * A request for a WebSocket that is answered 101 becomes a tunnel (tunnel.c); any other answer to
 * it is one as above.
 *
 * The caller's rights were checked before; no credentials go through. Of the request's headers
 * Accept, Content-Type and those of a WebSocket do, of the answer's Content-Type, Retry-After and
 * Warning. Belongs to the loop's thread.
 */
#include "api/call.h"

/* Sends the call's request, with its body and parameters, through to `cluster` (absent: this
 * cluster itself). `take_path` is the encoded path, without parameters. The call is answered in
 * any case. */
void passage_begin(struct call *c, struct span cluster, struct buf *take_path);

/* As passage_begin(), for a GET of one object of at most STORE_MAX_OBJECT bytes whose answer is not
 * the client's yet: `answered` is called on the loop with the whole answer of a 2xx, JSON and
 * borrowed. Whatever else comes is the client's answer, as it is. */
void passage_fetch(struct call *c, struct span cluster, struct buf *take_path,
		   void (*answered)(struct call *c, struct span json));

/* As passage_fetch(), with the parameters and without a body, for an answer of any code: it is
 * c->answer.code, with its type and headers, when `answered` is called. */
void passage_ask(struct call *c, struct span cluster, struct buf *take_path,
		 void (*answered)(struct call *c, struct span body));

#endif
