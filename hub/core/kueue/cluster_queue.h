#ifndef CORE_KUEUE_CLUSTER_QUEUE_H
#define CORE_KUEUE_CLUSTER_QUEUE_H
/*
 * ClusterQueues: from the object to the engine, and whether they are active (reference/kueue.md
 * 1.4). One that is being deleted takes nobody and stays until nobody holds its quota: that is what
 * its finalizer kueue.x-k8s.io/resource-in-use waits for.
 */
#include "core/kueue/kueue.h"

#define KUEUE_FINALIZER "kueue.x-k8s.io/resource-in-use"

void cluster_queue_observe(struct core *c, const struct store_object *o);
void cluster_queue_forget(struct core *c, struct span name);
struct cluster_queue *cluster_queue_find(const struct core *c, struct span name); /* or NULL */
struct cluster_queue *cluster_queue_by_node(const struct core *c, uint32_t node); /* or NULL */
void cluster_queue_free(struct cluster_queue *q);

/* Something that activity hangs on has changed: flavors, checks, cohorts. */
void cluster_queue_review_all(struct core *c);
void cluster_queue_review(struct core *c, struct cluster_queue *q);

/* The Active condition: its reason, and the sentence into `out`. */
const char *cluster_queue_activity(const struct core *c, const struct cluster_queue *q,
				   bool *ret_active, struct buf *out);

/* Whether the queue takes workloads of a namespace. */
bool cluster_queue_takes(struct core *c, const struct cluster_queue *q, struct span ns);
/* Names of the checks that this admission waits for, at most `max`: those for one of its flavors,
 * also where none of it is used (zero of a resource, a pod set of no pods). One that names no
 * flavors is for all of the queue's: who got none waits for no check (Kueue's
 * admissionChecksForAdmission). */
size_t cluster_queue_checks(const struct core *c, const struct cluster_queue *q,
			    const struct kueue_assignment *a, const char **ret, size_t max);
/* Whether the queue's check is for one of these flavors: for all where it names none. */
bool cluster_queue_checks_flavors(const struct core *c, const struct cluster_queue *q,
				  const char *check, const uint32_t *flavors, size_t n);

#endif
