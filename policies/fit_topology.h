#ifndef POLICIES_FIT_TOPOLOGY_H
#define POLICIES_FIT_TOPOLOGY_H
/*
 * Exclusive topology (alpha.jobset.sigs.k8s.io/exclusive-topology): every group of a pod set gets a
 * domain of its own, where a domain is all nodes with one value of the label. A domain that holds
 * a pod of any exclusive job is taken; nodes without the label are no domain. Private to this
 * folder.
 */
#include "policies/fit_scratch.h"

/* Packs the gang, slots in scratch. Groups that need most pods choose first, each the domain with
 * the least room that is enough: exact when all groups are of one kind of pod. */
bool fit_topology_pack(struct fleet *f, uint32_t cluster, const struct shape *shape);
/* Groups of the gang that find a domain, and groups in all. */
uint32_t fit_topology_groups(struct fleet *f, uint32_t cluster, const struct shape *shape,
			     uint32_t *ret_all);

#endif
