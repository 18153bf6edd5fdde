#include "api/feed_frame.h"

#include "api/http.h"

struct feed_frame *feed_frame_create(struct span text, size_t *held)
{
	struct feed_frame *fr =
	    xrealloc(NULL, sizeof(*fr) + HTTP_CHUNK_HEAD + text.len + HTTP_CHUNK_TAIL);
	*fr = (struct feed_frame){.len = text.len, .held = held};
	memcpy(fr->framed + HTTP_CHUNK_HEAD, text.ptr, text.len);
	http_chunk_frame(fr->framed, text.len);
	*held += text.len;
	return fr;
}

void feed_frame_unref(struct feed_frame *fr)
{
	if (fr->refs && --fr->refs)
		return;
	*fr->held -= fr->len;
	free(fr);
}

struct span feed_frame_text(const struct feed_frame *fr)
{
	return span_make(fr->framed + HTTP_CHUNK_HEAD, fr->len);
}

struct span feed_frame_chunk(const struct feed_frame *fr)
{
	return span_make(fr->framed, HTTP_CHUNK_HEAD + fr->len + HTTP_CHUNK_TAIL);
}

static void grow(struct feed_queue *q)
{
	uint32_t cap = q->cap ? q->cap * 2 : 4;
	struct feed_frame **ring = xcalloc(cap, sizeof(struct feed_frame *));
	for (uint32_t i = 0; i < q->len; i++)
		ring[i] = feed_queue_peek(q, i);
	free(q->ring);
	q->ring = ring;
	q->cap = cap;
	q->head = 0;
}

void feed_queue_push(struct feed_queue *q, struct feed_frame *fr)
{
	if (q->len == q->cap)
		grow(q);
	q->ring[(q->head + q->len++) & (q->cap - 1)] = fr;
	q->bytes += fr->len;
	fr->refs++;
}

void feed_queue_pop(struct feed_queue *q)
{
	struct feed_frame *fr = feed_queue_peek(q, 0);
	q->head = (q->head + 1) & (q->cap - 1);
	q->len--;
	q->bytes -= fr->len;
	feed_frame_unref(fr);
	if (!q->len && q->cap > 4) { /* idle watchers cost little */
		free(q->ring);
		q->ring = NULL;
		q->cap = q->head = 0;
	}
}

void feed_queue_clear(struct feed_queue *q)
{
	while (q->len)
		feed_queue_pop(q);
	free(q->ring);
	*q = (struct feed_queue){0};
}
