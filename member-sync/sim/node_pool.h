#ifndef MEMBER_SYNC_SIM_NODE_POOL_H
#define MEMBER_SYNC_SIM_NODE_POOL_H
/*
 * Pools of nodes that scale from zero for ProvisioningRequests: what a Node of FILE with the
 * annotation muster.dev/sim-autoscale declares, and which pods its nodes would hold.
 *
 * A pool has no nodes of its own; each that is made belongs to one request: it carries the label
 * and the taint NODE_POOL_LABEL with node_pool_ticket() of the request's name, so that only pods
 * which consume the request are bound there, and those nowhere else. The label is the one of the
 * autoscaler of queued-provisioning.gke.io, and as there the request's status tells its value:
 * NODE_POOL_DETAIL of status.provisioningClassDetails.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "kube/node_info.h"
#include "kube/pod_info.h"

struct cJSON;

#define NODE_POOL_CLASS	     "muster.dev/sim-autoscale"
#define NODE_POOL_COUNT	     "muster.dev/sim-count"
#define NODE_POOL_DELAY	     "muster.dev/sim-provision-delay"
#define NODE_POOL_QUOTA	     "muster.dev/sim-quota"
#define NODE_POOL_LABEL	     "autoscaling.gke.io/provisioning-request"
#define NODE_POOL_DETAIL     "ResizeRequestName"
#define NODE_POOL_OWNER	     "muster.dev/sim-request-uid"  /* annotation: the request's uid */
#define NODE_POOL_OF	     "muster.dev/sim-pool"	   /* label: the pool's name */
#define NODE_POOL_QUEUED     "cloud.google.com/gke-queued" /* taint that consumers tolerate */
#define NODE_POOL_TICKET_MAX 17

struct node_pool {
	char *name, *class;
	int32_t max_nodes;
	int32_t quota; /* max_nodes when it has none of its own */
	usec delay;
	struct cJSON *node; /* a Node, without name and sim- annotations */
	struct arena mem;
	struct node_info info; /* of it; ready, and without the queued taint */
};

/* From a Node's tree. *ret is NULL when it is an ordinary one. ERR_INVALID with the path of an
 * annotation that cannot be read. */
int node_pool_read(const struct cJSON *node, struct node_pool **ret, struct err *reterr) MUST_CHECK;
void node_pool_destroy(struct node_pool *p);

/* How many pods of this template one empty node of the pool takes; 0: none ever. */
int64_t node_pool_fits(const struct node_pool *p, const struct template_info *pod);

/* The tree of node `index` for a request; free it with json_free(). Its name goes to `name`. */
struct cJSON *node_pool_make(const struct node_pool *p, struct span ns, struct span request,
			     const char *uid_text, int32_t index, char name[64]);

/* Names a request in labels and taints: 16 hexadecimal digits. Returns out. */
const char *node_pool_ticket(struct span ns, struct span request, char out[NODE_POOL_TICKET_MAX]);

/* What a mutating webhook of the autoscaler does: pods whose annotations consume a request (in
 * either spelling) get its node selector and tolerations in their spec. */
void node_pool_admit(const char *ns, const struct cJSON *annotations, struct cJSON *spec);

#endif
