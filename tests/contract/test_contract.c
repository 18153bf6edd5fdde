/* Objects, batches, owners and aux rows: what is written is there, or nothing of it. */
#include "contract_test.h"

#include <errno.h>

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

RUN_CONTRACT(T(a_put_object_is_read_back_with_its_revision),
	     T(a_new_store_starts_where_its_owner_says), T(an_absent_part_has_an_absent_extent),
	     T(a_second_put_keeps_the_create_revision), T(an_object_that_was_deleted_is_absent),
	     T(keys_differ_by_type_namespace_and_name), T(the_largest_object_comes_back_whole),
	     T(a_full_batch_gets_one_revision_per_change_in_order), T(an_empty_batch_is_fine),
	     T(a_batch_that_fails_changes_nothing), T(two_changes_of_one_key_are_refused),
	     T(keys_outside_the_limits_are_refused), T(sizes_outside_the_limits_are_refused),
	     T(dependents_follow_the_owners_of_an_object),
	     T(aux_rows_are_kept_per_table_in_key_order), T(the_incarnation_is_random_and_stays),
	     T(there_is_room_on_an_ordinary_machine))
