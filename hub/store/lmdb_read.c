/*
 * Readers. A pooled reader keeps its LMDB reader slot and its cursor between uses: beginning one
 * is a renewal and one small read, cheap enough for every GET.
 */
#include "store/lmdb_store.h"

#include <errno.h>

/* Idle readers that are kept; each costs a slot and a few hundred bytes. */
#define MAX_POOL 64

static struct lmdb_reader *self(struct store_reader *r)
{
	return (struct lmdb_reader *)r;
}

static void destroy(struct lmdb_reader *r)
{
	if (r->objects)
		mdb_cursor_close(r->objects);
	if (r->txn)
		mdb_txn_abort(r->txn);
	arena_done(&r->mem);
	lmdb_past_done(r);
	free(r);
}

void lmdb_pool_done(struct lmdb_store *s)
{
	while (s->pool) {
		struct lmdb_reader *r = s->pool;
		s->pool = r->next;
		destroy(r);
	}
	s->n_pool = 0;
}

static struct lmdb_reader *take_pooled(struct lmdb_store *s)
{
	pthread_mutex_lock(&s->pool_lock);
	struct lmdb_reader *r = s->pool;
	if (r) {
		s->pool = r->next;
		s->n_pool--;
	}
	pthread_mutex_unlock(&s->pool_lock);
	return r;
}

static bool give_back(struct lmdb_store *s, struct lmdb_reader *r)
{
	pthread_mutex_lock(&s->pool_lock);
	bool kept = s->n_pool < MAX_POOL;
	if (kept) {
		r->next = s->pool;
		s->pool = r;
		s->n_pool++;
	}
	pthread_mutex_unlock(&s->pool_lock);
	return kept;
}

static void reader_end(struct store_reader *base)
{
	struct lmdb_reader *r = self(base);
	mdb_txn_reset(r->txn);
	r->cursor_current = false;
	arena_done(&r->mem);
	lmdb_past_done(r);
	if (!give_back(r->store, r))
		destroy(r);
}

int lmdb_get_row(struct lmdb_reader *r, struct span key, struct span *ret_key, struct span *ret_row)
{
	MDB_val k = lmdb_val(key), v;
	int rc = 0;

	if (!r->objects)
		rc = mdb_cursor_open(r->txn, r->store->objects, &r->objects);
	else if (!r->cursor_current)
		rc = mdb_cursor_renew(r->txn, r->objects);
	r->cursor_current = rc == 0;
	if (rc == 0)
		rc = mdb_cursor_get(r->objects, &k, &v, MDB_SET_KEY);
	if (rc != 0)
		return rc == MDB_NOTFOUND ? -ENOENT : -EIO;
	*ret_key = lmdb_span(k);
	*ret_row = lmdb_span(v);
	return 0;
}

/* Rebuilt bytes move into the reader's arena. */
static int get_rebuilt(struct lmdb_reader *r, const struct row_state *current, uint64_t at,
		       struct store_object *ret)
{
	auto_buf json = BUF_INIT;
	int e = lmdb_past_state(r, current, at, &json, ret);
	if (e == 0)
		ret->json = arena_span(&r->mem, ret->json);
	return e;
}

static int reader_get(struct store_reader *base, const struct store_key *key, uint64_t at,
		      struct store_object *ret)
{
	struct lmdb_reader *r = self(base);
	struct store_key_text text;
	struct span stored_key, bytes;
	struct row_state row;
	struct store_object o;
	struct store_key found;

	store_key_encode(key, &text);
	int e = lmdb_get_row(r, store_key_span(&text), &stored_key, &bytes);
	if (e < 0)
		return e;
	if (row_state_read(bytes, &row) < 0 || store_key_decode(stored_key, &found) < 0)
		return -EIO;
	if (at && row.object.revision > at) {
		e = get_rebuilt(r, &row, at, &o);
		if (e < 0)
			return e;
	} else if (row.tombstone) {
		return -ENOENT;
	} else {
		o = row.object;
	}
	*ret = o;
	ret->key = found;
	return 0;
}

static struct span aux_key(uint8_t table, struct span key, char out[1 + STORE_MAX_AUX_KEY])
{
	out[0] = (char)table;
	if (key.len)
		memcpy(out + 1, key.ptr, key.len);
	return span_make(out, 1 + key.len);
}

