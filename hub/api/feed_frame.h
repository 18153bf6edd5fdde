#ifndef API_FEED_FRAME_H
#define API_FEED_FRAME_H
/*
 * The text of one event, or of several in a row, as it goes out to all who are told the same: an
 * immutable, counted buffer, framed as a chunk of HTTP once. And the queue of a watcher, a ring of
 * such frames. Both belong to the loop's thread.
 */
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

struct feed_frame {
	uint32_t refs;
	uint32_t events;
	uint64_t first, last; /* revisions of the events */
	size_t *held;	      /* where the bytes of frames alive are summed up */
	size_t len;	      /* of the text */
	char framed[];	      /* the text with the framing of a chunk around it */
};

/* With no reference yet; adds to *held what it takes, until its last reference goes. */
struct feed_frame *feed_frame_create(struct span text, size_t *held);
/* Fine when there was no reference. */
void feed_frame_unref(struct feed_frame *fr);
struct span feed_frame_text(const struct feed_frame *fr);
/* For http_stream_chunk(). */
struct span feed_frame_chunk(const struct feed_frame *fr);

/* All zero: empty. */
struct feed_queue {
	struct feed_frame **ring;
	uint32_t head, len, cap;
	size_t bytes;
};

void feed_queue_push(struct feed_queue *q, struct feed_frame *fr); /* takes a reference */
/* Drops the oldest. A queue that becomes empty gives its memory back. */
void feed_queue_pop(struct feed_queue *q);
void feed_queue_clear(struct feed_queue *q);

/* The i-th oldest frame, or NULL. */
static inline struct feed_frame *feed_queue_peek(const struct feed_queue *q, uint32_t i)
{
	return i < q->len ? q->ring[(q->head + i) & (q->cap - 1)] : NULL;
}

#endif
