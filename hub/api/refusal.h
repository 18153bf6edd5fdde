#ifndef API_REFUSAL_H
#define API_REFUSAL_H
/*
 * Requests that fit Kubernetes and not this server, refused in words that say where to go instead:
 * a Pod or Node is a view of a member's, a Deployment is what no member is given, and what an
 * installer brings for its own programs is not needed here. MethodNotAllowed, all of them: clients
 * show the message of that as it is.
 */
#include "api/call.h"

/* Answers and ends the call. For a kind that is known by name only, or cannot be written. */
void refusal_answer(struct call *c);
/* Whether the subresource is one of those through which Kubernetes' clients write to pods (debug,
 * drain), and nobody does here. */
bool refusal_is_of_pod(const struct call *c);

#endif
