/*
 * What only the durable backend has: opening again, the lock, the format, damage, size on disk.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	fixture_init(f, ON_LMDB);
	fixture_open(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture_done(*state);
	free(*state);
	return 0;
}

static int count_row(void *arg, const struct store_log_row *row)
{
	(void)row;
	++*(int *)arg;
	return 0;
}

static void everything_is_there_after_opening_again(void **state)
{
	struct fixture *f = *state;
	static const uint8_t owner[][STORE_UID_LEN] = {{7}};
	uint8_t incarnation[STORE_UID_LEN];
	struct made m;
	struct store_object o;
	struct store_key a = key_of(1, "ns", "a"), b = key_of(1, "ns", "b");
	struct span v;
	int rows = 0;

	memcpy(incarnation, store_incarnation(f->store), STORE_UID_LEN);
	put(f, "a", "{\"v\":1}");
	made_put(&m, 1, "ns", "b", "{}", NULL);
	m.change.owners = owner;
	m.change.n_owners = 1;
	assert_int_equal(store_apply(f->store, &m.change, 1, 1, NULL), 0);
	made_done(&m);
	delete (f, "a");
	assert_int_equal(put_aux(f, 3, "key", "value"), 0);
	fixture_close(f);
	fixture_open(f);
	assert_memory_equal(incarnation, store_incarnation(f->store), STORE_UID_LEN);
	assert_int_equal(store_revision(f->store), 3);
	struct store_reader *r = begin(f);
	assert_int_equal(store_get(r, &a, &o), -ENOENT);
	assert_int_equal(store_get_at(r, &a, 2, &o), 0);
	assert_object(&o, 1, "{\"v\":1}", NULL);
	assert_int_equal(store_get(r, &b, &o), 0);
	assert_int_equal(store_get_aux(r, 3, SPAN("key"), &v), 0);
	assert_true(span_is(v, "value"));
	assert_int_equal(store_log_scan(r, 0, count_row, &rows), 0);
	assert_int_equal(rows, 3);
	store_read_end(r);
	assert_int_equal(put(f, "c", "{}"), 4);
	struct store_stats stats;
	store_stats(f->store, &stats);
	assert_int_equal(stats.objects, 2);
	assert_int_equal(stats.log_rows, 4);
}

static void the_floor_is_kept_over_opening_again(void **state)
{
	struct fixture *f = *state;
	f->options.log_max_bytes = 1;
	fixture_close(f);
	fixture_open(f);
	for (int i = 0; i < 5; i++)
		put(f, "a", "{}");
	assert_int_equal(store_floor(f->store), 4);
	fixture_close(f);
	fixture_open(f);
	assert_int_equal(store_floor(f->store), 4);
}

static void a_store_that_is_open_cannot_be_opened_again(void **state)
{
	struct fixture *f = *state;
	struct store *second = NULL;
	struct err e = ERR_INIT;
	int status;

	assert_int_equal(store_open_lmdb(&f->options, &second, &e), -EAGAIN);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_non_null(strstr(e.text, f->options.path));
	assert_null(second);
	pid_t child = fork();
	if (child == 0) {
		int r = store_open_lmdb(&f->options, &second, NULL);
		_exit(r == -EAGAIN ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	/* The refusals broke nothing. */
	assert_int_equal(put(f, "a", "{}"), 1);
}

/* Writes straight into the environment of a closed store. */
static void write_raw(struct fixture *f, const char *db, MDB_val key, MDB_val value)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	fixture_close(f);
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_set_maxdbs(env, 8), 0);
	assert_int_equal(mdb_env_set_mapsize(env, f->options.map_bytes), 0);
	assert_int_equal(mdb_env_open(env, f->options.path, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, db, 0, &dbi), 0);
	assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

static MDB_val val(const void *bytes, size_t len)
{
	return (MDB_val){len, (void *)(uintptr_t)bytes};
}

static void assert_cannot_open(struct fixture *f, const char *words)
{
	struct store *s = NULL;
	struct err e = ERR_INIT;
	assert_int_equal(store_open_lmdb(&f->options, &s, &e), -EIO);
	assert_int_equal(e.kind, ERR_INTERNAL);
	if (!strstr(e.text, words) || !strstr(e.text, f->options.path))
		fail_msg("\"%s\" does not say \"%s\" and the path", e.text, words);
}

