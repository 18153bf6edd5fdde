#ifndef CORE_PROVISIONING_REQUEST_CALL_H
#define CORE_PROVISIONING_REQUEST_CALL_H
/*
 * The HTTP requests about one try: create the copy of a ProvisioningRequest on a member, read it,
 * write its PodTemplates, delete it. Bodies are made from the hub's objects; no state. They speak
 * v1 of the API, and v1beta1 to a member that serves nothing newer: the fields are the same.
 *
 * A PodTemplate on the member is named after the request, so that two requests never share one, and
 * is owned by the copy, so that it goes with it.
 */
#include "core/provisioning/request.h"

/* Whether the member serves ProvisioningRequests, in either version. */
bool request_call_serves(const struct member *m);
/* NULL when the hub's object cannot be read. READ and DELETE (of the copy with `uid`) need none. */
struct order *request_call_copy(struct core *c, const struct provisioning_request *r,
				const struct request_try *t, const struct member *m,
				enum dispatch_order what);
/* How many PodTemplates the request names; 0 when the hub's object cannot be read. */
size_t request_call_templates(struct core *c, const struct provisioning_request *r);
/* POST of the index-th PodTemplate, or with `read` a GET of what stands there. NULL when the
 * hub's object cannot be read. */
struct order *request_call_template(struct core *c, const struct provisioning_request *r,
				    const struct request_try *t, const struct member *m,
				    size_t index, bool read);
/* Whether every PodTemplate that the request names is at the hub. */
bool request_call_complete(struct core *c, const struct provisioning_request *r);

#endif
