#ifndef STORE_LMDB_STORE_H
#define STORE_LMDB_STORE_H
/*
 * The durable backend: one LMDB environment per store. Internal to hub/store.
 *
 *   lmdb.c        open, close, the lock, format and incarnation
 *   lmdb_txn.c    a transaction whose first error sticks; the one translation of errors
 *   lmdb_apply.c  a batch: object rows, log rows, owner index, aux rows
 *   lmdb_trim.c   the log's tail
 *   lmdb_room.c   how much may still be written, and growth of the file ahead of need
 *   lmdb_read.c   readers, points, scans   lmdb_iter.c  ranges
 *   lmdb_log.c    the watch log            lmdb_past.c  states at a revision
 *   lmdb_resident.c  pages that stay mapped
 *
 * Databases: "objects" (store_key.h -> row.h state), "log" (revision -> row.h log row, integer
 * keys, appended), "owners" (owner uid, object key -> nothing), "aux" (table byte, key -> value),
 * and in the unnamed one the rows "format", "incarnation" and "state".
 *
 * Durability: default sync mode and no write map, so a commit is two flushes (pages, then the
 * meta page) and a stray pointer cannot write into the file. With no_sync nothing is flushed and
 * a crash of the machine (not of the process) may damage the file: for what can be learned again.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "store/backend.h"
#include "store/row.h"
#include "store/store_key.h"
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

/* What changes with every commit; one row, in the machine's byte order. */
struct lmdb_state {
	uint64_t revision, floor;
	uint64_t log_bytes, log_rows; /* as lmdb_row_cost() counts them */
	uint64_t objects;	      /* live ones */
};

struct lmdb_reader;

struct lmdb_store {
	struct store base;
	struct store_options options; /* path owned */
	MDB_env *env;
	MDB_dbi objects, log, owners, aux, main;
	unsigned page_size;
	int lock_fd, data_fd, statm_fd;
	void *map; /* where the file is mapped; NULL: not known */
	uint8_t incarnation[STORE_UID_LEN];

	/* the writer's */
	struct lmdb_state state;
	struct buf old_row, old_bare; /* copies: a row's memory dies with the next write */
	usec readers_checked;	      /* monotonic */
	usec resident_let_go;	      /* monotonic */
	bool broken;		      /* an I/O error: nothing more is written */
	_Atomic bool cannot_allocate; /* the file system has no fallocate */

	/* anyone's */
	_Atomic uint64_t revision, floor;
	pthread_mutex_t pool_lock;
	struct lmdb_reader *pool; /* idle readers, their transactions reset */
	size_t n_pool;
	pthread_mutex_t room_lock;
	usec room_checked; /* monotonic; 0: never */
	bool has_room;
	uint64_t free_bytes;
};

static inline struct lmdb_store *lmdb_self(const struct store *s)
{
	return (struct lmdb_store *)(uintptr_t)s;
}

/* ---- lmdb_txn.c ---- */

/* Puts MDB_* and errno values into words and a kind: the only place that knows them. The words
 * reach clients, so they name no path: opening adds it, for whoever starts the program. */
int lmdb_error(int rc, const char *what, struct err *reterr);

/* After a failure every operation does nothing, and lmdb_commit() aborts: callers write straight
 * through and test once. */
struct lmdb_txn {
	struct lmdb_store *store;
	MDB_txn *txn;
	MDB_cursor *log;  /* stands at the end: appends need no search */
	int rc;		  /* first failure, MDB_* or errno */
	const char *what; /* what was being done */
};

void lmdb_begin(struct lmdb_store *s, struct lmdb_txn *ret);
bool lmdb_get(struct lmdb_txn *t, MDB_dbi dbi, struct span key, struct span *ret);
void lmdb_put(struct lmdb_txn *t, MDB_dbi dbi, struct span key, struct span value);
/* Room for a value of n bytes, to be filled before the next operation; NULL after a failure. */
char *lmdb_reserve(struct lmdb_txn *t, MDB_dbi dbi, struct span key, size_t n);
char *lmdb_append_log(struct lmdb_txn *t, uint64_t revision, size_t n);
void lmdb_delete(struct lmdb_txn *t, MDB_dbi dbi, struct span key); /* absent is fine */
void lmdb_fail(struct lmdb_txn *t, int rc, const char *what);
/* 0 when durable; else translated, with everything rolled back. */
int lmdb_commit(struct lmdb_txn *t, struct err *reterr);

