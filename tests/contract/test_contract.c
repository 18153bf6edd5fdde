/*
 * The contract of store.h, run against every backend.
 */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>

static const struct store_range all_of_1 = {.type = 1};

/* ---- points ---- */

static void assert_extent(const struct store_object *o, struct store_extent e, const char *want)
{
	assert_true(span_is(span_make(o->json.ptr + e.at, e.len), want));
}

static void a_put_object_is_read_back_with_its_revision(void **state)
{
	struct fixture *f = *state;
	struct store_object o;
	uint8_t uid[STORE_UID_LEN];

	assert_int_equal(store_revision(f->store), 0);
	for (int i = 0; i < 12; i++)
		put(f, "filler", "{}");
	assert_int_equal(put_at(f, 5, 300, "team-a", "job", "{\"a\":1}", "{\"s\":[2]}"), 13);
	assert_int_equal(store_revision(f->store), 13);
	auto_reader *r = begin(f);
	struct store_key key = key_of(300, "team-a", "job");
	assert_int_equal(store_reader_revision(r), 13);
	assert_int_equal(store_get(r, &key, &o), 0);
	assert_object(&o, 13, "{\"a\":1}", "{\"s\":[2]}");
	assert_int_equal(o.create_revision, 13);
	assert_int_equal(o.flags, 307);
	assert_true(span_is(o.digest, "d7"));
	memset(uid, 'j', sizeof(uid));
	assert_memory_equal(o.uid, uid, sizeof(uid));
	assert_int_equal(o.key.type, 300);
	assert_true(span_is(o.key.ns, "team-a") && span_is(o.key.name, "job"));
	assert_extent(&o, o.extents.revision, "13");
	assert_extent(&o, o.extents.metadata, "{\"name\":\"job\",\"resourceVersion\":\"13\"}");
	assert_extent(&o, o.extents.spec, "{\"a\":1}");
	assert_extent(&o, o.extents.status, "{\"s\":[2]}");
}

static void a_new_store_starts_where_its_owner_says(void **state)
{
	struct fixture *f = *state;

	fixture_done(f);
	fixture_init(f, f->backend);
	f->options.first_revision = 41;
	fixture_open(f);
	assert_int_equal(store_revision(f->store), 41);
	struct store_reader *r = begin(f);
	assert_int_equal(store_reader_revision(r), 41);
	store_read_end(r);
	assert_int_equal(put(f, "a", "{}"), 42);
	if (!fixture_is_durable(f))
		return;
	fixture_close(f);
	f->options.first_revision = 7;
	fixture_open(f);
	assert_int_equal(store_revision(f->store), 42);
}

static void an_absent_part_has_an_absent_extent(void **state)
{
	struct fixture *f = *state;
	struct store_object o;
	struct store_key key = key_of(1, "ns", "a");
	put(f, "a", "{}");
	auto_reader *r = begin(f);
	assert_int_equal(store_get(r, &key, &o), 0);
	assert_int_equal(o.extents.status.len, 0);
}

static void a_second_put_keeps_the_create_revision(void **state)
{
	struct fixture *f = *state;
	struct store_object o;
	struct store_key key = key_of(1, "ns", "a");
	struct made m;

	put(f, "a", "{}");
	made_put(&m, 1, "ns", "a", "{\"b\":2}", NULL);
	assert_int_equal(store_apply(f->store, &m.change, 1, 1, NULL), 0);
	assert_int_equal(m.change.ret_revision, 2);
	assert_int_equal(m.change.ret_create_revision, 1);
	made_done(&m);
	auto_reader *r = begin(f);
	assert_int_equal(store_get(r, &key, &o), 0);
	assert_object(&o, 2, "{\"b\":2}", NULL);
	assert_int_equal(o.create_revision, 1);
}

