#ifndef MEMBER_SYNC_CLIENT_GATE_H
#define MEMBER_SYNC_CLIENT_GATE_H
/*
 * A cap on TLS handshakes in flight over all members: each costs milliseconds of this thread, and
 * a reconnect storm of a thousand members would delay everything else (libraries.md section 4).
 *
 * Two lanes, first come first served: the greater part of the slots is for clients that are well
 * or new, the rest for those whose last attempt failed, so that members that swallow connections
 * hold up one another only. Grants are made from the loop, never from within a call.
 * Belongs to the loop's thread.
 */
#include <stdbool.h>
#include <uv.h>

struct client_gate;

struct client_ticket {
	struct client_ticket *prev, *next;
	int lane;
	enum { TICKET_NONE, TICKET_WAITING, TICKET_HELD } state;
	void (*granted)(void *arg);
	void *arg;
};

struct client_gate *client_gate_create(uv_loop_t *loop, unsigned slots);
/* After every ticket was released; the memory follows when the loop has run once more. NULL is
 * fine; returns NULL. */
struct client_gate *client_gate_destroy(struct client_gate *g);

/* Asks for a slot: true when it is held at once; else granted() is called later, from the loop.
 * `urgent` goes before those who wait. */
bool client_gate_want(struct client_gate *g, struct client_ticket *t, bool failing, bool urgent);

/* Gives a slot back, or stops waiting for one; nothing happens without either. May be called
 * from anywhere. */
void client_gate_release(struct client_gate *g, struct client_ticket *t);

#endif
