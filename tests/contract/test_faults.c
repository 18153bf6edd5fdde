/*
 * The n-th call into LMDB fails, for every n until a script of changes runs through (SQLite's
 * method, reliability-performance.md A.3): each failure is told, changes nothing, and the same
 * batch works when it is tried again. The linker puts the functions below in LMDB's place.
 */
#include "fixture.h"

#include <errno.h>
#include <lmdb.h>

static struct {
	long left; /* calls until the failing one; 0: none fails */
	int rc;
	long calls; /* counted since the last arming */
} fault;

static bool fails(void)
{
	fault.calls++;
	return fault.left > 0 && --fault.left == 0;
}

int __real_mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn);
int __wrap_mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn);
int __real_mdb_txn_commit(MDB_txn *txn);
int __wrap_mdb_txn_commit(MDB_txn *txn);
int __real_mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *k, MDB_val *v);
int __wrap_mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *k, MDB_val *v);
int __real_mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *k, MDB_val *v, unsigned flags);
int __wrap_mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *k, MDB_val *v, unsigned flags);
int __real_mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *k, MDB_val *v);
int __wrap_mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *k, MDB_val *v);
int __real_mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **c);
int __wrap_mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **c);
int __real_mdb_cursor_get(MDB_cursor *c, MDB_val *k, MDB_val *v, MDB_cursor_op op);
int __wrap_mdb_cursor_get(MDB_cursor *c, MDB_val *k, MDB_val *v, MDB_cursor_op op);
int __real_mdb_cursor_put(MDB_cursor *c, MDB_val *k, MDB_val *v, unsigned flags);
int __wrap_mdb_cursor_put(MDB_cursor *c, MDB_val *k, MDB_val *v, unsigned flags);
int __real_mdb_cursor_del(MDB_cursor *c, unsigned flags);
int __wrap_mdb_cursor_del(MDB_cursor *c, unsigned flags);

int __wrap_mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn)
{
	return fails() ? fault.rc : __real_mdb_txn_begin(env, parent, flags, txn);
}

int __wrap_mdb_txn_commit(MDB_txn *txn)
{
	if (!fails())
		return __real_mdb_txn_commit(txn);
	mdb_txn_abort(txn); /* as LMDB does when its commit fails */
	return fault.rc;
}

int __wrap_mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *k, MDB_val *v)
{
	return fails() ? fault.rc : __real_mdb_get(txn, dbi, k, v);
}

int __wrap_mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *k, MDB_val *v, unsigned flags)
{
	return fails() ? fault.rc : __real_mdb_put(txn, dbi, k, v, flags);
}

int __wrap_mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *k, MDB_val *v)
{
	return fails() ? fault.rc : __real_mdb_del(txn, dbi, k, v);
}

int __wrap_mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **c)
{
	return fails() ? fault.rc : __real_mdb_cursor_open(txn, dbi, c);
}

int __wrap_mdb_cursor_get(MDB_cursor *c, MDB_val *k, MDB_val *v, MDB_cursor_op op)
{
	return fails() ? fault.rc : __real_mdb_cursor_get(c, k, v, op);
}

int __wrap_mdb_cursor_put(MDB_cursor *c, MDB_val *k, MDB_val *v, unsigned flags)
{
	return fails() ? fault.rc : __real_mdb_cursor_put(c, k, v, flags);
}

int __wrap_mdb_cursor_del(MDB_cursor *c, unsigned flags)
{
	return fails() ? fault.rc : __real_mdb_cursor_del(c, flags);
}

static void arm(long n, int rc)
{
	fault.left = n;
	fault.rc = rc;
	fault.calls = 0;
}

/* ---- the script ---- */

static const uint8_t owners[][STORE_UID_LEN] = {{1}, {2}};

struct step {
	enum store_op op;
	const char *name, *spec;
	size_t n_owners;
};

