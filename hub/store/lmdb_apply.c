/*
 * One batch, one transaction. Each object change reads the row it replaces, appends its log row
 * and then writes its own; bytes go straight into LMDB's pages. All counters live in a copy of
 * the state until the commit has succeeded, so a failure leaves nothing behind in memory either.
 */
#include "base/num.h"
#include "store/lmdb_store.h"
#include "store/splice.h"

#include <errno.h>

struct batch {
	struct lmdb_store *store;
	struct lmdb_txn txn;
	struct lmdb_state state;
	usec now;
	size_t rows;
};

struct old {
	bool present; /* a row is there, perhaps a tombstone */
	bool live;
	struct row_state row; /* points into store->old_row */
	struct span bare;     /* into store->old_bare, when live */
};

static void load_old(struct batch *b, struct span key, struct old *ret)
{
	struct lmdb_store *s = b->store;
	struct span row;

	*ret = (struct old){0};
	if (!lmdb_get(&b->txn, s->objects, key, &row))
		return;
	buf_clear(&s->old_row);
	buf_add_span(&s->old_row, row);
	if (!buf_ok(&s->old_row) || row_state_read(buf_span(&s->old_row), &ret->row) < 0) {
		lmdb_fail(&b->txn, EBADMSG, "read an object row");
		return;
	}
	ret->present = true;
	ret->live = !ret->row.tombstone;
	if (!ret->live)
		return;
	const struct store_object *o = &ret->row.object;
	size_t len = o->json.len - o->extents.revision.len;
	buf_clear(&s->old_bare);
	char *bare = buf_reserve(&s->old_bare, len);
	splice_out(o->json, &o->extents.revision, bare);
	buf_advance(&s->old_bare, len);
	ret->bare = buf_span(&s->old_bare);
}

/* Bytes of an object that must be common for a log row without a body to be worth the steps that
 * its readers take: half of it, and no few. */
#define LEAST_COMMON 256

static bool needs_body(const struct old *old, const struct row_log_new *row)
{
	size_t len = row->state->bare.len;

	/* A first row needs none. One after a tombstone has one: row.h. */
	if (!row->old)
		return old->present;
	size_t common = len - row_diff_new_len(&row->diff);
	return old->row.deltas >= ROW_MAX_CHAIN || common < LEAST_COMMON || common < len / 2;
}

static void append_log(struct batch *b, struct row_log_new *row)
{
	size_t size = row_log_size(row);
	char *out = lmdb_append_log(&b->txn, row->state->revision, size);
	if (!out)
		return;
	row_log_write(row, out);
	b->state.log_bytes += lmdb_row_cost(b->store, size);
	b->state.log_rows++;
}

static void write_state(struct batch *b, struct span key, const struct row_new *state)
{
	char *out = lmdb_reserve(&b->txn, b->store->objects, key, row_state_size(state));
	if (out)
		row_state_write(state, out);
}

/* ---- owner index ---- */

static bool has_owner(struct span owners, const char *uid)
{
	for (size_t i = 0; i < owners.len; i += STORE_UID_LEN)
		if (memcmp(owners.ptr + i, uid, STORE_UID_LEN) == 0)
			return true;
	return false;
}

/* Index rows of the owners in `of` that are not in `but`: put, or deleted. */
static void index_owners(struct batch *b, struct span of, struct span but, struct span key,
			 bool put)
{
	char bytes[STORE_UID_LEN + STORE_KEY_BYTES];
	struct span row = span_make(bytes, STORE_UID_LEN + key.len);

	memcpy(bytes + STORE_UID_LEN, key.ptr, key.len);
	for (size_t i = 0; i < of.len; i += STORE_UID_LEN) {
		if (has_owner(but, of.ptr + i))
			continue;
		memcpy(bytes, of.ptr + i, STORE_UID_LEN);
		if (put)
			lmdb_put(&b->txn, b->store->owners, row, SPAN(""));
		else
			lmdb_delete(&b->txn, b->store->owners, row);
	}
}

static void reindex_owners(struct batch *b, struct span before, struct span after, struct span key)
{
	if (span_eq(before, after))
		return;
	index_owners(b, before, after, key, false);
	index_owners(b, after, before, key, true);
}

/* ---- changes ---- */

