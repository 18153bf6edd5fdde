#ifndef MEMBER_SYNC_MEMBER_CALL_H
#define MEMBER_SYNC_MEMBER_CALL_H
/*
 * One request that somebody asked a member for, until it is answered: an ORDER_CALL, which ends
 * as a FACT_RESULT, or a relay (wire/relay.h), whose answer passes through piece by piece.
 *
 * It may wait unsent (while the member's identity is being checked), be under way, or be ended by
 * its owner; it is answered exactly once, by member_call_end() or by the client's result.
 * Belongs to the loop's thread.
 */
#include "member-sync/client.h"
#include "wire/backend.h"
#include "wire/order.h"

/* A call without a timeout of its own (wire/order.h). */
#define MEMBER_CALL_TIMEOUT (10 * USEC_PER_SEC)
/* Until the head of a relay's answer; what follows may take for ever. */
#define MEMBER_RELAY_TIMEOUT (30 * USEC_PER_SEC)
/* Answers to calls are single objects. */
#define MEMBER_CALL_MAX_ANSWER ((size_t)8 << 20)
/* wire/fact.h: small answers travel along. */
#define MEMBER_CALL_KEEP_ANSWER ((size_t)16 << 10)

struct member_call;

struct member_call_ops {
	/* An order's result; the member's number and identity are the receiver's to fill. */
	void (*result)(void *arg, struct fact *take_fact);
	/* The call was answered by its request, and is gone when this returns. Tells what the
	 * answer says about the member. */
	void (*ended)(void *arg, struct member_call *c, const struct client_result *result);
};

/* Exactly one of order and relay (its answerer's reference). `ops` and `arg` are borrowed. */
struct member_call *member_call_create(struct order *take_order, struct relay *take_relay,
				       const struct member_call_ops *ops, void *arg);

/* Hands it to the client; once. */
void member_call_send(struct member_call *c, struct client *client);

/* Answers it without or against its request: UNKNOWN if a byte may have gone out, else NOT_SENT;
 * frees it. ops->ended is not called. */
void member_call_end(struct member_call *c, const struct err *why);

/* An answer for an order or relay that never became a call (unknown member). */
void member_call_refuse(struct order *take_order, struct relay *take_relay, const struct err *why,
			const struct member_call_ops *ops, void *arg);

usec member_call_deadline(const struct member_call *c);		    /* monotonic */
const struct order *member_call_order(const struct member_call *c); /* NULL: a relay */
bool member_call_is_relay(const struct member_call *c);
bool member_call_is_waiting(const struct member_call *c); /* it was not handed to the client */
void *member_call_owner(const struct member_call *c);	  /* `arg` of its creation */

/* A relay's asker made room: reads on. */
void member_call_attend(struct member_call *c);

/* The stream whose kind of object a path names ("/apis/batch/v1/namespaces/n/jobs/x"), when it is
 * a job kind; STREAM_MAX otherwise. */
enum member_stream member_call_stream(const char *path);

/* The owner's calls, in order. A call is in at most one list. */
struct member_call_list {
	struct member_call *head, *tail;
};
void member_call_list_add(struct member_call_list *l, struct member_call *c);
void member_call_list_remove(struct member_call_list *l, struct member_call *c);
/* The earliest deadline of its calls, 0 when it is empty. */
usec member_call_list_due(const struct member_call_list *l);
/* Ends all calls, with these words. */
void member_call_list_end(struct member_call_list *l, enum err_kind kind, const char *words);
/* Ends the calls whose deadline is not after `now`. */
void member_call_list_expire(struct member_call_list *l, usec now, const struct err *why);

#endif
