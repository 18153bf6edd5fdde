/* States that are rebuilt from the log: that they are right, and that it takes few reads. */
#include "store/row.h"
#include "store/store_key.h"

#include "fixture.h"

#include <errno.h>
#include <lmdb.h>

#define MAX_VERSIONS 6000
#define SPEC_BYTES   1500

int __real_mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data);
int __wrap_mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data);

static size_t n_reads;

int __wrap_mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data)
{
	n_reads++;
	return __real_mdb_get(txn, dbi, key, data);
}

/* An object of 1.5 KB whose status tells its version. */
struct story {
	struct fixture fixture;
	char spec[SPEC_BYTES + 8];
	uint64_t revisions[MAX_VERSIONS]; /* of version i */
	size_t n;
};

static struct store_key hot(void)
{
	return key_of(1, "ns", "hot");
}

static void write_version(struct story *s, usec now)
{
	char status[40];
	(void)snprintf(status, sizeof(status), "{\"version\":%zu}", s->n);
	s->revisions[s->n++] = put_at(&s->fixture, now, 1, "ns", "hot", s->spec, status);
}

static void assert_version(const struct story *s, const struct store_object *o, size_t i)
{
	char status[40];
	(void)snprintf(status, sizeof(status), "{\"version\":%zu}", i);
	assert_int_equal(o->revision, s->revisions[i]);
	assert_object(o, s->revisions[i], s->spec, status);
}

static struct story *story_new(uint64_t log_max_bytes, usec log_max_age)
{
	struct story *s = xcalloc(1, sizeof(*s));
	fixture_init(&s->fixture, ON_LMDB);
	s->fixture.options.no_sync = true;
	s->fixture.options.log_max_bytes = log_max_bytes;
	s->fixture.options.log_max_age = log_max_age;
	fixture_open(&s->fixture);
	(void)snprintf(s->spec, sizeof(s->spec), "\"%0*d\"", SPEC_BYTES, 7);
	return s;
}

static void story_end(struct story *s)
{
	fixture_done(&s->fixture);
	free(s);
}

struct walk {
	const struct story *story;
	struct store_reader *reader;
	size_t next, end; /* versions; end 0: all */
	size_t most_reads, reads;
};

static int on_row(void *arg, const struct store_log_row *row)
{
	struct walk *w = arg;
	auto_buf old = BUF_INIT;
	size_t reads = n_reads - w->reads;

	if (!span_is(row->object.key.name, "hot"))
		return 0;
	assert_version(w->story, &row->object, w->next);
	if (reads > w->most_reads)
		w->most_reads = reads;
	if (w->next > 0) {
		struct store_object before = row->object;
		char status[40];
		assert_int_equal(store_log_old(w->reader, row, &old), 0);
		(void)snprintf(status, sizeof(status), "{\"version\":%zu}", w->next - 1);
		char *want =
		    made_expected("hot", w->story->revisions[w->next - 1], w->story->spec, status);
		before.json = buf_span(&old);
		assert_true(span_is(before.json, want));
		free(want);
	}
	w->next++;
	w->reads = n_reads;
	return w->next == w->end;
}

/* Every state at or above the floor, as a point, as a list of one, and in the log. */
static void assert_all_above(const struct story *s, uint64_t floor)
{
	auto_reader *r = begin((struct fixture *)(uintptr_t)&s->fixture);
	struct store_object o;
	struct store_key key = hot();
	size_t first = s->n;

	assert_true(store_floor(s->fixture.store) <= floor);
	for (size_t i = s->n; i-- > 0 && s->revisions[i] >= floor;) {
		assert_int_equal(store_get_at(r, &key, s->revisions[i], &o), 0);
		assert_version(s, &o, i);
		first = i;
	}
	struct walk w = {.story = s, .reader = r, .next = first + 1, .reads = n_reads};
	assert_int_equal(store_log_scan(r, s->revisions[first], on_row, &w), 0);
	assert_int_equal(w.next, s->n);
}

static void every_state_of_a_hot_object_comes_back(void **state)
{
	struct story *s = story_new(0, 0);
	(void)state;
	for (int i = 0; i < 150; i++) {
		write_version(s, 1);
		put(&s->fixture, "other", i % 7 ? "{}" : s->spec);
		if (i == 70) {
			fixture_close(&s->fixture);
			fixture_open(&s->fixture);
		}
	}
	assert_all_above(s, s->revisions[0]);
	delete (&s->fixture, "hot");
	struct store_reader *r = begin(&s->fixture);
	struct store_key key = hot();
	struct store_object o;
	assert_int_equal(store_get_at(r, &key, s->revisions[3], &o), 0);
	assert_version(s, &o, 3);
	store_read_end(r);
	story_end(s);
}

