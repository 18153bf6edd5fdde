/*
 * LIST: one revision, read by many short transactions.
 *
 * A worker reads a slice (about 256 KiB of answer) and lets go of the store. A list that ends in
 * its first slice is an ordinary answer; a longer one is a chunked stream: while the loop sends a
 * slice a worker reads the next one, and waits with it until the client has taken what came before,
 * so a list of any length costs two slices of memory. Tables with a limit carry their continue
 * token in front and are collected whole.
 *
 * Tables of jobs that wait ask the core before a slice goes out (job_columns.h).
 *
 * When the log's floor passes the list's revision in between: 410 on a first slice, a broken
 * stream (no last chunk) later.
 */
#include "api/call.h"
#include "api/continue_token.h"
#include "api/gzip.h"
#include "api/job_columns.h"
#include "api/read_options.h"
#include "api/render.h"
#include <errno.h>

#define SLICE_BYTES ((size_t)256 << 10)
#define YAML_BYTES  ((size_t)16 << 20) /* of a list that is translated as a whole */
#define SLICE_ROWS  4000 /* scanned, matching or not: bounds the life of a read transaction */

struct list {
	struct render render;
	struct read_options options;
	uint64_t revision; /* 0 until the first slice */
	uint64_t hash;
	int64_t given;
	uint64_t remaining; /* after the rows given; CONTINUE_UNKNOWN */
	bool counted;	    /* remaining is kept */
	bool begun, complete, collect, streaming, use_gzip;
	bool has_last, more;
	char last_ns[STORE_MAX_NAMESPACE + 1], last_name[STORE_MAX_NAME + 1];
	struct store_key last;
	struct buf out, rows; /* out: the slice that is read; rows: of a collected table */
	struct gzip gzip;
	struct job_columns jobs;
	size_t head;	/* bytes of `out` before its text, for the framing of a chunk */
	size_t rows_at; /* in out */
	int result;	/* of the slice */
	struct err err;
	/* The loop's, while a worker may have all of the above: */
	bool reading;	    /* it has */
	bool arrived;	    /* out holds a slice that is not being sent yet */
	bool busy;	    /* `sending` is not all out */
	bool ends;	    /* nothing comes after it */
	struct buf sending; /* a chunk, lent to the connection */
};

static void list_done(struct list *l)
{
	read_options_done(&l->options);
	buf_done(&l->out);
	buf_done(&l->rows);
	buf_done(&l->sending);
	gzip_done(&l->gzip);
	job_columns_done(&l->jobs);
}

static void remember(struct list *l, const struct store_key *k)
{
	l->last = (struct store_key){k->type, {l->last_ns, k->ns.len}, {l->last_name, k->name.len}};
	if (k->ns.len)
		memcpy(l->last_ns, k->ns.ptr, k->ns.len);
	memcpy(l->last_name, k->name.ptr, k->name.len);
	l->has_last = true;
}

static void write_token(const struct call *c, const struct list *l, bool inconsistent,
			struct buf *out)
{
	struct continue_token t = {.revision = inconsistent ? 0 : l->revision,
				   .type = c->kind->type,
				   .ns = l->last.ns,
				   .name = l->last.name,
				   .selector_hash = l->hash,
				   .remaining = inconsistent ? CONTINUE_UNKNOWN : l->remaining};
	continue_token_write(&t, call_token_key(c), out);
}

static void finish_list(struct call *c, struct list *l)
{
	struct buf token = BUF_INIT;
	struct table_meta meta = {.revision = l->revision, .remaining = -1};
	if (l->more) {
		write_token(c, l, false, &token);
		meta.continue_token = buf_span(&token);
		if (l->counted && l->remaining != CONTINUE_UNKNOWN)
			meta.remaining = (int64_t)l->remaining;
	}
	if (l->collect) {
		render_table_begin(&l->render, &meta, true, &l->out);
		l->rows_at = l->out.len;
		buf_add_span(&l->out, buf_span(&l->rows));
		l->out.failed = l->out.failed || l->rows.failed;
	}
	render_list_end(&l->render, &meta, &l->out);
	buf_done(&token);
	l->complete = true;
}

