#ifndef MEMBER_SYNC_MEMBER_H
#define MEMBER_SYNC_MEMBER_H
/*
 * One member as the net thread knows it: its health and identity, its streams, its calls.
 *
 * Nothing is sent before the member's identity is proven on the way there (member_probe.h), and
 * it is proven anew after every broken connection, because that is how a cluster that was
 * replaced by another looks. While it is in doubt, streams and calls wait; once a probe failed
 * (the circuit is open) calls are refused as not sent, and only probes go out, backing off with
 * jitter: to 5 steps of the first backoff while the failure is fresh, so that a member that heals
 * is used within seconds, later to the maximum. A member with another identity than the one that
 * joined gets nothing more, for good.
 * Bytes on any stream count as life; a probe goes out only when nothing came for a while.
 * What the core sees of this is in net.h. Belongs to the loop's thread.
 */
#include "member-sync/client.h"
#include "member-sync/net.h"

struct member;

/* What the net thread lends to all its members; borrowed. */
struct member_host {
	uv_loop_t *loop;
	struct client_gate *gate;
	struct net_options options; /* complete: no zero intervals */
	uint64_t jitter;	    /* seeds for members; moves on */
};

/* Takes an ORDER_JOIN and starts. */
struct member *member_create(struct member_host *host, struct order *take_join);

/* Ends all calls (each answered) and streams. NULL is fine; returns NULL. Not from within a
 * callback of the member's client. */
struct member *member_destroy(struct member *m);

/* Relays of one member that may be under way; more are refused with ERR_TOO_MANY. They go over
 * connections of their own, so that an answer nobody reads keeps nothing else waiting. */
#define MEMBER_MAX_RELAYS 64

/* An ORDER_CALL; a relay. Each is answered exactly once. */
void member_submit(struct member *m, struct order *take_call);
void member_forward(struct member *m, struct relay *take_relay);
/* The relay's asker left or made room; the relay is under way with this member. */
void member_attend(struct member *m, struct relay *r);
void member_taken(struct member *m, size_t bytes);

uint32_t member_number(const struct member *m);
const char *member_name(const struct member *m);

#endif
