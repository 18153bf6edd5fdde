#include "api/feed.h"

#include "api/feed_index.h"
#include "api/job_columns.h"
#include "api/render.h"
#include <errno.h>

/* Rows of one read transaction, text that watchers share, and watchers flushed in one turn of the
 * loop: each keeps a turn in the order of a millisecond. */
#define ROWS_A_TURN    256
#define BYTES_A_TURN   ((size_t)64 << 10)
#define FLUSHES_A_TURN 128
#define MAX_FRAMES     16 /* forms of one event that are shared; more are rendered again */

struct feed {
	struct task task;
	struct mailbox *mailbox;
	struct store *store;
	_Atomic bool posted;
	uint64_t revision;
	struct feed_index index;
	size_t held;			    /* bytes of frames alive */
	struct feed_watcher *due, *due_end; /* to be flushed, in the order of their events */
	size_t n_due;
	bool more;	 /* the round's rows are not all read */
	usec rest_until; /* monotonic */
	uv_timer_t *timer;
	struct feed_group *touched; /* that have text of the rows being read */
	struct buf scratch, old;
	const struct feed_observer *observer;
};

static const char *const event_names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};

const char *watch_event_name(enum watch_event e)
{
	return event_names[e];
}

bool feed_needs_old(const struct selector *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->items[i].field || (!span_is(s->items[i].key, "metadata.name") &&
					   !span_is(s->items[i].key, "metadata.namespace")))
			return true;
	return false;
}

enum watch_event feed_event_for(const struct selector *s, bool needs_old,
				struct store_reader *reader, const struct store_log_row *row,
				struct buf *scratch)
{
	bool now = selector_matches_row(s, &row->object), before = now;
	if (row->op == STORE_LOG_ADDED)
		return now ? WATCH_ADDED : WATCH_NOTHING;
	if (row->op == STORE_LOG_DELETED)
		return now ? WATCH_DELETED : WATCH_NOTHING;
	if (needs_old) {
		buf_clear(scratch);
		if (store_log_old(reader, row, scratch) == 0)
			before = selector_matches_text(s, buf_span(scratch));
	}
	if (now)
		return before ? WATCH_MODIFIED : WATCH_ADDED;
	return before ? WATCH_DELETED : WATCH_NOTHING;
}

/* ---- who is to be flushed ---- */

static void make_due(struct feed *f, struct feed_watcher *w)
{
	if (w->due)
		return;
	w->due = true;
	w->next_due = NULL;
	w->prev_due = f->due_end;
	if (f->due_end)
		f->due_end->next_due = w;
	else
		f->due = w;
	f->due_end = w;
	f->n_due++;
}

static void unmake_due(struct feed *f, struct feed_watcher *w)
{
	if (!w->due)
		return;
	w->due = false;
	if (w->prev_due)
		w->prev_due->next_due = w->next_due;
	else
		f->due = w->next_due;
	if (w->next_due)
		w->next_due->prev_due = w->prev_due;
	else
		f->due_end = w->prev_due;
	f->n_due--;
}

static void tell(struct feed *f, struct feed_watcher *w, struct feed_frame *fr)
{
	feed_queue_push(&w->queue, fr);
	make_due(f, w);
	if (w->queue.bytes > WATCH_MAX_LAG)
		w->overrun(w);
}

void feed_push_text(struct feed *f, struct feed_watcher *w, uint64_t revision, struct span text)
{
	struct feed_frame *fr = feed_frame_create(text, &f->held);
	fr->first = fr->last = revision;
	feed_queue_push(&w->queue, fr);
	make_due(f, w);
	feed_wake(f);
}

void feed_join(struct feed *f, struct feed_watcher *w, uint16_t type, struct span ns,
	       struct span name)
{
	feed_index_join(&f->index, w, f->revision, type, ns, name);
}

void feed_leave(struct feed *f, struct feed_watcher *w)
{
	feed_index_leave(&f->index, w);
	unmake_due(f, w);
	feed_queue_clear(&w->queue);
}

/* ---- rows to watchers ---- */

struct shared {
	const struct render *render;
	enum watch_event event;
	bool columns;
	struct feed_frame *frame;
};

struct turn {
	struct feed *feed;
	struct store_reader *reader;
	int rows;
	size_t most; /* bytes that a group has */
	bool more;
};