static void take_row(struct list *l, const struct store_object *o)
{
	struct buf *out = l->collect ? &l->rows : &l->out;
	if (selector_matches_row(&l->options.selector, o)) {
		render_list_item(&l->render, o, l->given == 0, out);
		l->given++;
	}
	if (l->counted && l->remaining != CONTINUE_UNKNOWN && l->remaining)
		l->remaining--;
	remember(l, &o->key);
}

/* One read transaction. Sets l->complete at the end of the list or page. */
static int read_rows(struct call *c, struct list *l, struct store_reader *reader,
		     struct err *reterr)
{
	struct store_range range = {
	    .type = c->kind->type, .ns = c->info.ns, .after = l->has_last ? &l->last : NULL};
	struct store_iter *it = NULL;
	struct store_object o;
	size_t from = c->accept.yaml ? l->out.len : 0; /* all slices stay, of what is translated */
	int r, e = 0, rows = 0;
	range.at_revision = l->revision == store_reader_revision(reader) ? 0 : l->revision;
	r = store_iter_begin(reader, &range, &it, reterr);
	if (r)
		return r;
	for (;;) {
		if (!l->collect && l->out.len - from >= SLICE_BYTES)
			break;
		if (rows++ >= SLICE_ROWS)
			break;
		if (!store_iter_next(it, &o, &e)) {
			if (!e)
				finish_list(c, l);
			break;
		}
		if (l->options.limit && l->given >= l->options.limit) {
			l->more = true;
			finish_list(c, l);
			break;
		}
		take_row(l, &o);
	}
	store_iter_end(it);
	return e == -ETIME ? e : e ? read_failed(e, reterr) : 0;
}

/* A list of the one object that a field selector names needs no scan. */
static bool read_one(struct call *c, struct list *l, struct store_reader *reader)
{
	struct span name = selector_name(&l->options.selector);
	struct store_key key = {c->kind->type, c->info.ns.ptr ? c->info.ns : SPAN(""), name};
	struct store_object o;
	bool known_ns = c->kind->scope == KIND_CLUSTER || c->info.ns.ptr;
	if (!name.len || name.len > STORE_MAX_NAME || !known_ns || l->has_last ||
	    l->options.match == MATCH_EXACT)
		return false;
	if (store_get(reader, &key, &o) == 0)
		take_row(l, &o);
	finish_list(c, l);
	return true;
}

static int begin(struct call *c, struct list *l, struct store_reader *reader, struct err *reterr)
{
	uint64_t now = store_reader_revision(reader);
	size_t n = 0;
	if (l->options.has_revision && l->options.revision > now) {
		read_fail_future(c, l->options.revision, now);
		return -ECANCELED;
	}
	if (!l->revision)
		l->revision = l->options.match == MATCH_EXACT ? l->options.revision : now;
	if (l->options.limit && selector_is_empty(&l->options.selector) && !l->has_last &&
	    l->revision == now &&
	    store_count(reader, c->kind->type, c->info.ns, SIZE_MAX, &n) == 0) {
		l->counted = true;
		l->remaining = n;
	}
	l->collect = l->render.form == FORM_TABLE && l->options.limit;
	if (!l->collect)
		render_list_begin(&l->render, l->revision, &l->out);
	l->begun = true;
	return 0;
}

/* One slice, or for a collected table all of them. */
static int read_slices(struct call *c, struct list *l, struct err *reterr)
{
	int r = 0;
	do {
		auto_reader *reader = NULL;
		r = store_read_begin(call_store(c), &reader, reterr);
		l->jobs.reader = reader;
		if (!r && !l->begun)
			r = begin(c, l, reader, reterr);
		if (!r && !read_one(c, l, reader))
			r = read_rows(c, l, reader, reterr);
		if (!r && c->accept.yaml && l->out.len > YAML_BYTES)
			return err_set(
			    reterr, ERR_NOT_ACCEPTABLE,
			    "a list of more than %d MiB is not sent as application/yaml: "
			    "ask for it with a limit, or as application/json",
			    (int)(YAML_BYTES >> 20));
	} while (!r && !l->complete &&
		 (l->collect || c->accept.yaml || l->out.len < SLICE_BYTES / 4));
	return r;
}

