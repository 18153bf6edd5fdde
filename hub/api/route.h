#ifndef API_ROUTE_H
#define API_ROUTE_H
/*
 * The way of a request to the verb that answers it: who asks and whether they may, then which kind
 * and subresource the path names, and whether the verb is served there.
 *
 * The order is Kubernetes' own: a caller without the right hears 403 whether or not what the path
 * names exists; only then do 404 and 405 follow. Both functions belong to the loop's thread.
 */
#include "api/call.h"

/* Fills c->user (and c->asker of an impersonation) and asks the authorizer. False: the answer is
 * made (401, 403) and waits for call_finish(). */
bool route_admit(struct call *c) MUST_CHECK;

/* Hands an admitted call whose turn it is to its verb, or refuses it. The call is answered, or the
 * verb's, when this returns. */
void route_begin(struct call *c);

/* 405. The call is gone. */
void route_refuse_method(struct call *c);

#endif