static int reader_get_aux(struct store_reader *base, uint8_t table, struct span key,
			  struct span *ret)
{
	char bytes[1 + STORE_MAX_AUX_KEY];
	MDB_val k = lmdb_val(aux_key(table, key, bytes)), v;
	int rc = mdb_get(self(base)->txn, self(base)->store->aux, &k, &v);
	if (rc != 0)
		return rc == MDB_NOTFOUND ? -ENOENT : -EIO;
	*ret = lmdb_span(v);
	return 0;
}

/* Walks the rows of a database whose keys begin with prefix. */
static int scan(struct lmdb_reader *r, MDB_dbi dbi, struct span prefix,
		int (*each)(void *arg, struct span key, struct span value), void *arg)
{
	MDB_val k = lmdb_val(prefix), v;
	MDB_cursor *c;
	int e = 0;

	if (mdb_cursor_open(r->txn, dbi, &c) != 0)
		return -EIO;
	int rc = mdb_cursor_get(c, &k, &v, MDB_SET_RANGE);
	while (rc == 0 && e == 0 && span_starts(lmdb_span(k), prefix)) {
		e = each(arg,
			 span_make((const char *)k.mv_data + prefix.len, k.mv_size - prefix.len),
			 lmdb_span(v));
		if (e == 0)
			rc = mdb_cursor_get(c, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(c);
	if (rc != 0 && rc != MDB_NOTFOUND)
		return -EIO;
	return e < 0 ? e : 0;
}

struct aux_walk {
	int (*each)(void *arg, struct span key, struct span value);
	void *arg;
	size_t prefix_len;
};

/* Keys are shown whole, without the table byte. */
static int each_aux(void *arg, struct span rest, struct span value)
{
	const struct aux_walk *w = arg;
	struct span key = span_make(rest.ptr - w->prefix_len, rest.len + w->prefix_len);
	return w->each(w->arg, key, value);
}

static int reader_scan_aux(struct store_reader *base, uint8_t table, struct span prefix,
			   int (*each)(void *arg, struct span key, struct span value), void *arg)
{
	char bytes[1 + STORE_MAX_AUX_KEY];
	struct aux_walk w = {each, arg, prefix.len};
	return scan(self(base), self(base)->store->aux, aux_key(table, prefix, bytes), each_aux,
		    &w);
}

struct owner_walk {
	int (*each)(void *arg, const struct store_key *key);
	void *arg;
};

static int each_dependent(void *arg, struct span rest, struct span value)
{
	const struct owner_walk *w = arg;
	struct store_key key;
	(void)value;
	return store_key_decode(rest, &key) < 0 ? -EIO : w->each(w->arg, &key);
}

static int reader_dependents(struct store_reader *base, const uint8_t uid[STORE_UID_LEN],
			     int (*each)(void *arg, const struct store_key *key), void *arg)
{
	struct owner_walk w = {each, arg};
	return scan(self(base), self(base)->store->owners,
		    span_make((const char *)uid, STORE_UID_LEN), each_dependent, &w);
}

static const struct store_reader_ops ops = {
    .end = reader_end,
    .get = reader_get,
    .get_aux = reader_get_aux,
    .iter_begin = lmdb_iter_begin,
    .scan_aux = reader_scan_aux,
    .dependents = reader_dependents,
    .count = lmdb_count,
    .log_scan = lmdb_log_scan,
    .log_old = lmdb_log_old,
};

static int start(struct lmdb_store *s, struct lmdb_reader *r)
{
	int rc = r->txn ? mdb_txn_renew(r->txn) : mdb_txn_begin(s->env, NULL, MDB_RDONLY, &r->txn);
	if (rc == MDB_READERS_FULL && mdb_reader_check(s->env, NULL) == 0)
		rc = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &r->txn);
	return rc;
}

int lmdb_read_begin(struct store *base, struct store_reader **ret, struct err *reterr)
{
	struct lmdb_store *s = lmdb_self(base);
	struct lmdb_reader *r = take_pooled(s);
	struct lmdb_state state;

	if (!r) {
		r = xcalloc(1, sizeof(*r));
		r->base.ops = &ops;
		r->store = s;
	}
	int rc = start(s, r);
	if (rc == 0)
		rc = lmdb_load_state(s, r->txn, &state);
	if (rc != 0) {
		destroy(r);
		return lmdb_error(rc, "read", reterr);
	}
	r->base.revision = state.revision;
	r->base.floor = state.floor;
	*ret = &r->base;
	return 0;
}
