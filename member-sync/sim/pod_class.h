#ifndef MEMBER_SYNC_SIM_POD_CLASS_H
#define MEMBER_SYNC_SIM_POD_CLASS_H
/*
 * What pods with the same spec share: their scheduling shape, restart policy and containers. The
 * spec is parsed once per class, and told by its text; the members that the simulator itself puts
 * at the front of a pod's spec (nodeName, hostname, subdomain) do not count.
 */
#include "member-sync/sim/cluster_priv.h"

/* The class of a pod object; given back with pod_class_release(). ERR_BAD_REQUEST for text that
 * is no pod. Quantities that cannot be parsed count as nothing. */
int pod_class_get(struct cluster *c, const struct store_object *pod, struct sim_class **ret,
		  struct err *reterr) MUST_CHECK;
void pod_class_release(struct cluster *c, struct sim_class *k);
/* At the end: all that is left. */
void pod_class_done(struct cluster *c);

#endif
