#include "store/lmdb_store.h"

#include <errno.h>

static bool due(const struct lmdb_store *s, const struct lmdb_state *state,
		const struct lmdb_trim *trim, const struct row_log *row)
{
	return trim->pressure || state->log_bytes > s->options.log_max_bytes ||
	       row->time < trim->now - s->options.log_max_age;
}

/* A tombstone goes with the row that made it, unless the object came back since. */
static void remove_tombstone(struct lmdb_txn *t, struct span key, uint64_t revision)
{
	struct store_key_text copy;
	uint64_t current;
	struct span row;

	if (!lmdb_get(t, t->store->objects, key, &row))
		return;
	int kind = row_state_peek(row, &current);
	if (kind < 0)
		lmdb_fail(t, EBADMSG, "read an object row");
	if (kind != 1 || current != revision || key.len > sizeof(copy.bytes))
		return;
	copy.len = key.len;
	memcpy(copy.bytes, key.ptr, key.len);
	lmdb_delete(t, t->store->objects, store_key_span(&copy));
}

/* Drops the oldest row if it is due; false when there is nothing more to do. */
static bool drop_oldest(struct lmdb_txn *t, MDB_cursor *c, struct lmdb_state *state,
			const struct lmdb_trim *trim)
{
	MDB_val k, v;
	struct row_log row;
	uint64_t revision;

	int rc = mdb_cursor_get(c, &k, &v, MDB_FIRST);
	if (rc == MDB_NOTFOUND)
		return false;
	if (rc == 0 && (k.mv_size != sizeof(revision) || row_log_read(lmdb_span(v), &row) < 0))
		rc = EBADMSG;
	if (rc != 0) {
		lmdb_fail(t, rc, "read the log");
		return false;
	}
	memcpy(&revision, k.mv_data, sizeof(revision));
	if (revision > trim->before || !due(t->store, state, trim, &row))
		return false;
	uint64_t cost = lmdb_row_cost(t->store, v.mv_size);
	state->log_bytes -= cost < state->log_bytes ? cost : state->log_bytes;
	state->log_rows--;
	state->floor = revision;
	if (row.op == STORE_LOG_DELETED)
		remove_tombstone(t, row.key, revision);
	lmdb_fail(t, mdb_cursor_del(c, 0), "trim the log");
	return t->rc == 0;
}

void lmdb_trim(struct lmdb_txn *t, struct lmdb_state *state, const struct lmdb_trim *trim)
{
	MDB_cursor *c;
	size_t budget = trim->rows_written * STORE_TRIM_PER_ROW;

	if (t->rc != 0)
		return;
	int rc = mdb_cursor_open(t->txn, t->store->log, &c);
	if (rc != 0) {
		lmdb_fail(t, rc, "open the log");
		return;
	}
	while (budget-- > 0 && drop_oldest(t, c, state, trim))
		;
	mdb_cursor_close(c);
}
