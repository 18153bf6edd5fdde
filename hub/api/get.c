/* GET of one object; on the loop: it is one short read. A table of a job that waits asks the core
 * as well. */
#include "api/call.h"
#include "api/job_columns.h"
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
	if (render->jobs)
		render->jobs->reader = reader;
	render_object(render, &object, &c->answer.body);
	return 0;
}

static void finish(struct call *c)
{
	job_columns_done(c->state);
	call_finish(c);
}

static void fill(struct call *c)
{
	job_columns_fill(c->state, 0, &c->answer.body);
	call_to_loop(c, finish);
}

void call_get(struct call *c)
{
	struct err e = ERR_INIT;
	struct render render;
	struct job_columns *jobs;
	struct read_options o = {0};
	if (member_get(c))
		return;
	c->state = jobs = arena_new(c->mem, struct job_columns);
	int r = read_options_render(c, &render, &e);
	jobs->ask = !r && render.form == FORM_TABLE;
	render.jobs = jobs;
	if (!r)
		r = read_options_parse(c, false, &o, &e);
	if (!r)
		r = read_object(c, &render, &o, &e);
	read_options_done(&o);
	if (r)
		call_fail(c, &e);
	else if (job_columns_ask(c, jobs, fill))
		return;
	finish(c);
}