/* The floor takes away one row after the other, bodies among them. */
static void states_above_the_floor_need_nothing_below_it(void **state)
{
	struct story *s = story_new(0, 50);
	(void)state;
	for (usec now = 1; now < 160; now++) {
		write_version(s, now);
		assert_all_above(s, store_floor(s->fixture.store));
	}
	assert_true(store_floor(s->fixture.store) > s->revisions[80]);
	story_end(s);
}

static void a_state_long_ago_takes_few_reads(void **state)
{
	struct story *s = story_new(0, 0);
	struct store_key key = hot();
	struct store_object o;
	(void)state;
	while (s->n < MAX_VERSIONS)
		write_version(s, 1);
	struct store_reader *r = begin(&s->fixture);
	size_t before = n_reads;
	assert_int_equal(store_get_at(r, &key, s->revisions[5], &o), 0);
	assert_version(s, &o, 5);
	assert_in_range(n_reads - before, 1,
			MAX_VERSIONS / (ROW_MAX_CHAIN + 1) + ROW_MAX_CHAIN + 4);
	store_read_end(r);
	story_end(s);
}

/* As a watch does that catches up: some rows a turn, with a reader of its own. */
static void a_walk_through_a_hot_object_takes_few_reads_a_row(void **state)
{
	struct story *s = story_new(0, 0);
	struct walk w = {.story = s};
	(void)state;
	while (s->n < MAX_VERSIONS)
		write_version(s, 1);
	for (w.next = ROW_MAX_CHAIN + 1; w.next < MAX_VERSIONS - 3;) {
		auto_reader *r = begin(&s->fixture);
		w.reader = r;
		w.end = w.next + 3;
		w.reads = n_reads;
		assert_int_equal(store_log_scan(r, s->revisions[w.next - 1], on_row, &w), 0);
		assert_int_equal(w.next, w.end);
	}
	/* The object row, the rows to a body, and the row whose old bytes are asked. */
	assert_in_range(w.most_reads, 1, ROW_MAX_CHAIN + 3);
	story_end(s);
}

static int count_absent(void *arg, const struct store_log_row *row)
{
	++*(int *)arg;
	assert_null(row->object.json.ptr);
	return 0;
}

static void rows_of_other_types_come_without_bytes_when_one_is_asked_for(void **state)
{
	struct story *s = story_new(0, 0);
	struct walk w = {.story = s, .next = 1};
	(void)state;
	while (s->n < 40)
		write_version(s, 1);
	struct store_reader *r = begin(&s->fixture);
	w.reader = r;
	assert_int_equal(store_log_scan_type(r, s->revisions[0], 1, on_row, &w), 0);
	assert_int_equal(w.next, 40);
	size_t before = n_reads;
	int rows = 0;
	assert_int_equal(store_log_scan_type(r, s->revisions[0], 2, count_absent, &rows), 0);
	assert_int_equal(rows, 39);
	assert_int_equal(n_reads, before);
	store_read_end(r);
	story_end(s);
}

static void an_update_does_not_repeat_the_object(void **state)
{
	struct story *s = story_new(0, 0);
	struct store_stats before, after;
	(void)state;
	write_version(s, 1);
	store_stats(s->fixture.store, &before);
	assert_in_range(before.log_bytes, 1, 300);
	for (int i = 0; i < ROW_MAX_CHAIN - 1; i++)
		write_version(s, 1);
	store_stats(s->fixture.store, &after);
	assert_in_range(after.log_bytes - before.log_bytes, 1, (ROW_MAX_CHAIN - 1) * 400);
	write_version(s, 1); /* the next has a body */
	store_stats(s->fixture.store, &before);
	assert_in_range(before.log_bytes - after.log_bytes, SPEC_BYTES, 4096);
	story_end(s);
}

/* ---- a store of format 1 ---- */

struct raw {
	MDB_env *env;
	MDB_txn *txn;
};

