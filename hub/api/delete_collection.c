/*
 * DELETE of a collection: what matches is deleted in batches of commands; an object that changed
 * in between is met again in the next pass.
 *
 * The answer is kube-apiserver's (registry/generic/registry, DeleteCollection): the list of what is
 * deleted or on the way (finalizers), each as it was before. With a limit that many are, and the
 * list has a token for the rest. A list that would be over ANSWER_MAX is a Status instead: what was
 * deleted cannot be read again, slice by slice. What nobody may delete (the system's
 * PriorityClasses) stays, and is not in the list; kube-apiserver takes these too.
 */
#include "api/continue_token.h"
#include "api/decode.h"
#include "api/delete.h"
#include "api/read_options.h"
#include "api/render.h"
#include "api/write.h"
#include "base/json.h"
#include <errno.h>
#include <stdatomic.h>

#define BATCH	   64
#define MAX_PASSES 5
#define ANSWER_MAX ((size_t)16 << 20)

/* One object of a batch: its command until that ends, and its text in `texts`. */
struct victim {
	struct command *command; /* NULL: nothing to do for it */
	bool kept;		 /* it could not be, or may not be deleted */
	size_t at, len;
};

struct collection {
	struct write write; /* first */
	struct delete_options options;
	struct read_options read;
	struct render render;
	struct buf texts; /* of the batch, as the client wants them */
	struct buf list;  /* of those that are deleted */
	bool too_long;	  /* the list is */
	bool begun, more;
	int64_t given;
	uint64_t hash; /* of continue tokens */
	struct victim victims[BATCH];
	int n_victims;
	int passes;
	bool has_last, conflicts, at_end;
	char last_ns[STORE_MAX_NAMESPACE + 1], last_name[STORE_MAX_NAME + 1];
	struct store_key last;
	_Atomic int waiting; /* commands under way, and one while they are being sent */
	_Atomic bool any_conflict;
	struct err err; /* the first failure; written before `failed` is */
	_Atomic bool failed;
};

static void next_batch(struct call *c);

static void finish(struct call *c)
{
	struct collection *d = c->state;
	json_free(d->options.tree);
	d->options.tree = NULL;
	read_options_done(&d->read);
	buf_done(&d->texts);
	buf_done(&d->list);
	write_finish(c);
}

static void answer(struct call *c, struct collection *d)
{
	struct status_subject s = {.kind = c->kind};
	struct table_meta meta = {.revision = store_revision(call_store(c)), .remaining = -1};
	auto_buf token = BUF_INIT;

	call_ok(c, 200, "application/json");
	if (d->too_long || !buf_ok(&d->list)) {
		status_success(&s, &c->answer.body);
		return;
	}
	if (d->more) {
		/* What follows is deleted as it is then: the token goes on at the newest revision.
		 */
		struct continue_token t = {.type = c->kind->type,
					   .ns = d->last.ns,
					   .name = d->last.name,
					   .selector_hash = d->hash,
					   .remaining = CONTINUE_UNKNOWN};
		continue_token_write(&t, call_token_key(c), &token);
		meta.continue_token = buf_span(&token);
	}
	if (!d->begun)
		render_list_begin(&d->render, meta.revision, &d->list);
	render_list_end(&d->render, &meta, &d->list);
	buf_done(&c->answer.body);
	c->answer.body = d->list;
	d->list = BUF_INIT;
}

/* Those of the batch that are deleted go into the list. */
static void list_batch(struct call *c, struct collection *d)
{
	for (int i = 0; i < d->n_victims; i++) {
		const struct victim *v = &d->victims[i];
		if (v->kept)
			continue;
		d->given++;
		if (d->too_long || d->list.len + v->len > ANSWER_MAX) {
			d->too_long = true;
			continue;
		}
		if (!d->begun)
			render_list_begin(&d->render, store_revision(call_store(c)), &d->list);
		else
			buf_add_char(&d->list, ',');
		d->begun = true;
		buf_add(&d->list, d->texts.ptr + v->at, v->len);
	}
	d->n_victims = 0;
	buf_clear(&d->texts);
}

static void batch_done(struct call *c)
{
	struct collection *d = c->state;
	list_batch(c, d);
	if (atomic_load(&d->any_conflict)) {
		d->conflicts = true;
		atomic_store(&d->any_conflict, false);
	}
	if (d->at_end && !d->more && d->conflicts && !d->read.continue_text.len &&
	    ++d->passes < MAX_PASSES) {
		d->at_end = d->has_last = d->conflicts = false;
	} else if (d->at_end || atomic_load(&d->failed) || c->gone) {
		struct status_subject s = {.kind = c->kind};
		if (d->err.kind == ERR_CONFLICT) { /* the last that was looked at */
			s.name = d->last_name;
			s.of_kind = true;
		}
		if (atomic_load(&d->failed)) {
			call_fail_with(c, &d->err, &s);
		} else {
			answer(c, d);
		}
		finish(c);
		return;
	}
	call_to_worker(c, next_batch);
}

static void one_less(struct call *c)
{
	struct collection *d = c->state;
	if (atomic_fetch_sub(&d->waiting, 1) == 1)
		call_to_loop(c, batch_done);
}

