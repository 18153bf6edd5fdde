#include "store/lmdb_store.h"

#include <errno.h>

struct walk {
	struct lmdb_reader *reader;
	const uint16_t *only;
	int (*each)(void *arg, const struct store_log_row *row);
	void *arg;
	struct buf json; /* what had to be rebuilt */
};

static int show(struct walk *w, MDB_val k, MDB_val v)
{
	struct row_log stored;
	struct store_log_row row = {0};

	if (k.mv_size != sizeof(row.revision) || row_log_read(lmdb_span(v), &stored) < 0)
		return -EIO;
	memcpy(&row.revision, k.mv_data, sizeof(row.revision));
	if (row.revision > w->reader->base.revision)
		return 1;
	row.previous = stored.has_old ? stored.back : 0;
	row.op = stored.op;
	row.time = stored.time;
	row.object = stored.object;
	row.object.json = SPAN_NONE;
	row.has_old = stored.has_old;
	if (store_key_decode(stored.key, &row.object.key) < 0)
		return -EIO;
	if (!w->only || *w->only == row.object.key.type) {
		int e = lmdb_past_new(w->reader, row.revision, &stored, &w->json, &row.object.json);
		if (e < 0)
			return e;
	}
	return w->each(w->arg, &row);
}

int lmdb_log_scan(struct store_reader *base, uint64_t after, const uint16_t *only,
		  int (*each)(void *arg, const struct store_log_row *row), void *arg)
{
	struct lmdb_reader *r = (struct lmdb_reader *)base;
	struct walk w = {r, only, each, arg, BUF_MAX(STORE_MAX_OBJECT * 2)};
	uint64_t from = after + 1;
	MDB_val k = {sizeof(from), &from}, v;
	MDB_cursor *c;
	int e = 0;

	if (after >= base->revision)
		return 0;
	if (mdb_cursor_open(r->txn, r->store->log, &c) != 0)
		return -EIO;
	int rc = mdb_cursor_get(c, &k, &v, MDB_SET_RANGE);
	while (rc == 0 && e == 0) {
		e = show(&w, k, v);
		if (e == 0)
			rc = mdb_cursor_get(c, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(c);
	buf_done(&w.json);
	if (rc != 0 && rc != MDB_NOTFOUND)
		return -EIO;
	return e < 0 ? e : 0;
}

int lmdb_log_old(struct store_reader *base, const struct store_log_row *row, struct buf *out)
{
	struct lmdb_reader *r = (struct lmdb_reader *)base;
	struct row_log stored;

	int e = lmdb_past_row(r, row->revision, &stored);
	return e < 0 ? e : lmdb_past_old(r, row->revision, &stored, out);
}
