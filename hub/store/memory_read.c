#include "store/memory.h"

#include "base/buf.h"

#include <errno.h>

struct memory_reader {
	struct store_reader base;
	struct memory_store *store;
	uint64_t commit;
};

struct memory_iter {
	struct store_iter base;
	struct memory_reader *reader;
	uint64_t at;
	struct store_key_text prefix, last;
	bool started;
};

static struct memory_reader *self(struct store_reader *r)
{
	return (struct memory_reader *)r;
}

static void lock(struct memory_reader *r)
{
	pthread_mutex_lock(&r->store->lock);
}

static void unlock(struct memory_reader *r)
{
	pthread_mutex_unlock(&r->store->lock);
}

/* What the snapshot sees of a row (at `at`, when not 0): NULL when it is not there. */
static const struct memory_version *visible(const struct memory_reader *r,
					    const struct memory_entry *e, uint64_t at)
{
	const struct memory_version *v = e ? e->newest : NULL;
	while (v && (v->commit > r->commit || (at && v->object.revision > at)))
		v = v->older;
	return v && !v->deleted ? v : NULL;
}

static void reader_end(struct store_reader *base)
{
	struct memory_reader *r = self(base);
	lock(r);
	if (--r->store->n_readers == 0)
		memory_collect(r->store);
	unlock(r);
	free(r);
}

static int reader_get(struct store_reader *base, const struct store_key *key, uint64_t at,
		      struct store_object *ret)
{
	struct memory_reader *r = self(base);
	struct store_key_text text;

	store_key_encode(key, &text);
	lock(r);
	const struct memory_version *v =
	    visible(r, memory_table_get(&r->store->objects, store_key_span(&text)), at);
	unlock(r);
	if (!v)
		return -ENOENT;
	*ret = v->object;
	return 0;
}

static size_t aux_key(uint8_t table, struct span key, char out[1 + STORE_MAX_AUX_KEY])
{
	out[0] = (char)table;
	if (key.len)
		memcpy(out + 1, key.ptr, key.len);
	return 1 + key.len;
}

static int reader_get_aux(struct store_reader *base, uint8_t table, struct span key,
			  struct span *ret)
{
	struct memory_reader *r = self(base);
	char bytes[1 + STORE_MAX_AUX_KEY];
	size_t len = aux_key(table, key, bytes);

	lock(r);
	const struct memory_version *v =
	    visible(r, memory_table_get(&r->store->aux, span_make(bytes, len)), 0);
	unlock(r);
	if (!v)
		return -ENOENT;
	*ret = v->value;
	return 0;
}

static int reader_scan_aux(struct store_reader *base, uint8_t table, struct span prefix,
			   int (*each)(void *arg, struct span key, struct span value), void *arg)
{
	struct memory_reader *r = self(base);
	const struct memory_table *t = &r->store->aux;
	char bytes[1 + STORE_MAX_AUX_KEY];
	struct span head = span_make(bytes, aux_key(table, prefix, bytes));
	int e = 0;

	lock(r);
	for (size_t i = memory_table_find(t, head); e == 0 && i < t->rows.len; i++) {
		struct span key = memory_entry_key(t->rows.items[i]);
		if (!span_starts(key, head))
			break;
		const struct memory_version *v = visible(r, t->rows.items[i], 0);
		if (v)
			e = each(arg, span_make(key.ptr + 1, key.len - 1), v->value);
	}
	unlock(r);
	return e < 0 ? e : 0;
}

static bool owned_by(const struct memory_version *v, const uint8_t *uid)
{
	for (size_t i = 0; i < v->n_owners; i++)
		if (memcmp(v->owners[i], uid, STORE_UID_LEN) == 0)
			return true;
	return false;
}

static int reader_dependents(struct store_reader *base, const uint8_t uid[STORE_UID_LEN],
			     int (*each)(void *arg, const struct store_key *key), void *arg)
{
	struct memory_reader *r = self(base);
	const struct memory_table *t = &r->store->objects;
	int e = 0;

	lock(r);
	for (size_t i = 0; e == 0 && i < t->rows.len; i++) {
		const struct memory_version *v = visible(r, t->rows.items[i], 0);
		if (v && owned_by(v, uid))
			e = each(arg, &v->object.key);
	}
	unlock(r);
	return e < 0 ? e : 0;
}

/* ---- iteration ---- */