static void a_newer_format_is_refused_in_clear_words(void **state)
{
	struct fixture *f = *state;
	uint32_t format = STORE_FORMAT + 1;
	write_raw(f, NULL, val("format", 6), val(&format, sizeof(format)));
	assert_cannot_open(f, "store format 3 is newer than this program, which knows 2");
	format = 0;
	write_raw(f, NULL, val("format", 6), val(&format, sizeof(format)));
	assert_cannot_open(f, "unknown store format");
	format = STORE_FORMAT;
	write_raw(f, NULL, val("format", 6), val(&format, sizeof(format)));
	fixture_open(f);
}

static void a_damaged_row_is_an_error_of_its_reader_only(void **state)
{
	struct fixture *f = *state;
	struct store_object o;
	struct store_key a = key_of(1, "ns", "a"), b = key_of(1, "ns", "b");
	struct err e = ERR_INIT;
	struct made m;

	put(f, "a", "{}");
	put(f, "b", "{}");
	write_raw(f, "objects", val("\0\1ns\0a", 6), val("\1damage", 7));
	fixture_open(f);
	struct store_reader *r = begin(f);
	assert_int_equal(store_get(r, &a, &o), -EIO);
	assert_int_equal(store_get(r, &b, &o), 0);
	store_read_end(r);
	made_put(&m, 1, "ns", "a", "{}", NULL);
	assert_int_equal(store_apply(f->store, &m.change, 1, 1, &e), -EIO);
	assert_non_null(strstr(e.text, "damaged"));
	made_done(&m);
	assert_int_equal(put(f, "b", "{}"), 3);
}

static void a_file_that_is_no_store_is_refused(void **state)
{
	struct fixture *f = *state;
	auto_buf path = BUF_INIT;
	char junk[8192];

	fixture_close(f);
	memset(junk, 'j', sizeof(junk));
	buf_addf(&path, "%s/data.mdb", f->options.path);
	int fd = open(path.ptr, O_WRONLY);
	assert_int_equal(write(fd, junk, sizeof(junk)), sizeof(junk));
	(void)close(fd);
	assert_cannot_open(f, "not a store of this program");
}

static void a_directory_that_cannot_be_made_is_named(void **state)
{
	struct fixture *f = *state;
	const struct store_options o = {.path = "/proc/no-such-place/store", .map_bytes = 1 << 20};
	struct store *s = NULL;
	struct err e = ERR_INIT;
	(void)f;
	assert_int_equal(store_open_lmdb(&o, &s, &e), -EIO);
	assert_non_null(strstr(e.text, "/proc/no-such-place/store: cannot create the directory"));
}

static void the_directory_is_for_its_owner_alone(void **state)
{
	struct fixture *f = *state;
	struct fixture inner = {.backend = ON_LMDB, .options = f->options};
	auto_buf path = BUF_INIT;
	struct stat st;

	buf_addf(&path, "%s/inner", f->options.path);
	inner.options.path = path.ptr;
	fixture_open(&inner);
	assert_int_equal(stat(path.ptr, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	fixture_close(&inner);
	fixture_remove_dir(path.ptr);
}

static void many_readers_at_one_time_are_fine(void **state)
{
	struct fixture *f = *state;
	struct store_reader *readers[600];
	put(f, "a", "{}");
	for (size_t i = 0; i < ARRAY_LEN(readers); i++)
		readers[i] = begin(f);
	put(f, "b", "{}");
	for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
		assert_int_equal(store_reader_revision(readers[i]), 1);
		store_read_end(readers[i]);
	}
}

static void over_the_reader_slots_is_an_error_that_passes(void **state)
{
	struct fixture *f = *state;
	struct store_reader *readers[2000], *r;
	struct err e = ERR_INIT;
	size_t n = 0;

	while (n < ARRAY_LEN(readers) && store_read_begin(f->store, &readers[n], &e) == 0)
		n++;
	assert_in_range(n, 512, 1999);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	store_read_end(readers[--n]);
	assert_int_equal(store_read_begin(f->store, &r, NULL), 0);
	store_read_end(r);
	while (n > 0)
		store_read_end(readers[--n]);
}

static void a_reader_may_end_on_another_thread_than_it_began(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;
	put(f, "a", "{}");
	struct store_reader *r = begin(f);
	assert_int_equal(
	    pthread_create(&thread, NULL, (void *(*)(void *))(void *)store_read_end, r), 0);
	pthread_join(thread, NULL);
	r = begin(f);
	store_read_end(r);
}

static uint64_t file_bytes(const struct fixture *f)
{
	auto_buf path = BUF_INIT;
	struct stat st;
	buf_addf(&path, "%s/data.mdb", f->options.path);
	assert_int_equal(stat(path.ptr, &st), 0);
	return (uint64_t)st.st_size;
}

static void the_file_stops_growing_when_the_log_is_trimmed(void **state)
{
	struct fixture *f = *state;
	char spec[3000];

	f->options.log_max_bytes = 1 << 20;
	f->options.no_sync = true;
	fixture_close(f);
	fixture_open(f);
	memset(spec, 'x', sizeof(spec) - 1);
	spec[0] = spec[sizeof(spec) - 2] = '"';
	spec[sizeof(spec) - 1] = '\0';
	while (store_floor(f->store) < 1000)
		put(f, "a", spec);
	uint64_t before = file_bytes(f);
	for (int i = 0; i < 5000; i++)
		put(f, "a", spec);
	assert_int_equal(file_bytes(f), before);
}

/* Bytes of the store's file that this process has mapped. */
static size_t mapped_of_file(void)
{
	char line[512];
	size_t kib, sum = 0;
	bool counted = false;
	FILE *f = fopen("/proc/self/smaps", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, "/data.mdb"))
			counted = true;
		else if (sscanf(line, "Rss: %zu kB", &kib) == 1 && counted) {
			sum += kib * 1024;
			counted = false;
		}
	}
	fclose(f);
	return sum;
}