static void an_object_that_was_deleted_is_absent(void **state)
{
	struct fixture *f = *state;
	struct store_object o;
	struct store_key key = key_of(1, "ns", "a");

	put(f, "a", "{}");
	assert_int_equal(delete (f, "a"), 2);
	auto_reader *r = begin(f);
	assert_int_equal(store_get(r, &key, &o), -ENOENT);
	assert_names(r, &all_of_1, "");
	r = store_read_end(r);
	/* Created again, it is another life. */
	assert_int_equal(put(f, "a", "{\"x\":1}"), 3);
	r = begin(f);
	assert_int_equal(store_get(r, &key, &o), 0);
	assert_int_equal(o.create_revision, 3);
}

static void keys_differ_by_type_namespace_and_name(void **state)
{
	struct fixture *f = *state;
	struct store_object o;
	const struct store_key keys[] = {key_of(1, "a", "bc"), key_of(1, "ab", "c"),
					 key_of(1, "", "abc"), key_of(256, "a", "bc")};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		put_at(f, 1, keys[i].type, keys[i].ns.ptr, keys[i].name.ptr, "{}", NULL);
	auto_reader *r = begin(f);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		assert_int_equal(store_get(r, &keys[i], &o), 0);
		assert_int_equal(o.revision, i + 1);
	}
}

static void the_largest_object_comes_back_whole(void **state)
{
	struct fixture *f = *state;
	struct store_object o;
	struct store_key key = key_of(1, "ns", "a");
	size_t n = STORE_MAX_OBJECT - 100;
	auto_free char *spec = xcalloc(1, n + 1);

	memset(spec, 'x', n);
	spec[0] = spec[n - 1] = '"';
	put(f, "a", spec);
	put(f, "a", "{}");
	auto_reader *r = begin(f);
	assert_int_equal(store_get(r, &key, &o), 0);
	assert_object(&o, 2, "{}", NULL);
	assert_int_equal(store_get_at(r, &key, 1, &o), 0);
	assert_object(&o, 1, spec, NULL);
}

/* ---- batches ---- */

static void a_full_batch_gets_one_revision_per_change_in_order(void **state)
{
	struct fixture *f = *state;
	struct made made[STORE_MAX_CHANGES];
	struct store_change changes[STORE_MAX_CHANGES];
	char name[16];

	for (size_t i = 0; i < STORE_MAX_CHANGES; i++) {
		(void)snprintf(name, sizeof(name), "o%03zu", STORE_MAX_CHANGES - i);
		made_put(&made[i], 1, "ns", name, "{}", NULL);
		changes[i] = made[i].change;
	}
	assert_int_equal(store_apply(f->store, changes, STORE_MAX_CHANGES, 1, NULL), 0);
	for (size_t i = 0; i < STORE_MAX_CHANGES; i++) {
		assert_int_equal(changes[i].ret_revision, i + 1);
		made_done(&made[i]);
	}
	assert_int_equal(store_revision(f->store), STORE_MAX_CHANGES);
}

static void an_empty_batch_is_fine(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(store_apply(f->store, NULL, 0, 1, NULL), 0);
	assert_int_equal(store_revision(f->store), 0);
}

static int count_rows(void *arg, const struct store_log_row *row)
{
	(void)row;
	++*(int *)arg;
	return 0;
}

static void assert_nothing_but_a(struct fixture *f)
{
	int rows = 0;
	struct span v;
	auto_reader *r = begin(f);
	assert_int_equal(store_revision(f->store), 1);
	assert_names(r, &all_of_1, "a ");
	assert_int_equal(store_log_scan(r, 0, count_rows, &rows), 0);
	assert_int_equal(rows, 1);
	assert_int_equal(store_get_aux(r, STORE_AUX_LIVE, SPAN("k"), &v), -ENOENT);
}

static void a_batch_that_fails_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct made m, n;
	struct err e = ERR_INIT;

	put(f, "a", "{}");
	made_put(&m, 1, "ns", "b", "{}", NULL);
	made_put(&n, 1, "ns", "a", "{\"changed\":1}", NULL);
	struct store_change changes[] = {
	    m.change,
	    n.change,
	    {.op = STORE_PUT_AUX,
	     .aux_table = STORE_AUX_LIVE,
	     .aux_key = SPAN("k"),
	     .aux_value = SPAN("v")},
	    {.op = STORE_DELETE, .key = key_of(1, "ns", "absent")},
	};
	assert_int_equal(store_apply(f->store, changes, ARRAY_LEN(changes), 1, &e), -ENOENT);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_nothing_but_a(f);
	/* The revision that the failed batch would have used is used by the next. */
	assert_int_equal(put(f, "c", "{}"), 2);
	made_done(&m);
	made_done(&n);
}

