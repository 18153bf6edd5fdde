/* Lists, states at a revision, snapshots. */
#include "contract_test.h"

#include <errno.h>
#include <pthread.h>

/* ---- lists ---- */

static void fill_names(struct fixture *f)
{
	static const char *const names[][2] = {{"n", "b"},   {"", "z"},	 {"n", "a.b"}, {"n-1", "a"},
					       {"n", "a-b"}, {"n", "a"}, {"m", "q"},   {"", "a"}};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		put_at(f, 1, 1, names[i][0], names[i][1], "{}", NULL);
	put_at(f, 1, 2, "n", "other", "{}", NULL);
	put_at(f, 1, 0, "n", "before", "{}", NULL);
}

static void a_list_comes_in_byte_order_of_namespace_and_name(void **state)
{
	struct fixture *f = *state;
	fill_names(f);
	auto_reader *r = begin(f);
	assert_names(r, &all_of_1, "a z q a a-b a.b b a ");
	const struct store_range in_n = {.type = 1, .ns = SPAN("n")};
	assert_names(r, &in_n, "a a-b a.b b ");
	const struct store_range cluster = {.type = 1, .ns = SPAN("")};
	assert_names(r, &cluster, "a z ");
	const struct store_range none = {.type = 9};
	assert_names(r, &none, "");
}

static void a_list_goes_on_after_a_key_that_is_gone(void **state)
{
	struct fixture *f = *state;
	struct store_key after = key_of(1, "n", "a-b");
	struct store_range range = {.type = 1, .ns = SPAN("n"), .after = &after};

	fill_names(f);
	struct store_reader *r = begin(f);
	assert_names(r, &range, "a.b b ");
	store_read_end(r);
	delete_at(f, 1, 1, "n", "a-b");
	r = begin(f);
	assert_names(r, &range, "a.b b ");
	range.ns = SPAN_NONE;
	assert_names(r, &range, "a.b b a ");
	after = key_of(1, "zz", "z");
	assert_names(r, &range, "");
	after = key_of(1, "", "a");
	range.ns = SPAN("n");
	assert_names(r, &range, "a a.b b ");
	store_read_end(r);
}

