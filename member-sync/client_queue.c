#include "member-sync/client_private.h"

void client_queue_push(struct client_request *q, bool first)
{
	struct client *c = q->c;

	q->state = REQUEST_WAITING;
	q->prev = first ? NULL : c->waiting_tail;
	q->next = first ? c->waiting : NULL;
	if (q->prev)
		q->prev->next = q;
	else
		c->waiting = q;
	if (q->next)
		q->next->prev = q;
	else
		c->waiting_tail = q;
	c->n_waiting++;
}

void client_queue_unlink(struct client_request *q)
{
	struct client *c = q->c;
	bool waiting = q->state == REQUEST_WAITING;

	if (q->prev)
		q->prev->next = q->next;
	else if (waiting)
		c->waiting = q->next;
	else
		c->running = q->next;
	if (q->next)
		q->next->prev = q->prev;
	else if (waiting)
		c->waiting_tail = q->prev;
	if (waiting)
		c->n_waiting--;
	else
		c->n_running--;
	q->prev = q->next = NULL;
}

void client_queue_run(struct client_request *q)
{
	struct client *c = q->c;

	client_queue_unlink(q);
	q->state = REQUEST_GATED;
	q->next = c->running;
	if (q->next)
		q->next->prev = q;
	c->running = q;
	c->n_running++;
}