static int apply_error(struct fixture *f, struct store_change *c, size_t n, enum err_kind *kind)
{
	struct err e = ERR_INIT;
	int r = store_apply(f->store, c, n, 1, &e);
	*kind = e.kind;
	return r;
}

static void two_changes_of_one_key_are_refused(void **state)
{
	struct fixture *f = *state;
	struct made m;
	enum err_kind kind;

	made_put(&m, 1, "ns", "a", "{}", NULL);
	struct store_change both[] = {m.change, {.op = STORE_DELETE, .key = m.change.key}};
	assert_int_equal(apply_error(f, both, 2, &kind), -EDOM);
	assert_int_equal(kind, ERR_INVALID);
	struct store_change aux[] = {
	    {.op = STORE_PUT_AUX, .aux_table = 1, .aux_key = SPAN("k"), .aux_value = SPAN("v")},
	    {.op = STORE_DELETE_AUX, .aux_table = 1, .aux_key = SPAN("k")},
	};
	assert_int_equal(apply_error(f, aux, 2, &kind), -EDOM);
	aux[1].aux_table = 2;
	assert_int_equal(apply_error(f, aux, 2, &kind), 0);
	assert_int_equal(store_revision(f->store), 0);
	made_done(&m);
}

static void keys_outside_the_limits_are_refused(void **state)
{
	struct fixture *f = *state;
	char name[STORE_MAX_NAME + 2] = "", ns[STORE_MAX_NAMESPACE + 2] = "";
	enum err_kind kind;
	struct store_change c = {.op = STORE_PUT,
				 .key = {1, SPAN("ns"), span_make(name, STORE_MAX_NAME)}};

	memset(name, 'n', STORE_MAX_NAME + 1);
	memset(ns, 's', STORE_MAX_NAMESPACE + 1);
	assert_int_equal(apply_error(f, &c, 1, &kind), 0);
	c.key.ns = span_make(ns, STORE_MAX_NAMESPACE);
	assert_int_equal(apply_error(f, &c, 1, &kind), 0);
	c.key.ns.len++;
	assert_int_equal(apply_error(f, &c, 1, &kind), -EDOM);
	c.key = (struct store_key){1, SPAN("ns"), span_make(name, STORE_MAX_NAME + 1)};
	assert_int_equal(apply_error(f, &c, 1, &kind), -EDOM);
	c.key.name = SPAN("");
	assert_int_equal(apply_error(f, &c, 1, &kind), -EDOM);
	c.key.name = span_make("a\0b", 3);
	assert_int_equal(apply_error(f, &c, 1, &kind), -EDOM);
	assert_int_equal(kind, ERR_INVALID);
}

static void sizes_outside_the_limits_are_refused(void **state)
{
	struct fixture *f = *state;
	auto_free char *big = xcalloc(1, STORE_MAX_OBJECT + 1);
	enum err_kind kind;
	struct store_change c = {.op = STORE_PUT,
				 .key = key_of(1, "ns", "a"),
				 .json = span_make(big, STORE_MAX_OBJECT + 1)};
	struct store_change *many = xcalloc(STORE_MAX_CHANGES + 1, sizeof(*many));

	assert_int_equal(apply_error(f, &c, 1, &kind), -EMSGSIZE);
	assert_int_equal(kind, ERR_TOO_LARGE);
	assert_int_equal(apply_error(f, many, STORE_MAX_CHANGES + 1, &kind), -EMSGSIZE);
	free(many);
	c.json = SPAN("{}");
	c.extents.spec = (struct store_extent){1, 2};
	assert_int_equal(apply_error(f, &c, 1, &kind), -EDOM);
	c.extents = (struct store_extents){.revision = {3, 0}};
	assert_int_equal(apply_error(f, &c, 1, &kind), -EDOM);
	struct store_change aux = {
	    .op = STORE_PUT_AUX, .aux_table = 1, .aux_key = span_make(big, STORE_MAX_AUX_KEY)};
	assert_int_equal(apply_error(f, &aux, 1, &kind), 0);
	aux.aux_key.len++;
	assert_int_equal(apply_error(f, &aux, 1, &kind), -EDOM);
	aux.aux_key = SPAN("k");
	aux.aux_table = STORE_AUX_MAX;
	assert_int_equal(apply_error(f, &aux, 1, &kind), -EDOM);
	assert_int_equal(store_revision(f->store), 0);
}

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

