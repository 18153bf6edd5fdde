#ifndef MEMBER_SYNC_FACT_QUEUE_H
#define MEMBER_SYNC_FACT_QUEUE_H
/*
 * One member's facts on their way to the core: at most a window of bytes is with the core, the
 * rest waits here in order, and the newer state of an object replaces the older one that waits.
 *
 * Rules of replacement, so that the core sees nothing it must not and misses nothing it must:
 *  - only an upsert is replaced, by an upsert or deletion of the same object of the same stream;
 *    for copies only when the uid is the same. A deletion is final: what follows is appended, so
 *    that "seen gone" is seen.
 *  - nothing is replaced across a LIST_BEGIN or LIST_END of its stream, or an object would slip
 *    out of the list that names it.
 *  - the newer state takes the place of the older: it arrives early, never late. A bookmark
 *    between them then lags, which cursors may.
 * Results are never held: FACT_RESULT overtakes.
 * Belongs to the net thread.
 */
#include "base/map.h"
#include "wire/order.h"
#include <stdbool.h>
#include <stddef.h>

/* Enough to keep the core busy over a wake-up, little enough that newer states meet older ones
 * here. */
#define FACT_QUEUE_WINDOW ((size_t)256 << 10)
/* DESIGN section 2: facts 1 MiB per member, then its sockets are paused. */
#define FACT_QUEUE_MAX ((size_t)1 << 20)

struct fact_queue {
	struct fact_sink *sink; /* borrowed */
	struct fact *head, *tail;
	size_t waiting, pushed; /* bytes */
	struct map by_object;	/* key -> the fact that waits and may be replaced */
	size_t merged;		/* facts that were replaced, ever */
};

void fact_queue_init(struct fact_queue *q, struct fact_sink *sink);
void fact_queue_done(struct fact_queue *q); /* drops what waits */

void fact_queue_add(struct fact_queue *q, struct fact *take_fact);
/* The core took `bytes`: pushes on. More than is out counts as all of it. */
void fact_queue_taken(struct fact_queue *q, size_t bytes);

/* Sockets of this member are to be paused; they may be read again below three quarters. */
bool fact_queue_full(const struct fact_queue *q);
bool fact_queue_roomy(const struct fact_queue *q);

#endif
