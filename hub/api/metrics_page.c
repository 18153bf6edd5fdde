/*
 * GET /metrics: the front's own counts, the stores, the process, and what the core adds about the
 * fleet (COMMAND_QUERY_METRICS, answered on its thread; a backend without one adds nothing). All of
 * it is put together on a worker.
 *
 * A core that is busy is waited for between one and two seconds: then the page goes out without its
 * part, with muster_metrics_complete 0, and what the core says later is dropped.
 */
#include "api/call.h"
#include "api/process_metrics.h"

#define PATIENCE USEC_PER_SEC

struct metrics_page {
	struct task task; /* the answer's way to the loop */
	struct api *api;
	struct call *call; /* NULL: answered without the core */
	struct metrics_copy copy;
	struct command *query; /* or NULL */
	bool late;
	struct metrics_page *prev, *next; /* of those that wait for the core; the loop's */
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

static void page_destroy(struct metrics_page *p)
{
	metrics_copy_done(&p->copy);
	command_destroy(p->query);
	free(p);
}

static void print(struct call *c)
{
	struct metrics_page *p = c->state;
	struct buf *out = &c->answer.body;
	call_ok(c, 200, "text/plain; version=0.0.4; charset=utf-8");
	metrics_print(&p->copy, out);
	add_stores(out, c->listener->backend);
	buf_addf(out,
		 "# HELP muster_metrics_complete Whether the core's own figures follow: 0 when it "
		 "was too busy to tell.\n# TYPE muster_metrics_complete gauge\n"
		 "muster_metrics_complete %d\n",
		 !p->late);
	if (p->query && p->query->err.kind == ERR_NONE)
		buf_add(out, p->query->result ? p->query->result : "", p->query->result_len);
	page_destroy(p);
	process_metrics_print(out);
	call_to_loop(c, call_finish);
}

static void unlink_page(struct metrics_page *p)
{
	if (p->prev)
		p->prev->next = p->next;
	else
		p->api->pages = p->next;
	if (p->next)
		p->next->prev = p->prev;
}

static void on_answer(struct task *t)
{
	struct metrics_page *p =
	    (struct metrics_page *)((char *)t - offsetof(struct metrics_page, task));
	unlink_page(p);
	if (p->call)
		call_to_worker(p->call, print);
	else
		page_destroy(p);
}

/* On the core's thread. */
static void answered(struct command *self)
{
	struct metrics_page *p = self->origin;
	mailbox_post(&p->api->mailbox, &p->task);
}

static struct metrics_page *page_create(struct call *c)
{
	struct metrics_page *p = xcalloc(1, sizeof(*p));
	p->api = call_api(c);
	p->call = c;
	c->state = p;
	return p;
}

void call_metrics_tick(struct api *a, usec now)
{
	for (struct metrics_page *p = a->pages; p; p = p->next) {
		struct call *c = p->call;
		struct metrics_page *own;
		if (!c || now - c->started < PATIENCE)
			continue;
		own = page_create(c);
		own->copy = p->copy;
		own->late = true;
		p->copy = (struct metrics_copy){0};
		p->call = NULL;
		call_to_worker(c, print);
	}
}

void call_metrics(struct call *c)
{
	struct backend *b = c->listener->backend;
	struct metrics_page *p = page_create(c);
	struct metrics_gauges g;
	struct err e = ERR_INIT;
	api_gauges(p->api, &g);
	metrics_copy(&p->api->metrics, &g, &p->copy);
	p->task.run = on_answer;
	p->query = command_create(COMMAND_QUERY, NULL, SPAN(""), SPAN(""));
	p->query->query = xstrdup(COMMAND_QUERY_METRICS);
	p->query->user = xstrndup(c->user.name.ptr, c->user.name.len);
	p->query->origin = p;
	p->query->done = answered;
	p->next = p->api->pages;
	if (p->next)
		p->next->prev = p;
	p->api->pages = p;
	if (b->ops->submit(b, p->query, &e) == 0)
		return;
	unlink_page(p);
	p->query = command_destroy(p->query);
	p->late = true;
	call_to_worker(c, print);
}
