#ifndef CORE_PROVISIONING_REQUEST_CANDIDATES_H
#define CORE_PROVISIONING_REQUEST_CANDIDATES_H
/*
 * Whom a request may ask for nodes.
 *
 * Candidates are members that are Ready, serve the API and take the class (annotation
 * REQUEST_CLASSES of the Cluster: a list with commas; without it every class), and that the job's
 * policy allows, whose affinity groups give the order; names decide among equals. A user's own
 * request has no policy: every such member, by name.
 *
 * No member has more than REQUEST_MAX_WAITING requests of the hub that wait for nodes at a time, or
 * what its Cluster's annotation REQUEST_WAITING says, as autoscalers limit them (the quota of
 * queued provisioning is 100): who comes later waits at the hub, the oldest first, and says so.
 * Thread: core.
 */
#include "core/provisioning/request.h"

#define REQUEST_CLASSES	    "muster.dev/provisioning-classes"
#define REQUEST_WAITING	    "muster.dev/provisioning-accepted"
#define REQUEST_MAX_WAITING 100

/* The numbers of the members that may be asked, the best first, at most PROVISION_MAX_CLUSTERS, in
 * `mem`; how many. `j`: the job whose request it is, NULL for a user's own. Sets *ret_crowded when
 * somebody is left out only for those who wait there already. */
size_t request_candidates(struct core *c, const struct provisioning_request *r, const struct job *j,
			  struct arena *mem, uint32_t **ret, bool *ret_crowded);

#endif
