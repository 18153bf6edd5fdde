/* The log: what it tells, and how it is trimmed. */
#include "contract_test.h"

#include <errno.h>

/* ---- the log ---- */

struct seen {
	struct store_reader *r;
	struct buf text;
	int stop_after;
};

static int note_row(void *arg, const struct store_log_row *row)
{
	struct seen *s = arg;
	buf_addf(&s->text, "%llu:%llu %s %.*s t%lld%s\n", (unsigned long long)row->revision,
		 (unsigned long long)row->previous,
		 row->op == STORE_LOG_ADDED	 ? "+"
		 : row->op == STORE_LOG_MODIFIED ? "~"
						 : "-",
		 SPAN_ARGS(row->object.key.name), (long long)row->time, row->has_old ? " old" : "");
	return s->stop_after && --s->stop_after == 0;
}

static void the_log_tells_every_change_in_order(void **state)
{
	struct fixture *f = *state;
	struct seen s = {0};

	put_at(f, 10, 1, "ns", "a", "{}", NULL);
	put_at(f, 20, 1, "ns", "b", "{}", NULL);
	put_at(f, 30, 1, "ns", "a", "{\"v\":1}", NULL);
	delete_at(f, 40, 1, "ns", "a");
	put_at(f, 50, 1, "ns", "a", "{}", NULL);
	s.r = begin(f);
	assert_int_equal(store_log_scan(s.r, 0, note_row, &s), 0);
	assert_string_equal(s.text.ptr, "1:0 + a t10\n2:0 + b t20\n3:1 ~ a t30 old\n"
					"4:3 - a t40 old\n5:0 + a t50\n");
	buf_clear(&s.text);
	s.stop_after = 2;
	assert_int_equal(store_log_scan(s.r, 1, note_row, &s), 0);
	assert_string_equal(s.text.ptr, "2:0 + b t20\n3:1 ~ a t30 old\n");
	buf_clear(&s.text);
	assert_int_equal(store_log_scan(s.r, 5, note_row, &s), 0);
	assert_int_equal(store_log_scan(s.r, 500, note_row, &s), 0);
	assert_string_equal(s.text.ptr, "");
	store_read_end(s.r);
	buf_done(&s.text);
}

static int end_with(void *arg, const struct store_log_row *row)
{
	(void)row;
	return *(int *)arg;
}

static void a_scan_hands_on_the_error_of_its_callback(void **state)
{
	struct fixture *f = *state;
	int error = -ECANCELED;
	put(f, "a", "{}");
	auto_reader *r = begin(f);
	assert_int_equal(store_log_scan(r, 0, end_with, &error), -ECANCELED);
}

struct old_check {
	struct store_reader *r;
	const char *const *specs; /* by revision; NULL: deleted */
	int checked;
};

static int check_old(void *arg, const struct store_log_row *row)
{
	struct old_check *c = arg;
	auto_buf old = BUF_INIT;
	const char *now = c->specs[row->revision];
	const char *before = c->specs[row->previous];

	/* A deletion shows the last state under the revision of the deletion. */
	assert_object(&row->object, row->revision, now ? now : before, NULL);
	if (!row->has_old) {
		assert_int_equal(store_log_old(c->r, row, &old), -ENOENT);
		return 0;
	}
	auto_free char *want = made_expected("a", row->previous, before, NULL);
	buf_add_str(&old, "> ");
	assert_int_equal(store_log_old(c->r, row, &old), 0);
	assert_string_equal(old.ptr + 2, want);
	c->checked++;
	return 0;
}

static void the_old_bytes_of_a_change_come_back_whole(void **state)
{
	struct fixture *f = *state;
	static const char *const specs[] = {
	    "",	      "{}",	  "{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"b\":2}", "{\"b\":2}",
	    "\"xx\"", "\"xxxx\"", "\"x\"",     "{\"aaaa\":[]}",	    "[]",	 NULL,
	    "{}",     "{ }",
	};
	struct old_check c = {.specs = specs};

	for (size_t i = 1; i < ARRAY_LEN(specs); i++)
		assert_int_equal(specs[i] ? put(f, "a", specs[i]) : delete (f, "a"), i);
	c.r = begin(f);
	assert_int_equal(store_log_scan(c.r, 0, check_old, &c), 0);
	assert_int_equal(c.checked, 11);
	store_read_end(c.r);
}

/* ---- trimming ---- */

static void fill_with_times(struct fixture *f, int n)
{
	char name[16];
	for (int i = 1; i <= n; i++) {
		(void)snprintf(name, sizeof(name), "o%02d", i);
		put_at(f, i * 10, 1, "ns", name, "{}", NULL);
	}
}

