#include "api/passage_private.h"
#include "api/turns.h"

/* ---- ends ---- */

static void finish_stream(struct call *c)
{
	http_stream_end(c->x);
}

void passage_abort(struct call *c)
{
	turns_release(c);
	http_abort(c->x);
}

/* The memory of the passage goes with the exchange: not while its task is in the mailbox. */
void passage_leave(struct passage *p, void (*last)(struct call *c))
{
	relay_leave(p->relay);
	buf_done(&p->bytes);
	free(p->up);
	p->up = NULL;
	if (p->begun) {
		api_stream_remove(call_api(p->call), p->call);
		call_count(p->call);
	}
	p->last = last;
	if (!p->posted)
		last(p->call);
}

static void fail(struct passage *p, const struct err *e)
{
	struct call *c = p->call;

	call_fail(c, e);
	passage_leave(p, call_finish);
}

/* Whether the answer is for who asks here, and not for the client. */
static bool is_asked_for(const struct passage *p)
{
	return p->answered && (p->any_code || p->answer.http_code / 100 == 2);
}

static void answer_fetched(struct call *c)
{
	struct passage *p = c->state;
	struct buf json = c->answer.body;

	c->answer.body = BUF_INIT;
	p->answered(c, buf_span(&json));
	buf_done(&json);
}

/* The whole answer is here, and nothing of it went out. */
static void answer_whole(struct passage *p)
{
	struct call *c = p->call;
	const char *type = p->answer.content_type;

	call_ok(c, p->answer.http_code, type[0] ? arena_strndup(c->mem, type, strlen(type)) : NULL);
	buf_add_span(&c->answer.headers, p->answer.headers);
	buf_clear(&c->answer.body);
	buf_add_span(&c->answer.body, buf_span(&p->bytes));
	passage_leave(p, is_asked_for(p) ? answer_fetched : call_finish);
}

/* ---- the way ---- */

static void write_some(struct passage *p)
{
	struct http_exchange *x = p->call->x;

	while (p->at < p->bytes.len && http_stream_ready(x)) {
		size_t n = p->bytes.len - p->at;
		if (n > HTTP_PIECE)
			n = HTTP_PIECE;
		http_stream_write(x, span_make(p->bytes.ptr + p->at, n));
		p->at += n;
	}
	if (p->at < p->bytes.len) {
		http_stream_want(x);
		return;
	}
	buf_clear(&p->bytes);
	p->at = 0;
}

/* Takes what came into the empty buffer. */
void passage_take(struct passage *p)
{
	bool first = !p->answer.http_code;

	relay_take(p->relay, &p->bytes, &p->answer);
	if (first && p->answer.http_code)
		p->call->answer.code = p->answer.http_code;
}

/* An object that is fetched is collected, window by window. */
static bool collect(struct passage *p)
{
	struct buf *body = &p->call->answer.body;
	struct err e = ERR_INIT;

	body->max = STORE_MAX_OBJECT * 2;
	buf_add_span(body, buf_span(&p->bytes));
	buf_clear(&p->bytes);
	if (!buf_ok(body)) {
		(void)err_set(&e, ERR_TOO_LARGE, "the member's answer is over %zu bytes",
			      body->max);
		fail(p, &e);
		return false;
	}
	return p->answer.ended;
}

static bool begin(struct passage *p)
{
	int code = p->answer.http_code;

	if (p->answer.ended && p->answer.err.kind) {
		fail(p, &p->answer.err);
		return false;
	}
	if (!code)
		return false;
	if (is_asked_for(p)) {
		if (collect(p)) {
			struct buf *body = &p->call->answer.body;
			buf_done(&p->bytes);
			p->bytes = *body;
			*body = BUF_INIT;
			answer_whole(p);
		} else if (!p->last) {
			passage_take(p);
			if (p->bytes.len || p->answer.ended)
				return begin(p);
		}
		return false;
	}
	if (code == 101) {
		tunnel_begin(p);
		return false;
	}
	if (p->answer.ended) {
		answer_whole(p);
		return false;
	}
	if (code == 204 || code == 304 || code < 200) /* no body may follow: its end is near */
		return false;
	p->begun = true;
	api_stream_add(call_api(p->call), p->call);
	buf_add_span(&p->call->answer.headers, p->answer.headers);
	call_add_headers(p->call);
	(void)http_stream_begin(p->call->x, code,
				p->answer.content_type[0] ? p->answer.content_type : NULL,
				buf_span(&p->call->answer.headers));
	buf_done(&p->call->answer.headers);
	return true;
}