/* 410 with a token that goes on at the newest revision (kubernetes-api.md 1.9). */
static void fail_expired(struct call *c, struct list *l)
{
	static const char metadata[] = "\"metadata\":{";
	struct buf token = BUF_INIT, body = BUF_INIT;
	char *at;
	if (!l->options.continue_text.len) {
		call_failf(c, ERR_EXPIRED, "The resourceVersion for the provided list is too old.");
		return;
	}
	call_failf(
	    c, ERR_EXPIRED,
	    "The provided continue parameter is too old to display a consistent list result. "
	    "You can start a new list without the continue parameter, or use the continue "
	    "token in this response to retrieve the remainder of the results. Continuing "
	    "with the provided token results in an inconsistent list.");
	write_token(c, l, true, &token);
	at = c->answer.body.ptr ? strstr(c->answer.body.ptr, metadata) : NULL;
	if (at) {
		size_t head = (size_t)(at - c->answer.body.ptr) + sizeof(metadata) - 1;
		buf_add(&body, c->answer.body.ptr, head);
		buf_addf(&body, "\"continue\":\"%.*s\"", (int)token.len, token.ptr);
		buf_add(&body, c->answer.body.ptr + head, c->answer.body.len - head);
		buf_done(&c->answer.body);
		c->answer.body = body;
	}
	buf_done(&token);
}

static void stream(struct call *c);
static void list_step(struct call *c);

static void finish(struct call *c)
{
	list_done(c->state);
	call_finish(c);
}

static void abandon(struct call *c)
{
	list_done(c->state);
	c->answer.code = 200;
	call_count(c);
	http_abort(c->x);
}

static void end_stream(struct call *c)
{
	list_done(c->state);
	call_count(c);
	http_stream_end(c->x);
}

/* The slice that has come is sent from now on, and the next one read meanwhile. */
static void take_slice(struct call *c)
{
	struct list *l = c->state;
	struct buf sent = l->sending;
	l->sending = l->out;
	l->out = sent;
	l->arrived = false;
	l->busy = true;
	l->ends = l->complete;
	if (!l->ends) {
		l->reading = true;
		call_to_worker(c, list_step);
	}
	if (l->sending.len) /* what was compressed may be to come yet */
		http_stream_lend(c->x, buf_span(&l->sending));
	http_stream_want(c->x);
}

/* All of the slice is out. */
static void on_sent(struct call *c)
{
	struct list *l = c->state;
	l->busy = false;
	if (l->ends)
		end_stream(c);
	else if (l->arrived)
		take_slice(c);
}

/* A worker that reads comes back to stream(), which sees that the client is gone. */
static void on_gone(struct call *c)
{
	struct list *l = c->state;
	if (!l->reading)
		abandon(c);
}

static void begin_stream(struct call *c, const struct list *l)
{
	if (l->use_gzip)
		buf_add_str(&c->answer.headers, "Content-Encoding: gzip\r\n");
	(void)call_stream(c, false);
}

/* On the loop, with a slice. */
static void stream(struct call *c)
{
	struct list *l = c->state;
	l->reading = false;
	if (c->gone || l->out.failed) {
		abandon(c);
		return;
	}
	if (!c->x->streaming)
		begin_stream(c, l);
	c->on_gone = on_gone;
	c->on_writable = on_sent;
	l->arrived = true;
	if (!l->busy)
		take_slice(c);
}

static void leave_head(struct buf *out)
{
	static const char room[HTTP_CHUNK_HEAD];
	buf_add(out, room, sizeof(room));
}

