#ifndef MEMBER_SYNC_NET_H
#define MEMBER_SYNC_NET_H
/*
 * The net thread: everything the hub says to its members and hears from them.
 *
 * One thread with its own libuv loop. Orders come in (wire/order.h), facts go out (wire/fact.h);
 * both move ownership and nothing else is shared. Each member has its own connection pool,
 * streams, queue and circuit, so that a hung, slow or lying member costs the others nothing but
 * its share of the cap on TLS handshakes.
 *
 * What the core may rely on:
 *  - ORDER_JOIN. order.incarnation is the identity that the member must have; all zero on the
 *    first join, when whatever is found is reported. The kubeconfig must hold its credentials
 *    inline (see kubeconfig.h). A JOIN of a member that is known starts it anew with the new
 *    credentials and cursors: give the cursors of the facts taken so far; facts not yet taken may
 *    then come twice. The first fact is a FACT_MEMBER (CONNECTING, or what is wrong with the
 *    kubeconfig); streams start only after FACT_MEMBER says READY, and stop for good with
 *    MEMBER_CHANGED_IDENTITY, until the next JOIN.
 *  - A FACT_MEMBER comes when the condition, the cause in its message, the version or the set of
 *    APIs changes, never merely because a probe was repeated. A member that is refused, hung or
 *    wrongly certified is reported within 6 s.
 *  - Streams. `cursors[s]` 0 lists: FACT_LIST_BEGIN, one upsert per object, FACT_LIST_END whose
 *    revision is the new cursor. Another LIST_BEGIN before LIST_END means that the list was cut
 *    and starts over: what the cut one named is true, but proves no absence. A cursor resumes
 *    without a list; a FACT_CURSOR with that same revision says once that the watch is open.
 *    An expired cursor (410), or a server whose revisions went back, leads to a list by itself.
 *    Each upsert, deletion and bookmark moves its stream's cursor to fact.revision.
 *  - Waiting facts. At most FACT_QUEUE_WINDOW bytes of a member's facts are with the core at any
 *    time, until net_ops.taken() says that it took them from its queue (sum of fact.bytes over
 *    every fact, whatever its op; calling it once per batch is fine). Behind the window facts
 *    wait, and the newer state of an object replaces the older one in its place; a deletion is
 *    never replaced, and nothing is merged across a LIST_BEGIN or LIST_END of its stream. When
 *    1 MiB is with the core or waiting, the member's sockets are not read until there is room.
 *  - ORDER_CALL gets exactly one FACT_RESULT, which overtakes waiting facts: compare revisions.
 *    OUTCOME_ANSWERED: the whole answer arrived, of whatever code. OUTCOME_NOT_SENT: not one byte
 *    of the request left this process (refused, unreachable, wrong certificate, stale
 *    incarnation, nine tenths of its timeout passed while it waited). OUTCOME_UNKNOWN: all else, a
 * 201 whose body was cut included; read before deciding anything. Nothing is ever sent twice:
 * libcurl's own repetition of a request on a fresh connection is refused. After ORDER_LEAVE, or a
 * JOIN anew, calls under way end as NOT_SENT or UNKNOWN; only net_stop() leaves them without an
 * answer.
 *  - Every fact carries the identity that was in force when it was seen: zero until it is known.
 *
 * It does not decide, retry writes, persist anything or interpret status.
 */
#include "base/clock.h"
#include "base/err.h"
#include "wire/backend.h"
#include "wire/order.h"

struct log;

/* All but STREAM_EVENTS, whose volume a hub must want. */
#define NET_DEFAULT_STREAMS (((uint32_t)1 << STREAM_MAX) - 1 - ((uint32_t)1 << STREAM_EVENTS))

/* Intervals, as one struct so that tests can shorten them. 0 takes the default. */
struct net_times {
	usec probe;	    /* health check of a member that says nothing: 10 s */
	usec probe_timeout; /* one request of a probe: 5 s */
	usec discovery;	    /* which job kinds a member serves: 30 s */
	usec silence;	    /* a watch with bookmarks and without a byte is dead: 3 min */
	usec watch;	    /* timeoutSeconds of a watch is jittered in [watch, 2 * watch): 300 s */
	usec backoff;	    /* first step, doubles with full jitter: 800 ms */
	usec backoff_max;   /* 30 s */
};

struct net_options {
	const char *hub_uid;	/* text of the hub's own uid: the value of COPY_LABEL_HUB_UID */
	struct fact_sink *sink; /* borrowed until net_stop() returned */
	const struct log *log;	/* borrowed; NULL is silent */
	uint32_t streams;	/* bit per enum member_stream; 0: NET_DEFAULT_STREAMS */
	struct net_times times;
	uint64_t seed; /* of the jitter; 0 draws one */
};

/* Starts the thread. ERR_INTERNAL when the loop or the thread cannot be made. */
int net_create(const struct net_options *options, struct net **ret, struct err *reterr) MUST_CHECK;

/* Stops the thread: cuts every request, joins, frees; under 2 s. No fact is pushed after it
 * returned; relays under way have had their end. NULL is fine; returns NULL. */
struct net *net_stop(struct net *n);

/* Takes a relay (wire/relay.h; one more reference): question->cluster is a member's name as in its
 * ORDER_JOIN. The head must come within 30 s; what follows may last. The answer ends with an
 * error (ERR_NOT_FOUND: no such member; ERR_UNAVAILABLE: not sent; ERR_TOO_MANY: the member's
 * bound; ERR_TIMEOUT or ERR_INTERNAL: outcome unknown, or cut) or whole, whatever its code. The
 * caller's rights are checked before: the request runs with the hub's credentials on that member.
 * Any thread. */
void net_proxy(struct net *n, struct relay *r);

#endif