static void add_event(const struct turn *t, const struct feed_watcher *w, enum watch_event event,
		      const struct store_object *o, bool columns, struct buf *out)
{
	struct job_columns jobs = {.reader = t->reader};
	struct render render = *w->render;
	if (render.form == FORM_TABLE) /* ages are counted from now */
		render.now = clock_now();
	render.jobs = &jobs;
	buf_add_str(out, "{\"type\":\"");
	buf_add_str(out, watch_event_name(event));
	buf_add_str(out, "\",\"object\":");
	render_event_object(&render, o, columns, out);
	buf_add_str(out, "}\n");
}

static struct feed_frame *frame_for(struct turn *t, struct shared *shared, size_t *n,
				    const struct feed_watcher *w, enum watch_event event,
				    const struct store_object *o)
{
	struct feed *f = t->feed;
	bool columns = w->render->form == FORM_TABLE && !w->columns_sent;
	struct feed_frame *fr;
	for (size_t i = 0; i < *n; i++)
		if (shared[i].event == event && shared[i].columns == columns &&
		    feed_same_form(shared[i].render, w->render))
			return shared[i].frame;
	buf_clear(&f->scratch);
	add_event(t, w, event, o, columns, &f->scratch);
	fr = feed_frame_create(buf_span(&f->scratch), &f->held);
	fr->first = fr->last = o->revision;
	fr->events = 1;
	if (*n < MAX_FRAMES) {
		/* Ours until the row is done: its watchers may be closed before. */
		fr->refs = 1;
		shared[(*n)++] = (struct shared){w->render, event, columns, fr};
	}
	return fr;
}

static void to_each(struct turn *t, struct feed_watcher *first, const struct store_log_row *row,
		    struct shared *shared, size_t *n)
{
	struct feed *f = t->feed;
	struct feed_watcher *next;
	for (struct feed_watcher *w = first; w; w = next) {
		struct feed_frame *fr;
		enum watch_event e;
		next = w->next;
		if (row->revision <= w->cursor)
			continue;
		e = feed_event_for(w->selector, w->needs_old, t->reader, row, &f->old);
		if (e == WATCH_NOTHING)
			continue;
		fr = frame_for(t, shared, n, w, e, &row->object);
		w->columns_sent = true;
		tell(f, w, fr);
	}
}

static void to_plain(struct turn *t, struct feed_group *g, const struct store_log_row *row)
{
	const struct feed_watcher *w = g->head;
	enum watch_event e = feed_event_for(w->selector, false, t->reader, row, NULL);
	if (!g->events++) {
		g->first = row->revision;
		g->next_touched = t->feed->touched;
		t->feed->touched = g;
		g->text.max = t->feed->scratch.max + BYTES_A_TURN;
	}
	g->last = row->revision;
	add_event(t, w, e, &row->object, false, &g->text);
	if (g->text.len > t->most)
		t->most = g->text.len;
}

/* What the plain groups were told of this read becomes a frame of each. */
static void end_groups(struct feed *f)
{
	struct feed_group *g;
	while ((g = f->touched)) {
		struct feed_frame *fr = feed_frame_create(buf_span(&g->text), &f->held);
		struct feed_watcher *next;
		f->touched = g->next_touched;
		fr->refs = 1;
		fr->first = g->first;
		fr->last = g->last;
		fr->events = g->events;
		g->events = 0;
		buf_done(&g->text);
		for (struct feed_watcher *w = g->head; w; w = next) {
			next = w->next; /* the group is gone with its last one */
			tell(f, w, fr);
		}
		feed_frame_unref(fr);
	}
}

static void to_observer(const struct feed_observer *o, const struct store_log_row *row)
{
	for (size_t i = 0; o && i < o->n_types; i++)
		if (o->types[i] == row->object.key.type)
			o->row(o->arg, row);
}

static int on_row(void *arg, const struct store_log_row *row)
{
	struct turn *t = arg;
	struct feed *f = t->feed;
	const struct store_key *k = &row->object.key;
	struct shared shared[MAX_FRAMES];
	size_t n = 0;
	if (t->rows++ == ROWS_A_TURN || t->most >= BYTES_A_TURN) {
		t->more = true;
		return 1;
	}
	to_observer(f->observer, row);
	for (int form = 0; f->index.n_live && form < 4; form++) {
		struct span ns = form & 1 ? (k->ns.ptr ? k->ns : SPAN("")) : SPAN_NONE;
		struct span name = form & 2 ? k->name : SPAN_NONE;
		const struct feed_list *l = feed_index_find(&f->index, k->type, ns, name);
		struct feed_group *next;
		for (struct feed_group *g = l ? l->groups : NULL; g; g = next) {
			next = g->next; /* who overruns may be the last of the list */
			if (g->plain)
				to_plain(t, g, row);
			else
				to_each(t, g->head, row, shared, &n);
		}
	}
	for (size_t i = 0; i < n; i++)
		feed_frame_unref(shared[i].frame);
	f->revision = row->revision;
	return 0;
}

