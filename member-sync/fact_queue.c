#include "member-sync/fact_queue.h"

#include "base/buf.h"

void fact_queue_init(struct fact_queue *q, struct fact_sink *sink)
{
	*q = (struct fact_queue){.sink = sink, .by_object = MAP_INIT};
}

void fact_queue_done(struct fact_queue *q)
{
	while (q->head) {
		struct fact *f = q->head;
		q->head = f->next;
		fact_destroy(f);
	}
	map_done(&q->by_object);
	*q = (struct fact_queue){0};
}

/* Stream byte, namespace, '/', name. False for facts that are not about one object. */
static bool key_of(const struct fact *f, struct buf *key)
{
	struct span ns = SPAN_NONE, name;

	if (f->op == FACT_NODE) {
		name = f->node.name;
	} else if (f->op == FACT_POD) {
		ns = f->pod.ns;
		name = f->pod.name;
	} else if (f->op == FACT_COPY) {
		ns = f->copy.ns;
		name = f->copy.name;
	} else {
		return false;
	}
	buf_add_char(key, (char)('a' + (int)f->stream));
	buf_add_span(key, ns);
	buf_add_char(key, '/');
	buf_add_span(key, name);
	return buf_ok(key);
}

static void push(struct fact_queue *q, struct fact *f)
{
	f->next = NULL;
	q->pushed += f->bytes;
	q->sink->push(q->sink, f);
}

static void forget_key(struct fact_queue *q, const struct fact *f)
{
	auto_buf key = BUF_INIT;

	if (key_of(f, &key) && map_get(&q->by_object, buf_span(&key)) == f)
		map_remove(&q->by_object, buf_span(&key));
}

static void flush(struct fact_queue *q)
{
	while (q->head && q->pushed < FACT_QUEUE_WINDOW) {
		struct fact *f = q->head;
		forget_key(q, f);
		q->head = f->next;
		if (!q->head)
			q->tail = NULL;
		q->waiting -= f->bytes;
		push(q, f);
	}
}

static void append(struct fact_queue *q, struct fact *f)
{
	f->next = NULL;
	if (q->tail)
		q->tail->next = f;
	else
		q->head = f;
	q->tail = f;
	q->waiting += f->bytes;
}

static void forget_stream(struct fact_queue *q, enum member_stream stream)
{
	map_foreach (&q->by_object, e) {
		if (e->key[0] == (char)('a' + (int)stream))
			map_remove(&q->by_object, span_make(e->key, e->key_len));
	}
}

/* Puts the content of `f` where `old` waits. The links and the shell of the old one stay. */
static void replace(struct fact_queue *q, struct fact *old, struct fact *f)
{
	struct fact *next = old->next;
	struct fact was = *old;

	q->waiting = q->waiting - old->bytes + f->bytes;
	*old = *f;
	old->next = next;
	f->mem = was.mem; /* the shell of the new one carries the old content away */
	fact_destroy(f);
	q->merged++;
}

static void wait_in_line(struct fact_queue *q, struct fact *f)
{
	auto_buf key = BUF_INIT;

	if (f->op == FACT_LIST_BEGIN || f->op == FACT_LIST_END)
		forget_stream(q, f->stream);
	if (!key_of(f, &key)) {
		append(q, f);
		return;
	}
	struct fact *old = map_get(&q->by_object, buf_span(&key));
	if (old && (f->op != FACT_COPY || span_eq(old->copy.uid, f->copy.uid))) {
		replace(q, old, f);
		f = old;
	} else {
		append(q, f);
	}
	if (f->deleted)
		map_remove(&q->by_object, buf_span(&key));
	else
		map_put(&q->by_object, buf_span(&key), f);
}

void fact_queue_add(struct fact_queue *q, struct fact *take_fact)
{
	if (take_fact->op == FACT_RESULT || (!q->head && q->pushed < FACT_QUEUE_WINDOW))
		push(q, take_fact);
	else
		wait_in_line(q, take_fact);
}

void fact_queue_taken(struct fact_queue *q, size_t bytes)
{
	q->pushed -= bytes < q->pushed ? bytes : q->pushed;
	flush(q);
}

bool fact_queue_full(const struct fact_queue *q)
{
	return q->waiting + q->pushed >= FACT_QUEUE_MAX;
}

bool fact_queue_roomy(const struct fact_queue *q)
{
	return q->waiting + q->pushed < FACT_QUEUE_MAX / 4 * 3;
}
