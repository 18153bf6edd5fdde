/*
 * How much of the map is resident. Every page that a reader or the writer has touched stays mapped
 * for as long as the kernel likes, so that a process that writes a gigabyte shows a gigabyte, which
 * is page cache and no memory of its own. Past a limit the writer lets go of all of them: the pages
 * stay in the cache, and a next look at one is a minor fault, sixteen pages at a time.
 *
 * What counts is what the process has mapped of all files, since that is what can be asked cheaply.
 * It is done twenty times a second at most, whatever is mapped: what is read again and again would
 * else be faulted in again and again, which doubled the price of a GET. For the same reason only
 * writing does it: a store that is only read keeps what it reads.
 *
 * The map is read-only (no write map): there is nothing in it that could be lost. Readers on other
 * threads may be in the middle of it.
 */
#include "base/num.h"
#include "store/lmdb_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* The hexadecimal digits at the start of a line of /proc/self/maps. */
static uintptr_t take_hex(const char **at)
{
	uintptr_t v = 0;

	for (;; (*at)++) {
		char c = **at;
		if (c >= '0' && c <= '9')
			v = v * 16 + (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v * 16 + (uintptr_t)(c - 'a') + 10;
		else
			return v;
	}
}

/* LMDB tells where it mapped the file only for fixed maps: the mapping that a row lies in. */
static void *start_of_mapping(const void *within)
{
	uintptr_t at = (uintptr_t)within;
	char line[8192];
	void *found = NULL;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *p = line;
		uintptr_t start = take_hex(&p);
		uintptr_t end = *p == '-' ? (p++, take_hex(&p)) : 0;
		if (at >= start && at < end)
			found = (void *)start;
	}
	if (f)
		(void)fclose(f);
	return found;
}

void lmdb_resident_open(struct lmdb_store *s)
{
	MDB_val k = lmdb_val(SPAN("format")), v;
	MDB_txn *txn;

	s->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn) != 0)
		return;
	if (mdb_get(txn, s->main, &k, &v) == 0)
		s->map = start_of_mapping(v.mv_data);
	mdb_txn_abort(txn);
}

void lmdb_resident_close(struct lmdb_store *s)
{
	if (s->statm_fd >= 0)
		(void)close(s->statm_fd);
	s->statm_fd = -1;
}

/* Of all files that the process has mapped: both stores, and the programs' text. */
static uint64_t resident_of_files(const struct lmdb_store *s)
{
	char text[128];
	uint64_t shared;
	ssize_t n = s->statm_fd < 0 ? -1 : pread(s->statm_fd, text, sizeof(text), 0);

	if (n <= 0)
		return 0;
	struct span rest = span_make(text, (size_t)n);
	(void)span_split(&rest, ' '); /* size */
	(void)span_split(&rest, ' '); /* resident */
	if (num_parse_u64(span_split(&rest, ' '), UINT64_MAX >> 20, &shared) < 0)
		return 0;
	return shared * (uint64_t)sysconf(_SC_PAGESIZE);
}

void lmdb_resident_check(struct lmdb_store *s)
{
	usec now = clock_monotonic();
	MDB_envinfo info;

	if (!s->map || now - s->resident_let_go < s->options.resident_every ||
	    resident_of_files(s) <= s->options.resident_bytes || mdb_env_info(s->env, &info) != 0)
		return;
	(void)madvise(s->map, (info.me_last_pgno + 1) * s->page_size, MADV_DONTNEED);
	s->resident_let_go = now;
}