/* Those with a queue, or all, go on from the log. */
static void send_back(struct feed *f, bool all)
{
	map_foreach (&f->index.lists, e) {
		const struct feed_list *l = e->value;
		struct feed_group *more;
		for (struct feed_group *g = l->groups; g; g = more) {
			struct feed_watcher *next;
			more = g->next;
			for (struct feed_watcher *w = g->head; w; w = next) {
				const struct feed_frame *oldest = feed_queue_peek(&w->queue, 0);
				next = w->next;
				if (!oldest && !all)
					continue;
				w->cursor = oldest ? oldest->first - 1 : f->revision;
				feed_leave(f, w);
				w->fell_behind(w);
			}
		}
	}
}

static bool read_rows(struct feed *f)
{
	auto_reader *reader = NULL;
	struct turn t = {.feed = f};
	int r;
	if (store_read_begin(f->store, &reader, NULL) < 0)
		return true; /* no reader free: try again in the next turn */
	t.reader = reader;
	if (f->index.n_live || f->observer) {
		r = store_log_scan(reader, f->revision, on_row, &t);
		end_groups(f);
		if (r == -ETIME)
			send_back(f, true);
		if (r == -ETIME && f->observer)
			f->observer->lost(f->observer->arg);
	}
	if (!t.more)
		f->revision = store_reader_revision(reader);
	if (!t.more && f->observer)
		f->observer->settled(f->observer->arg);
	feed_index_settle(&f->index, f->revision);
	return t.more;
}

/* ---- rounds ---- */

usec feed_rest(size_t n)
{
	usec rest = n >= FEED_REST_MAX / FEED_REST_EACH ? FEED_REST_MAX : (usec)n * FEED_REST_EACH;
	return rest < FEED_REST_LEAST ? 0 : rest;
}

static void flush_some(struct feed *f)
{
	for (int i = 0; i < FLUSHES_A_TURN && f->due; i++) {
		struct feed_watcher *w = f->due;
		unmake_due(f, w);
		w->flush(w);
	}
}

static void on_timer(uv_timer_t *timer)
{
	feed_wake(timer->data);
}

static void run(struct task *t)
{
	struct feed *f = (struct feed *)((char *)t - offsetof(struct feed, task));
	usec now = clock_monotonic();
	bool behind;
	atomic_store(&f->posted, false);
	behind = store_revision(f->store) > f->revision;
	if (f->more || (behind && !f->due && now >= f->rest_until)) {
		f->more = read_rows(f);
		f->rest_until = now + feed_rest(f->n_due);
		if (f->held > FEED_MAX_BYTES)
			send_back(f, false);
		behind = store_revision(f->store) > f->revision;
	}
	flush_some(f);
	if (f->more || f->due || (behind && now >= f->rest_until))
		feed_wake(f);
	else if (behind)
		(void)uv_timer_start(f->timer, on_timer,
				     (uint64_t)((f->rest_until - now) / USEC_PER_MS + 1), 0);
}

void feed_wake(struct feed *f)
{
	if (!atomic_exchange(&f->posted, true))
		mailbox_post(f->mailbox, &f->task);
}

void feed_observe(struct feed *f, const struct feed_observer *o)
{
	f->observer = o;
}

uint64_t feed_revision(const struct feed *f)
{
	return f->revision;
}

uint64_t feed_told(const struct feed *f, const struct feed_watcher *w)
{
	/* A watcher that is not live hears nothing of the feed. */
	return w->group && f->revision > w->cursor ? f->revision : w->cursor;
}

/* ---- making and unmaking ---- */

struct feed *feed_create(struct store *store, struct mailbox *mailbox)
{
	struct feed *f = xcalloc(1, sizeof(*f));
	f->task.run = run;
	f->store = store;
	f->mailbox = mailbox;
	f->revision = store_revision(store);
	f->scratch.max = STORE_MAX_OBJECT * 4;
	f->old.max = STORE_MAX_OBJECT * 2;
	f->timer = xcalloc(1, sizeof(*f->timer));
	f->timer->data = f;
	(void)uv_timer_init(mailbox->async.loop, f->timer); /* never fails */
	return f;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

struct feed *feed_destroy(struct feed *f)
{
	if (!f)
		return NULL;
	uv_close((uv_handle_t *)f->timer, on_closed);
	feed_index_done(&f->index);
	buf_done(&f->scratch);
	buf_done(&f->old);
	free(f);
	return NULL;
}
