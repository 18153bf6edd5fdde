#ifndef API_FAIR_QUEUE_H
#define API_FAIR_QUEUE_H
/*
 * Whose request is worked at next: fair queuing of requests by user, in the spirit of
 * Kubernetes' API Priority and Fairness (KEP-1040). A pure structure: no clock, no sockets.
 *
 * There is a number of seats. A request that is worked at (read on a worker, or on its way through
 * the core) takes as many as it costs. What finds none waits in the flow of its user. Two rules
 * share the seats:
 *  - Turns: flows with waiting requests are served round robin, each by one request.
 *  - Shares: with n flows alive, a flow may hold seats/(n + 1), and always one request; so that
 *    one share is free for whoever comes next, however many requests, and however slow ones, the
 *    others have. A flow at its share is passed over, not waited for.
 * A request that costs more than what is free is waited for: cheap ones do not overtake it for
 * ever.
 *
 * Exempt requests (system:masters, as in Kubernetes) run at once and take no seat; they are only
 * counted. Long-running ones (watches, connections through to members) take no seat either, and
 * have a limit of their own, of which one flow may hold half.
 *
 * Refused (429) is what comes when its flow is full, by count or by bytes; and, when the bytes of
 * all flows together are over the limit, what comes from a flow with at least its even part of
 * them. So a queue full of one user's requests refuses nobody else's. Waiting bytes are thus less
 * than twice max_bytes.
 *
 * A flow lives as long as it has requests. Not locked: one thread.
 */
#include "base/map.h"
#include "base/span.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fair_flow;

struct fair_limits {
	size_t seats;
	size_t flow_waiting; /* requests of one flow that may wait */
	size_t flow_bytes;   /* ... and their bytes */
	size_t max_bytes;    /* of all that wait */
	size_t long_running; /* under way together */
};

enum fair_state {
	FAIR_NONE, /* not known to the queue: never given, or done */
	FAIR_WAITING,
	FAIR_RUNNING,
	FAIR_EXEMPT,
	FAIR_LONG, /* long-running */
};

/* Embedded in what waits. */
struct fair_request {
	enum fair_state state;
	uint32_t cost;
	bool write; /* counted apart */
	size_t bytes;
	struct fair_flow *flow;
	struct fair_request *prev, *next;
};

struct fair_queue {
	struct fair_limits limits;
	struct map flows;	 /* user -> struct fair_flow */
	struct fair_flow *first; /* ring of flows with waiting requests: the next one to serve */
	size_t n_flows, n_waiting, waiting_bytes;
	size_t seats_taken, running_read, running_write, running_long;
	uint64_t dispatched, exempt, refused;
};

void fair_queue_init(struct fair_queue *q, const struct fair_limits *limits);
/* Requests that were not removed are forgotten. */
void fair_queue_done(struct fair_queue *q);

/* A request of `user` comes; r->cost (at least 1), write and bytes are set. FAIR_RUNNING: it is to
 * be worked at now. FAIR_WAITING: fair_queue_next() will give it. FAIR_NONE: refused. */
enum fair_state fair_queue_add(struct fair_queue *q, struct span user, struct fair_request *r);
void fair_queue_add_exempt(struct fair_queue *q, struct fair_request *r);
/* False: refused. An exempt one is refused by the limit of all alone. */
bool fair_queue_add_long(struct fair_queue *q, struct span user, bool exempt,
			 struct fair_request *r);
/* The next one to be worked at, FAIR_RUNNING now; NULL when none waits or may go. */
struct fair_request *fair_queue_next(struct fair_queue *q);
/* It is answered, or its client went away, in whatever state; FAIR_NONE is fine. */
void fair_queue_remove(struct fair_queue *q, struct fair_request *r);

#endif
