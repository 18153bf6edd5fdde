#ifndef CORE_KUEUE_TOPOLOGY_H
#define CORE_KUEUE_TOPOLOGY_H
/*
 * Topology objects, and what a pod set that asks for one asks of placement (policies/pod_set.h).
 *
 * A queued job's levels are those of the Topology that its flavor names (topologyName); a pod set
 * that asks for nothing and got such a flavor counts as unconstrained, as in Kueue. For any other
 * job it is the first Topology, by name, that has every level the pod set names; where there is
 * none, a level is a node label like any other. Unconstrained then says nothing.
 */
#include "core/kueue/kueue.h"
#include "kinds/topology_request.h"
#include "policies/pod_set.h"

void topology_observe(struct core *c, const struct store_object *o);
void topology_forget(struct core *c, struct span name);
void topologies_done(struct kueue *k);
/* NULL when there is none of that name. */
const struct topology *topology_find(const struct core *c, struct span name);

/* The topology of a flavor, or absent: the number is the forest's. */
struct span topology_of_flavor(const struct core *c, uint32_t flavor);

/*
 * What a pod set asks. `name`: the Topology that its flavor names, absent for jobs outside any
 * queue. Memory from `mem`. ERR_INVALID with Kueue's words when the topology has no such level.
 * `group` is left 0.
 */
int topology_resolve(const struct core *c, const struct topology_request *request, struct span name,
		     struct arena *mem, struct pod_topology *ret, struct err *reterr) MUST_CHECK;

#endif
