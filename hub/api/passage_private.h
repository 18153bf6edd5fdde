#ifndef API_PASSAGE_PRIVATE_H
#define API_PASSAGE_PRIVATE_H
/*
 * What passage.c (answers) and tunnel.c (connections) share. For these two files only.
 *
 * A passage lives in its exchange's arena. Its relay wakes it with its task, which is in the
 * mailbox at most once; the exchange is given back only when it is not.
 */
#include "api/passage.h"

struct passage {
	struct task task;
	_Atomic bool posted; /* the task is in the mailbox */
	struct call *call;
	struct relay *relay;
	struct buf bytes;
	size_t at; /* of bytes: what was written */
	struct relay_answer answer;
	bool begun;
	void (*answered)(struct call *c, struct span json);
	bool any_code;		      /* `answered` is for refusals, too */
	void (*last)(struct call *c); /* set once it is over: what gives the exchange back */
	/* of a tunnel: */
	char *up; /* TUNNEL_PIECE bytes; NULL: it is none */
	size_t up_len;
	bool lingers;  /* the other end has closed, ours is to follow */
	usec moved_at; /* monotonic: when the last byte went either way, or lingering began */
};

/* Moves what waits in the relay into the empty buffer. */
void passage_take(struct passage *p);
/* Lets go of the relay; `last` gives the exchange back, now or when the task has run. */
void passage_leave(struct passage *p, void (*last)(struct call *c));
/* A `last`: closes the connection. */
void passage_abort(struct call *c);
/* Runs the task in the loop's next turn. Any thread. */
void passage_post(struct passage *p);

/* ---- tunnel.c ---- */

/* The head was a 101, which is passed on; the passage is a tunnel, or is left. */
void tunnel_begin(struct passage *p);
/* Moves what can be moved, both ways. */
void tunnel_pump(struct passage *p);

#endif
