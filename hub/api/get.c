/* GET of one object; on the loop: it is one short read. */
#include "api/call.h"
#include "api/member_get.h"
#include "api/read_options.h"
#include "api/render.h"
#include <errno.h>

static int read_object(struct call *c, const struct render *render, const struct read_options *o,
		       struct err *reterr)
{
	auto_reader *reader = NULL;
	struct store_object object;
	struct store_key key = {c->kind->type, c->info.ns, c->info.name};
	char name[STORE_MAX_NAME + 1];
	int r;
	if (key.name.len > STORE_MAX_NAME || key.ns.len > STORE_MAX_NAMESPACE)
		r = -ENOENT;
	else
		r = store_read_begin(call_store(c), &reader, reterr);
	if (r && r != -ENOENT)
		return r;
	if (!r && o->has_revision && o->revision > store_reader_revision(reader)) {
		read_fail_future(c, o->revision, store_reader_revision(reader));
		return 0;
	}
	if (!r)
		r = store_get(reader, &key, &object);
	if (r == -ENOENT) {
		snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(key.name));
		return status_set_not_found(reterr, c->kind, name);
	}
	if (r)
		return read_failed(r, reterr);
	call_ok(c, 200, "application/json");
	render_object(render, &object, &c->answer.body);
	return 0;
}

void call_get(struct call *c)
{
	struct err e = ERR_INIT;
	struct render render;
	struct read_options o = {0};
	if (member_get(c))
		return;
	int r = read_options_render(c, &render, &e);
	if (!r)
		r = read_options_parse(c, false, &o, &e);
	if (!r)
		r = read_object(c, &render, &o, &e);
	read_options_done(&o);
	if (r)
		call_fail(c, &e);
	call_finish(c);
}
