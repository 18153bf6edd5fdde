#ifndef QUOTA_TREE_KUEUE_BOUND_H
#define QUOTA_TREE_KUEUE_BOUND_H
/*
 * The most that a try could be given: what is available, and what its queue could preempt or
 * reclaim at best. A class whose need lies above it is hopeless, whatever else changes. Internal to
 * the queues.
 *
 * For one cell a bound never grows as the priority falls.
 */
#include "quota-tree/kueue_spec.h"
#include "quota-tree/kueue_workload.h"

struct kueue_queue;
struct kueue_queues;

/* Holders of the queue changed: what `w` uses was charged (sign 1) or released (-1). */
void kueue_bound_count(struct kueue_queue *queue, const struct kueue_workload *w, int sign);
/* All that the queue's own policy could take from its own holders for this priority. */
int64_t kueue_bound_own(const struct kueue_queue *queue, const struct kueue_queue_spec *spec,
			uint32_t flavor, uint32_t resource, int32_t priority);
/* Whether a holder of `of` is among those that it could take from: own holders count for no others.
 */
bool kueue_bound_counts(const struct kueue_queue_spec *spec, int32_t of, int32_t priority);
/* Whether the queue may take from others although it borrows: then no bound is known. */
bool kueue_bound_is_unknown(const struct kueue_queues *q, const struct kueue_queue_spec *spec);
int64_t kueue_bound_free(const struct kueue_queues *q, uint32_t node, uint32_t flavor,
			 uint32_t resource);
/* No try of this priority can be given more of the cell than this, now. */
int64_t kueue_bound_of(const struct kueue_queues *q, const struct kueue_queue *queue,
		       uint32_t flavor, uint32_t resource, int32_t priority);
/* The queue's own quota of a cell; zeroes when it lists none. */
struct kueue_quota kueue_bound_quota(const struct kueue_queues *q, uint32_t node, uint32_t flavor,
				     uint32_t resource);

#endif