static void raw_begin(const struct fixture *f, struct raw *ret)
{
	assert_int_equal(mdb_env_create(&ret->env), 0);
	assert_int_equal(mdb_env_set_maxdbs(ret->env, 8), 0);
	assert_int_equal(mdb_env_set_mapsize(ret->env, f->options.map_bytes), 0);
	assert_int_equal(mdb_env_open(ret->env, f->options.path, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(ret->env, NULL, 0, &ret->txn), 0);
}

static MDB_dbi raw_table(const struct raw *r, const char *name)
{
	MDB_dbi dbi;
	assert_int_equal(mdb_dbi_open(r->txn, name, 0, &dbi), 0);
	return dbi;
}

static void raw_end(struct raw *r)
{
	assert_int_equal(mdb_txn_commit(r->txn), 0);
	mdb_env_close(r->env);
}

/* Format 1 had neither anchor nor count in an object row... */
static void make_state_old(const struct raw *r)
{
	struct store_key key = hot();
	struct store_key_text text;
	char bytes[4096];
	MDB_dbi objects = raw_table(r, "objects");
	MDB_val v;

	store_key_encode(&key, &text);
	MDB_val k = {text.len, text.bytes};
	assert_int_equal(mdb_get(r->txn, objects, &k, &v), 0);
	memcpy(bytes, v.mv_data, 80);
	memcpy(bytes + 80, (const char *)v.mv_data + 96, v.mv_size - 96);
	bytes[0] = 1;
	MDB_val old = {v.mv_size - 16, bytes};
	assert_int_equal(mdb_put(r->txn, objects, &k, &old, 0), 0);
}

/* ... and the whole json in the log row of version i, of a text whose last version's row stands in
 * this release's format. Digests are the same, and there is one hunk. */
static void make_log_old(const struct raw *r, const struct story *s, size_t i)
{
	MDB_dbi log = raw_table(r, "log");
	uint64_t revision = s->revisions[i];
	MDB_val k = {sizeof(revision), &revision}, v;
	struct row_log row;
	char status[40], out[8192], *p = out;
	uint32_t ends[2];

	(void)snprintf(status, sizeof(status), "{\"version\":%zu}", i);
	char *json = made_expected("hot", revision, s->spec, status);
	assert_int_equal(mdb_get(r->txn, log, &k, &v), 0);
	assert_int_equal(row_log_read(span_make(v.mv_data, v.mv_size), &row), 0);
	const char *from = v.mv_data;
	size_t head = 32 + row.key.len + 80 + row.object.digest.len;
	memcpy(p, from, head);
	p[0] = p[32 + row.key.len] = 1;
	p[2] &= ~4;
	memset(p + 6, 0, 2);
	memset(p + 24, 0, 8);
	p += head;
	memcpy(p, json, strlen(json));
	p += strlen(json);
	free(json);
	if (row.has_old) {
		memcpy(p, from + head + (row.body ? row.object.json.len : 0), 80);
		p[0] = 1;
		ends[0] = row.diff.n ? row.diff.hunks[0].skip : (uint32_t)row.old_bare_len;
		ends[1] = (uint32_t)(row.old_bare_len - row.olds.len - ends[0]);
		memcpy(p + 80, ends, sizeof(ends));
		p += 88;
		if (row.old.digest.ptr != row.object.digest.ptr) {
			memcpy(p, row.old.digest.ptr, row.old.digest.len);
			p += row.old.digest.len;
		}
		memcpy(p, row.olds.ptr, row.olds.len);
		p += row.olds.len;
	}
	MDB_val old = {(size_t)(p - out), out};
	assert_int_equal(mdb_put(r->txn, log, &k, &old, 0), 0);
}

static void write_format(const struct raw *r, uint32_t format)
{
	MDB_val k = {6, (void *)(uintptr_t) "format"}, v = {sizeof(format), &format};
	assert_int_equal(mdb_put(r->txn, raw_table(r, NULL), &k, &v, 0), 0);
}

static uint32_t read_format(const struct raw *r)
{
	MDB_val k = {6, (void *)(uintptr_t) "format"}, v;
	uint32_t format;
	assert_int_equal(mdb_get(r->txn, raw_table(r, NULL), &k, &v), 0);
	memcpy(&format, v.mv_data, sizeof(format));
	return format;
}

static void a_store_of_format_1_goes_on_and_is_not_one_any_more(void **state)
{
	struct story *s = story_new(0, 0);
	struct raw raw;
	(void)state;
	while (s->n < 12)
		write_version(s, 1);
	fixture_close(&s->fixture);
	raw_begin(&s->fixture, &raw);
	make_state_old(&raw);
	for (size_t i = 0; i < s->n; i++)
		make_log_old(&raw, s, i);
	write_format(&raw, 1);
	raw_end(&raw);

	fixture_open(&s->fixture);
	assert_all_above(s, s->revisions[0]);
	while (s->n < 40)
		write_version(s, 1);
	assert_all_above(s, s->revisions[0]);
	fixture_close(&s->fixture);
	raw_begin(&s->fixture, &raw);
	assert_int_equal(read_format(&raw), STORE_FORMAT);
	raw_end(&raw);
	fixture_open(&s->fixture);
	assert_all_above(s, s->revisions[0]);
	story_end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_state_of_a_hot_object_comes_back),
	    cmocka_unit_test(states_above_the_floor_need_nothing_below_it),
	    cmocka_unit_test(a_state_long_ago_takes_few_reads),
	    cmocka_unit_test(a_walk_through_a_hot_object_takes_few_reads_a_row),
	    cmocka_unit_test(rows_of_other_types_come_without_bytes_when_one_is_asked_for),
	    cmocka_unit_test(an_update_does_not_repeat_the_object),
	    cmocka_unit_test(a_store_of_format_1_goes_on_and_is_not_one_any_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
