/*
 * Room. The file is allocated ahead of need: fallocate() reserves real blocks and fsync() makes
 * the new size durable before any commit relies on it. So a commit does not meet a full disk half
 * way, and never asks fdatasync() to save a file size that has just changed, which is where
 * LMDB's durability has had a hole (reliability-performance.md section 0, item 7).
 *
 * A batch is judged by an upper bound of the pages it may touch. What is left is the allocated
 * tail of the file plus, when that is short, the free pages inside it. The last `reserve` pages
 * are for batches that only delete, since with copy-on-write a deletion needs pages as well; and
 * when little is left the log is trimmed harder, which is what really gives room back. Free pages
 * may be too scattered for a row of several pages: then LMDB itself says that the map is full, and
 * lmdb_apply() trims more.
 */
#include "store/lmdb_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Pages copied on the way to a row: object, log and owner trees, and the same for two trimmed
 * rows, each a few levels deep. */
#define PAGES_PER_ROW	24
#define PAGES_PER_BATCH 32

#define MIN_STEP_PAGES 256   /* 1 MiB of 4 KiB pages */
#define MAX_STEP_PAGES 16384 /* 64 MiB */

static uint64_t clamp(uint64_t v, uint64_t low, uint64_t high)
{
	return v < low ? low : v > high ? high : v;
}

static uint64_t map_pages(const struct lmdb_store *s)
{
	return s->options.map_bytes / s->page_size;
}

static uint64_t reserve_pages(const struct lmdb_store *s)
{
	return clamp(map_pages(s) / 64, 32, 1024);
}

static uint64_t used_pages(const struct lmdb_store *s)
{
	MDB_envinfo info;
	uint64_t most = map_pages(s);
	if (mdb_env_info(s->env, &info) != 0 || info.me_last_pgno >= most)
		return most;
	return info.me_last_pgno + 1;
}

static uint64_t file_pages(const struct lmdb_store *s)
{
	struct stat st;
	if (s->cannot_allocate)
		return map_pages(s);
	if (fstat(s->data_fd, &st) < 0)
		return 0;
	uint64_t pages = (uint64_t)st.st_size / s->page_size;
	return pages < map_pages(s) ? pages : map_pages(s);
}

static uint64_t tail_pages(const struct lmdb_store *s, uint64_t used)
{
	uint64_t pages = file_pages(s);
	return pages > used ? pages - used : 0;
}

/* Free pages inside the file that a new transaction may take: those freed before the last two
 * commits. A held reader may keep some of them; then the commit itself says so. */
static uint64_t reusable_pages(struct lmdb_store *s)
{
	struct store_reader *r;
	MDB_cursor *c;
	MDB_val k, v;
	uint64_t total = 0;
	MDB_envinfo info;

	if (mdb_env_info(s->env, &info) != 0 || lmdb_read_begin(&s->base, &r, NULL) < 0)
		return 0;
	/* LMDB's list of free pages is database 0: transaction -> count and page numbers. */
	if (mdb_cursor_open(((struct lmdb_reader *)r)->txn, 0, &c) == 0) {
		while (mdb_cursor_get(c, &k, &v, MDB_NEXT) == 0) {
			size_t txnid = 0, n = 0;
			memcpy(&txnid, k.mv_data, sizeof(txnid));
			memcpy(&n, v.mv_data, sizeof(n));
			if (txnid + 1 < info.me_last_txnid)
				total += n;
		}
		mdb_cursor_close(c);
	}
	store_read_end(r);
	return total;
}

static uint64_t pages_of(const struct lmdb_store *s, size_t bytes)
{
	return bytes / s->page_size + 1;
}

static uint64_t estimate(const struct lmdb_store *s, const struct store_change *changes, size_t n,
			 bool *ret_only_deletes)
{
	uint64_t pages = PAGES_PER_BATCH;
	*ret_only_deletes = true;
	for (size_t i = 0; i < n; i++) {
		const struct store_change *c = &changes[i];
		if (c->op == STORE_PUT || c->op == STORE_PUT_AUX)
			*ret_only_deletes = false;
		if (c->op == STORE_PUT)
			pages += 2 * pages_of(s, c->json.len + 2 * c->digest.len);
		else if (c->op == STORE_PUT_AUX)
			pages += pages_of(s, c->aux_value.len);
		pages +=
		    c->op == STORE_PUT || c->op == STORE_DELETE ? PAGES_PER_ROW : PAGES_PER_ROW / 4;
	}
	return pages;
}

