#ifndef CORE_CAPACITY_ROW_H
#define CORE_CAPACITY_ROW_H
/*
 * What the capacity_* files share: the rows of nodes and pods in the mirror, and how they and the
 * records in memory come and go. Private to them. Thread: core.
 *
 * A digest row's key is the member's number, big-endian, a letter, and the name: 'n' a node's, 'p'
 * a pod's (namespace/name), 'o' a job's pods that came and went (its uid).
 */
#include "core/state.h"
#include "kube/node_info.h"
#include "kube/pod_info.h"

/* Into `out`, and borrowed from it. */
struct span capacity_row_key(const struct member *m, char what, struct span name, struct buf *out);
/* As the fleet counts resources; *ret_n entries, owned. */
struct amount *capacity_amounts(struct core *c, const struct info_amount *in, size_t n,
				size_t *ret_n);

void capacity_node_apply(struct core *c, struct member *m, const struct node_info *n);
/* Since when it is not ready; after its own row. */
void capacity_node_restore_unready(struct member *m, struct span name, struct span row);
void capacity_node_remove(struct core *c, struct member *m, struct span name);

/* key: namespace/name. With its object and its row, whether it has a record or not. */
void capacity_pod_remove(struct core *c, struct member *m, struct span key);
/* Goes on forgetting the records of pods that are over and whose jobs have none; not during a list
 * or its sweep. */
void capacity_pod_reap(struct core *c, struct member *m);
/* A list begins: records again for those that have only rows, so that its end finds what it did not
 * name. Reads rows of earlier batches; a record is never forgotten in the batch of a list's begin.
 */
void capacity_pod_revive(struct core *c, struct member *m);
/* Gives back what it takes on its node. */
void capacity_pod_release(struct core *c, struct member *m, struct member_pod *p);
/* Takes the record out of its job's list; before it is freed. */
void capacity_pod_untie(const struct core *c, struct member_pod *p);
/* From their rows, at a restart. */
void capacity_pod_restore(struct core *c, struct member *m, const struct pod_info *pod);
void capacity_pod_restore_spent(struct core *c, struct member *m, struct span uid, struct span row);

#endif
