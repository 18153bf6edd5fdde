#ifndef MEMBER_SYNC_SIM_POD_CODEC_H
#define MEMBER_SYNC_SIM_POD_CODEC_H
/*
 * Pod objects to typed records. Status goes out through pod_status.h.
 *
 * What the simulator must know again after a restart, and Kubernetes has no field for, stands in
 * two annotations of the pods it makes.
 */
#include "member-sync/sim/cluster_priv.h"

/* "set.index.attempt": which of its job's pods it is (plan.h). */
#define POD_CODEC_SLOT "muster.dev/sim-slot"
/* "true": runs until it is deleted. */
#define POD_CODEC_FOREVER "muster.dev/sim-forever"

/* status.reason of a pod whose node took it along. */
#define POD_CODEC_LOST "NodeLost"

/* Fills a record whose class, uid, name and namespace are known; texts go to its arena. The
 * duration and exit code of `muster.dev/sim-duration` and `-exit-code`, or 10 s and 0. */
void pod_codec_read(struct sim_pod *p, const struct store_object *o);
/* Only what its status says. */
void pod_codec_read_status(struct sim_pod *p, const struct store_object *o);
/* spec.nodeName, borrowed from the object; empty: none. */
struct span pod_codec_node(const struct store_object *o);
/* Whether it has scheduling gates. */
bool pod_codec_gated(const struct store_object *o);

#endif