/* Makes the file `pages` long, or as long as the map allows. */
static bool grow(struct lmdb_store *s, uint64_t pages)
{
	uint64_t to = clamp(pages, 0, map_pages(s));
	uint64_t from = file_pages(s);

	if (to <= from)
		return true;
	off_t at = (off_t)(from * s->page_size), len = (off_t)((to - from) * s->page_size);
	if (fallocate(s->data_fd, 0, at, len) < 0) {
		if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
			return false;
		/* No such call here (NFS, some overlays): LMDB extends the file as it writes. */
		s->cannot_allocate = true;
		return true;
	}
	if (!s->options.no_sync && fsync(s->data_fd) < 0)
		s->broken = true;
	return true;
}

int lmdb_room_prepare(struct lmdb_store *s, const struct store_change *changes, size_t n,
		      struct lmdb_room *ret, struct err *reterr)
{
	bool only_deletes;
	uint64_t need = estimate(s, changes, n, &only_deletes);
	uint64_t reserve = reserve_pages(s);
	uint64_t used = used_pages(s);
	uint64_t left = tail_pages(s, used);

	*ret = (struct lmdb_room){0};
	if (left >= need + reserve)
		return 0;
	uint64_t step = clamp(used / 4, MIN_STEP_PAGES, MAX_STEP_PAGES);
	ret->growth_refused =
	    !grow(s, used + need + reserve + step) && !grow(s, used + need + reserve);
	if (s->broken)
		return lmdb_error(EIO, "grow the file", reterr);
	left = tail_pages(s, used);
	/* What could still be had, not only what was taken so far. */
	uint64_t possible = ret->growth_refused ? left : map_pages(s) - used;
	uint64_t comfort = need + clamp(map_pages(s) / 8, 4 * reserve, MAX_STEP_PAGES);
	if (possible >= comfort)
		return 0;
	uint64_t inside = reusable_pages(s);
	ret->pressure = possible + inside < comfort;
	if (left + inside < need + (only_deletes ? 0 : reserve))
		return lmdb_error(ret->growth_refused ? ENOSPC : MDB_MAP_FULL, "write", reterr);
	return 0;
}

/* ---- for those who plan writes ---- */

static void measure(struct lmdb_store *s)
{
	struct statvfs fs;
	uint64_t used = used_pages(s), page = s->page_size;
	uint64_t need = s->options.min_free_bytes;
	uint64_t map_need = clamp(need, 0, s->options.map_bytes / 16);
	uint64_t map_left = (map_pages(s) > used ? map_pages(s) - used : 0) * page;
	uint64_t disk_left = tail_pages(s, used) * page;

	s->free_bytes = statvfs(s->options.path, &fs) == 0 ? fs.f_bavail * fs.f_frsize : 0;
	if (s->cannot_allocate)
		disk_left = 0;
	disk_left += s->free_bytes;
	if (map_left < map_need || disk_left < need) {
		uint64_t inside = reusable_pages(s) * page;
		map_left += inside;
		disk_left += inside;
	}
	s->has_room = map_left >= map_need && disk_left >= need;
	s->room_checked = clock_monotonic();
}

static void refresh(struct lmdb_store *s)
{
	if (!s->room_checked || clock_monotonic() - s->room_checked >= USEC_PER_SEC)
		measure(s);
}

void lmdb_room_refused(struct lmdb_store *s)
{
	pthread_mutex_lock(&s->room_lock);
	refresh(s);
	s->has_room = false;
	s->room_checked = clock_monotonic();
	pthread_mutex_unlock(&s->room_lock);
}

bool lmdb_has_room(struct store *base)
{
	struct lmdb_store *s = lmdb_self(base);
	pthread_mutex_lock(&s->room_lock);
	refresh(s);
	bool r = s->has_room;
	pthread_mutex_unlock(&s->room_lock);
	return r;
}

uint64_t lmdb_free_bytes(struct lmdb_store *s)
{
	pthread_mutex_lock(&s->room_lock);
	refresh(s);
	uint64_t r = s->free_bytes;
	pthread_mutex_unlock(&s->room_lock);
	return r;
}