static void compress_slice(struct list *l)
{
	struct span text = span_make(l->out.ptr + l->head, l->out.len - l->head);
	struct buf z = BUF_INIT;
	leave_head(&z);
	if (!gzip_add(&l->gzip, text, l->complete, &z))
		z.failed = true;
	buf_done(&l->out);
	l->out = z;
	l->head = HTTP_CHUNK_HEAD;
}

/* The slice becomes a chunk. The first one was not known to be one: it moves. */
static void frame_slice(struct list *l)
{
	size_t len = l->out.len - l->head;
	char *room = buf_reserve(&l->out, HTTP_CHUNK_HEAD - l->head + HTTP_CHUNK_TAIL);
	if (!room)
		return; /* it has failed */
	if (!len) {
		buf_clear(&l->out);
		return;
	}
	if (!l->head)
		memmove(l->out.ptr + HTTP_CHUNK_HEAD, l->out.ptr, len);
	buf_advance(&l->out, HTTP_CHUNK_HEAD - l->head + HTTP_CHUNK_TAIL);
	http_chunk_frame(l->out.ptr, len);
}

/* What the slice is now goes to the loop. */
static void deliver(struct call *c)
{
	struct list *l = c->state;
	int r = l->result;
	job_columns_fill(&l->jobs, l->rows_at, &l->out);
	if (!l->streaming && (r || l->complete)) {
		if (r == -ETIME)
			fail_expired(c, l);
		else if (r && r != -ECANCELED)
			call_fail(c, &l->err);
		else if (!r) {
			call_ok(c, 200, "application/json");
			c->answer.body = l->out;
			l->out = BUF_INIT;
		}
		call_to_loop(c, finish);
		return;
	}
	if (!l->streaming) {
		l->streaming = true;
		c->answer.code = 200;
		l->use_gzip = negotiate_gzip(c->request->accept_encoding) && gzip_begin(&l->gzip);
	}
	if (r)
		l->out.failed = true;
	else if (l->use_gzip)
		compress_slice(l);
	frame_slice(l);
	call_to_loop(c, stream);
}

static void list_step(struct call *c)
{
	struct list *l = c->state;
	buf_clear(&l->out);
	l->head = l->streaming ? HTTP_CHUNK_HEAD : 0;
	if (l->head)
		leave_head(&l->out);
	l->result = c->gone ? 0 : read_slices(c, l, &l->err);
	if (l->result || !job_columns_ask(c, &l->jobs, deliver))
		deliver(c);
}

static int use_token(struct call *c, struct list *l, struct err *reterr)
{
	struct continue_token t;
	struct buf mem = BUF_INIT;
	int r;
	if (!l->options.continue_text.len)
		return 0;
	r = continue_token_read(l->options.continue_text, call_token_key(c), &mem, &t, reterr);
	if (!r && (t.type != c->kind->type || t.selector_hash != l->hash ||
		   t.ns.len > STORE_MAX_NAMESPACE || t.name.len > STORE_MAX_NAME))
		r = err_set(reterr, ERR_BAD_REQUEST, "continue key is not valid for this request");
	if (!r) {
		struct store_key key = {t.type, t.ns, t.name};
		remember(l, &key);
		l->revision = t.revision;
		l->remaining = t.remaining;
		l->counted = t.remaining != CONTINUE_UNKNOWN;
	}
	buf_done(&mem);
	return r;
}

void call_list(struct call *c)
{
	struct list *l = arena_new(c->mem, struct list);
	struct err e = ERR_INIT;
	int r = read_options_render(c, &l->render, &e);
	c->state = l;
	l->jobs.ask = !r && l->render.form == FORM_TABLE;
	l->render.jobs = &l->jobs;
	l->remaining = CONTINUE_UNKNOWN;
	l->rows.max = l->out.max = l->sending.max = (size_t)64 << 20;
	if (!r)
		r = read_options_parse(c, false, &l->options, &e);
	if (!r) {
		l->hash = continue_selector_hash(c->info.ns, l->options.labels, l->options.fields);
		r = use_token(c, l, &e);
	}
	if (!r) {
		call_to_worker(c, list_step);
		return;
	}
	call_fail(c, &e);
	finish(c);
}
