#ifndef CORE_KUEUE_LOCAL_QUEUE_H
#define CORE_KUEUE_LOCAL_QUEUE_H
/*
 * LocalQueues: the door of a namespace to a ClusterQueue. A record exists while the object does, or
 * while a workload names it: a queue that does not exist is waited for.
 */
#include "core/kueue/kueue.h"

void local_queue_observe(struct core *c, const struct store_object *o);
void local_queue_forget(struct core *c, struct span ns, struct span name);
/* The record; NULL when nobody has named it. */
struct local_queue *local_queue_find(const struct core *c, struct span ns, struct span name);
/* The record, made when there is none. */
struct local_queue *local_queue_get(struct core *c, struct span ns, struct span name);
/* Frees the record when nobody needs it any more. */
void local_queue_unneeded(struct core *c, struct local_queue *q);
void local_queue_free(struct local_queue *q);

/* The queue behind it, NULL when either does not exist. */
struct cluster_queue *local_queue_cluster(const struct core *c, const struct local_queue *q);

/* Looks anew at the workloads of all LocalQueues of a ClusterQueue. */
void local_queue_refile_all(struct core *c, struct span cluster_queue);
/* Its jobs that wait are asked anew which queue is theirs. */
void local_queue_offer_namespace(struct core *c, struct span ns);
/* The same for the workloads of one namespace. */
void local_queue_refile_namespace(struct core *c, struct span ns);

#endif