/* ---- owners and aux rows ---- */

static void put_owned(struct fixture *f, const char *name, const uint8_t (*owners)[STORE_UID_LEN],
		      size_t n)
{
	struct made m;
	made_put(&m, 1, "ns", name, "{}", NULL);
	m.change.owners = owners;
	m.change.n_owners = n;
	assert_int_equal(store_apply(f->store, &m.change, 1, 1, NULL), 0);
	made_done(&m);
}

static int note_key(void *arg, const struct store_key *key)
{
	buf_addf(arg, "%u/%.*s/%.*s ", key->type, SPAN_ARGS(key->ns), SPAN_ARGS(key->name));
	return 0;
}

static void assert_dependents(struct fixture *f, const uint8_t *uid, const char *want)
{
	auto_buf text = BUF_INIT;
	auto_reader *r = begin(f);
	buf_add(&text, "", 0);
	assert_int_equal(store_dependents(r, uid, note_key, &text), 0);
	assert_string_equal(text.ptr, want);
}

static void dependents_follow_the_owners_of_an_object(void **state)
{
	struct fixture *f = *state;
	static const uint8_t u[][STORE_UID_LEN] = {{1}, {2}, {3}};

	put_owned(f, "b", &u[0], 2);
	put_owned(f, "a", &u[0], 1);
	assert_dependents(f, u[0], "1/ns/a 1/ns/b ");
	assert_dependents(f, u[1], "1/ns/b ");
	put_owned(f, "b", &u[1], 2);
	assert_dependents(f, u[0], "1/ns/a ");
	assert_dependents(f, u[1], "1/ns/b ");
	assert_dependents(f, u[2], "1/ns/b ");
	put_owned(f, "b", NULL, 0);
	assert_dependents(f, u[1], "");
	delete (f, "a");
	assert_dependents(f, u[0], "");
}

static int note_aux(void *arg, struct span key, struct span value)
{
	buf_addf(arg, "%.*s=%.*s ", SPAN_ARGS(key), SPAN_ARGS(value));
	return 0;
}

static void assert_aux(struct fixture *f, uint8_t table, const char *prefix, const char *want)
{
	auto_buf text = BUF_INIT;
	auto_reader *r = begin(f);
	buf_add(&text, "", 0);
	assert_int_equal(store_scan_aux(r, table, span_of(prefix), note_aux, &text), 0);
	assert_string_equal(text.ptr, want);
}

static void aux_rows_are_kept_per_table_in_key_order(void **state)
{
	struct fixture *f = *state;
	struct span v;

	assert_int_equal(put_aux(f, 1, "b/2", "x"), 0);
	assert_int_equal(put_aux(f, 1, "a/1", "y"), 0);
	assert_int_equal(put_aux(f, 1, "b/1", "z"), 0);
	assert_int_equal(put_aux(f, 2, "b/0", "other"), 0);
	assert_int_equal(put_aux(f, 1, "c", ""), 0);
	assert_aux(f, 1, "", "a/1=y b/1=z b/2=x c= ");
	assert_aux(f, 1, "b/", "b/1=z b/2=x ");
	assert_int_equal(put_aux(f, 1, "b/1", NULL), 0);
	assert_int_equal(put_aux(f, 1, "absent", NULL), 0);
	assert_aux(f, 1, "b/", "b/2=x ");
	assert_aux(f, 2, "", "b/0=other ");
	assert_int_equal(store_revision(f->store), 0);
	auto_reader *r = begin(f);
	assert_int_equal(store_get_aux(r, 1, SPAN("c"), &v), 0);
	assert_int_equal(v.len, 0);
	assert_int_equal(store_get_aux(r, 3, SPAN("c"), &v), -ENOENT);
}