static void pump(struct passage *p)
{
	if (p->last)
		return;
	if (p->up) {
		tunnel_pump(p);
		return;
	}
	for (;;) {
		if (!p->begun) {
			passage_take(p);
			if (!begin(p))
				return;
		}
		write_some(p);
		if (p->bytes.len)
			return;
		if (p->answer.ended) {
			passage_leave(p, p->answer.err.kind ? passage_abort : finish_stream);
			return;
		}
		passage_take(p);
		if (!p->bytes.len && !p->answer.ended)
			return;
	}
}

static void on_task(struct task *t)
{
	struct passage *p = (struct passage *)t;

	p->posted = false;
	if (p->last)
		p->last(p->call);
	else
		pump(p);
}

void passage_post(struct passage *p)
{
	if (!atomic_exchange(&p->posted, true))
		mailbox_post(&call_api(p->call)->mailbox, &p->task);
}

/* On the answerer's thread. */
static void wake(void *asker)
{
	passage_post(asker);
}

static void on_writable(struct call *c)
{
	pump(c->state);
}

static void on_gone(struct call *c)
{
	struct passage *p = c->state;

	if (!p->last)
		passage_leave(p, passage_abort);
}

/* A stream that waits for more is as whole now as it will be. What is not one yet is answered by
 * itself, while there is grace. */
static void on_stop(struct call *c)
{
	struct passage *p = c->state;

	if (!p->last)
		passage_leave(p, p->bytes.len ? passage_abort : finish_stream);
}

static char *copy_header(struct span s)
{
	return s.len ? xstrndup(s.ptr, s.len) : NULL;
}

static bool headers_are_long(const struct http_request *r)
{
	const struct http_upgrade *u = r->upgrade;
	size_t n = r->accept.len > r->content_type.len ? r->accept.len : r->content_type.len;

	if (u && u->key.len > n)
		n = u->key.len;
	if (u && u->version.len > n)
		n = u->version.len;
	if (u && u->protocols.len > n)
		n = u->protocols.len;
	return n > RELAY_MAX_HEADER;
}

struct asked {
	void (*answered)(struct call *c, struct span json); /* NULL: the client takes it all */
	bool any_code, with_body;
};

static void start(struct call *c, struct span cluster, struct buf *take_path, struct asked asked)
{
	struct backend *b = c->listener->backend;
	struct passage *p = arena_new(c->mem, struct passage);
	struct relay_question q = {0};
	struct err e = ERR_INIT;

	if (headers_are_long(c->request)) {
		buf_done(take_path);
		call_failf(c, ERR_BAD_REQUEST, "headers that go through are at most %d bytes long",
			   (int)RELAY_MAX_HEADER);
		call_finish(c);
		return;
	}
	q.cluster = cluster.ptr ? xstrndup(cluster.ptr, cluster.len) : NULL;
	q.method = xstrdup(http_method_name(c->request->method));
	q.path = buf_steal(take_path, NULL);
	q.accept = asked.answered ? NULL : copy_header(c->request->accept);
	if (c->request->upgrade && !asked.answered) {
		q.upgrade = true;
		q.ws_key = copy_header(c->request->upgrade->key);
		q.ws_version = copy_header(c->request->upgrade->version);
		q.ws_protocols = copy_header(c->request->upgrade->protocols);
	}
	if (asked.with_body) {
		q.content_type = copy_header(c->request->content_type);
		q.body = buf_steal(&c->x->request.body, &q.body_len);
	}
	*p = (struct passage){
	    .task.run = on_task, .call = c, .answered = asked.answered, .any_code = asked.any_code};
	p->relay = relay_create(&q, wake, p);
	c->state = p;
	c->on_writable = on_writable;
	c->on_gone = on_gone;
	c->on_stop = on_stop;
	if (c->seat.state != FAIR_LONG)
		turns_release(c); /* a member that hangs holds nobody's seat */
	if (!b->ops->proxy)
		(void)err_set(&e, ERR_NOT_FOUND,
			      "the server could not find the requested resource");
	else if (b->ops->proxy(b, p->relay, &e) == 0)
		return;
	fail(p, &e);
}

void passage_begin(struct call *c, struct span cluster, struct buf *take_path)
{
	request_encode_query(c->request, take_path);
	start(c, cluster, take_path, (struct asked){.with_body = c->request->body.len > 0});
}

void passage_fetch(struct call *c, struct span cluster, struct buf *take_path,
		   void (*answered)(struct call *c, struct span json))
{
	start(c, cluster, take_path, (struct asked){.answered = answered});
}

void passage_ask(struct call *c, struct span cluster, struct buf *take_path,
		 void (*answered)(struct call *c, struct span body))
{
	request_encode_query(c->request, take_path);
	start(c, cluster, take_path, (struct asked){.answered = answered, .any_code = true});
}
