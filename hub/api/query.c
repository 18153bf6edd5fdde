/*
 * /apis/muster.dev/v1alpha1/...: questions to the structures that decide (why, queue, quota,
 * plan). The path below the version and the query string go to the core as they are. The one
 * question of visibility.kueue.x-k8s.io, who waits in a queue, goes the same way.
 */
#include "api/call.h"

struct query {
	struct command *command;
};

bool query_is_visibility(const struct request_info *i)
{
	return span_is(i->group, "visibility.kueue.x-k8s.io") && i->verb == API_GET &&
	       (span_is(i->version, "v1beta1") || span_is(i->version, "v1beta2")) &&
	       span_is(i->subresource, "pendingworkloads");
}

static void on_answer(struct call *c)
{
	struct query *q = c->state;
	struct command *cmd = q->command;
	if (cmd->err.kind == ERR_NONE) {
		call_ok(c, 200, "application/json");
		buf_add(&c->answer.body, cmd->result ? cmd->result : "", cmd->result_len);
	} else {
		struct status_subject s = {.errors = cmd->causes};
		call_fail_with(c, &cmd->err, &s);
	}
	if (cmd->warnings)
		call_warn(c, span_of(cmd->warnings));
	command_destroy(cmd);
	call_finish(c);
}

static void done(struct command *self)
{
	call_to_loop(self->origin, on_answer);
}

void call_query(struct call *c)
{
	struct backend *b = c->listener->backend;
	struct query *q = arena_new(c->mem, struct query);
	struct command *cmd = command_create(COMMAND_QUERY, NULL, SPAN(""), SPAN(""));
	/* /apis/GROUP/VERSION/...: a namespace in the path is the core's to read. */
	size_t skip = strlen("/apis/") + c->info.group.len + 1 + c->info.version.len + 1;
	struct span tail = c->info.path.len > skip
			       ? span_make(c->info.path.ptr + skip, c->info.path.len - skip)
			       : SPAN("");
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	if (query_is_visibility(&c->info))
		buf_addf(&text, "kueue/%.*s/", SPAN_ARGS(c->info.version));
	request_encode_path(tail, &text);
	request_encode_query(c->request, &text);
	cmd->query = buf_steal(&text, NULL);
	cmd->user = xstrndup(c->user.name.ptr, c->user.name.len);
	if (c->request->body.len)
		cmd->query_body = xstrndup(c->request->body.ptr, c->request->body.len);
	cmd->bytes += c->request->body.len;
	cmd->origin = c;
	cmd->done = done;
	c->state = q;
	q->command = cmd;
	if (b->ops->submit(b, cmd, &e) == 0)
		return;
	command_destroy(cmd);
	call_fail(c, &e);
	call_finish(c);
}
