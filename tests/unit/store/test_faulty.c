#include "fixture.h"

#include <errno.h>

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	fixture_init(f, ON_FAULTY_MEMORY);
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

static int try_put(struct fixture *f, struct err *reterr)
{
	struct made m;
	made_put(&m, 1, "ns", "a", "{}", NULL);
	int r = store_apply(f->store, &m.change, 1, 1, reterr);
	made_done(&m);
	return r;
}

static void the_nth_commit_fails_once(void **state)
{
	struct fixture *f = *state;
	struct err e = ERR_INIT;
	store_faulty_fail(f->store, STORE_CALL_APPLY, 3, ERR_NO_SPACE, false);
	assert_int_equal(try_put(f, NULL), 0);
	assert_int_equal(try_put(f, NULL), 0);
	assert_int_equal(try_put(f, &e), -ENOSPC);
	assert_int_equal(e.kind, ERR_NO_SPACE);
	assert_int_equal(store_revision(f->store), 2); /* it changed nothing */
	assert_int_equal(try_put(f, NULL), 0);
	assert_int_equal(store_revision(f->store), 3);
}

static void a_sticky_fault_stays_until_it_is_healed(void **state)
{
	struct fixture *f = *state;
	store_faulty_fail(f->store, STORE_CALL_APPLY, 1, ERR_INTERNAL, true);
	for (int i = 0; i < 5; i++)
		assert_int_equal(try_put(f, NULL), -EIO);
	store_faulty_fail(f->store, STORE_CALL_APPLY, 0, ERR_NONE, false);
	assert_int_equal(try_put(f, NULL), 0);
}

static void beginning_a_read_can_fail(void **state)
{
	struct fixture *f = *state;
	struct store_reader *r = NULL;
	struct err e = ERR_INIT;
	store_faulty_fail(f->store, STORE_CALL_READ_BEGIN, 1, ERR_UNAVAILABLE, false);
	assert_int_equal(store_read_begin(f->store, &r, &e), -EAGAIN);
	assert_null(r);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	r = begin(f);
	store_read_end(r);
}

static void points_fail_and_scans_do_not(void **state)
{
	struct fixture *f = *state;
	struct store_object o;
	struct span v;
	struct store_key key = key_of(1, "ns", "a");
	assert_int_equal(try_put(f, NULL), 0);
	struct store_reader *r = begin(f);
	store_faulty_fail(f->store, STORE_CALL_GET, 2, ERR_INTERNAL, true);
	assert_int_equal(store_get(r, &key, &o), 0);
	assert_int_equal(store_get(r, &key, &o), -EIO);
	assert_int_equal(store_get_at(r, &key, 1, &o), -EIO);
	assert_int_equal(store_get_aux(r, 1, SPAN("k"), &v), -EIO);
	const struct store_range all = {.type = 1};
	assert_names(r, &all, "a ");
	store_read_end(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(the_nth_commit_fails_once, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_sticky_fault_stays_until_it_is_healed, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(beginning_a_read_can_fail, setup, teardown),
	    cmocka_unit_test_setup_teardown(points_fail_and_scans_do_not, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
