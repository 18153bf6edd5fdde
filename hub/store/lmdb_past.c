/*
 * States that no row holds any more, or none but a log row. A log row without a body (row.h) leads
 * from the state before to its own and back, so a state is reached
 *
 *   upward, from the newest body below, when the log still has it, or
 *   downward, from the object row, or the oldest body above: over anchors to that, then row by row.
 *
 * The second way is always there: every row above the floor is. Either takes at most ROW_MAX_CHAIN
 * steps behind the anchors. A reader keeps the state it rebuilt last, so that who walks through
 * many changes of one object takes one step for each.
 */
#include "store/lmdb_store.h"
#include "store/splice.h"

#include <errno.h>

/* The newest first: each row's predecessor follows it. */
struct chain {
	size_t n;
	uint64_t at[ROW_MAX_CHAIN + 1]; /* their revisions */
	struct row_log rows[ROW_MAX_CHAIN + 1];
};

void lmdb_past_done(struct lmdb_reader *r)
{
	buf_done(&r->past.bare);
	buf_done(&r->past.next);
	r->past.revision = 0;
}

int lmdb_past_row(struct lmdb_reader *r, uint64_t revision, struct row_log *ret)
{
	MDB_val k = {sizeof(revision), &revision}, v;
	if (mdb_get(r->txn, r->store->log, &k, &v) != 0 || row_log_read(lmdb_span(v), ret) < 0)
		return -EIO;
	return 0;
}

/* Adds the predecessor of the chain's last row. */
static int extend(struct lmdb_reader *r, struct chain *c)
{
	const struct row_log *last = &c->rows[c->n - 1];

	if (!last->has_old || c->n == ARRAY_LEN(c->rows))
		return -EIO;
	c->at[c->n] = last->back;
	int e = lmdb_past_row(r, last->back, &c->rows[c->n]);
	c->n += e == 0;
	return e;
}

static char *room(struct buf *b, size_t n)
{
	b->max = STORE_MAX_OBJECT * 2; /* a sealed object is a little over it */
	buf_clear(b);
	return buf_reserve(b, n);
}

/* The state that was rebuilt is now the one of a whole json. */
static int start_at(struct lmdb_past *p, uint64_t revision, struct span json,
		    const struct store_extent *digits)
{
	char *bare = room(&p->bare, json.len - digits->len);

	p->revision = 0;
	if (!bare)
		return -EIO;
	splice_out(json, digits, bare);
	buf_advance(&p->bare, json.len - digits->len);
	p->revision = revision;
	return 0;
}

/* ... or the one that a row leads to from it, which is of that revision. */
static int step(struct lmdb_past *p, const struct row_log *row, bool forward, uint64_t revision)
{
	size_t len = forward ? row->bare_len : row->old_bare_len;
	struct buf last = p->bare;
	char *out = room(&p->next, len);

	p->revision = 0;
	int e = !out	  ? -EIO
		: forward ? row_log_forward(row, buf_span(&last), out)
			  : row_log_backward(row, buf_span(&last), out);
	if (e < 0)
		return -EIO;
	buf_advance(&p->next, len);
	p->bare = p->next;
	p->next = last;
	p->revision = revision;
	return 0;
}

/* The rebuilt state as readers see it, appended. */
static int finish(const struct lmdb_past *p, const struct store_object *head, struct buf *out)
{
	char digits[STORE_REVISION_TEXT];
	size_t n = splice_digits(head->revision, digits);
	struct span bare = buf_span(&p->bare);
	char *json = buf_reserve(out, bare.len + n);

	if (!json)
		return err_errno(ERR_TOO_LARGE);
	splice_in(bare, head->extents.revision.at, digits, n, json);
	buf_advance(out, bare.len + n);
	return 0;
}

/* ---- downward ---- */

/* The rows from the oldest one above `at` that stands beside a whole state, down to the oldest one
 * above `at`. */
static int find_above(struct lmdb_reader *r, uint64_t newest, uint64_t at, struct chain *c)
{
	struct row_log *top = &c->rows[0];

	c->n = 1;
	c->at[0] = newest;
	int e = lmdb_past_row(r, newest, top);
	while (e == 0 && top->anchor > at) {
		if (top->anchor >= c->at[0])
			return -EIO;
		c->at[0] = top->anchor;
		e = lmdb_past_row(r, c->at[0], top);
		if (e == 0 && !top->body)
			return -EIO;
	}
	while (e == 0 && c->rows[c->n - 1].back > at)
		e = extend(r, c);
	return e;
}

