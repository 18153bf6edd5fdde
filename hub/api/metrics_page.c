/*
 * GET /metrics: the front's own counts, the stores, the process, and what the core adds about the
 * fleet (COMMAND_QUERY_METRICS, answered on its thread; a backend without one adds nothing). All of
 * it is put together on a worker.
 */
#include "api/call.h"
#include "api/process_metrics.h"

struct page {
	struct metrics_copy copy;
	struct command *query; /* or NULL */
};

static void add_store(struct buf *out, const char *name, struct store *s)
{
	struct store_stats st = {0};
	if (!s)
		return;
	store_stats(s, &st);
	buf_addf(out,
		 "muster_store_bytes{part=\"data\",store=\"%s\"} %llu\n"
		 "muster_store_bytes{part=\"log\",store=\"%s\"} %llu\n"
		 "muster_store_bytes{part=\"free\",store=\"%s\"} %llu\n",
		 name, (unsigned long long)st.data_bytes, name, (unsigned long long)st.log_bytes,
		 name, (unsigned long long)st.free_bytes);
}

static void add_revision(struct buf *out, const char *name, struct store *s)
{
	if (s)
		buf_addf(out, "muster_store_revision{store=\"%s\"} %llu\n", name,
			 (unsigned long long)store_revision(s));
}

static void add_stores(struct buf *out, const struct backend *b)
{
	buf_add_str(out, "# HELP muster_store_bytes What a store holds, and how much more it may.\n"
			 "# TYPE muster_store_bytes gauge\n");
	add_store(out, "truth", b->truth);
	add_store(out, "mirror", b->mirror);
	buf_add_str(out, "# HELP muster_store_revision Revision of a store's last change.\n"
			 "# TYPE muster_store_revision counter\n");
	add_revision(out, "truth", b->truth);
	add_revision(out, "mirror", b->mirror);
}

static void print(struct call *c)
{
	struct page *p = c->state;
	struct buf *out = &c->answer.body;
	call_ok(c, 200, "text/plain; version=0.0.4; charset=utf-8");
	metrics_print(&p->copy, out);
	metrics_copy_done(&p->copy);
	add_stores(out, c->listener->backend);
	if (p->query && p->query->err.kind == ERR_NONE)
		buf_add(out, p->query->result ? p->query->result : "", p->query->result_len);
	command_destroy(p->query);
	process_metrics_print(out);
	call_to_loop(c, call_finish);
}

static void on_answer(struct call *c)
{
	call_to_worker(c, print);
}

static void answered(struct command *self)
{
	call_to_loop(self->origin, on_answer);
}

void call_metrics(struct call *c)
{
	struct backend *b = c->listener->backend;
	struct page *p = arena_new(c->mem, struct page);
	struct metrics_gauges g;
	struct err e = ERR_INIT;
	api_gauges(call_api(c), &g);
	metrics_copy(&call_api(c)->metrics, &g, &p->copy);
	c->state = p;
	p->query = command_create(COMMAND_QUERY, NULL, SPAN(""), SPAN(""));
	p->query->query = xstrdup(COMMAND_QUERY_METRICS);
	p->query->user = xstrndup(c->user.name.ptr, c->user.name.len);
	p->query->origin = c;
	p->query->done = answered;
	if (b->ops->submit(b, p->query, &e) == 0)
		return;
	p->query = command_destroy(p->query);
	call_to_worker(c, print);
}
