#include "member-sync/member_call.h"

#include "base/json.h"

#include "member-sync/stream_kind.h"

#define UPGRADE_HEADER (RELAY_MAX_HEADER + 32)

struct member_call {
	struct member_call *prev, *next;
	struct order *order;
	struct relay *relay;
	bool paused;
	const struct member_call_ops *ops;
	void *arg;
	struct client_request *request;
	usec deadline;
};

void member_call_list_add(struct member_call_list *l, struct member_call *c)
{
	c->prev = l->tail;
	c->next = NULL;
	if (c->prev)
		c->prev->next = c;
	else
		l->head = c;
	l->tail = c;
}

void member_call_list_remove(struct member_call_list *l, struct member_call *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		l->head = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else
		l->tail = c->prev;
	c->prev = c->next = NULL;
}

usec member_call_list_due(const struct member_call_list *l)
{
	usec due = 0;

	for (const struct member_call *c = l->head; c; c = c->next)
		if (!due || c->deadline < due)
			due = c->deadline;
	return due;
}

void member_call_list_end(struct member_call_list *l, enum err_kind kind, const char *words)
{
	struct err why = ERR_INIT;

	err_set(&why, kind, "%s", words);
	while (l->head) {
		struct member_call *c = l->head;
		member_call_list_remove(l, c);
		member_call_end(c, &why);
	}
}

void member_call_list_expire(struct member_call_list *l, usec now, const struct err *why)
{
	for (struct member_call *c = l->head, *next; c; c = next) {
		next = c->next;
		if (c->deadline > now)
			continue;
		member_call_list_remove(l, c);
		member_call_end(c, why);
	}
}

usec member_call_deadline(const struct member_call *c)
{
	return c->deadline;
}

bool member_call_is_relay(const struct member_call *c)
{
	return c->relay != NULL;
}

bool member_call_is_waiting(const struct member_call *c)
{
	return c->request == NULL;
}

void *member_call_owner(const struct member_call *c)
{
	return c->arg;
}

const struct order *member_call_order(const struct member_call *c)
{
	return c->order;
}

struct member_call *member_call_create(struct order *take_order, struct relay *take_relay,
				       const struct member_call_ops *ops, void *arg)
{
	struct member_call *c = xcalloc(1, sizeof(*c));
	usec timeout = !take_order		 ? MEMBER_RELAY_TIMEOUT
		       : take_order->timeout > 0 ? take_order->timeout
						 : MEMBER_CALL_TIMEOUT;

	c->order = take_order;
	c->relay = take_relay;
	if (c->relay)
		relay_set_local(c->relay, c);
	c->ops = ops;
	c->arg = arg;
	c->deadline = clock_monotonic() + timeout;
	return c;
}

static void call_free(struct member_call *c)
{
	order_destroy(c->order);
	free(c);
}

/* ---- answers to orders ---- */

enum member_stream member_call_stream(const char *path)
{
	size_t len = strcspn(path, "?");

	for (int s = 0; s < STREAM_MAX; s++) {
		const struct stream_kind *k = stream_kind_of((enum member_stream)s);
		struct span rest = span_make(path, len), segment;
		if (k->op != FACT_COPY || !span_starts(rest, span_of(k->root)))
			continue;
		rest = span_make(path + strlen(k->root), len - strlen(k->root));
		(void)span_split(&rest, '/'); /* what precedes the slash must be empty */
		segment = span_split(&rest, '/');
		if (span_is(segment, "namespaces")) {
			(void)span_split(&rest, '/');
			segment = span_split(&rest, '/');
		}
		if (path[strlen(k->root)] == '/' && span_is(segment, k->resource))
			return (enum member_stream)s;
	}
	return STREAM_MAX;
}

static void read_copy(struct fact *f, const struct order *o, struct span body)
{
	enum member_stream s = member_call_stream(o->path);
	struct span kind;

	if (s == STREAM_MAX || json_check(body, NULL, NULL) < 0 ||
	    json_text_type(body) != JSON_OBJECT ||
	    (json_text_member(body, "kind", &kind) == 0 &&
	     span_is(json_text_plain(kind), "Status")))
		return;
	f->result.has_copy =
	    copy_info_decode(stream_kind_of(s)->type, body, &f->mem, &f->result.copy, NULL) == 0;
	if (f->result.has_copy)
		f->revision = f->result.copy.revision;
}

static struct fact *result_fact(const struct order *o, const struct client_result *r)
{
	struct fact *f = fact_create(FACT_RESULT, o->member);

	f->result.order_id = o->id;
	f->result.err = r->err;
	if (r->outcome == CLIENT_ANSWERED) {
		f->result.outcome = OUTCOME_ANSWERED;
		f->result.http_code = r->http_code;
		if (r->http_code / 100 == 2)
			read_copy(f, o, r->body);
		if (o->whole || r->body.len <= MEMBER_CALL_KEEP_ANSWER)
			f->result.body = arena_span(&f->mem, r->body);
	} else {
		f->result.outcome =
		    r->outcome == CLIENT_NOT_SENT ? OUTCOME_NOT_SENT : OUTCOME_UNKNOWN;
	}
	f->bytes = sizeof(*f) + arena_size(&f->mem);
	return f;
}