/* Batches of two; with the log trimmed as fast as it may be. */
static const struct step script[][2] = {
    {{STORE_PUT, "a", "{}", 2}, {STORE_PUT, "b", "{}", 0}},
    {{STORE_PUT, "a", "{\"x\":1}", 1}, {STORE_DELETE, "b", NULL, 0}},
    {{STORE_PUT_AUX, "k", "v", 0}, {STORE_PUT, "c", "{}", 0}},
    {{STORE_PUT, "b", "{}", 0}, {STORE_DELETE_AUX, "k", NULL, 0}},
    {{STORE_DELETE, "a", NULL, 0}, {STORE_DELETE, "c", NULL, 0}},
    {{STORE_PUT, "d", "{}", 1}, {STORE_PUT, "e", "{}", 0}},
    {{STORE_PUT, "d", "{}", 0}, {STORE_PUT, "e", "{}", 0}},
};

static int apply_step(struct store *s, const struct step batch[2], struct err *reterr)
{
	struct made made[2] = {0};
	struct store_change changes[2];

	for (size_t i = 0; i < 2; i++) {
		const struct step *st = &batch[i];
		made_put(&made[i], 1, "ns", st->name, st->spec ? st->spec : "", NULL);
		changes[i] = made[i].change;
		changes[i].op = st->op;
		changes[i].owners = owners;
		changes[i].n_owners = st->n_owners;
		changes[i].aux_table = STORE_AUX_LIVE;
		changes[i].aux_key = span_of(st->name);
		changes[i].aux_value = span_of(st->spec);
	}
	int r = store_apply(s, changes, 2, 1, reterr);
	made_done(&made[0]);
	made_done(&made[1]);
	return r;
}

static int write_row(void *arg, const struct store_log_row *row)
{
	buf_addf(arg, "%llu<%llu ", (unsigned long long)row->revision,
		 (unsigned long long)row->previous);
	buf_add_span(arg, row->object.json);
	return 0;
}

static int write_aux(void *arg, struct span key, struct span value)
{
	buf_add_span(arg, key);
	buf_add_span(arg, value);
	return 0;
}

static int write_key(void *arg, const struct store_key *key)
{
	buf_add_span(arg, key->name);
	return 0;
}

/* Everything that can be seen of a store, as text. The log is left out where a failure may have
 * trimmed it: a batch that finds no space gives some. */
static void describe(struct fixture *f, bool with_log, struct buf *out)
{
	const struct store_range range = {.type = 1};
	struct store_reader *r = begin(f);

	buf_addf(out, "%llu ", (unsigned long long)store_revision(f->store));
	list_names(r, &range, out);
	if (with_log) {
		buf_addf(out, "%llu ", (unsigned long long)store_floor(f->store));
		assert_int_equal(store_log_scan(r, store_floor(f->store), write_row, out), 0);
	}
	assert_int_equal(store_scan_aux(r, STORE_AUX_LIVE, SPAN(""), write_aux, out), 0);
	for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
		buf_add_char(out, '|');
		assert_int_equal(store_dependents(r, owners[i], write_key, out), 0);
	}
	store_read_end(r);
}

static void open_with_short_log(struct fixture *f, enum fixture_backend b)
{
	fixture_init(f, b);
	f->options.log_max_bytes = 1;
	fixture_open(f);
}

/* Fails the n-th call within the batch that it falls into; true when the script has no n-th. */
static bool run_script(long n, int rc, enum err_kind want)
{
	struct fixture f, model;
	bool failed = false, with_log = want != ERR_NO_SPACE;

	open_with_short_log(&f, ON_LMDB);
	open_with_short_log(&model, ON_MEMORY);
	for (size_t i = 0; i < ARRAY_LEN(script); i++) {
		auto_buf before = BUF_INIT, after = BUF_INIT, expected = BUF_INIT;
		struct err e = ERR_INIT;
		describe(&f, with_log, &before);
		arm(failed ? 0 : n, rc);
		int r = apply_step(f.store, script[i], &e);
		if (r < 0) {
			failed = true;
			arm(0, 0);
			assert_int_equal(e.kind, want);
			describe(&f, with_log, &after);
			assert_string_equal(before.ptr, after.ptr);
			assert_int_equal(apply_step(f.store, script[i], NULL), 0);
		} else {
			n -= fault.calls;
		}
		arm(0, 0);
		buf_clear(&after);
		assert_int_equal(apply_step(model.store, script[i], NULL), 0);
		describe(&f, with_log, &after);
		describe(&model, with_log, &expected);
		assert_string_equal(after.ptr, expected.ptr);
	}
	fixture_done(&f);
	fixture_done(&model);
	return !failed;
}

