#include "store/lmdb_store.h"

#include <errno.h>

static int show(struct lmdb_reader *r, MDB_val k, MDB_val v,
		int (*each)(void *arg, const struct store_log_row *row), void *arg)
{
	struct row_log stored;
	struct store_log_row row = {0};

	if (k.mv_size != sizeof(row.revision) || row_log_read(lmdb_span(v), &stored) < 0)
		return -EIO;
	memcpy(&row.revision, k.mv_data, sizeof(row.revision));
	if (row.revision > r->base.revision)
		return 1;
	row.previous = stored.has_old ? stored.back : 0;
	row.op = stored.op;
	row.time = stored.time;
	row.object = stored.object;
	row.has_old = stored.has_old;
	if (store_key_decode(stored.key, &row.object.key) < 0)
		return -EIO;
	return each(arg, &row);
}

int lmdb_log_scan(struct store_reader *base, uint64_t after,
		  int (*each)(void *arg, const struct store_log_row *row), void *arg)
{
	struct lmdb_reader *r = (struct lmdb_reader *)base;
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
		e = show(r, k, v, each, arg);
		if (e == 0)
			rc = mdb_cursor_get(c, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(c);
	if (rc != 0 && rc != MDB_NOTFOUND)
		return -EIO;
	return e < 0 ? e : 0;
}

int lmdb_log_old(struct store_reader *base, const struct store_log_row *row, struct buf *out)
{
	struct lmdb_reader *r = (struct lmdb_reader *)base;
	uint64_t revision = row->revision;
	MDB_val k = {sizeof(revision), &revision}, v;
	struct row_log stored;

	if (mdb_get(r->txn, r->store->log, &k, &v) != 0 ||
	    row_log_read(lmdb_span(v), &stored) < 0 || !stored.has_old)
		return -EIO;
	size_t len = row_log_old_len(&stored);
	char *json = buf_reserve(out, len);
	if (!json)
		return err_errno(ERR_TOO_LARGE);
	row_log_old(&stored, json);
	buf_advance(out, len);
	return 0;
}