static void the_incarnation_is_random_and_stays(void **state)
{
	struct fixture *f = *state;
	static const uint8_t zero[STORE_UID_LEN];
	uint8_t first[STORE_UID_LEN];

	memcpy(first, store_incarnation(f->store), STORE_UID_LEN);
	assert_memory_not_equal(first, zero, STORE_UID_LEN);
	put(f, "a", "{}");
	assert_memory_equal(first, store_incarnation(f->store), STORE_UID_LEN);
}

static void there_is_room_on_an_ordinary_machine(void **state)
{
	struct fixture *f = *state;
	assert_true(store_has_room(f->store));
	put(f, "a", "{}");
	assert_true(store_has_room(f->store));
}

/* ---- running it ---- */

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	fixture_init(f, *(enum fixture_backend *)*state);
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

#define TEST(name)                                                                                 \
	{                                                                                          \
#name, name                                                                        \
	}
static const struct {
	const char *name;
	CMUnitTestFunction run;
} tests[] = {
    TEST(a_put_object_is_read_back_with_its_revision),
    TEST(a_new_store_starts_where_its_owner_says),
    TEST(an_absent_part_has_an_absent_extent),
    TEST(a_second_put_keeps_the_create_revision),
    TEST(an_object_that_was_deleted_is_absent),
    TEST(keys_differ_by_type_namespace_and_name),
    TEST(the_largest_object_comes_back_whole),
    TEST(a_full_batch_gets_one_revision_per_change_in_order),
    TEST(an_empty_batch_is_fine),
    TEST(a_batch_that_fails_changes_nothing),
    TEST(two_changes_of_one_key_are_refused),
    TEST(keys_outside_the_limits_are_refused),
    TEST(sizes_outside_the_limits_are_refused),
    TEST(a_list_comes_in_byte_order_of_namespace_and_name),
    TEST(a_list_goes_on_after_a_key_that_is_gone),
    TEST(a_count_stops_at_the_most_asked_for),
    TEST(a_list_at_a_revision_sees_the_objects_as_they_were),
    TEST(an_object_at_a_revision_has_the_bytes_it_had),
    TEST(pages_of_one_list_are_of_one_revision_under_changes),
    TEST(a_reader_sees_no_later_commit),
    TEST(a_borrowed_object_lives_until_the_reader_ends),
    TEST(readers_on_other_threads_see_whole_batches),
    TEST(the_log_tells_every_change_in_order),
    TEST(a_scan_hands_on_the_error_of_its_callback),
    TEST(the_old_bytes_of_a_change_come_back_whole),
    TEST(the_log_is_trimmed_by_age_two_rows_per_row),
    TEST(below_the_floor_is_expired_and_at_it_is_not),
    TEST(the_log_is_trimmed_by_bytes_but_never_its_own_batch),
    TEST(an_object_may_come_back_after_its_tombstone_went),
    TEST(dependents_follow_the_owners_of_an_object),
    TEST(aux_rows_are_kept_per_table_in_key_order),
    TEST(the_incarnation_is_random_and_stays),
    TEST(there_is_room_on_an_ordinary_machine),
};

int main(void)
{
	static enum fixture_backend backends[BACKEND_MAX];
	int failed = 0;

	for (size_t b = 0; b < BACKEND_MAX; b++) {
		struct CMUnitTest group[ARRAY_LEN(tests)];
		backends[b] = (enum fixture_backend)b;
		for (size_t i = 0; i < ARRAY_LEN(tests); i++)
			group[i] = (struct CMUnitTest){tests[i].name, tests[i].run, setup, teardown,
						       &backends[b]};
		printf("# %s\n", fixture_backend_name(backends[b]));
		fflush(stdout);
		failed += cmocka_run_group_tests_name(fixture_backend_name(backends[b]), group,
						      NULL, NULL);
	}
	return failed != 0;
}