static inline MDB_val lmdb_val(struct span s)
{
	return (MDB_val){s.len, (void *)(uintptr_t)s.ptr};
}

static inline struct span lmdb_span(MDB_val v)
{
	return span_make(v.mv_data, v.mv_size);
}

/* Bytes that a row takes in the file: over about half a page it has pages of its own. */
uint64_t lmdb_row_cost(const struct lmdb_store *s, size_t len);

int lmdb_load_state(const struct lmdb_store *s, MDB_txn *txn, struct lmdb_state *ret);

/* ---- lmdb_resident.c ---- */

void lmdb_resident_open(struct lmdb_store *s);
void lmdb_resident_close(struct lmdb_store *s);
/* The writer's; a microsecond. */
void lmdb_resident_check(struct lmdb_store *s);

/* ---- the others ---- */

int lmdb_apply(struct store *s, struct store_change *changes, size_t n, usec now,
	       struct err *reterr);

/* Trims at most STORE_TRIM_PER_ROW rows per row written, none newer than `before`. Under
 * pressure (little room left) also rows that are neither too many nor too old. */
struct lmdb_trim {
	uint64_t before;
	size_t rows_written;
	usec now;
	bool pressure;
};
void lmdb_trim(struct lmdb_txn *t, struct lmdb_state *state, const struct lmdb_trim *trim);

/* Before a batch: grows the file, refuses with ERR_NO_SPACE what would not fit. The last pages
 * are kept for batches that only delete. */
struct lmdb_room {
	bool pressure;	     /* trim the log harder */
	bool growth_refused; /* the disk gave no more */
};
int lmdb_room_prepare(struct lmdb_store *s, const struct store_change *changes, size_t n,
		      struct lmdb_room *ret, struct err *reterr);
bool lmdb_has_room(struct store *s);
/* A batch was refused: there is no room for the next second, whatever the numbers say. */
void lmdb_room_refused(struct lmdb_store *s);
uint64_t lmdb_free_bytes(struct lmdb_store *s);

struct lmdb_reader {
	struct store_reader base;
	struct lmdb_store *store;
	struct lmdb_reader *next; /* in the pool */
	MDB_txn *txn;
	MDB_cursor *objects; /* for points; NULL until used */
	bool cursor_current; /* renewed for this snapshot */
	struct arena mem;    /* rebuilt bytes */
	struct lmdb_past {
		uint64_t revision;     /* 0: none */
		struct buf bare, next; /* the state that was rebuilt last, and room to work in */
	} past;
};

int lmdb_read_begin(struct store *s, struct store_reader **ret, struct err *reterr);
void lmdb_pool_done(struct lmdb_store *s);

int lmdb_iter_begin(struct store_reader *r, const struct store_range *range,
		    struct store_iter **ret, struct err *reterr);
int lmdb_count(struct store_reader *r, uint16_t type, struct span ns, size_t most, size_t *ret);

/* The stored key and row of an object: -ENOENT, -EIO. */
int lmdb_get_row(struct lmdb_reader *r, struct span key, struct span *ret_key,
		 struct span *ret_row);

/* ---- lmdb_past.c ---- */

int lmdb_past_row(struct lmdb_reader *r, uint64_t revision, struct row_log *ret);
/* The state of a key at `at`, which is below its current row. The json is rebuilt in out. -ENOENT
 * when it did not exist, -EIO. */
int lmdb_past_state(struct lmdb_reader *r, const struct row_state *current, uint64_t at,
		    struct buf *out, struct store_object *ret);
/* The new json of a log row, above the floor, of that revision: at hand, or rebuilt in out. */
int lmdb_past_new(struct lmdb_reader *r, uint64_t revision, const struct row_log *row,
		  struct buf *out, struct span *ret);
/* Appends its old json. */
int lmdb_past_old(struct lmdb_reader *r, uint64_t revision, const struct row_log *row,
		  struct buf *out);
void lmdb_past_done(struct lmdb_reader *r);

int lmdb_log_scan(struct store_reader *r, uint64_t after, const uint16_t *only,
		  int (*each)(void *arg, const struct store_log_row *row), void *arg);
int lmdb_log_old(struct store_reader *r, const struct store_log_row *row, struct buf *out);

#endif