/* ---- answers to relays ---- */

/* A whole answer ends well, whatever its code: the words are the member's. */
static void end_relay(struct relay *relay, const struct client_result *r)
{
	struct err why = r->err;

	relay_set_local(relay, NULL);
	if (r->outcome == CLIENT_ANSWERED) {
		relay_end(relay, NULL);
		return;
	}
	if (r->outcome == CLIENT_NOT_SENT && why.kind == ERR_INTERNAL)
		why.kind = ERR_UNAVAILABLE;
	relay_end(relay, &why);
}

static void on_head(void *arg, struct client_request *q, int http_code)
{
	struct member_call *c = arg;

	client_lift_deadline(q);
	relay_head(c->relay, http_code, client_content_type(q), client_passed_headers(q));
}

static size_t on_upload(void *arg, struct client_request *q, char *into, size_t room)
{
	struct member_call *c = arg;

	(void)q;
	return relay_receive(c->relay, into, room);
}

static enum client_take on_bytes(void *arg, struct client_request *q, struct span bytes)
{
	struct member_call *c = arg;

	(void)q;
	c->paused = !relay_push(c->relay, bytes);
	return c->paused ? CLIENT_PAUSE : CLIENT_TAKEN;
}

void member_call_attend(struct member_call *c)
{
	if (!c->request || (!c->paused && !relay_question(c->relay)->upgrade))
		return;
	c->paused = false;
	client_resume(c->request);
}

/* The call's answer; frees it. */
static void answer(struct member_call *c, const struct client_result *r)
{
	struct relay *relay = steal_ptr(&c->relay);

	if (c->order)
		c->ops->result(c->arg, result_fact(c->order, r));
	call_free(c);
	if (relay)
		end_relay(relay, r);
}

static void on_done(void *arg, struct client_request *q, const struct client_result *r)
{
	struct member_call *c = arg;

	c->request = NULL;
	c->ops->ended(c->arg, c, r);
	answer(c, r);
}

/* The WebSocket handshake is between the asker and the member: its key is passed on as it is. */
static void upgrade_headers(const struct relay_question *q, char text[3][UPGRADE_HEADER],
			    struct client_spec *spec)
{
	size_t n = 0;

	spec->headers[n++] = "Connection: Upgrade";
	spec->headers[n++] = "Upgrade: websocket";
	snprintf(text[0], UPGRADE_HEADER, "Sec-WebSocket-Version: %s",
		 q->ws_version ? q->ws_version : "13");
	spec->headers[n++] = text[0];
	snprintf(text[1], UPGRADE_HEADER, "Sec-WebSocket-Key: %s", q->ws_key ? q->ws_key : "");
	spec->headers[n++] = text[1];
	if (!q->ws_protocols)
		return;
	snprintf(text[2], UPGRADE_HEADER, "Sec-WebSocket-Protocol: %s", q->ws_protocols);
	spec->headers[n] = text[2];
}

void member_call_send(struct member_call *c, struct client *client)
{
	char headers[3][UPGRADE_HEADER];
	usec left = c->deadline - clock_monotonic();
	struct client_spec spec = {
	    .timeout = left > 0 ? left : 1,
	    .done = on_done,
	    .arg = c,
	};

	if (c->order) {
		spec.method = c->order->method;
		spec.path = c->order->path;
		spec.content_type = c->order->content_type;
		spec.body = span_make(c->order->body, c->order->body_len);
		spec.accept = c->order->accept;
		spec.max_body = MEMBER_CALL_MAX_ANSWER;
	} else {
		const struct relay_question *q = relay_question(c->relay);
		spec.method = q->method;
		spec.path = q->path;
		spec.accept = q->accept;
		spec.content_type = q->content_type;
		spec.body = span_make(q->body, q->body_len);
		spec.any_code = true;
		spec.on_headers = on_head;
		spec.on_data = on_bytes;
		if (q->upgrade) {
			spec.upgrade = true;
			spec.on_upload = on_upload;
			upgrade_headers(q, headers, &spec);
		}
	}
	c->request = client_send(client, &spec);
}

void member_call_end(struct member_call *c, const struct err *why)
{
	struct client_result r = {.outcome = CLIENT_NOT_SENT, .err = *why};

	if (c->request && client_cancel(c->request))
		r.outcome = CLIENT_UNKNOWN;
	c->request = NULL;
	answer(c, &r);
}

void member_call_refuse(struct order *take_order, struct relay *take_relay, const struct err *why,
			const struct member_call_ops *ops, void *arg)
{
	member_call_end(member_call_create(take_order, take_relay, ops, arg), why);
}
