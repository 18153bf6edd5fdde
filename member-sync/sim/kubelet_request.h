#ifndef MEMBER_SYNC_SIM_KUBELET_REQUEST_H
#define MEMBER_SYNC_SIM_KUBELET_REQUEST_H
/*
 * What a relay asks the simulated kubelets for, and the pod that it is about: shared by logs
 * (cluster_logs.h) and connections (cluster_streams.h). Core thread.
 */
#include "member-sync/sim/cluster_priv.h"
#include "wire/relay.h"

/* "/api/v1/namespaces/NS/pods/NAME/SUBRESOURCE?QUERY", as the front makes it. Borrowed from the
 * path. */
struct kubelet_request {
	struct span ns, name, subresource, query;
};
bool kubelet_request_parse(const char *path, struct kubelet_request *ret);

/* The record of a pod; of one that is over, and forgotten, a record in `spare` for as long as the
 * step takes. NULL: there is none, or another one (uid, unless that is NULL). */
struct sim_pod *kubelet_pod_get(struct cluster *c, struct span ns, struct span name,
				const uint8_t *uid, struct sim_pod *spare);
void kubelet_pod_put(struct cluster *c, struct sim_pod *p, struct sim_pod *spare);

/* The index of the named container, of the only one for "". ERR_BAD_REQUEST in the API server's
 * words. */
int kubelet_choose_container(const struct sim_pod *p, const char *container, size_t *ret,
			     struct err *reterr) MUST_CHECK;

/* Answers with a Status about the pod, and ends the relay. */
void kubelet_refuse(struct cluster *c, struct relay *r, const struct err *e, const char *name);

#endif