static const struct memory_version *next_version(struct memory_iter *it)
{
	const struct memory_table *t = &it->reader->store->objects;
	struct span prefix = store_key_span(&it->prefix);
	size_t i = memory_table_find(t, store_key_span(&it->last));

	/* Rows may have come and gone since the last call: find the place again. */
	if (it->started && i < t->rows.len &&
	    span_eq(memory_entry_key(t->rows.items[i]), store_key_span(&it->last)))
		i++;
	it->started = true;
	for (; i < t->rows.len; i++) {
		struct span key = memory_entry_key(t->rows.items[i]);
		if (!span_starts(key, prefix))
			return NULL;
		const struct memory_version *v = visible(it->reader, t->rows.items[i], it->at);
		if (v) {
			memcpy(it->last.bytes, key.ptr, key.len);
			it->last.len = key.len;
			return v;
		}
	}
	return NULL;
}

static bool iter_next(struct store_iter *base, struct store_object *ret, int *ret_err)
{
	struct memory_iter *it = (struct memory_iter *)base;
	(void)ret_err;
	lock(it->reader);
	const struct memory_version *v = next_version(it);
	unlock(it->reader);
	if (v)
		*ret = v->object;
	return v != NULL;
}

static void iter_end(struct store_iter *base)
{
	free(base);
}

static const struct store_iter_ops iter_ops = {.next = iter_next, .end = iter_end};

static int reader_iter_begin(struct store_reader *base, const struct store_range *range,
			     struct store_iter **ret, struct err *reterr)
{
	struct memory_iter *it = xcalloc(1, sizeof(*it));
	(void)reterr;
	it->base.ops = &iter_ops;
	it->reader = self(base);
	it->at = range->at_revision;
	store_key_prefix(range->type, range->ns, &it->prefix);
	it->last = it->prefix;
	if (range->after) {
		struct store_key_text after;
		store_key_encode(range->after, &after);
		if (span_cmp(store_key_span(&after), store_key_span(&it->prefix)) > 0) {
			it->last = after;
			it->started = true;
		}
	}
	*ret = &it->base;
	return 0;
}

static int reader_count(struct store_reader *base, uint16_t type, struct span ns, size_t most,
			size_t *ret)
{
	struct store_iter *it;
	struct store_object o;
	const struct store_range range = {.type = type, .ns = ns};
	size_t n = 0;
	int e;

	(void)reader_iter_begin(base, &range, &it, NULL);
	while (n < most && iter_next(it, &o, &e))
		n++;
	iter_end(it);
	*ret = n;
	return 0;
}

/* ---- the log ---- */

static size_t log_find(const struct memory_store *s, uint64_t after)
{
	size_t low = 0, high = s->log.len;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (s->log.items[mid]->object.revision <= after)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int reader_log_scan(struct store_reader *base, uint64_t after, const uint16_t *only,
			   int (*each)(void *arg, const struct store_log_row *row), void *arg)
{
	struct memory_reader *r = self(base);
	const struct memory_store *s = r->store;
	int e = 0;

	lock(r);
	for (size_t i = log_find(s, after); e == 0 && i < s->log.len; i++) {
		const struct memory_version *v = s->log.items[i];
		if (v->object.revision > base->revision)
			break;
		bool has_old = v->op != STORE_LOG_ADDED;
		struct store_log_row row = {
		    .revision = v->object.revision,
		    .previous = has_old ? v->older->object.revision : 0,
		    .op = v->op,
		    .time = v->time,
		    .object = v->object,
		    .has_old = has_old,
		};
		if (only && *only != row.object.key.type)
			row.object.json = SPAN_NONE;
		e = each(arg, &row);
	}
	unlock(r);
	return e < 0 ? e : 0;
}

static int reader_log_old(struct store_reader *base, const struct store_log_row *row,
			  struct buf *out)
{
	struct memory_reader *r = self(base);
	lock(r);
	const struct memory_version *v = r->store->log.items[log_find(r->store, row->revision - 1)];
	buf_add_span(out, v->older->object.json);
	unlock(r);
	return buf_ok(out) ? 0 : err_errno(ERR_TOO_LARGE);
}

static const struct store_reader_ops reader_ops = {
    .end = reader_end,
    .get = reader_get,
    .get_aux = reader_get_aux,
    .iter_begin = reader_iter_begin,
    .scan_aux = reader_scan_aux,
    .dependents = reader_dependents,
    .count = reader_count,
    .log_scan = reader_log_scan,
    .log_old = reader_log_old,
};

int memory_read_begin(struct store *s, struct store_reader **ret, struct err *reterr)
{
	struct memory_reader *r = xcalloc(1, sizeof(*r));
	(void)reterr;
	r->base.ops = &reader_ops;
	r->store = (struct memory_store *)s;
	lock(r);
	r->base.revision = r->store->revision;
	r->base.floor = r->store->floor;
	r->commit = r->store->commit;
	r->store->n_readers++;
	unlock(r);
	*ret = &r->base;
	return 0;
}
