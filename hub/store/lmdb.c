/*
 * Opening and closing. One process holds a store, once: LMDB itself would be corrupted by a
 * second opening in the same process, and a second hub must not write behind the first one's
 * back. flock() on a file of our own refuses both, and goes with the process.
 */
#include "store/lmdb_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Readers are pooled, so this is the number of snapshots open at one time. */
#define MAX_READERS   1024
#define READERS_BYTES ((off_t)(MAX_READERS + 64) * 64) /* a cache line each, and LMDB's header */

static int take_lock(struct lmdb_store *s, struct err *reterr)
{
	auto_buf path = BUF_INIT;

	if (mkdir(s->options.path, 0700) < 0 && errno != EEXIST)
		return err_set(reterr, ERR_INTERNAL, "%s: cannot create the directory: %m",
			       s->options.path);
	buf_addf(&path, "%s/owner.lock", s->options.path);
	s->lock_fd = open(path.ptr, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		return err_set(reterr, ERR_INTERNAL, "%s: cannot open: %m", path.ptr);
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EWOULDBLOCK)
			return err_set(reterr, ERR_UNAVAILABLE, "%s: in use by another process",
				       s->options.path);
		return err_set(reterr, ERR_INTERNAL, "%s: cannot lock: %m", path.ptr);
	}
	return 0;
}

/* LMDB maps its table of readers, a file with holes: on a full disk the first use of a slot in a
 * hole would be a SIGBUS. So its blocks are taken beforehand, while no descriptor of LMDB's own is
 * open, for closing this one lets go of its locks. Where that is refused LMDB does as it would. */
