#include "api/feed.h"

#include "api/job_columns.h"
#include "api/render.h"
#include <errno.h>

/* Rows of one read transaction, and watchers flushed in one turn of the loop: both keep a turn
 * in the order of a millisecond. */
#define ROWS_A_TURN    256
#define FLUSHES_A_TURN 128
#define MAX_FRAMES     16 /* forms of one event that are shared; more are rendered again */

struct feed_list {
	struct feed_watcher *head;
	char key[2 + 1 + STORE_MAX_NAMESPACE + 1 + STORE_MAX_NAME];
	size_t key_len;
};

struct feed {
	struct task task;
	struct mailbox *mailbox;
	struct store *store;
	_Atomic bool posted;
	uint64_t revision;
	struct map index; /* key -> struct feed_list */
	size_t n_live;
	size_t held; /* bytes of frames alive */
	struct feed_watcher *dirty, **dirty_tail;
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

/* ---- frames and queues ---- */

static struct feed_frame *frame_create(struct feed *f, uint64_t revision, struct span text)
{
	struct feed_frame *fr = xrealloc(NULL, sizeof(*fr) + text.len);
	*fr = (struct feed_frame){.revision = revision, .len = text.len};
	memcpy(fr->bytes, text.ptr, text.len);
	f->held += text.len;
	return fr;
}

static void frame_unref(struct feed *f, struct feed_frame *fr)
{
	if (--fr->refs)
		return;
	f->held -= fr->len;
	free(fr);
}

static void push(struct feed_watcher *w, struct feed_frame *fr)
{
	if (w->len == w->cap) {
		uint32_t cap = w->cap ? w->cap * 2 : 4;
		struct feed_frame **q = xcalloc(cap, sizeof(struct feed_frame *));
		for (uint32_t i = 0; i < w->len; i++)
			q[i] = feed_peek(w, i);
		free(w->queue);
		w->queue = q;
		w->cap = cap;
		w->head = 0;
	}
	w->queue[(w->head + w->len++) & (w->cap - 1)] = fr;
	w->bytes += fr->len;
	fr->refs++;
}

void feed_pop(struct feed *f, struct feed_watcher *w)
{
	struct feed_frame *fr = feed_peek(w, 0);
	w->head = (w->head + 1) & (w->cap - 1);
	w->len--;
	w->bytes -= fr->len;
	frame_unref(f, fr);
	if (!w->len && w->cap > 4) { /* idle watchers cost little */
		free(w->queue);
		w->queue = NULL;
		w->cap = w->head = 0;
	}
}

void feed_push_text(struct feed *f, struct feed_watcher *w, uint64_t revision, struct span text)
{
	push(w, frame_create(f, revision, text));
	feed_mark_dirty(f, w);
}

void feed_mark_dirty(struct feed *f, struct feed_watcher *w)
{
	if (w->dirty)
		return;
	w->dirty = true;
	w->next_dirty = NULL;
	*f->dirty_tail = w;
	f->dirty_tail = &w->next_dirty;
	feed_wake(f);
}

static void unmark(struct feed *f, struct feed_watcher *w)
{
	struct feed_watcher **at = &f->dirty;
	if (!w->dirty)
		return;
	while (*at != w)
		at = &(*at)->next_dirty;
	*at = w->next_dirty;
	if (!*at)
		f->dirty_tail = at;
	w->dirty = false;
}

/* ---- the index ---- */

static size_t make_key(char *out, uint16_t type, struct span ns, struct span name)
{
	char *at = out;
	*at++ = (char)(type >> 8);
	*at++ = (char)(type & 255);
	*at++ = ns.ptr ? 1 : 0; /* one namespace, or all */
	if (ns.len)
		memcpy(at, ns.ptr, ns.len);
	at += ns.len;
	*at++ = '\0';
	if (name.len)
		memcpy(at, name.ptr, name.len);
	return (size_t)(at + name.len - out);
}

void feed_join(struct feed *f, struct feed_watcher *w, uint16_t type, struct span ns,
	       struct span name)
{
	struct feed_list *l = xcalloc(1, sizeof(*l)), *there;
	l->key_len = make_key(l->key, type, ns, name);
	there = map_get(&f->index, span_make(l->key, l->key_len));
	if (there) {
		free(l);
		l = there;
	} else {
		map_put(&f->index, span_make(l->key, l->key_len), l);
	}
	w->list = l;
	w->prev = NULL;
	w->next = l->head;
	if (w->next)
		w->next->prev = w;
	l->head = w;
	f->n_live++;
}

static void unlink_watcher(struct feed *f, struct feed_watcher *w)
{
	struct feed_list *l = w->list;
	if (!l)
		return;
	if (w->prev)
		w->prev->next = w->next;
	else
		l->head = w->next;
	if (w->next)
		w->next->prev = w->prev;
	w->list = NULL;
	f->n_live--;
	if (!l->head) {
		map_remove(&f->index, span_make(l->key, l->key_len));
		free(l);
	}
}

void feed_leave(struct feed *f, struct feed_watcher *w)
{
	unlink_watcher(f, w);
	unmark(f, w);
	while (w->len)
		feed_pop(f, w);
	free(w->queue);
	w->queue = NULL;
	w->cap = w->head = 0;
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
	bool more;
};

static bool same_form(const struct render *a, const struct render *b)
{
	return a == b || (a->kind == b->kind && a->form == b->form && a->include == b->include &&
			  a->meta_version == b->meta_version);
}

static struct feed_frame *frame_for(struct turn *t, struct shared *shared, size_t *n,
				    const struct feed_watcher *w, enum watch_event event,
				    const struct store_object *o)
{
	struct job_columns jobs = {.reader = t->reader};
	struct feed *f = t->feed;
	bool table = w->render->form == FORM_TABLE, columns = table && !w->columns_sent;
	struct render render = *w->render;
	struct feed_frame *fr;
	for (size_t i = 0; i < *n; i++)
		if (shared[i].event == event && shared[i].columns == columns &&
		    same_form(shared[i].render, w->render))
			return shared[i].frame;
	if (table) /* ages are counted from now */
		render.now = clock_now();
	render.jobs = &jobs;
	buf_clear(&f->scratch);
	buf_addf(&f->scratch, "{\"type\":\"%s\",\"object\":", watch_event_name(event));
	render_event_object(&render, o, columns, &f->scratch);
	buf_add_str(&f->scratch, "}\n");
	fr = frame_create(f, o->revision, buf_span(&f->scratch));
	if (*n < MAX_FRAMES) {
		/* Ours until the row is done: its watchers may be closed before. */
		fr->refs = 1;
		shared[(*n)++] = (struct shared){w->render, event, columns, fr};
	}
	return fr;
}

static void to_list(struct turn *t, struct feed_list *l, const struct store_log_row *row,
		    struct shared *shared, size_t *n)
{
	struct feed *f = t->feed;
	struct feed_watcher *next;
	for (struct feed_watcher *w = l ? l->head : NULL; w; w = next) {
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
		push(w, fr);
		feed_mark_dirty(f, w);
		if (w->bytes > WATCH_MAX_LAG)
			w->overrun(w);
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
	char key[sizeof(((struct feed_list *)0)->key)];
	size_t n = 0;
	if (t->rows++ == ROWS_A_TURN) {
		t->more = true;
		return 1;
	}
	to_observer(f->observer, row);
	for (int form = 0; f->n_live && form < 4; form++) {
		struct span ns = form & 1 ? (k->ns.ptr ? k->ns : SPAN("")) : SPAN_NONE;
		struct span name = form & 2 ? k->name : SPAN_NONE;
		size_t len = make_key(key, k->type, ns, name);
		to_list(t, map_get(&f->index, span_make(key, len)), row, shared, &n);
	}
	for (size_t i = 0; i < n; i++)
		frame_unref(f, shared[i].frame);
	f->revision = row->revision;
	return 0;
}

static void drop_laggards(struct feed *f)
{
	if (f->held <= FEED_MAX_BYTES)
		return;
	map_foreach (&f->index, e) {
		struct feed_list *l = e->value;
		struct feed_watcher *next;
		for (struct feed_watcher *w = l->head; w; w = next) {
			next = w->next;
			if (w->len) {
				w->cursor = feed_peek(w, 0)->revision - 1;
				feed_leave(f, w);
				w->fell_behind(w);
				if (!next)
					break; /* the list may be gone with its last one */
			}
		}
	}
}

static void everyone_behind(struct feed *f)
{
	map_foreach (&f->index, e) {
		struct feed_list *l = e->value;
		struct feed_watcher *next;
		for (struct feed_watcher *w = l->head; w; w = next) {
			next = w->next;
			w->cursor = w->len ? feed_peek(w, 0)->revision - 1 : f->revision;
			feed_leave(f, w);
			w->fell_behind(w);
			if (!next)
				break;
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
	if (f->n_live || f->observer) {
		r = store_log_scan(reader, f->revision, on_row, &t);
		if (r == -ETIME)
			everyone_behind(f);
		if (r == -ETIME && f->observer)
			f->observer->lost(f->observer->arg);
	}
	if (!t.more)
		f->revision = store_reader_revision(reader);
	if (!t.more && f->observer)
		f->observer->settled(f->observer->arg);
	return t.more;
}

static void flush_some(struct feed *f)
{
	for (int i = 0; i < FLUSHES_A_TURN && f->dirty; i++) {
		struct feed_watcher *w = f->dirty;
		f->dirty = w->next_dirty;
		if (!f->dirty)
			f->dirty_tail = &f->dirty;
		w->dirty = false;
		w->flush(w);
	}
}

static void run(struct task *t)
{
	struct feed *f = (struct feed *)((char *)t - offsetof(struct feed, task));
	bool more = false;
	atomic_store(&f->posted, false);
	if (store_revision(f->store) > f->revision)
		more = read_rows(f);
	drop_laggards(f);
	flush_some(f);
	if (more || f->dirty)
		feed_wake(f);
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

struct feed *feed_create(struct store *store, struct mailbox *mailbox)
{
	struct feed *f = xcalloc(1, sizeof(*f));
	f->task.run = run;
	f->store = store;
	f->mailbox = mailbox;
	f->revision = store_revision(store);
	f->dirty_tail = &f->dirty;
	f->scratch.max = STORE_MAX_OBJECT * 4;
	f->old.max = STORE_MAX_OBJECT * 2;
	return f;
}

struct feed *feed_destroy(struct feed *f)
{
	if (!f)
		return NULL;
	map_done(&f->index);
	buf_done(&f->scratch);
	buf_done(&f->old);
	free(f);
	return NULL;
}
