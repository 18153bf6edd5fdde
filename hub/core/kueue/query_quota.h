#ifndef CORE_KUEUE_QUERY_QUOTA_H
#define CORE_KUEUE_QUERY_QUOTA_H
/*
 * Cohorts and ClusterQueues as nodes of `quota` (core/query.h), beside those of the elastic tree:
 * nominal, what it may use at most, used, borrowed; pending, admitted, weighted share.
 */
#include "core/kueue/kueue.h"

/* Every node, trees one after the other, parents first; each with a leading comma unless *first.
 * Resources are named "FLAVOR/RESOURCE". */
void query_quota_nodes(struct core *c, bool *first, struct buf *b);

#endif