static void allocate_readers(const struct lmdb_store *s)
{
	auto_buf path = BUF_INIT;

	buf_addf(&path, "%s/lock.mdb", s->options.path);
	int fd = open(path.ptr, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	(void)fallocate(fd, 0, 0, READERS_BYTES);
	(void)close(fd);
}

static int open_env(struct lmdb_store *s)
{
	unsigned flags = MDB_NOTLS | (s->options.no_sync ? MDB_NOSYNC : 0);
	int rc;

	allocate_readers(s);
	rc = mdb_env_create(&s->env);
	if (rc == 0)
		rc = mdb_env_set_mapsize(s->env, s->options.map_bytes);
	if (rc == 0)
		rc = mdb_env_set_maxdbs(s->env, 8);
	if (rc == 0)
		rc = mdb_env_set_maxreaders(s->env, MAX_READERS);
	if (rc == 0)
		rc = mdb_env_open(s->env, s->options.path, flags, 0600);
	if (rc == 0)
		rc = mdb_env_get_fd(s->env, &s->data_fd);
	if (rc == 0)
		rc = mdb_reader_check(s->env, NULL);
	return rc;
}

static void open_databases(struct lmdb_store *s, struct lmdb_txn *t)
{
	const struct {
		const char *name;
		unsigned flags;
		MDB_dbi *dbi;
	} all[] = {
	    {NULL, 0, &s->main},
	    {"objects", MDB_CREATE, &s->objects},
	    {"log", MDB_CREATE | MDB_INTEGERKEY, &s->log},
	    {"owners", MDB_CREATE, &s->owners},
	    {"aux", MDB_CREATE, &s->aux},
	};
	MDB_stat st;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (t->rc == 0)
			lmdb_fail(t, mdb_dbi_open(t->txn, all[i].name, all[i].flags, all[i].dbi),
				  "open a database");
	if (t->rc == 0)
		lmdb_fail(t, mdb_stat(t->txn, s->main, &st), "stat");
	if (t->rc == 0)
		s->page_size = st.ms_psize;
}

static int random_incarnation(struct lmdb_store *s)
{
	ssize_t n = getrandom(s->incarnation, STORE_UID_LEN, 0);
	return n == STORE_UID_LEN ? 0 : EIO;
}

static void write_format(struct lmdb_store *s, struct lmdb_txn *t)
{
	const uint32_t format = STORE_FORMAT;
	lmdb_put(t, s->main, SPAN("format"), span_make((const char *)&format, sizeof(format)));
}

static void create_rows(struct lmdb_store *s, struct lmdb_txn *t)
{
	s->state.revision = s->options.first_revision;
	lmdb_fail(t, random_incarnation(s), "make an incarnation");
	write_format(s, t);
	lmdb_put(t, s->main, SPAN("incarnation"),
		 span_make((const char *)s->incarnation, STORE_UID_LEN));
	lmdb_put(t, s->main, SPAN("state"), span_make((const char *)&s->state, sizeof(s->state)));
}

/* Rows of format 1 are read as they are (row.h), and new ones come beside them: all that an older
 * store needs is the number, so that an older program refuses it from now on. */
static int check_format(struct lmdb_store *s, struct lmdb_txn *t, struct span row,
			struct err *reterr)
{
	uint32_t format = 0;
	if (row.len == sizeof(format))
		memcpy(&format, row.ptr, sizeof(format));
	if (format > STORE_FORMAT)
		return err_set(reterr, ERR_INTERNAL,
			       "%s: store format %u is newer than this program, which knows %d: "
			       "use the program that wrote it, or a newer one",
			       s->options.path, format, STORE_FORMAT);
	if (format < 1)
		return err_set(reterr, ERR_INTERNAL, "%s: unknown store format", s->options.path);
	if (format < STORE_FORMAT)
		write_format(s, t);
	return 0;
}

static int load_rows(struct lmdb_store *s, struct lmdb_txn *t, struct err *reterr)
{
	struct span row;

	if (!lmdb_get(t, s->main, SPAN("format"), &row)) {
		create_rows(s, t);
		return 0;
	}
	int r = check_format(s, t, row, reterr);
	if (r < 0)
		return r;
	if (lmdb_get(t, s->main, SPAN("incarnation"), &row) && row.len == STORE_UID_LEN)
		memcpy(s->incarnation, row.ptr, STORE_UID_LEN);
	else
		lmdb_fail(t, EBADMSG, "read the incarnation");
	if (t->rc == 0)
		lmdb_fail(t, lmdb_load_state(s, t->txn, &s->state), "read the state");
	return 0;
}

static int open_all(struct lmdb_store *s, struct err *reterr)
{
	struct lmdb_txn t;
	int r = take_lock(s, reterr);
	if (r < 0)
		return r;
	int rc = open_env(s);
	if (rc != 0) {
		r = lmdb_error(rc, "open", reterr);
		(void)err_wrap(reterr, "%s", s->options.path);
		return r;
	}
	lmdb_begin(s, &t);
	open_databases(s, &t);
	if (t.rc == 0)
		r = load_rows(s, &t, reterr);
	if (r < 0) {
		mdb_txn_abort(t.txn);
		return r;
	}
	r = lmdb_commit(&t, reterr);
	if (r < 0)
		(void)err_wrap(reterr, "%s", s->options.path);
	atomic_store(&s->revision, s->state.revision);
	atomic_store(&s->floor, s->state.floor);
	s->readers_checked = clock_monotonic();
	lmdb_resident_open(s);
	return r;
}

static void lmdb_close(struct store *base)
{
	struct lmdb_store *s = lmdb_self(base);
	lmdb_pool_done(s);
	if (s->env) {
		/* A clean stop loses nothing, without sync too. */
		if (s->options.no_sync)
			(void)mdb_env_sync(s->env, 1);
		mdb_env_close(s->env);
	}
	lmdb_resident_close(s);
	if (s->lock_fd >= 0)
		(void)close(s->lock_fd);
	pthread_mutex_destroy(&s->pool_lock);
	pthread_mutex_destroy(&s->room_lock);
	buf_done(&s->old_row);
	buf_done(&s->old_bare);
	free((char *)(uintptr_t)s->options.path);
	free(s);
}

static uint64_t lmdb_revision(const struct store *s)
{
	return atomic_load(&lmdb_self(s)->revision);
}

static uint64_t lmdb_floor(const struct store *s)
{
	return atomic_load(&lmdb_self(s)->floor);
}

static const uint8_t *lmdb_incarnation(const struct store *s)
{
	return lmdb_self(s)->incarnation;
}

static void lmdb_stats(struct store *base, struct store_stats *ret)
{
	struct lmdb_store *s = lmdb_self(base);
	struct lmdb_state state;
	struct store_reader *r;
	MDB_stat st;

	*ret = (struct store_stats){.free_bytes = lmdb_free_bytes(s)};
	if (lmdb_read_begin(base, &r, NULL) < 0)
		return;
	MDB_txn *txn = ((struct lmdb_reader *)r)->txn;
	if (mdb_stat(txn, s->objects, &st) == 0)
		ret->data_bytes = (st.ms_branch_pages + st.ms_leaf_pages + st.ms_overflow_pages) *
				  (uint64_t)st.ms_psize;
	if (lmdb_load_state(s, txn, &state) == 0) {
		ret->log_bytes = state.log_bytes;
		ret->log_rows = state.log_rows;
		ret->objects = state.objects;
	}
	store_read_end(r);
}

static const struct store_ops ops = {
    .close = lmdb_close,
    .apply = lmdb_apply,
    .revision = lmdb_revision,
    .floor = lmdb_floor,
    .incarnation = lmdb_incarnation,
    .has_room = lmdb_has_room,
    .stats = lmdb_stats,
    .read_begin = lmdb_read_begin,
};

int store_open_lmdb(const struct store_options *o, struct store **ret, struct err *reterr)
{
	struct lmdb_store *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	store_options_complete(o, &s->options);
	s->options.path = xstrdup(o->path);
	s->lock_fd = s->statm_fd = -1;
	s->old_row = s->old_bare = BUF_INIT;
	pthread_mutex_init(&s->pool_lock, NULL);
	pthread_mutex_init(&s->room_lock, NULL);
	int r = open_all(s, reterr);
	if (r < 0) {
		lmdb_close(&s->base);
		return r;
	}
	*ret = &s->base;
	return 0;
}
