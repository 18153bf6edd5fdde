/* What the contract suite cannot see: that nothing plain reaches the store below, and keys. */
#include "fixture.h"

#include "store/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET	"{\"data\":{\"password\":\"aHVudGVyMg==\"}}"
#define OLD_KEY "old AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"
#define NEW_KEY "new Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=\n"

static const uint16_t types[] = {1};
static char path[64];

static void write_keys(const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static struct sealed_keys *keys_of(const char *text)
{
	struct sealed_keys *k = NULL;
	struct err e = ERR_INIT;
	write_keys(text, 0600);
	if (sealed_keys_open(path, false, &k, &e) < 0)
		fail_msg("%s", e.text);
	return k;
}

static int setup(void **state)
{
	int fd;
	(void)state;
	snprintf(path, sizeof(path), "/tmp/test-sealed-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path) < 0 && errno != ENOENT ? -1 : 0;
}

/* Writes one object of each type into a fresh LMDB under `keys`, and closes it. */
static void write_store(struct fixture *f, const char *keys)
{
	fixture_init(f, ON_LMDB);
	fixture_open(f);
	if (keys)
		f->store = sealed_open(f->store, keys_of(keys), types, 1);
	put_at(f, 1, 1, "ns", "s", SECRET, NULL);
	put_at(f, 1, 2, "ns", "plain", "{\"visible\":\"aHVudGVyMg\"}", NULL);
	fixture_close(f);
}

static bool file_holds(const char *dir, const char *word)
{
	auto_free char *name = NULL;
	struct buf b = BUF_MAX((size_t)64 << 20);
	ssize_t n = 1;
	bool found;
	int fd;
	assert_true(asprintf(&name, "%s/data.mdb", dir) > 0);
	fd = open(name, O_RDONLY);
	assert_true(fd >= 0);
	while (n > 0) {
		char *at = buf_reserve(&b, 65536);
		n = read(fd, at, 65536);
		if (n > 0)
			buf_advance(&b, (size_t)n);
	}
	close(fd);
	found = memmem(b.ptr, b.len, word, strlen(word)) != NULL;
	buf_done(&b);
	return found;
}

static void nothing_plain_is_on_the_disk(void **state)
{
	struct fixture f;
	(void)state;
	write_store(&f, NULL);
	assert_true(file_holds(f.options.path, "password"));
	fixture_done(&f);
	write_store(&f, OLD_KEY);
	assert_false(file_holds(f.options.path, "password"));
	assert_false(file_holds(f.options.path, "aHVudGVyMg=="));
	assert_true(file_holds(f.options.path, "visible")); /* another type */
	fixture_done(&f);
}

static int read_one(struct fixture *f, const char *keys, const char *name)
{
	struct store_key key = key_of(1, "ns", name);
	struct store_object o;
	int r;
	fixture_open(f);
	f->store = sealed_open(f->store, keys_of(keys), types, 1);
	{
		auto_reader *reader = begin(f);
		r = store_get(reader, &key, &o);
		if (!r)
			assert_non_null(memmem(o.json.ptr, o.json.len, SECRET, strlen(SECRET)));
	}
	return r;
}

static bool is_stale(struct fixture *f)
{
	struct store_key key = key_of(1, "ns", "s");
	bool stale = false;
	assert_int_equal(sealed_is_stale(f->store, &key, &stale), 0);
	return stale;
}

static void keys_rotate(void **state)
{
	struct fixture f;
	(void)state;
	write_store(&f, OLD_KEY);
	assert_int_equal(read_one(&f, OLD_KEY, "s"), 0);
	assert_false(is_stale(&f));
	fixture_close(&f);
	assert_int_equal(read_one(&f, NEW_KEY OLD_KEY, "s"), 0);
	assert_true(is_stale(&f));
	put_at(&f, 2, 1, "ns", "s", SECRET, NULL);
	assert_false(is_stale(&f));
	fixture_close(&f);
	assert_int_equal(read_one(&f, NEW_KEY, "s"), 0);
	fixture_done(&f);
}

static void what_was_plain_is_read_and_stale(void **state)
{
	struct fixture f;
	(void)state;
	write_store(&f, NULL);
	assert_int_equal(read_one(&f, OLD_KEY, "s"), 0);
	assert_true(is_stale(&f));
	fixture_done(&f);
}

static int count_empty(void *arg, const struct store_log_row *row)
{
	int *n = arg;
	*n += row->object.key.type == 1 && !row->object.json.ptr;
	return 0;
}

static void without_its_key_an_object_is_an_error_and_its_past_is_trimmed(void **state)
{
	struct store_key key = key_of(1, "ns", "s");
	struct store_object o;
	struct fixture f;
	int empty = 0;
	(void)state;
	write_store(&f, OLD_KEY);
	assert_int_equal(read_one(&f, NEW_KEY, "s"), -EIO);
	put_at(&f, 2, 1, "ns", "s", SECRET, NULL);
	{
		auto_reader *reader = begin(&f);
		assert_int_equal(store_get(reader, &key, &o), 0);
		assert_int_equal(store_get_at(reader, &key, 1, &o), -ETIME);
		assert_int_equal(store_log_scan(reader, 0, count_empty, &empty), 0);
	}
	assert_int_equal(empty, 1);
	fixture_done(&f);
}

static void a_sealed_object_stays_in_its_place(void **state)
{
	struct fixture f;
	struct store_key key = key_of(1, "ns", "s");
	struct store_object o;
	struct made m;
	(void)state;
	write_store(&f, OLD_KEY);
	fixture_open(&f); /* below: somebody copies the bytes to another name */
	made_put(&m, 1, "ns", "thief", SECRET, NULL);
	{
		auto_reader *reader = begin(&f);
		assert_int_equal(store_get(reader, &key, &o), 0);
		m.change.json = o.json;
		m.change.extents = (struct store_extents){.revision = {13, 0}};
		assert_int_equal(store_apply(f.store, &m.change, 1, 2, NULL), 0);
	}
	made_done(&m);
	fixture_close(&f);
	assert_int_equal(read_one(&f, OLD_KEY, "thief"), -EIO);
	fixture_done(&f);
}

static void key_files_are_private_and_well_formed(void **state)
{
	static const char *const bad[] = {"", "# none\n", "name\n", "name AAAA\n", "name !!!\n"};
	struct sealed_keys *k;
	struct stat st;
	struct err e = ERR_INIT;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		write_keys(bad[i], 0600);
		assert_true(sealed_keys_open(path, true, &k, &e) < 0);
		assert_int_equal(e.kind, ERR_INVALID);
	}
	write_keys(OLD_KEY, 0644);
	assert_true(sealed_keys_open(path, false, &k, &e) < 0);
	assert_non_null(strstr(e.text, "0600"));
	assert_int_equal(unlink(path), 0);
	assert_true(sealed_keys_open(path, false, &k, &e) < 0);
	assert_int_equal(sealed_keys_open(path, true, &k, &e), 0);
	sealed_keys_close(k);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(sealed_keys_open(path, false, &k, &e), 0); /* and is read again */
	sealed_keys_close(k);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(nothing_plain_is_on_the_disk),
	    TEST(keys_rotate),
	    TEST(what_was_plain_is_read_and_stale),
	    TEST(without_its_key_an_object_is_an_error_and_its_past_is_trimmed),
	    TEST(a_sealed_object_stays_in_its_place),
	    TEST(key_files_are_private_and_well_formed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
