/*
 * DELETE of a collection: what matches is deleted in batches of commands; an object that changed
 * in between is met again in the next pass. The answer is a Status, when all is done or on the
 * way (finalizers).
 */
#include "api/decode.h"
#include "api/delete.h"
#include "api/read_options.h"
#include "api/write.h"
#include "base/json.h"
#include <errno.h>
#include <stdatomic.h>

#define BATCH	   64
#define MAX_PASSES 5

struct collection {
	struct write write; /* first */
	struct delete_options options;
	struct read_options read;
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
	write_finish(c);
}

static void batch_done(struct call *c)
{
	struct collection *d = c->state;
	if (atomic_load(&d->any_conflict)) {
		d->conflicts = true;
		atomic_store(&d->any_conflict, false);
	}
	if (d->at_end && d->conflicts && ++d->passes < MAX_PASSES) {
		d->at_end = d->has_last = d->conflicts = false;
	} else if (d->at_end || atomic_load(&d->failed) || c->gone) {
		struct status_subject s = {.kind = c->kind};
		if (atomic_load(&d->failed)) {
			call_fail_with(c, &d->err, &s);
		} else {
			call_ok(c, 200, "application/json");
			status_success(&s, &c->answer.body);
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
	if (self->err.kind == ERR_CONFLICT)
		atomic_store(&d->any_conflict, true);
	else if (self->err.kind != ERR_NONE && self->err.kind != ERR_NOT_FOUND &&
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

static int plan_batch(struct call *c, struct command *out[BATCH], int *n, struct err *reterr)
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
	for (int rows = 0; !r && *n < BATCH && rows < 4000; rows++) {
		int planned;
		if (!store_iter_next(it, &o, &e)) {
			d->at_end = true;
			r = e ? read_failed(e, reterr) : 0;
			break;
		}
		remember(d, &o.key);
		if (!selector_matches_row(&d->read.selector, &o))
			continue;
		planned = delete_plan(c, &o, &d->options, &out[*n], reterr);
		if (planned < 0)
			r = planned;
		else if (planned == 0)
			(*n)++;
	}
	store_iter_end(it);
	return r;
}

static void next_batch(struct call *c)
{
	struct collection *d = c->state;
	struct backend *b = c->listener->backend;
	struct command *commands[BATCH];
	struct err e = ERR_INIT;
	int n = 0, r = plan_batch(c, commands, &n, &e);
	atomic_store(&d->waiting, 1);
	for (int i = 0; i < n; i++) {
		commands[i]->done = command_done;
		atomic_fetch_add(&d->waiting, 1);
		if (b->ops->submit(b, commands[i], r ? NULL : &e) < 0) {
			command_destroy(commands[i]);
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

void call_delete_collection(struct call *c)
{
	struct collection *d = arena_new(c->mem, struct collection);
	struct err e = ERR_INIT;
	int r = call_read_dry_run(c, &e);
	c->state = d;
	d->write.finish = finish;
	if (!r)
		r = read_options_parse(c, false, &d->read, &e);
	if (!r) {
		call_to_worker(c, begin);
		return;
	}
	call_fail(c, &e);
	finish(c);
}
