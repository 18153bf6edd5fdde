#include "store/sealed.h"

#include "store/backend.h"
#include "store/sealed_box.h"
#include "store/wrapped.h"

#include <errno.h>

struct sealed_store {
	struct wrapped_store wrapped;
	struct sealed_keys *keys;
	const uint16_t *types;
	size_t n_types;
};

struct sealed_reader {
	struct wrapped_reader wrapped;
	struct sealed_store *store;
	struct arena mem; /* what was opened */
};

struct sealed_iter {
	struct store_iter base;
	struct store_iter *inner;
	struct sealed_store *store;
	bool past; /* at an older revision: a lost key counts as trimmed */
	struct arena mem;
};

static struct sealed_store *self(const struct store *s)
{
	return (struct sealed_store *)(uintptr_t)s;
}

static bool is_ours(const struct sealed_store *s, uint16_t type)
{
	for (size_t i = 0; i < s->n_types; i++)
		if (s->types[i] == type)
			return true;
	return false;
}

/* Opens in place when it is sealed. -EIO, or -ETIME for a key that is gone from the past. */
static int open_object(const struct sealed_store *s, struct store_object *o, bool past,
		       struct arena *mem)
{
	int r;
	if (!is_ours(s, o->key.type) || !sealed_box_is(o->json))
		return 0;
	r = sealed_box_open(s->keys, &o->key, o->json, mem, &o->json, &o->extents);
	return r == 0 ? 0 : r == -ENOENT && past ? -ETIME : -EIO;
}

/* ---- reader ---- */

static void reader_end(struct store_reader *r)
{
	struct sealed_reader *sr = (struct sealed_reader *)r;
	store_read_end(sr->wrapped.inner);
	arena_done(&sr->mem);
	free(sr);
}

static int reader_get(struct store_reader *r, const struct store_key *key, uint64_t at,
		      struct store_object *ret)
{
	struct sealed_reader *sr = (struct sealed_reader *)r;
	struct store_object o;
	int e = sr->wrapped.inner->ops->get(sr->wrapped.inner, key, at, &o);
	if (!e)
		e = open_object(sr->store, &o, at != 0, &sr->mem);
	if (!e)
		*ret = o;
	return e;
}

static bool iter_next(struct store_iter *it, struct store_object *ret, int *ret_err)
{
	struct sealed_iter *si = (struct sealed_iter *)it;
	int e;
	if (!si->inner->ops->next(si->inner, ret, ret_err))
		return false;
	arena_reset(&si->mem);
	e = open_object(si->store, ret, si->past, &si->mem);
	if (e < 0)
		*ret_err = e;
	return e == 0;
}

static void iter_end(struct store_iter *it)
{
	struct sealed_iter *si = (struct sealed_iter *)it;
	si->inner->ops->end(si->inner);
	arena_done(&si->mem);
	free(si);
}

static const struct store_iter_ops iter_ops = {.next = iter_next, .end = iter_end};

static int reader_iter_begin(struct store_reader *r, const struct store_range *range,
			     struct store_iter **ret, struct err *reterr)
{
	struct sealed_reader *sr = (struct sealed_reader *)r;
	struct sealed_iter *si;
	struct store_iter *inner;
	int e = sr->wrapped.inner->ops->iter_begin(sr->wrapped.inner, range, &inner, reterr);
	if (e < 0 || !is_ours(sr->store, range->type)) {
		if (!e)
			*ret = inner;
		return e;
	}
	si = xcalloc(1, sizeof(*si));
	si->base.ops = &iter_ops;
	si->inner = inner;
	si->store = sr->store;
	si->past = range->at_revision != 0;
	*ret = &si->base;
	return 0;
}

struct scan {
	struct sealed_store *store;
	int (*each)(void *arg, const struct store_log_row *row);
	void *arg;
	struct arena mem;
};

static int on_row(void *arg, const struct store_log_row *row)
{
	struct scan *s = arg;
	struct store_log_row plain;
	int e;
	if (!is_ours(s->store, row->object.key.type))
		return s->each(s->arg, row);
	plain = *row;
	arena_reset(&s->mem);
	e = open_object(s->store, &plain.object, true, &s->mem);
	if (e == -ETIME) {
		plain.object.json = SPAN_NONE;
		plain.object.extents = (struct store_extents){0};
	} else if (e < 0) {
		return e;
	}
	return s->each(s->arg, &plain);
}

static int reader_log_scan(struct store_reader *r, uint64_t after, const uint16_t *only,
			   int (*each)(void *arg, const struct store_log_row *row), void *arg)
{
	struct sealed_reader *sr = (struct sealed_reader *)r;
	struct scan s = {.store = sr->store, .each = each, .arg = arg};
	int e = sr->wrapped.inner->ops->log_scan(sr->wrapped.inner, after, only, on_row, &s);
	arena_done(&s.mem);
	return e;
}

