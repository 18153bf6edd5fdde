/*
 * No space: a full map, and a full disk, which a limit on the size of files stands for. Reads go
 * on, deletions go on, writes are refused with ERR_NO_SPACE and work again once there is room.
 */
#include "fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPEC_LEN 8000

static char *big_spec(char fill)
{
	char *spec = xcalloc(1, SPEC_LEN + 1);
	memset(spec, fill, SPEC_LEN);
	spec[0] = spec[SPEC_LEN - 1] = '"';
	return spec;
}

static int try_put(struct fixture *f, int i, char fill, struct err *reterr)
{
	struct made m;
	char name[16];
	auto_free char *spec = big_spec(fill);

	(void)snprintf(name, sizeof(name), "o%05d", i);
	made_put(&m, 1, "ns", name, spec, NULL);
	int r = store_apply(f->store, &m.change, 1, 1, reterr);
	made_done(&m);
	return r;
}

/* Puts new objects until they are refused for good: a refusal trims the log, which may make room
 * for some more. Their number. */
static int fill_up(struct fixture *f)
{
	struct err e = ERR_INIT;
	int n = 0;

	for (int refused = 0; refused < 200 && n < 100000;) {
		if (try_put(f, n, 'x', &e) == 0) {
			n++;
			refused = 0;
		} else {
			assert_int_equal(e.kind, ERR_NO_SPACE);
			/* Clients read it: it says what is full, not where that lies. */
			assert_true(span_starts(span_of(e.text), SPAN("the store")));
			assert_null(strchr(e.text, '/'));
			refused++;
		}
	}
	assert_true(n > 5 && n < 100000);
	return n;
}

static void assert_all_there(struct fixture *f, int from, int to)
{
	auto_free char *spec = big_spec('x');
	auto_reader *r = begin(f);
	char name[16];

	for (int i = from; i < to; i++) {
		struct store_object o;
		(void)snprintf(name, sizeof(name), "o%05d", i);
		struct store_key key = key_of(1, "ns", name);
		assert_int_equal(store_get(r, &key, &o), 0);
		assert_object(&o, o.revision, spec, NULL);
	}
	size_t n;
	assert_int_equal(store_count(r, 1, SPAN_NONE, 1000000, &n), 0);
	assert_int_equal(n, to - from);
}

/* Deletes from the front until a put works again; the number deleted. */
static int delete_until_room(struct fixture *f, int n)
{
	char name[16];
	for (int i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "o%05d", i);
		delete (f, name);
		if (try_put(f, n, 'x', NULL) == 0)
			return i + 1;
	}
	fail_msg("no room after deleting everything");
	return 0;
}

/* Thousands of commits: without waiting for a disk, which these tests are not about. */
static void init_quick(struct fixture *f)
{
	fixture_init(f, ON_LMDB);
	f->options.no_sync = true;
}

static void a_full_map_refuses_writes_until_something_is_deleted(void **state)
{
	struct fixture f;
	(void)state;

	init_quick(&f);
	f.options.map_bytes = 8 << 20;
	fixture_open(&f);
	assert_true(store_has_room(f.store));
	int n = fill_up(&f);
	assert_all_there(&f, 0, n);
	/* Again and again, without change. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(try_put(&f, n, 'y', NULL), -ENOSPC);
	assert_all_there(&f, 0, n);
	int gone = delete_until_room(&f, n);
	assert_all_there(&f, gone, n + 1);
	fixture_close(&f);
	fixture_open(&f);
	assert_all_there(&f, gone, n + 1);
	fixture_done(&f);
}

static void the_log_gives_way_before_writes_are_refused(void **state)
{
	struct fixture f;
	struct err e = ERR_INIT;
	(void)state;

	init_quick(&f);
	f.options.map_bytes = 8 << 20;
	fixture_open(&f);
	/* One object, changed for ever: its log would be far larger than the map. Scattered free
	 * pages may refuse a change now and then; it goes through when it is tried again. */
	for (int i = 0; i < 5000; i++) {
		int tries = 1;
		while (try_put(&f, 0, (char)('a' + i % 20), &e) < 0)
			if (++tries == 20)
				fail_msg("change %d: %s", i, e.text);
	}
	assert_true(store_floor(f.store) > 1000);
	fixture_done(&f);
}

static void missing_room_is_reported(void **state)
{
	struct fixture f;
	(void)state;

	init_quick(&f);
	f.options.map_bytes = 8 << 20;
	fixture_open(&f);
	assert_true(store_has_room(f.store));
	(void)fill_up(&f);
	assert_false(store_has_room(f.store));	   /* for a second: then it is measured again */
	f.options.min_free_bytes = UINT64_MAX / 2; /* more than any disk */
	f.options.map_bytes = 256 << 20;
	fixture_close(&f);
	fixture_open(&f);
	assert_false(store_has_room(f.store));
	fixture_done(&f);
}

/* ---- a full disk, in a process of its own ---- */

static void limit_files(rlim_t bytes)
{
	const struct rlimit limit = {bytes, RLIM_INFINITY};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void in_child(void (*run)(rlim_t limit), rlim_t limit)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		(void)signal(SIGXFSZ, SIG_IGN);
		run(limit);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("failed with files limited to %llu bytes", (unsigned long long)limit);
}

static void fill_disk_and_recover(rlim_t limit)
{
	struct fixture f;
	fixture_init(&f, ON_LMDB);
	fixture_open(&f);
	limit_files(limit);
	int n = fill_up(&f);
	assert_all_there(&f, 0, n);
	int gone = delete_until_room(&f, n);
	assert_all_there(&f, gone, n + 1);
	limit_files(RLIM_INFINITY);
	for (int i = n + 1; i < n + 100; i++)
		assert_int_equal(try_put(&f, i, 'x', NULL), 0);
	assert_all_there(&f, gone, n + 100);
	fixture_done(&f);
}

static void a_full_disk_refuses_writes_and_recovers_without_restart(void **state)
{
	(void)state;
	in_child(fill_disk_and_recover, 8 << 20);
}

/* The disk ends at any byte: within a page, within a growth, within a commit. */
static void write_against_limit(rlim_t limit)
{
	struct fixture f;
	struct err e = ERR_INIT;
	int n = 0;

	init_quick(&f);
	f.options.map_bytes = 16 << 20;
	fixture_open(&f);
	limit_files(limit);
	for (int tries = 0; tries < 250; tries++) {
		int r = try_put(&f, n, 'x', &e);
		if (r < 0 && e.kind != ERR_NO_SPACE)
			fail_msg("%s", e.text);
		n += r == 0;
	}
	assert_all_there(&f, 0, n);
	limit_files(RLIM_INFINITY);
	fixture_close(&f);
	fixture_open(&f);
	assert_all_there(&f, 0, n);
	assert_int_equal(try_put(&f, n, 'x', NULL), 0);
	fixture_done(&f);
}

static void a_disk_that_ends_anywhere_loses_nothing(void **state)
{
	(void)state;
	for (rlim_t limit = 1 << 20; limit < 5 << 20; limit += 150001)
		in_child(write_against_limit, limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_full_map_refuses_writes_until_something_is_deleted),
	    cmocka_unit_test(the_log_gives_way_before_writes_are_refused),
	    cmocka_unit_test(missing_room_is_reported),
	    cmocka_unit_test(a_full_disk_refuses_writes_and_recovers_without_restart),
	    cmocka_unit_test(a_disk_that_ends_anywhere_loses_nothing),
	};
	return cmocka_run_group_tests_name("store room", tests, NULL, NULL);
}
