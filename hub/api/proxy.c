/*
 * Requests that go through the hub to a member: clusters/NAME/proxy/PATH, and the log of a pod,
 * whose member its label names. The caller's rights were checked before.
 */
#include "api/call.h"
#include "api/read_options.h"
#include "base/json.h"

struct relay {
	struct task task;
	struct call *call;
	struct proxy_request *request;
};

static void on_answer(struct task *t)
{
	struct relay *relay = (struct relay *)t;
	struct proxy_request *p = relay->request;
	struct call *c = relay->call;
	if (p->err.kind != ERR_NONE) {
		call_fail(c, &p->err);
	} else {
		const char *type = p->content_type ? p->content_type : "application/octet-stream";
		call_ok(c, p->http_code, arena_strndup(c->mem, type, strlen(type)));
		buf_add(&c->answer.body, p->response ? p->response : "", p->response_len);
	}
	proxy_request_destroy(p);
	call_finish(c);
}

static void done(struct proxy_request *self)
{
	struct relay *relay = self->origin;
	mailbox_post(&call_api(relay->call)->mailbox, &relay->task);
}

static void relay_request(struct call *c, struct span cluster, struct buf *path)
{
	struct backend *b = c->listener->backend;
	struct relay *relay = arena_new(c->mem, struct relay);
	struct proxy_request *p = xcalloc(1, sizeof(*p));
	struct err e = ERR_INIT;
	request_encode_query(c->request, path);
	p->cluster = xstrndup(cluster.ptr, cluster.len);
	p->method = xstrdup(http_method_name(c->request->method));
	p->path = buf_steal(path, NULL);
	if (c->request->accept.len)
		p->accept = xstrndup(c->request->accept.ptr, c->request->accept.len);
	p->origin = relay;
	p->done = done;
	*relay = (struct relay){.task.run = on_answer, .call = c, .request = p};
	if (p->path && b->ops->proxy && b->ops->proxy(b, p, &e) == 0)
		return;
	if (e.kind == ERR_NONE)
		(void)err_set(&e, ERR_NOT_FOUND,
			      "the server could not find the requested resource");
	proxy_request_destroy(p);
	call_fail(c, &e);
	call_finish(c);
}

static void to_cluster(struct call *c)
{
	struct buf path = BUF_INIT;
	request_encode_path(c->info.rest.len ? c->info.rest : SPAN("/"), &path);
	relay_request(c, c->info.name, &path);
}

/* The pod's label names its member; at the member it has the name without the member's. */
static int find_member(struct call *c, struct span *ret, struct err *reterr)
{
	struct store_key key = {c->kind->type, c->info.ns, c->info.name};
	auto_reader *reader = NULL;
	struct store_object o;
	struct span labels, value;
	char name[STORE_MAX_NAME + 1];
	int r = store_read_begin(call_store(c), &reader, reterr);
	if (r)
		return r;
	snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(c->info.name));
	if (c->info.name.len > STORE_MAX_NAME || store_get(reader, &key, &o) < 0)
		return status_set_not_found(reterr, c->kind, name);
	if (json_text_path(o.json, &labels, "metadata", "labels", NULL) < 0 ||
	    json_text_member(labels, "muster.dev/cluster", &value) < 0 ||
	    !json_text_plain(value).len)
		return err_set(reterr, ERR_NOT_FOUND, "pod \"%s\" names no member cluster", name);
	*ret = arena_span(c->mem, json_text_plain(value));
	return 0;
}

static void to_log(struct call *c)
{
	struct buf path = BUF_INIT;
	struct err e = ERR_INIT;
	struct span member, name = c->info.name;
	if (find_member(c, &member, &e) < 0) {
		call_fail(c, &e);
		call_finish(c);
		return;
	}
	/* Mirrored pods of others are named <member>.<name> (DESIGN section 2). */
	if (name.len > member.len + 1 && span_starts(name, member) && name.ptr[member.len] == '.')
		name = span_make(name.ptr + member.len + 1, name.len - member.len - 1);
	buf_add_str(&path, "/api/v1/namespaces/");
	request_encode_path(c->info.ns, &path);
	buf_add_str(&path, "/pods/");
	request_encode_path(name, &path);
	buf_add_str(&path, "/log");
	relay_request(c, member, &path);
}

void call_proxy(struct call *c)
{
	bool log = span_is(c->info.subresource, "log");
	if (c->info.verb != API_GET) {
		call_failf(c, ERR_METHOD_NOT_ALLOWED, "only GET goes through to a member");
		call_finish(c);
	} else if (log && c->info.ns.len && c->info.name.len) {
		to_log(c);
	} else if (!log && c->kind->scope == KIND_CLUSTER &&
		   span_is(c->info.resource, "clusters")) {
		to_cluster(c);
	} else {
		call_failf(c, ERR_NOT_FOUND, "the server could not find the requested resource");
		call_finish(c);
	}
}
