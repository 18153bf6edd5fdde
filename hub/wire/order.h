#ifndef WIRE_ORDER_H
#define WIRE_ORDER_H
/*
 * Orders: what the core wants done on a member. They exist only after the decision behind them
 * is durable. member-sync carries them out and answers each ORDER_CALL with one FACT_RESULT;
 * it never retries a write on its own: the core does, after reading.
 */
#include "base/clock.h"
#include "base/span.h"
#include "store/store.h"
#include "wire/fact.h"
#include <stdbool.h>
#include <stdint.h>

enum order_op {
	ORDER_JOIN,  /* start (or restart with new credentials) a member's streams */
	ORDER_LEAVE, /* stop them and forget the member; no answer */
	ORDER_CALL,  /* one HTTP request */
	ORDER_OP_MAX,
};

struct order {
	struct order *next;
	enum order_op op;
	uint64_t id; /* chosen by the core, unique in this process; a JOIN's is in its facts */
	uint32_t member;
	/* CALL: refused (NOT_SENT) when the member's differs. JOIN: the identity it must have, all
	 * zero when it is not known yet. */
	uint8_t incarnation[STORE_UID_LEN];
	/* JOIN: owned */
	char *name;
	char *kubeconfig; /* YAML or JSON text; never logged */
	size_t kubeconfig_len;
	uint64_t cursors[STREAM_MAX]; /* resume watch after this member revision; 0: list first */
	/* CALL: owned */
	const char *method;	  /* static text */
	char *path;		  /* with query */
	const char *content_type; /* static text or NULL */
	const char *accept;	  /* static text; NULL: JSON */
	char *body;
	size_t body_len;
	usec timeout; /* 0: 10 s */
	bool whole;   /* the answer's body is wanted however long it is */
	/* CALL, optional: makes the final `body` out of `body` and `build_arg`, once, on the net
	 * thread, when it takes the order: the copy of a job is edited off the core thread. On
	 * failure the order ends as OUTCOME_NOT_SENT with those words. Must not touch the core. */
	int (*build)(struct order *o, struct err *reterr);
	void *build_arg; /* owned; free()d with the order */
};

struct order *order_create(enum order_op op, uint32_t member);
struct order *order_destroy(struct order *o); /* NULL is fine; returns NULL */

/* The core's side of the net thread. All functions from the core thread, except where said. */
struct net;
struct net_ops {
	void (*submit)(struct net *n, struct order *take_order);
	/* The core took facts of a member from its queue: its sockets may be read again. */
	void (*taken)(struct net *n, uint32_t member, size_t bytes);
};
struct net {
	const struct net_ops *ops;
};

/* The net thread's side of the core; called on the net thread. */
struct fact_sink {
	void (*push)(struct fact_sink *s, struct fact *take_fact);
};

#endif