static void the_log_is_trimmed_by_age_two_rows_per_row(void **state)
{
	struct fixture *f = *state;
	f->options.log_max_age = 100;
	fixture_close(f);
	if (fixture_is_durable(f))
		fixture_remove_dir(f->options.path);
	fixture_open(f);
	fill_with_times(f, 10);
	assert_int_equal(store_floor(f->store), 0);
	put_at(f, 1000, 1, "ns", "late", "{}", NULL);
	assert_int_equal(store_floor(f->store), 2);
	put_at(f, 1000, 1, "ns", "late", "{}", NULL);
	assert_int_equal(store_floor(f->store), 4);
	/* Rows that are young enough stay; an aux row is no row of the log. */
	assert_int_equal(put_aux(f, 1, "k", "v"), 0);
	assert_int_equal(store_floor(f->store), 4);
	for (int i = 0; i < 10; i++)
		put_at(f, 1000, 1, "ns", "late", "{}", NULL);
	assert_int_equal(store_floor(f->store), 10);
}

static void below_the_floor_is_expired_and_at_it_is_not(void **state)
{
	struct fixture *f = *state;
	struct store_key a = key_of(1, "ns", "a");
	struct store_object o;
	struct store_iter *it;
	struct err e = ERR_INIT;
	int rows = 0;

	f->options.log_max_age = 100;
	fixture_close(f);
	fixture_open(f);
	put_at(f, 10, 1, "ns", "a", "{\"v\":1}", NULL);
	put_at(f, 10, 1, "ns", "b", "{}", NULL);
	put_at(f, 10, 1, "ns", "a", "{\"v\":3}", NULL);
	delete_at(f, 10, 1, "ns", "b");
	put_at(f, 100, 1, "ns", "a", "{\"v\":5}", NULL);
	put_at(f, 111, 1, "ns", "c", "{}", NULL);
	put_at(f, 111, 1, "ns", "d", "{}", NULL);
	assert_int_equal(store_floor(f->store), 4);
	auto_reader *r = begin(f);
	struct store_range range = {.type = 1, .at_revision = 3};
	assert_int_equal(store_get_at(r, &a, 3, &o), -ETIME);
	assert_int_equal(store_log_scan(r, 3, count_rows, &rows), -ETIME);
	assert_int_equal(store_iter_begin(r, &range, &it, &e), -ETIME);
	assert_int_equal(e.kind, ERR_EXPIRED);
	range.at_revision = 4;
	assert_names(r, &range, "a ");
	assert_int_equal(store_get_at(r, &a, 4, &o), 0);
	assert_object(&o, 3, "{\"v\":3}", NULL);
	assert_int_equal(store_log_scan(r, 4, count_rows, &rows), 0);
	assert_int_equal(rows, 3);
}

static void the_log_is_trimmed_by_bytes_but_never_its_own_batch(void **state)
{
	struct fixture *f = *state;
	struct made m[3];
	struct store_change changes[3];

	f->options.log_max_bytes = 1;
	fixture_close(f);
	fixture_open(f);
	for (size_t i = 0; i < 3; i++) {
		char name[2] = {(char)('a' + i), 0};
		made_put(&m[i], 1, "ns", name, "{}", NULL);
		changes[i] = m[i].change;
	}
	assert_int_equal(store_apply(f->store, changes, 3, 1, NULL), 0);
	assert_int_equal(store_floor(f->store), 0);
	assert_int_equal(store_apply(f->store, changes, 3, 1, NULL), 0);
	assert_int_equal(store_floor(f->store), 3);
	for (size_t i = 0; i < 3; i++)
		made_done(&m[i]);
	struct store_stats stats;
	store_stats(f->store, &stats);
	assert_int_equal(stats.log_rows, 3);
	assert_int_equal(stats.objects, 3);
	assert_true(stats.log_bytes > 0 && stats.data_bytes > 0);
}

static void an_object_may_come_back_after_its_tombstone_went(void **state)
{
	struct fixture *f = *state;
	struct seen s = {0};

	f->options.log_max_bytes = 1;
	fixture_close(f);
	fixture_open(f);
	put(f, "a", "{}");
	delete (f, "a");
	put(f, "b", "{}");
	put(f, "b", "{}"); /* the floor passes the deletion */
	assert_int_equal(store_floor(f->store), 3);
	put(f, "a", "{}");
	s.r = begin(f);
	assert_names(s.r, &all_of_1, "a b ");
	const struct store_range before = {.type = 1, .at_revision = 4};
	assert_names(s.r, &before, "b ");
	assert_int_equal(store_log_scan(s.r, 4, note_row, &s), 0);
	assert_string_equal(s.text.ptr, "5:0 + a t1000\n");
	store_read_end(s.r);
	buf_done(&s.text);
}

RUN_CONTRACT(T(the_log_tells_every_change_in_order), T(a_scan_hands_on_the_error_of_its_callback),
	     T(the_old_bytes_of_a_change_come_back_whole),
	     T(the_log_is_trimmed_by_age_two_rows_per_row),
	     T(below_the_floor_is_expired_and_at_it_is_not),
	     T(the_log_is_trimmed_by_bytes_but_never_its_own_batch),
	     T(an_object_may_come_back_after_its_tombstone_went))