static int reader_log_old(struct store_reader *r, const struct store_log_row *row, struct buf *out)
{
	struct sealed_reader *sr = (struct sealed_reader *)r;
	struct store_object old = {.key = row->object.key};
	auto_arena mem = ARENA_INIT;
	struct buf box = BUF_INIT;
	int e;
	if (!is_ours(sr->store, row->object.key.type))
		return sr->wrapped.inner->ops->log_old(sr->wrapped.inner, row, out);
	e = sr->wrapped.inner->ops->log_old(sr->wrapped.inner, row, &box);
	old.json = buf_span(&box);
	if (!e)
		e = open_object(sr->store, &old, true, &mem);
	if (!e)
		buf_add_span(out, old.json);
	buf_done(&box);
	return e ? e : buf_ok(out) ? 0 : err_errno(ERR_TOO_LARGE);
}

static const struct store_reader_ops reader_ops = {
    .end = reader_end,
    .get = reader_get,
    .get_aux = wrapped_reader_get_aux,
    .iter_begin = reader_iter_begin,
    .scan_aux = wrapped_reader_scan_aux,
    .dependents = wrapped_reader_dependents,
    .count = wrapped_reader_count,
    .log_scan = reader_log_scan,
    .log_old = reader_log_old,
};

/* ---- store ---- */

static int sealed_read_begin(struct store *s, struct store_reader **ret, struct err *reterr)
{
	struct store_reader *inner;
	struct sealed_reader *r;
	int e = store_read_begin(self(s)->wrapped.inner, &inner, reterr);
	if (e < 0)
		return e;
	r = xcalloc(1, sizeof(*r));
	r->wrapped.base = (struct store_reader){&reader_ops, inner->revision, inner->floor};
	r->wrapped.inner = inner;
	r->store = self(s);
	*ret = &r->wrapped.base;
	return 0;
}

static bool is_to_be_sealed(const struct sealed_store *s, const struct store_change *c)
{
	return c->op == STORE_PUT && is_ours(s, c->key.type);
}

static int seal_batch(struct sealed_store *s, struct store_change *changes, size_t n, usec now,
		      struct err *reterr)
{
	struct store_change *sealed = xcalloc(n, sizeof(*sealed));
	struct buf *boxes = xcalloc(n, sizeof(*boxes));
	int e = 0;
	memcpy(sealed, changes, n * sizeof(*sealed));
	for (size_t i = 0; i < n && !e; i++) {
		if (!is_to_be_sealed(s, &changes[i]))
			continue;
		e = sealed_box_seal(s->keys, &changes[i].key, changes[i].json, &changes[i].extents,
				    &boxes[i], &sealed[i].extents, reterr);
		sealed[i].json = buf_span(&boxes[i]);
	}
	/* A box may be a little over STORE_MAX_OBJECT: what is in it was checked already. */
	if (!e)
		e = s->wrapped.inner->ops->apply(s->wrapped.inner, sealed, n, now, reterr);
	for (size_t i = 0; i < n; i++) {
		changes[i].ret_revision = sealed[i].ret_revision;
		changes[i].ret_create_revision = sealed[i].ret_create_revision;
		buf_done(&boxes[i]);
	}
	free(sealed);
	free(boxes);
	return e;
}

static int sealed_apply(struct store *s, struct store_change *changes, size_t n, usec now,
			struct err *reterr)
{
	for (size_t i = 0; i < n; i++)
		if (is_to_be_sealed(self(s), &changes[i]))
			return seal_batch(self(s), changes, n, now, reterr);
	return self(s)->wrapped.inner->ops->apply(self(s)->wrapped.inner, changes, n, now, reterr);
}

static void sealed_close(struct store *s)
{
	store_close(self(s)->wrapped.inner);
	sealed_keys_close(self(s)->keys);
	free(s);
}

static const struct store_ops ops = {
    .close = sealed_close,
    .apply = sealed_apply,
    .revision = wrapped_revision,
    .floor = wrapped_floor,
    .incarnation = wrapped_incarnation,
    .has_room = wrapped_has_room,
    .stats = wrapped_stats,
    .read_begin = sealed_read_begin,
};

struct store *sealed_open(struct store *take_inner, struct sealed_keys *take_keys,
			  const uint16_t *types, size_t n_types)
{
	struct sealed_store *s = xcalloc(1, sizeof(*s));
	s->wrapped.base.ops = &ops;
	s->wrapped.inner = take_inner;
	s->keys = take_keys;
	s->types = types;
	s->n_types = n_types;
	return &s->wrapped.base;
}

int sealed_is_stale(struct store *s, const struct store_key *key, bool *ret)
{
	auto_reader *reader = NULL;
	struct store_object o;
	size_t index;
	int r = store_read_begin(self(s)->wrapped.inner, &reader, NULL);
	if (!r)
		r = store_get(reader, key, &o);
	if (r < 0)
		return r;
	*ret = true;
	if (!sealed_box_is(o.json))
		return 0;
	if (sealed_box_key(self(s)->keys, o.json, &index) < 0)
		return -EIO;
	*ret = index != 0;
	return 0;
}
