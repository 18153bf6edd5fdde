/* What a watch reads of the store, in short turns: the state that it begins with, then the log. */
#include "api/job_columns.h"
#include "api/watch.h"
#include <errno.h>

#define TURN_BYTES ((size_t)64 << 10) /* of one write; objects may exceed it */
#define TURN_ROWS  1000
#define TURN_TIME  USEC_PER_MS

bool watch_begin(struct watch *w)
{
	struct call *c = w->call;
	struct store *s = call_store(c);
	uint64_t now = store_revision(s);
	const struct read_options *o = &w->options;
	if (o->revision > now) {
		read_fail_future(c, o->revision, now);
		return false;
	}
	if (o->has_send_initial ? o->send_initial : !o->revision) {
		w->phase = WATCH_INITIAL;
		return true;
	}
	w->phase = WATCH_CATCH_UP;
	w->feed.cursor = o->revision ? o->revision : now;
	if (w->feed.cursor < store_floor(s)) {
		call_failf(c, ERR_EXPIRED, "too old resource version: %llu (%llu)",
			   (unsigned long long)o->revision, (unsigned long long)store_floor(s));
		return false;
	}
	return true;
}

/* ---- the log ---- */

struct turn {
	struct watch *w;
	struct store_reader *reader;
	struct buf *out, old;
	usec until;
	int rows;
	bool more;
};

static void add_event(struct turn *t, enum watch_event e, const struct store_object *o)
{
	struct job_columns jobs = {.reader = t->reader};
	struct watch *w = t->w;
	struct render render = w->render;
	render.jobs = &jobs;
	buf_addf(t->out, "{\"type\":\"%s\",\"object\":", watch_event_name(e));
	render_event_object(&render, o, !w->feed.columns_sent, t->out);
	buf_add_str(t->out, "}\n");
	w->feed.columns_sent = true;
	call_series(w->call)->events++;
}

static bool turn_over(struct turn *t)
{
	t->rows++;
	return t->out->len >= TURN_BYTES || t->rows > TURN_ROWS ||
	       ((t->rows & 15) == 0 && clock_monotonic() > t->until);
}

static bool in_scope(const struct watch *w, const struct store_key *k)
{
	const struct span ns = w->call->info.ns;
	return k->type == w->call->kind->type && (!ns.ptr || span_eq(k->ns, ns));
}

static int on_row(void *arg, const struct store_log_row *row)
{
	struct turn *t = arg;
	struct watch *w = t->w;
	enum watch_event e = WATCH_NOTHING;
	if (turn_over(t)) {
		t->more = true;
		return 1;
	}
	if (in_scope(w, &row->object.key) && !row->object.json.ptr)
		return -ETIME; /* sealed with a key that is gone */
	if (in_scope(w, &row->object.key))
		e = feed_event_for(&w->options.selector, w->feed.needs_old, t->reader, row,
				   &t->old);
	if (e != WATCH_NOTHING)
		add_event(t, e, &row->object);
	w->feed.cursor = row->revision;
	return 0;
}

static int read_log(struct turn *t)
{
	struct watch *w = t->w;
	int r = store_log_scan_type(t->reader, w->feed.cursor, w->call->kind->type, on_row, t);
	if (r)
		return r;
	if (!t->more && w->feed.cursor < store_reader_revision(t->reader))
		w->feed.cursor = store_reader_revision(t->reader);
	if (!t->more && !w->final_revision && w->feed.cursor >= feed_revision(call_feed(w->call)))
		watch_go_live(w);
	return 0;
}

/* ---- the initial state ---- */

static void remember(struct watch *w, const struct store_key *k)
{
	w->last = (struct store_key){k->type, {w->last_ns, k->ns.len}, {w->last_name, k->name.len}};
	if (k->ns.len)
		memcpy(w->last_ns, k->ns.ptr, k->ns.len);
	memcpy(w->last_name, k->name.ptr, k->name.len);
	w->has_last = true;
}

static void end_initial(struct turn *t)
{
	struct watch *w = t->w;
	if (w->options.send_initial && w->options.bookmarks)
		watch_write_bookmark(w, w->initial_revision, true, t->out);
	w->feed.cursor = w->initial_revision;
	w->phase = WATCH_CATCH_UP;
}

/* The one object that the selector names needs no scan. */
static bool read_one(struct turn *t)
{
	struct watch *w = t->w;
	struct span ns = w->call->info.ns, name = selector_name(&w->options.selector);
	struct store_key key = {w->call->kind->type, ns.ptr ? ns : SPAN(""), name};
	struct store_object o;
	if (!name.len || name.len > STORE_MAX_NAME ||
	    (!ns.ptr && w->call->kind->scope != KIND_CLUSTER))
		return false;
	if (store_get(t->reader, &key, &o) == 0 && selector_matches_row(&w->options.selector, &o))
		add_event(t, WATCH_ADDED, &o);
	end_initial(t);
	return true;
}

static int read_state(struct turn *t)
{
	struct watch *w = t->w;
	struct store_range range = {.type = w->call->kind->type,
				    .ns = w->call->info.ns,
				    .after = w->has_last ? &w->last : NULL};
	struct store_iter *it = NULL;
	struct store_object o;
	int r, e = 0;
	if (!w->initial_revision)
		w->initial_revision = store_reader_revision(t->reader);
	if (!w->has_last && read_one(t))
		return 0;
	if (w->initial_revision != store_reader_revision(t->reader))
		range.at_revision = w->initial_revision;
	r = store_iter_begin(t->reader, &range, &it, NULL);
	while (!r && !turn_over(t)) {
		if (!store_iter_next(it, &o, &e)) {
			if (!e)
				end_initial(t);
			break;
		}
		if (selector_matches_row(&w->options.selector, &o))
			add_event(t, WATCH_ADDED, &o);
		remember(w, &o.key);
	}
	store_iter_end(it);
	return r ? r : e;
}

int watch_read(struct watch *w, struct buf *out)
{
	auto_reader *reader = NULL;
	struct turn t = {.w = w, .out = out, .until = clock_monotonic() + TURN_TIME};
	int r = store_read_begin(call_store(w->call), &reader, NULL);
	t.reader = reader;
	out->max = t.old.max = STORE_MAX_OBJECT * 4;
	if (!r)
		r = w->phase == WATCH_INITIAL ? read_state(&t) : read_log(&t);
	reader = store_read_end(reader);
	buf_done(&t.old);
	return r;
}