static void pages_that_were_touched_do_not_stay_mapped(void **state)
{
	struct fixture *f = *state;
	char name[16], json[1024];

	fixture_close(f);
	f->options.no_sync = true; /* what is mapped is asked, not what is on the disk */
	f->options.resident_bytes = 1 << 20;
	f->options.resident_every = 1;
	fixture_open(f);
	size_t most = 0;
	for (int i = 0; i < 6000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		snprintf(json, sizeof(json), "{\"v\":\"%0900d\"}", i);
		put(f, name, json);
		size_t now = i % 100 == 99 ? mapped_of_file() : 0;
		most = now > most ? now : most;
	}
	assert_in_range(most, 4096, 4 << 20);
}

static void read_all(struct fixture *f, int n)
{
	struct store_reader *r;
	struct store_object o;
	char name[16];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		struct store_key key = key_of(1, "ns", name);
		assert_int_equal(store_read_begin(f->store, &r, NULL), 0);
		assert_int_equal(store_get(r, &key, &o), 0);
		store_read_end(r);
	}
}

/* What is read again and again would have to be faulted in each time. */
static void reading_lets_go_of_nothing(void **state)
{
	struct fixture *f = *state;
	char name[16], json[1024];

	fixture_close(f);
	f->options.no_sync = true; /* what is mapped is asked, not what is on the disk */
	f->options.resident_bytes = 1 << 20;
	f->options.resident_every = 1;
	fixture_open(f);
	for (int i = 0; i < 6000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		snprintf(json, sizeof(json), "{\"v\":\"%0900d\"}", i);
		put(f, name, json);
	}
	read_all(f, 6000);
	size_t before = mapped_of_file();
	assert_true(before > 5 << 20); /* more than the limit */
	read_all(f, 6000);
	assert_int_equal(mapped_of_file(), before);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(everything_is_there_after_opening_again),
	    TEST(pages_that_were_touched_do_not_stay_mapped),
	    TEST(reading_lets_go_of_nothing),
	    TEST(the_floor_is_kept_over_opening_again),
	    TEST(a_store_that_is_open_cannot_be_opened_again),
	    TEST(a_newer_format_is_refused_in_clear_words),
	    TEST(a_damaged_row_is_an_error_of_its_reader_only),
	    TEST(a_file_that_is_no_store_is_refused),
	    TEST(a_directory_that_cannot_be_made_is_named),
	    TEST(the_directory_is_for_its_owner_alone),
	    TEST(many_readers_at_one_time_are_fine),
	    TEST(over_the_reader_slots_is_an_error_that_passes),
	    TEST(a_reader_may_end_on_another_thread_than_it_began),
	    TEST(the_file_stops_growing_when_the_log_is_trimmed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
