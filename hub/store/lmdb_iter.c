#include "store/lmdb_store.h"

#include <errno.h>

struct lmdb_iter {
	struct store_iter base;
	struct lmdb_reader *reader;
	MDB_cursor *cursor;
	struct store_key_text prefix, after;
	bool started;
	uint64_t at; /* 0: now */
	struct buf json;
};

static int step(struct lmdb_iter *it, MDB_val *k, MDB_val *v)
{
	if (it->started)
		return mdb_cursor_get(it->cursor, k, v, MDB_NEXT);
	it->started = true;
	struct span from = store_key_span(&it->after);
	if (span_cmp(from, store_key_span(&it->prefix)) < 0)
		from = store_key_span(&it->prefix);
	*k = lmdb_val(from);
	int rc = mdb_cursor_get(it->cursor, k, v, MDB_SET_RANGE);
	if (rc == 0 && span_eq(lmdb_span(*k), store_key_span(&it->after)))
		rc = mdb_cursor_get(it->cursor, k, v, MDB_NEXT);
	return rc;
}

/* 0 and *ret filled, -ENOENT to skip the row, or another failure. */
static int state_of_row(struct lmdb_iter *it, struct span key, struct span bytes,
			struct store_object *ret)
{
	struct row_state row;
	struct store_object o;

	if (row_state_read(bytes, &row) < 0)
		return -EIO;
	if (it->at && row.object.revision > it->at) {
		int e = lmdb_past_state(it->reader, &row, it->at, &it->json, &o);
		if (e < 0)
			return e;
	} else if (row.tombstone) {
		return -ENOENT;
	} else {
		o = row.object;
	}
	if (store_key_decode(key, &o.key) < 0)
		return -EIO;
	*ret = o;
	return 0;
}

static bool iter_next(struct store_iter *base, struct store_object *ret, int *ret_err)
{
	struct lmdb_iter *it = (struct lmdb_iter *)base;
	MDB_val k, v;

	for (;;) {
		int rc = step(it, &k, &v);
		if (rc == MDB_NOTFOUND ||
		    (rc == 0 && !span_starts(lmdb_span(k), store_key_span(&it->prefix))))
			return false;
		int e = rc == 0 ? state_of_row(it, lmdb_span(k), lmdb_span(v), ret) : -EIO;
		if (e == 0)
			return true;
		if (e != -ENOENT) {
			*ret_err = e;
			return false;
		}
	}
}

static void iter_end(struct store_iter *base)
{
	struct lmdb_iter *it = (struct lmdb_iter *)base;
	mdb_cursor_close(it->cursor);
	buf_done(&it->json);
	free(it);
}

static const struct store_iter_ops ops = {.next = iter_next, .end = iter_end};

int lmdb_iter_begin(struct store_reader *base, const struct store_range *range,
		    struct store_iter **ret, struct err *reterr)
{
	struct lmdb_reader *r = (struct lmdb_reader *)base;
	MDB_cursor *cursor;
	int rc = mdb_cursor_open(r->txn, r->store->objects, &cursor);
	if (rc != 0)
		return lmdb_error(rc, "iterate", reterr);
	struct lmdb_iter *it = xcalloc(1, sizeof(*it));
	it->base.ops = &ops;
	it->reader = r;
	it->cursor = cursor;
	it->at = range->at_revision;
	store_key_prefix(range->type, range->ns, &it->prefix);
	if (range->after)
		store_key_encode(range->after, &it->after);
	*ret = &it->base;
	return 0;
}

int lmdb_count(struct store_reader *base, uint16_t type, struct span ns, size_t most, size_t *ret)
{
	struct store_iter *base_it;
	const struct store_range range = {.type = type, .ns = ns};
	MDB_val k, v;
	size_t n = 0;
	uint64_t revision;
	int e = lmdb_iter_begin(base, &range, &base_it, NULL);

	if (e < 0)
		return e;
	struct lmdb_iter *it = (struct lmdb_iter *)base_it;
	while (e == 0 && n < most) {
		int rc = step(it, &k, &v);
		if (rc == MDB_NOTFOUND ||
		    (rc == 0 && !span_starts(lmdb_span(k), store_key_span(&it->prefix))))
			break;
		int kind = rc == 0 ? row_state_peek(lmdb_span(v), &revision) : -1;
		if (kind < 0)
			e = -EIO;
		n += kind == 0;
	}
	iter_end(base_it);
	if (e == 0)
		*ret = n;
	return e;
}