static void put_object(struct batch *b, struct store_change *c)
{
	struct store_key_text text;
	struct old old;

	store_key_encode(&c->key, &text);
	struct span key = store_key_span(&text);
	load_old(b, key, &old);
	struct row_new state = {
	    .owners = span_make((const char *)c->owners, c->n_owners * STORE_UID_LEN),
	    .digest = c->digest,
	    .bare = c->json,
	    .extents = c->extents,
	    .revision = ++b->state.revision,
	    .create_revision = old.live ? old.row.object.create_revision : b->state.revision,
	    .uid = c->uid,
	    .flags = c->flags,
	};
	struct row_log_new row = {
	    .op = old.live ? STORE_LOG_MODIFIED : STORE_LOG_ADDED,
	    .back = old.present ? old.row.object.revision : 0,
	    .anchor = old.present ? old.row.anchor : 0,
	    .time = b->now,
	    .key = key,
	    .state = &state,
	};
	if (old.live) {
		row.old = &old.row.object;
		row.old_bare = old.bare;
		row_diff(&(struct row_side){old.bare, splice_unshift(&old.row.object.extents)},
			 &(struct row_side){c->json, c->extents}, &row.diff);
	}
	row.body = needs_body(&old, &row);
	state.anchor = row.body ? state.revision : row.anchor;
	state.deltas = row.body ? 0 : old.row.deltas + 1;
	append_log(b, &row);
	write_state(b, key, &state);
	reindex_owners(b, old.live ? old.row.owners : SPAN_NONE, state.owners, key);
	b->state.objects += !old.live;
	c->ret_revision = state.revision;
	c->ret_create_revision = state.create_revision;
}

static int delete_object(struct batch *b, struct store_change *c, struct err *reterr)
{
	struct store_key_text text;
	struct old old;

	store_key_encode(&c->key, &text);
	struct span key = store_key_span(&text);
	load_old(b, key, &old);
	if (b->txn.rc == 0 && !old.live)
		return err_set(reterr, ERR_NOT_FOUND, "object %.*s is not there to delete",
			       SPAN_ARGS(c->key.name));
	if (b->txn.rc != 0)
		return 0;
	const struct store_object *o = &old.row.object;
	struct row_new state = {
	    .digest = o->digest,
	    .bare = old.bare,
	    .extents = splice_unshift(&o->extents),
	    .revision = ++b->state.revision,
	    .create_revision = o->create_revision,
	    .uid = o->uid,
	    .flags = o->flags,
	};
	struct row_log_new row = {
	    .op = STORE_LOG_DELETED,
	    .body = true, /* a tombstone has none */
	    .back = o->revision,
	    .anchor = old.row.anchor,
	    .time = b->now,
	    .key = key,
	    .state = &state,
	    .old = o,
	    .old_bare = old.bare, /* no hunk: it is the new one */
	};
	append_log(b, &row);
	state.tombstone = true;
	write_state(b, key, &state);
	reindex_owners(b, old.row.owners, SPAN_NONE, key);
	b->state.objects--;
	c->ret_revision = state.revision;
	return 0;
}

static void change_aux(struct batch *b, struct store_change *c)
{
	char bytes[1 + STORE_MAX_AUX_KEY];
	struct span key = span_make(bytes, 1 + c->aux_key.len);

	bytes[0] = (char)c->aux_table;
	memcpy(bytes + 1, c->aux_key.ptr, c->aux_key.len);
	if (c->op == STORE_PUT_AUX)
		lmdb_put(&b->txn, b->store->aux, key, c->aux_value);
	else
		lmdb_delete(&b->txn, b->store->aux, key);
	c->ret_revision = 0;
}

static int change(struct batch *b, struct store_change *c, struct err *reterr)
{
	switch (c->op) {
	case STORE_PUT:
		b->rows++;
		put_object(b, c);
		return 0;
	case STORE_DELETE:
		b->rows++;
		return delete_object(b, c, reterr);
	case STORE_PUT_AUX:
	case STORE_DELETE_AUX:
	default:
		change_aux(b, c);
		return 0;
	}
}

static void write_counters(struct batch *b)
{
	lmdb_put(&b->txn, b->store->main, SPAN("state"),
		 span_make((const char *)&b->state, sizeof(b->state)));
}

/* A row may map a hundred KiB around the pages that it touches. */
#define ROWS_PER_CHECK 16

