#ifndef CORE_QUEUE_UNIT_H
#define CORE_QUEUE_UNIT_H
/*
 * QueueUnit and Queue objects of ACK's Kube Queue (scheduling.x-k8s.io/v1alpha1): what users of
 * that product look at. Display only: the queues themselves are in quota-tree/elastic_queue.h.
 * Names, phases and messages: ack-fleet.md 1.5, 1.6, 2.3.
 */
#include "core/state.h"

/* Phases; static text. There is no Scheduled and no Succeeded (ack-fleet.md 1.6). */
#define UNIT_ENQUEUED "Enqueued"
#define UNIT_DEQUEUED "Dequeued"
#define UNIT_RUNNING  "Running"
#define UNIT_SUCCEED  "Succeed"
#define UNIT_FAILED   "Failed"

/* "<binding>-rb-qu"; caller frees. */
char *queue_unit_name(const struct job *j);
/* The phase that the record's state amounts to. */
const char *queue_unit_phase(const struct job *j);
int queue_unit_draft(const struct core *c, const struct job *j, struct object_draft *ret,
		     struct err *reterr) MUST_CHECK;
/* Why the unit waits, in the documented sentences; "" when it does not. */
size_t queue_unit_message(const struct core *c, const struct job *j, char *out, size_t max);

/* One Queue per tree node. Brings the Queue objects in line with the tree, a bounded number of
 * rows a call; false when the batch has no more room and more is to do. */
bool queue_objects_sync(struct core *c);

#endif