static void command_done(struct command *self)
{
	struct call *c = self->origin;
	struct collection *d = c->state;
	bool expected = false;
	for (int i = 0; i < d->n_victims; i++)
		if (d->victims[i].command == self)
			d->victims[i].kept = self->err.kind != ERR_NONE;
	if (self->err.kind == ERR_CONFLICT)
		atomic_store(&d->any_conflict, true);
	else if (self->err.kind != ERR_NONE && self->err.kind != ERR_NOT_FOUND &&
		 self->err.kind != ERR_FORBIDDEN &&
		 atomic_compare_exchange_strong(&d->failed, &expected, true))
		d->err = self->err; /* commands end on one thread, the core's */
	command_destroy(self);
	one_less(c);
}

static void remember(struct collection *d, const struct store_key *k)
{
	d->last = (struct store_key){k->type, {d->last_ns, k->ns.len}, {d->last_name, k->name.len}};
	if (k->ns.len)
		memcpy(d->last_ns, k->ns.ptr, k->ns.len);
	memcpy(d->last_name, k->name.ptr, k->name.len);
	d->has_last = true;
}

static int plan_one(struct call *c, struct collection *d, const struct store_object *o,
		    struct err *reterr)
{
	struct victim *v = &d->victims[d->n_victims];
	*v = (struct victim){.at = d->texts.len};
	int planned = delete_plan(c, o, &d->options, &v->command, reterr);
	if (planned < 0)
		return planned;
	if (planned == 1 && d->passes)
		return 0; /* listed in an earlier pass, or another's */
	if (!d->too_long)
		render_list_item(&d->render, o, true, &d->texts);
	v->len = d->texts.len - v->at;
	d->n_victims++;
	return 0;
}

static bool is_full(const struct collection *d)
{
	return d->n_victims == BATCH || d->texts.len > ANSWER_MAX / 16;
}

static int plan_batch(struct call *c, struct err *reterr)
{
	struct collection *d = c->state;
	struct store_range range = {
	    .type = c->kind->type, .ns = c->info.ns, .after = d->has_last ? &d->last : NULL};
	auto_reader *reader = NULL;
	struct store_iter *it = NULL;
	struct store_object o;
	int e = 0, r = store_read_begin(call_store(c), &reader, reterr);
	if (!r)
		r = store_iter_begin(reader, &range, &it, reterr);
	for (int rows = 0; !r && !is_full(d) && rows < 4000; rows++) {
		if (!store_iter_next(it, &o, &e)) {
			d->at_end = true;
			r = e ? read_failed(e, reterr) : 0;
			break;
		}
		bool matches = selector_matches_row(&d->read.selector, &o);
		if (matches && d->read.limit && d->given + d->n_victims >= d->read.limit) {
			d->at_end = d->more = true;
			break;
		}
		remember(d, &o.key);
		if (matches)
			r = plan_one(c, d, &o, reterr);
	}
	store_iter_end(it);
	return r;
}

static void next_batch(struct call *c)
{
	struct collection *d = c->state;
	struct backend *b = c->listener->backend;
	struct err e = ERR_INIT;
	int r = plan_batch(c, &e), n = d->n_victims;
	atomic_store(&d->waiting, 1);
	for (int i = 0; i < n; i++) {
		struct victim *v = &d->victims[i];
		if (!v->command)
			continue;
		v->command->done = command_done;
		atomic_fetch_add(&d->waiting, 1);
		if (b->ops->submit(b, v->command, r ? NULL : &e) < 0) {
			command_destroy(v->command);
			v->kept = true;
			atomic_fetch_sub(&d->waiting, 1);
			r = -EBUSY;
		}
	}
	if (r) {
		bool expected = false;
		if (atomic_compare_exchange_strong(&d->failed, &expected, true))
			d->err = e;
	}
	one_less(c);
}

static void begin(struct call *c)
{
	struct collection *d = c->state;
	struct err e = ERR_INIT;
	if (delete_options_read(c, &d->options, &e) == 0) {
		next_batch(c);
		return;
	}
	call_fail(c, &e);
	call_to_loop(c, finish);
}

/* Where an earlier answer ended. */
static int use_token(struct call *c, struct collection *d, struct err *reterr)
{
	struct continue_token t;
	auto_buf mem = BUF_INIT;
	int r;
	d->hash = continue_selector_hash(c->info.ns, d->read.labels, d->read.fields);
	if (!d->read.continue_text.len)
		return 0;
	r = continue_token_read(d->read.continue_text, call_token_key(c), &mem, &t, reterr);
	if (r)
		return r;
	if (t.type != c->kind->type || t.selector_hash != d->hash ||
	    t.ns.len > STORE_MAX_NAMESPACE || t.name.len > STORE_MAX_NAME)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "continue key is not valid for this request");
	struct store_key key = {t.type, t.ns, t.name};
	remember(d, &key);
	return 0;
}

void call_delete_collection(struct call *c)
{
	struct collection *d = arena_new(c->mem, struct collection);
	struct err e = ERR_INIT;
	int r = call_read_dry_run(c, &e);
	c->state = d;
	d->write.finish = finish;
	if (!r)
		r = read_options_parse(c, false, &d->read, &e);
	if (!r)
		r = read_options_render(c, &d->render, &e);
	if (!r)
		r = use_token(c, d, &e);
	d->texts.max = ANSWER_MAX;
	d->list.max = 2 * ANSWER_MAX;
	if (!r) {
		call_to_worker(c, begin);
		return;
	}
	call_fail(c, &e);
	finish(c);
}