static void a_count_stops_at_the_most_asked_for(void **state)
{
	struct fixture *f = *state;
	size_t n;
	fill_names(f);
	delete_at(f, 1, 1, "n", "b");
	auto_reader *r = begin(f);
	assert_int_equal(store_count(r, 1, SPAN_NONE, 100, &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(store_count(r, 1, SPAN("n"), 100, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(store_count(r, 1, SPAN_NONE, 2, &n), 0);
	assert_int_equal(n, 2);
}

/* ---- states at a revision ---- */

static void a_list_at_a_revision_sees_the_objects_as_they_were(void **state)
{
	struct fixture *f = *state;
	static const char *const want[] = {"", "a ", "a b ", "a b ", "b ", "a b ", "a ", "a c "};

	put(f, "a", "{\"v\":1}");
	put(f, "b", "{\"v\":1}");
	put(f, "a", "{\"v\":2}");
	delete (f, "a");
	put(f, "a", "{\"v\":3}");
	delete (f, "b");
	put(f, "c", "{\"v\":1}");
	auto_reader *r = begin(f);
	for (uint64_t at = 1; at < ARRAY_LEN(want); at++) {
		const struct store_range range = {.type = 1, .at_revision = at};
		assert_names(r, &range, want[at]);
	}
	/* Beyond the snapshot is now. */
	const struct store_range later = {.type = 1, .at_revision = 1000};
	assert_names(r, &later, "a c ");
}

static void an_object_at_a_revision_has_the_bytes_it_had(void **state)
{
	struct fixture *f = *state;
	char spec[32];
	struct store_object o;
	struct store_key key = key_of(1, "ns", "a");

	/* Over the edges where the number of digits changes. */
	for (uint64_t i = 1; i <= 120; i++) {
		(void)snprintf(spec, sizeof(spec), "{\"v\":%llu}", (unsigned long long)(i * i));
		assert_int_equal(put(f, "a", spec), i);
	}
	delete (f, "a");
	auto_reader *r = begin(f);
	for (uint64_t i = 1; i <= 120; i++) {
		(void)snprintf(spec, sizeof(spec), "{\"v\":%llu}", (unsigned long long)(i * i));
		assert_int_equal(store_get_at(r, &key, i, &o), 0);
		assert_object(&o, i, spec, NULL);
		assert_extent(&o, o.extents.spec, spec);
		assert_int_equal(o.create_revision, 1);
		assert_int_equal(o.flags, 8);
		assert_int_equal(o.digest.len, o.extents.spec.len > 9 ? 3 : 2);
	}
	assert_int_equal(store_get_at(r, &key, 121, &o), -ENOENT);
	assert_int_equal(store_get(r, &key, &o), -ENOENT);
}

static void pages_of_one_list_are_of_one_revision_under_changes(void **state)
{
	struct fixture *f = *state;
	char name[16], spec[32];
	struct store_key after;
	char last[16];
	size_t n = 0;

	for (int i = 0; i < 50; i++) {
		(void)snprintf(name, sizeof(name), "o%02d", i);
		put(f, name, "{\"v\":0}");
	}
	uint64_t at = store_revision(f->store);
	struct store_range range = {.type = 1, .at_revision = at};
	for (;;) {
		struct store_reader *r = begin(f);
		struct store_iter *it;
		struct store_object o;
		int e, got = 0;
		assert_int_equal(store_iter_begin(r, &range, &it, NULL), 0);
		while (got < 7 && store_iter_next(it, &o, &e)) {
			(void)snprintf(last, sizeof(last), "o%02zu", n);
			assert_true(span_is(o.key.name, last));
			assert_object(&o, n + 1, "{\"v\":0}", NULL);
			n++;
			got++;
		}
		store_iter_end(it);
		store_read_end(r);
		if (got < 7)
			break;
		after = key_of(1, "ns", last);
		range.after = &after;
		/* Between pages: change, delete and create all over the range. */
		for (size_t i = 0; i < 50; i += 3) {
			(void)snprintf(name, sizeof(name), "o%02zu", i);
			(void)snprintf(spec, sizeof(spec), "{\"v\":%zu}", n);
			put(f, name, spec);
			(void)snprintf(name, sizeof(name), "o%02zu-new%zu", i, n);
			put(f, name, "{}");
		}
		(void)snprintf(name, sizeof(name), "o%02zu", n);
		if (n < 50)
			delete (f, name);
	}
	assert_int_equal(n, 50);
}

/* ---- snapshots ---- */

static int count_aux(void *arg, struct span key, struct span value)
{
	(void)key;
	(void)value;
	++*(int *)arg;
	return 0;
}

static void a_reader_sees_no_later_commit(void **state)
{
	struct fixture *f = *state;
	struct store_object o;
	struct store_key a = key_of(1, "ns", "a"), b = key_of(1, "ns", "b");
	struct span v;
	int rows = 0, aux = 0;

	put(f, "a", "{\"v\":1}");
	assert_int_equal(put_aux(f, 1, "k", "old"), 0);
	auto_reader *r = begin(f);
	put(f, "a", "{\"v\":2}");
	put(f, "b", "{}");
	delete (f, "a");
	assert_int_equal(put_aux(f, 1, "k", "new"), 0);
	assert_int_equal(put_aux(f, 1, "l", "new"), 0);
	assert_int_equal(store_reader_revision(r), 1);
	assert_int_equal(store_get(r, &a, &o), 0);
	assert_object(&o, 1, "{\"v\":1}", NULL);
	assert_int_equal(store_get(r, &b, &o), -ENOENT);
	assert_names(r, &all_of_1, "a ");
	assert_int_equal(store_get_aux(r, 1, SPAN("k"), &v), 0);
	assert_true(span_is(v, "old"));
	assert_int_equal(store_scan_aux(r, 1, SPAN(""), count_aux, &aux), 0);
	assert_int_equal(aux, 1);
	assert_int_equal(store_log_scan(r, 0, count_rows, &rows), 0);
	assert_int_equal(rows, 1);
}

static void a_borrowed_object_lives_until_the_reader_ends(void **state)
{
	struct fixture *f = *state;
	struct store_object now, then;
	struct store_key a = key_of(1, "ns", "a");

	put(f, "a", "{\"v\":1}");
	put(f, "a", "{\"v\":2}");
	auto_reader *r = begin(f);
	assert_int_equal(store_get(r, &a, &now), 0);
	assert_int_equal(store_get_at(r, &a, 1, &then), 0);
	for (int i = 0; i < 20; i++)
		put(f, "a", "{\"v\":3}");
	delete (f, "a");
	assert_object(&now, 2, "{\"v\":2}", NULL);
	assert_object(&then, 1, "{\"v\":1}", NULL);
}

struct racer {
	struct fixture *f;
	_Atomic bool stop;
	_Atomic int bad;
	_Atomic long looks;
};

/* The writer always puts the same value into x and y in one batch. */
static void look_once(struct racer *race)
{
	struct store_object x, y, old;
	struct store_key kx = key_of(1, "ns", "x"), ky = key_of(1, "ns", "y");
	struct store_reader *r;

	if (store_read_begin(race->f->store, &r, NULL) < 0) {
		race->bad++;
		return;
	}
	if (store_get(r, &kx, &x) < 0 || store_get(r, &ky, &y) < 0 ||
	    x.extents.spec.len != y.extents.spec.len ||
	    memcmp(x.json.ptr + x.extents.spec.at, y.json.ptr + y.extents.spec.at,
		   x.extents.spec.len) != 0 ||
	    y.revision != x.revision + 1 || y.revision != store_reader_revision(r))
		race->bad++;
	if (x.revision > 2 &&
	    (store_get_at(r, &kx, x.revision - 1, &old) < 0 || old.revision != x.revision - 2))
		race->bad++;
	store_read_end(r);
	race->looks++;
}

static void *look(void *arg)
{
	struct racer *race = arg;
	while (!race->stop)
		look_once(race);
	return NULL;
}

static void put_pair(struct fixture *f, int v)
{
	char spec[32];
	struct made x, y;
	(void)snprintf(spec, sizeof(spec), "{\"v\":%d}", v);
	made_put(&x, 1, "ns", "x", spec, NULL);
	made_put(&y, 1, "ns", "y", spec, NULL);
	struct store_change both[] = {x.change, y.change};
	assert_int_equal(store_apply(f->store, both, 2, 1, NULL), 0);
	made_done(&x);
	made_done(&y);
}

static void readers_on_other_threads_see_whole_batches(void **state)
{
	struct racer race = {.f = *state};
	pthread_t threads[3];

	put_pair(race.f, 0);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look, &race), 0);
	for (int v = 1; v < 300 || race.looks < 300; v++)
		put_pair(race.f, v);
	race.stop = true;
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(race.bad, 0);
}

RUN_CONTRACT(T(a_list_comes_in_byte_order_of_namespace_and_name),
	     T(a_list_goes_on_after_a_key_that_is_gone), T(a_count_stops_at_the_most_asked_for),
	     T(a_list_at_a_revision_sees_the_objects_as_they_were),
	     T(an_object_at_a_revision_has_the_bytes_it_had),
	     T(pages_of_one_list_are_of_one_revision_under_changes),
	     T(a_reader_sees_no_later_commit), T(a_borrowed_object_lives_until_the_reader_ends),
	     T(readers_on_other_threads_see_whole_batches))