static void any_call_may_find_no_space(void **state)
{
	long n = 1;
	(void)state;
	while (!run_script(n, MDB_MAP_FULL, ERR_NO_SPACE))
		n++;
	print_message("%ld calls\n", n - 1);
	assert_true(n > 100);
}

static void any_call_may_run_out_of_memory(void **state)
{
	long n = 1;
	(void)state;
	while (!run_script(n, ENOMEM, ERR_INTERNAL))
		n++;
	assert_true(n > 100);
}

static void an_io_error_ends_writing_and_a_restart_finds_everything(void **state)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct store_object o;
	struct store_key key = key_of(1, "ns", "a");
	(void)state;

	fixture_init(&f, ON_LMDB);
	fixture_open(&f);
	put(&f, "a", "{}");
	arm(1, EIO);
	while (apply_step(f.store, script[0], &e) == 0)
		arm(1, EIO);
	assert_int_equal(e.kind, ERR_INTERNAL);
	arm(0, 0);
	/* A disk that lied once is not asked again: the process is to end. */
	e = ERR_INIT;
	assert_int_equal(apply_step(f.store, script[0], &e), -EIO);
	assert_non_null(strstr(e.text, "process must end"));
	struct store_reader *r = begin(&f);
	assert_int_equal(store_get(r, &key, &o), 0);
	store_read_end(r);
	fixture_close(&f);
	fixture_open(&f);
	assert_int_equal(store_revision(f.store), 1);
	assert_int_equal(apply_step(f.store, script[0], NULL), 0);
	fixture_done(&f);
}

static void a_read_that_fails_says_so(void **state)
{
	struct fixture f;
	struct store_object o;
	struct store_key key = key_of(1, "ns", "a");
	struct store_iter *it;
	const struct store_range range = {.type = 1};
	auto_buf text = BUF_INIT;
	int e;
	(void)state;

	fixture_init(&f, ON_LMDB);
	fixture_open(&f);
	put(&f, "a", "{}");
	struct store_reader *r = begin(&f);
	arm(1, MDB_CORRUPTED);
	assert_int_equal(store_get(r, &key, &o), -EIO);
	assert_int_equal(store_iter_begin(r, &range, &it, NULL), 0);
	arm(1, MDB_CORRUPTED);
	assert_false(store_iter_next(it, &o, &e));
	assert_int_equal(e, -EIO);
	store_iter_end(it);
	arm(2, MDB_CORRUPTED); /* the cursor opens, the step fails */
	assert_int_equal(store_log_scan(r, 0, write_row, &text), -EIO);
	arm(2, MDB_CORRUPTED);
	assert_int_equal(store_scan_aux(r, 1, SPAN(""), write_aux, &text), -EIO);
	arm(1, MDB_CORRUPTED);
	assert_int_equal(store_iter_begin(r, &range, &it, NULL), -EIO);
	arm(0, 0);
	store_read_end(r);
	fixture_done(&f);
}

static void too_many_readers_is_an_answer_to_try_again(void **state)
{
	struct fixture f;
	struct store_reader *r;
	struct err e = ERR_INIT;
	(void)state;

	fixture_init(&f, ON_LMDB);
	fixture_open(&f);
	arm(1, MDB_READERS_FULL);
	/* Slots of dead processes are freed and it is tried once more. */
	assert_int_equal(store_read_begin(f.store, &r, &e), 0);
	arm(0, 0);
	struct store_reader *s = begin(&f);
	(void)s;
	store_read_end(s);
	store_read_end(r);
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(any_call_may_find_no_space),
	    cmocka_unit_test(any_call_may_run_out_of_memory),
	    cmocka_unit_test(an_io_error_ends_writing_and_a_restart_finds_everything),
	    cmocka_unit_test(a_read_that_fails_says_so),
	    cmocka_unit_test(too_many_readers_is_an_answer_to_try_again),
	};
	return cmocka_run_group_tests_name("store faults", tests, NULL, NULL);
}
