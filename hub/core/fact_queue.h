#ifndef CORE_FACT_QUEUE_H
#define CORE_FACT_QUEUE_H
/*
 * The core's second door: facts from the net thread, in order, with a ring of the wakeup.
 *
 * Unbounded by itself: member-sync keeps at most a window of each member's facts here and learns
 * from net_ops.taken() what was taken. Push: the net thread. Take: the core thread.
 */
#include "registry/wakeup.h"
#include "wire/order.h"

struct fact_queue;

struct fact_queue *fact_queue_create(struct wakeup *wakeup);
struct fact_queue *fact_queue_destroy(struct fact_queue *q); /* frees what waits; NULL is fine */
struct fact_sink *fact_queue_sink(struct fact_queue *q);     /* borrowed */
/* All that waits, oldest first, as a list that the caller owns. NULL when empty. */
struct fact *fact_queue_take(struct fact_queue *q);
bool fact_queue_is_empty(struct fact_queue *q);

#endif
