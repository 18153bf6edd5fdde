/*
 * Requests that go through the hub to a member: clusters/NAME/proxy/PATH with any verb, the log of
 * a pod, and connections to it (exec, attach, port-forward). The caller's rights were checked
 * before, at the hub: for `clusters/proxy` with the verb of the method (POST create, PUT update,
 * ...), for `pods/log` with get, for a WebSocket of any of them with create. What answers sees the
 * hub's own credential.
 */
#include "api/member_name.h"
#include "api/passage.h"
#include "api/route.h"
#include "base/json.h"

static void refuse(struct call *c, enum err_kind kind, const char *words)
{
	call_failf(c, kind, "%s", words);
	call_finish(c);
}

static void to_cluster(struct call *c)
{
	struct buf path = BUF_INIT;

	request_encode_path(c->info.rest.len ? c->info.rest : SPAN("/"), &path);
	passage_begin(c, c->info.name, &path);
}

/* The member of a pod, and the pod's name there: the label of a pod of the hub's own jobs names
 * it, others are named <member>.<name>. */
static int find_pod(struct call *c, struct span *ret_member, struct span *ret_name,
		    struct err *reterr)
{
	struct store_key key = {c->kind->type, c->info.ns, c->info.name};
	auto_reader *reader = NULL;
	struct store_object o;
	struct span labels, value;
	char name[STORE_MAX_NAME + 1];
	int r;

	if (member_name_split(c, c->info.name, ret_member, ret_name))
		return 0;
	r = store_read_begin(call_store(c), &reader, reterr);
	if (r)
		return r;
	snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(c->info.name));
	if (c->info.name.len > STORE_MAX_NAME || store_get(reader, &key, &o) < 0)
		return status_set_not_found(reterr, c->kind, name);
	if (json_text_path(o.json, &labels, "metadata", "labels", NULL) < 0 ||
	    json_text_member(labels, "muster.dev/cluster", &value) < 0 ||
	    !json_text_plain(value).len)
		return err_set(reterr, ERR_NOT_FOUND, "pod \"%s\" names no member cluster", name);
	*ret_member = arena_span(c->mem, json_text_plain(value));
	*ret_name = c->info.name;
	return 0;
}

/* The way to a subresource of a pod, on the member that has it. False: the call is answered. */
static bool find_way(struct call *c, struct span *ret_member, struct buf *path)
{
	struct span name = c->info.name;
	struct err e = ERR_INIT;

	if (!c->listener->backend->runs_pods && find_pod(c, ret_member, &name, &e) < 0) {
		call_fail(c, &e);
		call_finish(c);
		return false;
	}
	buf_add_str(path, "/api/v1/namespaces/");
	request_encode_path(c->info.ns, path);
	buf_add_str(path, "/pods/");
	request_encode_path(name, path);
	buf_add_char(path, '/');
	request_encode_path(c->info.subresource, path);
	return true;
}

static void to_pod(struct call *c)
{
	struct buf path = BUF_INIT;
	struct span member = SPAN_NONE;

	if (find_way(c, &member, &path))
		passage_begin(c, member, &path);
}

/* What the member says of a connection that asks for no upgrade: that it would have to, when there
 * is nothing else wrong. */
static void refuse_connection(struct call *c, struct span body)
{
	struct span message = SPAN_NONE;

	if (json_check(body, NULL, NULL) == 0)
		(void)json_text_member(body, "message", &message);
	if (c->answer.code / 100 != 2 &&
	    !span_starts(json_text_plain(message), SPAN("Upgrade request required"))) {
		buf_add_span(&c->answer.body, body);
		call_finish(c);
		return;
	}
	refuse(c, ERR_BAD_REQUEST,
	       "Upgrade request required: exec, attach and portforward go over WebSockets, "
	       "not SPDY/3.1; use kubectl 1.31 or newer (when it is, its WebSocket was "
	       "refused first, and -v=4 shows why)");
}

/* kubectl tries SPDY/3.1 when its WebSocket was refused, and shows what becomes of that alone. So
 * the member is asked why: without an upgrade a connection is looked at as far as its pod and
 * container, and begins nothing (kube-apiserver's registry/core/pod/rest). */
static void to_connection(struct call *c)
{
	struct buf path = BUF_INIT;
	struct span member = SPAN_NONE;

	if (c->request->upgrade)
		to_pod(c);
	else if (find_way(c, &member, &path))
		passage_ask(c, member, &path, refuse_connection);
}

void call_proxy(struct call *c)
{
	enum http_method m = c->request->method;
	bool log = span_is(c->info.subresource, "log");
	bool of_pod = !span_is(c->info.subresource, "proxy");

	if (m == HTTP_HEAD || m == HTTP_OPTIONS || (log && m != HTTP_GET) ||
	    (of_pod && m != HTTP_GET && m != HTTP_POST))
		route_refuse_method(c);
	else if (of_pod && c->info.ns.len && c->info.name.len && c->info.rest.len <= 1)
		log ? to_pod(c) : to_connection(c);
	else if (!of_pod && c->kind->scope == KIND_CLUSTER && span_is(c->info.resource, "clusters"))
		to_cluster(c);
	else
		refuse(c, ERR_NOT_FOUND, "the server could not find the requested resource");
}
