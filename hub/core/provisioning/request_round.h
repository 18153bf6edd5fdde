#ifndef CORE_PROVISIONING_REQUEST_ROUND_H
#define CORE_PROVISIONING_REQUEST_ROUND_H
/*
 * Where a request goes: policies/provision.h asked with what is known, and its plan carried out.
 * Whom it may ask is request_candidates.h's.
 *
 * A request that every candidate is too crowded for waits at the hub, the oldest first, and says
 * so.
 *
 * Nodes that nobody has taken REQUEST_BOOKING after they came are not kept for the request any
 * more; a member that does not answer by then has lost it. The longest run of provisioned nodes
 * (maxRunDurationSeconds, at most 7 days) is the member's to end; the hub takes back what still
 * stands REQUEST_GRACE after it.
 */
#include "core/provisioning/request.h"

#define REQUEST_BOOKING (600 * USEC_PER_SEC)
#define REQUEST_GRACE	(60 * USEC_PER_SEC)

/* Decides and acts; tells the check or the jobs that wait for it. */
void request_round(struct core *c, struct provisioning_request *r);

#endif