static int fill(struct batch *b, struct store_change *changes, size_t n, bool pressure,
		struct err *reterr)
{
	const uint64_t before = b->state.revision;

	for (size_t i = 0; i < n; i++) {
		if (i % ROWS_PER_CHECK == 0)
			lmdb_resident_check(b->store);
		int r = change(b, &changes[i], reterr);
		if (r < 0)
			return r;
	}
	if (b->rows == 0)
		return 0;
	const struct lmdb_trim trim = {before, b->rows, b->now, pressure};
	lmdb_trim(&b->txn, &b->state, &trim);
	write_counters(b);
	return 0;
}

static int finish(struct batch *b, const struct lmdb_room *room, struct err *reterr)
{
	struct lmdb_store *s = b->store;
	int rc = b->txn.rc;
	int r = lmdb_commit(&b->txn, reterr);

	if (r == 0) {
		s->state = b->state;
		atomic_store(&s->floor, s->state.floor);
		atomic_store(&s->revision, s->state.revision);
		return 0;
	}
	/* LMDB calls a short write EIO, which is how a full disk may show. Pages are written
	 * before the meta page that makes them count, so such a failure changed nothing. */
	if (rc == 0 && b->txn.rc == EIO && room->growth_refused)
		return lmdb_error(ENOSPC, "commit", reterr);
	if (b->txn.rc == EIO || b->txn.rc == MDB_PANIC)
		s->broken = true;
	return r;
}

/* A reader that was killed leaves its slot, which would keep dead pages for ever. */
static void check_readers(struct lmdb_store *s)
{
	usec now = clock_monotonic();
	if (now - s->readers_checked < 60 * USEC_PER_SEC)
		return;
	s->readers_checked = now;
	(void)mdb_reader_check(s->env, NULL);
}

#define GIVE_ROOM_COMMITS 64
#define GIVE_ROOM_BYTES	  (4 << 20)

static bool trim_alone(struct lmdb_store *s, size_t rows, usec now)
{
	struct batch b = {.store = s, .state = s->state, .now = now};
	const struct lmdb_room room = {.growth_refused = true};
	const struct lmdb_trim trim = {
	    .before = s->state.revision, .rows_written = rows, .now = now, .pressure = true};

	lmdb_begin(s, &b.txn);
	lmdb_trim(&b.txn, &b.state, &trim);
	write_counters(&b);
	return finish(&b, &room, NULL) == 0;
}

/* A batch that found no room gives some: the log's tail goes, in commits of its own, so that who
 * tries again gets through, and free pages that lie too scattered for a large row are no dead end.
 * Enough is counted in bytes, for the oldest rows may be small ones; and the commits are small, for
 * each lives on the pages that the last but one freed, where a large one would eat up what is kept
 * for deletions. */
static void give_room(struct lmdb_store *s, size_t n, usec now)
{
	const uint64_t before = s->state.log_bytes;
	const uint64_t enough =
	    (uint64_t)num_min((int64_t)(s->options.map_bytes / 16), GIVE_ROOM_BYTES);

	for (int i = 0; i < GIVE_ROOM_COMMITS && s->state.log_rows > 0; i++)
		if (!trim_alone(s, n > 16 ? n : 16, now) || before - s->state.log_bytes >= enough)
			break;
}

static int try_batch(struct lmdb_store *s, struct store_change *changes, size_t n, usec now,
		     struct err *reterr)
{
	struct batch b = {.store = s, .state = s->state, .now = now};
	struct lmdb_room room;

	int r = lmdb_room_prepare(s, changes, n, &room, reterr);
	if (r < 0)
		return r;
	lmdb_begin(s, &b.txn);
	r = fill(&b, changes, n, room.pressure, reterr);
	if (r < 0) {
		mdb_txn_abort(b.txn.txn);
		return r;
	}
	return finish(&b, &room, reterr);
}

int lmdb_apply(struct store *base, struct store_change *changes, size_t n, usec now,
	       struct err *reterr)
{
	struct lmdb_store *s = lmdb_self(base);

	if (s->broken)
		return lmdb_error(EIO, "commit", reterr);
	check_readers(s);
	int r = try_batch(s, changes, n, now, reterr);
	if (r == err_errno(ERR_NO_SPACE)) {
		lmdb_room_refused(s);
		give_room(s, n, now);
	}
	return r;
}
