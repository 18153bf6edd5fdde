#ifndef MEMBER_SYNC_MEMBER_STREAMS_H
#define MEMBER_SYNC_MEMBER_STREAMS_H
/*
 * The streams of one member: each reflector with the request that feeds it.
 *
 * Decides nothing about when sending is allowed: the owner opens and closes the gate
 * (member_streams_allow), and requests that are wanted while it is closed wait. Holds the
 * member's bytes back while its fact queue is full. Belongs to the loop's thread.
 */
#include "member-sync/client.h"
#include "member-sync/fact_queue.h"
#include "member-sync/net.h"
#include "member-sync/reflector.h"

struct member_streams;

struct member_streams_ops {
	/* A fact; the member's number and identity are the receiver's to fill. */
	void (*emit)(void *arg, struct fact *take_fact);
	/* A request of a stream ended, with what that says about the member. */
	void (*ended)(void *arg, enum member_stream s, const struct client_result *result);
	/* A watch was silent for too long. */
	void (*silent)(void *arg, enum member_stream s);
	/* A stream fails (first failure in a row only) or works again (NULL). */
	void (*trouble)(void *arg, enum member_stream s, const struct err *err);
	/* member_streams_due() may have moved. */
	void (*rescheduled)(void *arg);
};

struct member_streams *member_streams_create(const struct net_options *options, uint64_t *jitter,
					     struct client *c, struct fact_queue *facts,
					     const struct member_streams_ops *ops, void *arg);
struct member_streams *member_streams_destroy(struct member_streams *s); /* NULL is fine */

/* Starts a stream that is idle or absent. */
void member_streams_start(struct member_streams *s, enum member_stream which, uint64_t cursor);
/* The member does not serve it. */
void member_streams_set_absent(struct member_streams *s, enum member_stream which);
bool member_streams_is_running(const struct member_streams *s, enum member_stream which);
void member_streams_stop(struct member_streams *s); /* all of them */

/* Whether requests may go out. Opening sends what waited. */
void member_streams_allow(struct member_streams *s, bool allowed);
/* The member was found well after it had failed: streams that lost their connection try now. */
void member_streams_retry(struct member_streams *s);
/* There may be room in the fact queue again. */
void member_streams_resume(struct member_streams *s);
bool member_streams_paused(const struct member_streams *s); /* some bytes are held back by us */

usec member_streams_due(const struct member_streams *s); /* 0: none */
void member_streams_tick(struct member_streams *s, usec now);

#endif
