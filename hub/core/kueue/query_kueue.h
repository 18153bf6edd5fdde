#ifndef CORE_KUEUE_QUERY_KUEUE_H
#define CORE_KUEUE_QUERY_KUEUE_H
/*
 * Questions about Kueue's queues, answered from the structures that decide (core/query.h).
 */
#include "core/kueue/workload.h"

/* Where a queued job stands: a code, a sentence, the 1-based place in its ClusterQueue (0: none).
 */
const char *query_kueue_standing(struct core *c, const struct job *j, char *sentence, size_t size,
				 size_t *ret_position);
/* Every ClusterQueue as an item of "queues", each with a leading comma unless *first. */
void query_kueue_queues(struct core *c, bool *first, struct buf *b);
/*
 * clusterqueues/CQ/pendingworkloads and namespaces/NS/localqueues/LQ/pendingworkloads of
 * visibility.kueue.x-k8s.io (reference/kueue.md 1.7): `rest` is the path behind "kueue/", the
 * version of the answer first, `args` the query string with offset and limit. ERR_NOT_FOUND for
 * queues that do not exist.
 */
int query_kueue_pending(struct core *c, struct span rest, struct span args, struct buf *b,
			struct err *reterr) MUST_CHECK;

#endif
