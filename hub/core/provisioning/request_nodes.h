#ifndef CORE_PROVISIONING_REQUEST_NODES_H
#define CORE_PROVISIONING_REQUEST_NODES_H
/*
 * Which nodes are those of a ProvisioningRequest, and how others are kept off them.
 *
 * The autoscaler of queued-provisioning.gke.io labels every node that it makes for a request with
 * autoscaling.gke.io/provisioning-request; the value is that of "ResizeRequestName" in the
 * request's status.provisioningClassDetails (Kueue's documentation of ProvisioningRequestConfig
 * passes it on as a node selector). Its pools carry the taint cloud.google.com/gke-queued, which
 * tells nobody whose a node is. So a labelled node belongs to one request for ever: placement sees
 * it with a taint of the label's key and value that only consumers of this very request tolerate
 * (TAINT_RESERVED: not even a pod that tolerates everything), in place of those two.
 *
 * Classes of the open cluster-autoscaler (best-effort-atomic-scale-up, check-capacity) mark no
 * nodes. There any node of the member counts where the pods fit, and what is kept for the request
 * is the claim alone (request_claim.h).
 *
 * Pure but for the arena. Thread: any.
 */
#include "base/arena.h"
#include "core/job.h"
#include "kube/node_info.h"

#define REQUEST_NODE_LABEL  "autoscaling.gke.io/provisioning-request"
#define REQUEST_NODE_DETAIL "ResizeRequestName"

/* The label's value on the nodes of the request whose status this is (JSON text); NULL: they have
 * none. The caller's. */
char *request_nodes_value(struct span status);
/* A node's taints as placement is to see them, into room for n->n_taints + 1. Returns how many. */
size_t request_nodes_taints(const struct node_info *n, struct taint *ret);
/* What pods that take the nodes ask besides: the label, and its taint and that of queued pools
 * tolerated. `value` as above, borrowed; NULL: the queued pools' alone. Arrays from `mem`. */
void request_nodes_term(struct span value, struct arena *mem, struct job_term *t);

#endif
