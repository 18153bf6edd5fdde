#ifndef CORE_PROVISIONING_REQUEST_SETS_H
#define CORE_PROVISIONING_REQUEST_SETS_H
/*
 * The pod sets of a ProvisioningRequest as placement reads them: its counts, and what its
 * PodTemplates ask of a node. Thread: core.
 */
#include "core/provisioning/request.h"
#include "policies/pod_set.h"

#define REQUEST_MAX_SETS 32 /* of a request: hub/kinds/provisioningrequest.yaml */

/* From `mem`; REQUEST_MAX_SETS have room in `ret`. `nodes`: by what its nodes are known
 * (request_nodes.h), or absent. -1 when the object or a template cannot be read. */
int request_sets_read(struct core *c, const struct provisioning_request *r, struct span nodes,
		      struct arena *mem, struct pod_set *ret, size_t *ret_n);

#endif
