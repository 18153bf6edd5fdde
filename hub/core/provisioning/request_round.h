#ifndef CORE_PROVISIONING_REQUEST_ROUND_H
#define CORE_PROVISIONING_REQUEST_ROUND_H
/*
 * Where a request goes: policies/provision.h asked with what is known, and its plan carried out.
 *
 * Candidates are members that are Ready, serve the API and take the class (annotation
 * REQUEST_CLASSES of the Cluster: a list with commas; without it every class), and that the job's
 * policy allows, whose affinity groups give the order; names decide among equals. A user's own
 * request has no policy: every such member, by name.
 *
 * No member has more than REQUEST_MAX_WAITING requests of the hub that wait for nodes at a time, or
 * what its Cluster's annotation REQUEST_WAITING says, as autoscalers limit them (the quota of
 * queued provisioning is 100): who comes later waits at the hub, the oldest first, and says so.
 *
 * Nodes that nobody has taken REQUEST_BOOKING after they came are not kept for the request any
 * more; a member that does not answer by then has lost it. The longest run of provisioned nodes
 * (maxRunDurationSeconds, at most 7 days) is the member's to end; the hub takes back what still
 * stands REQUEST_GRACE after it.
 */
#include "core/provisioning/request.h"

#define REQUEST_CLASSES	    "muster.dev/provisioning-classes"
#define REQUEST_WAITING	    "muster.dev/provisioning-accepted"
#define REQUEST_MAX_WAITING 100
#define REQUEST_BOOKING	    (600 * USEC_PER_SEC)
#define REQUEST_GRACE	    (60 * USEC_PER_SEC)

/* Decides and acts; tells the check or the jobs that wait for it. */
void request_round(struct core *c, struct provisioning_request *r);

#endif
