#ifndef CORE_CAPACITY_H
#define CORE_CAPACITY_H
/*
 * Nodes and pods of members: from facts into the placement view, the ledger, and the mirror.
 *
 * Every node and pod has a digest row in the mirror, so that a restart sees them without a list.
 * Pods of the hub's own jobs are also kept as objects (kind Pod) under their own namespace and
 * name, with the label muster.dev/cluster. They stay until the member's stream says that they are
 * gone. When such a pod and its job are over, these rows are all that there is of it: the record in
 * memory is forgotten (a finished job costs none, DESIGN section 10), and comes back for the time
 * of a relist.
 */
#include "core/state.h"

void capacity_node(struct core *c, struct member *m, const struct fact *f);
void capacity_pod(struct core *c, struct member *m, const struct fact *f);
/* A relist of nodes or pods begins, or ended: what it did not name is gone. */
void capacity_list_begin(struct core *c, struct member *m, enum member_stream s);
void capacity_list_end(struct core *c, struct member *m, enum member_stream s);
/* Goes on removing what ended relists did not name, as the batch has room, and forgetting what is
 * over. */
void capacity_sweep(struct core *c);
/* Reads a member's digests from the mirror: nodes before the jobs that are placed on them, pods
 * after, since they are tied to their jobs. */
void capacity_restore_nodes(struct core *c, struct member *m);
void capacity_restore_pods(struct core *c, struct member *m);
/* A member that is left: takes its digests, and the Pod objects of the hub's jobs, out of the
 * mirror, as many as a batch has room for. True when nothing was left at the batch's begin. */
bool capacity_clear(struct core *c, struct member *m);
/* Whether this is a pod of the hub's that the mirror has a row of, with or without a record; key:
 * namespace/name. */
bool capacity_pod_is_known(const struct core *c, const struct member *m, struct span key);
/* Drops a member's nodes and pods from memory alone. */
void capacity_forget(struct core *c, struct member *m);
/* The pods of a placed job are others than they were when it was placed: what is still to come of
 * them is held, on its nodes as far as these were chosen, against its cluster's totals beyond. */
void capacity_reshape(struct core *c, struct job *j);
/* Takes away what is kept of a job that holds nothing any more: one row, with its flush. */
void capacity_settle(struct core *c, struct job *j);

#endif
