#include "store/lmdb_store.h"

#include <errno.h>

int lmdb_error(int rc, const char *what, struct err *reterr)
{
	switch (rc) {
	case MDB_MAP_FULL:
		return err_set(reterr, ERR_NO_SPACE,
			       "the store is full: %s: it has reached its greatest size", what);
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return err_set(reterr, ERR_NO_SPACE, "the store's disk is full: %s: %s", what,
			       mdb_strerror(rc));
	case MDB_TXN_FULL:
		return err_set(reterr, ERR_TOO_LARGE, "the store: %s: the batch is too large",
			       what);
	case MDB_READERS_FULL:
	case MDB_TLS_FULL:
		return err_set(reterr, ERR_UNAVAILABLE, "the store: %s: too many readers", what);
	case MDB_VERSION_MISMATCH:
	case MDB_INVALID:
		return err_set(reterr, ERR_INTERNAL,
			       "the store: %s: not a store of this program (%s)", what,
			       mdb_strerror(rc));
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case EBADMSG:
		return err_set(reterr, ERR_INTERNAL, "the store: %s: it is damaged (%s)", what,
			       mdb_strerror(rc));
	case EIO:
	case MDB_PANIC:
		return err_set(reterr, ERR_INTERNAL,
			       "the store: %s: I/O error, the process must end (%s)", what,
			       mdb_strerror(rc));
	default:
		return err_set(reterr, ERR_INTERNAL, "the store: %s: %s", what, mdb_strerror(rc));
	}
}

void lmdb_begin(struct lmdb_store *s, struct lmdb_txn *ret)
{
	*ret = (struct lmdb_txn){.store = s};
	ret->rc = mdb_txn_begin(s->env, NULL, 0, &ret->txn);
	ret->what = "begin";
	if (ret->rc != 0)
		ret->txn = NULL;
}

void lmdb_fail(struct lmdb_txn *t, int rc, const char *what)
{
	if (t->rc != 0 || rc == 0)
		return;
	t->rc = rc;
	t->what = what;
}

bool lmdb_get(struct lmdb_txn *t, MDB_dbi dbi, struct span key, struct span *ret)
{
	MDB_val k = lmdb_val(key), v;
	if (t->rc != 0)
		return false;
	int rc = mdb_get(t->txn, dbi, &k, &v);
	if (rc == 0)
		*ret = lmdb_span(v);
	else if (rc != MDB_NOTFOUND)
		lmdb_fail(t, rc, "read");
	return rc == 0;
}

static char *put(struct lmdb_txn *t, MDB_dbi dbi, struct span key, MDB_val *v, unsigned flags)
{
	MDB_val k = lmdb_val(key);
	if (t->rc == 0)
		lmdb_fail(t, mdb_put(t->txn, dbi, &k, v, flags), "write");
	return t->rc == 0 ? v->mv_data : NULL;
}

void lmdb_put(struct lmdb_txn *t, MDB_dbi dbi, struct span key, struct span value)
{
	MDB_val v = lmdb_val(value);
	(void)put(t, dbi, key, &v, 0);
}

char *lmdb_reserve(struct lmdb_txn *t, MDB_dbi dbi, struct span key, size_t n)
{
	MDB_val v = {.mv_size = n};
	return put(t, dbi, key, &v, MDB_RESERVE);
}

char *lmdb_append_log(struct lmdb_txn *t, uint64_t revision, size_t n)
{
	MDB_val k = {sizeof(revision), &revision}, v = {.mv_size = n};

	if (t->rc == 0 && !t->log)
		lmdb_fail(t, mdb_cursor_open(t->txn, t->store->log, &t->log), "open the log");
	if (t->rc == 0)
		lmdb_fail(t, mdb_cursor_put(t->log, &k, &v, MDB_APPEND | MDB_RESERVE),
			  "append to the log");
	return t->rc == 0 ? v.mv_data : NULL;
}

void lmdb_delete(struct lmdb_txn *t, MDB_dbi dbi, struct span key)
{
	MDB_val k = lmdb_val(key);
	if (t->rc != 0)
		return;
	int rc = mdb_del(t->txn, dbi, &k, NULL);
	if (rc != MDB_NOTFOUND)
		lmdb_fail(t, rc, "delete");
}

int lmdb_commit(struct lmdb_txn *t, struct err *reterr)
{
	/* LMDB frees the cursor of a write transaction with it. */
	if (t->rc != 0 && t->txn)
		mdb_txn_abort(t->txn);
	else if (t->txn)
		lmdb_fail(t, mdb_txn_commit(t->txn), "commit");
	t->txn = NULL;
	t->log = NULL;
	return t->rc == 0 ? 0 : lmdb_error(t->rc, t->what, reterr);
}

uint64_t lmdb_row_cost(const struct lmdb_store *s, size_t len)
{
	/* 16 bytes of page head or node head and key; half a page is where LMDB moves a value to
	 * pages of its own (libraries.md 2.2). */
	uint64_t bytes = len + 16, page = s->page_size;
	return bytes < page / 2 ? bytes : (bytes + page - 1) / page * page;
}

int lmdb_load_state(const struct lmdb_store *s, MDB_txn *txn, struct lmdb_state *ret)
{
	MDB_val k = lmdb_val(SPAN("state")), v;
	int rc = mdb_get(txn, s->main, &k, &v);
	if (rc != 0)
		return rc;
	if (v.mv_size != sizeof(*ret))
		return EBADMSG;
	memcpy(ret, v.mv_data, sizeof(*ret));
	return 0;
}
