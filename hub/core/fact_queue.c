#include "core/fact_queue.h"

#include <pthread.h>

struct fact_queue {
	struct fact_sink sink; /* first: the sink's address is the queue's */
	pthread_mutex_t lock;
	struct fact *head, **tail;
	struct wakeup *wakeup;
};

static void push(struct fact_sink *s, struct fact *take_fact)
{
	struct fact_queue *q = (struct fact_queue *)s;

	take_fact->next = NULL;
	pthread_mutex_lock(&q->lock);
	*q->tail = take_fact;
	q->tail = &take_fact->next;
	pthread_mutex_unlock(&q->lock);
	wakeup_ring(q->wakeup);
}

struct fact_queue *fact_queue_create(struct wakeup *wakeup)
{
	struct fact_queue *q = xcalloc(1, sizeof(*q));

	q->sink.push = push;
	q->tail = &q->head;
	q->wakeup = wakeup;
	pthread_mutex_init(&q->lock, NULL);
	return q;
}

struct fact *fact_queue_take(struct fact_queue *q)
{
	pthread_mutex_lock(&q->lock);
	struct fact *f = q->head;
	q->head = NULL;
	q->tail = &q->head;
	pthread_mutex_unlock(&q->lock);
	return f;
}

bool fact_queue_is_empty(struct fact_queue *q)
{
	pthread_mutex_lock(&q->lock);
	bool empty = q->head == NULL;
	pthread_mutex_unlock(&q->lock);
	return empty;
}

struct fact_sink *fact_queue_sink(struct fact_queue *q)
{
	return &q->sink;
}

struct fact_queue *fact_queue_destroy(struct fact_queue *q)
{
	if (!q)
		return NULL;
	for (struct fact *f = q->head; f;) {
		struct fact *next = f->next;
		fact_destroy(f);
		f = next;
	}
	pthread_mutex_destroy(&q->lock);
	free(q);
	return NULL;
}