/* Rebuilds the state at `at`; *ret: the row whose old state it is. */
static int go_down(struct lmdb_reader *r, const struct row_state *current, uint64_t at,
		   struct row_log *ret)
{
	const struct store_object *o = &current->object;
	struct chain c;

	int e = find_above(r, o->revision, at, &c);
	if (e < 0)
		return e;
	*ret = c.rows[c.n - 1];
	/* Before an ADDED there was nothing, or a tombstone. */
	if (!ret->has_old)
		return -ENOENT;
	if (r->past.revision == ret->back)
		return 0;
	if (c.rows[0].body)
		o = &c.rows[0].object;
	else if (current->tombstone || o->revision != c.at[0])
		return -EIO;
	e = start_at(&r->past, c.at[0], o->json, &o->extents.revision);
	for (size_t i = 0; e == 0 && i < c.n; i++)
		e = step(&r->past, &c.rows[i], false, c.rows[i].back);
	return e;
}

int lmdb_past_state(struct lmdb_reader *r, const struct row_state *current, uint64_t at,
		    struct buf *out, struct store_object *ret)
{
	struct row_log row;

	int e = go_down(r, current, at, &row);
	if (e < 0)
		return e;
	buf_clear(out);
	e = finish(&r->past, &row.old, out);
	*ret = row.old;
	ret->json = buf_span(out);
	return e;
}

/* ---- upward ---- */

static int go_up(struct lmdb_reader *r, uint64_t revision, const struct row_log *row)
{
	struct chain c;
	int e = 0;

	c.n = 1;
	c.at[0] = revision;
	c.rows[0] = *row;
	while (e == 0 && !c.rows[c.n - 1].body && c.rows[c.n - 1].back != r->past.revision)
		e = extend(r, &c);
	if (e == 0 && c.rows[c.n - 1].body) {
		const struct store_object *o = &c.rows[--c.n].object;
		e = start_at(&r->past, c.at[c.n], o->json, &o->extents.revision);
	}
	while (e == 0 && c.n-- > 0)
		e = step(&r->past, &c.rows[c.n], true, c.at[c.n]);
	return e;
}

/* Rebuilds the new state of a row without a body, unless the object row is it: then *ret_json. */
static int go_to(struct lmdb_reader *r, uint64_t revision, const struct row_log *row,
		 struct span *ret_json)
{
	struct span key, bytes;
	struct row_state current;
	struct row_log above;

	*ret_json = SPAN_NONE;
	if (r->past.revision == revision)
		return 0;
	if (row->has_old && r->past.revision == row->back)
		return step(&r->past, row, true, revision);
	if (lmdb_get_row(r, row->key, &key, &bytes) < 0 || row_state_read(bytes, &current) < 0)
		return -EIO;
	if (current.object.revision == revision && !current.tombstone) {
		*ret_json = current.object.json;
		return 0;
	}
	if (row->anchor > r->base.floor)
		return go_up(r, revision, row);
	int e = go_down(r, &current, revision, &above);
	return e < 0 || above.back != revision ? -EIO : 0;
}

int lmdb_past_new(struct lmdb_reader *r, uint64_t revision, const struct row_log *row,
		  struct buf *out, struct span *ret)
{
	*ret = row->object.json;
	if (row->body)
		return 0;
	int e = go_to(r, revision, row, ret);
	if (e < 0 || ret->ptr)
		return e;
	buf_clear(out);
	e = finish(&r->past, &row->object, out);
	*ret = buf_span(out);
	return e;
}

int lmdb_past_old(struct lmdb_reader *r, uint64_t revision, const struct row_log *row,
		  struct buf *out)
{
	struct span json = row->object.json;

	if (!row->has_old)
		return -EIO;
	if (r->past.revision != row->back) {
		int e = row->body ? 0 : go_to(r, revision, row, &json);
		if (e == 0 && json.ptr)
			e = start_at(&r->past, revision, json, &row->object.extents.revision);
		if (e == 0)
			e = step(&r->past, row, false, row->back);
		if (e < 0)
			return e;
	}
	return finish(&r->past, &row->old, out);
}
