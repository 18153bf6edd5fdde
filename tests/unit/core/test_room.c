/*
 * A store without room: what is asked is answered, deletes are taken, other writes are refused, and
 * all goes on by itself once there is room. (How the store comes to say so: tests/contract.)
 */
#include "world.h"

#define FOR_ROOM (11 * USEC_PER_SEC) /* longer than the core waits between two tries */

static void fill(struct world *w)
{
	store_faulty_fail(w->truth, STORE_CALL_APPLY, 1, ERR_NO_SPACE, true);
}

static void make_room(struct world *w)
{
	store_faulty_fail(w->truth, STORE_CALL_APPLY, 0, ERR_NONE, false);
	world_advance(w, FOR_ROOM);
}

static void a_full_store_refuses_writes_until_there_is_room(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	assert_int_equal(world_job(w, "default", "before", 1, 1, ""), ERR_NONE);
	world_settle(w);
	fill(w);
	assert_int_equal(world_job(w, "default", "during", 1, 1, ""), ERR_NO_SPACE);
	assert_false(core_has_failed(w->core));
	make_room(w);
	assert_int_equal(world_job(w, "default", "after", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(m->starts, 2);
}

static void a_hub_that_starts_on_a_full_store_answers_questions_and_recovers(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	assert_int_equal(world_job(w, "default", "before", 1, 1, ""), ERR_NONE);
	world_settle(w);
	fill(w);
	world_restart(w);
	assert_non_null(strstr(world_query(w, "clusters"), "c1"));
	assert_int_equal(world_job(w, "default", "during", 1, 1, ""), ERR_NO_SPACE);
	make_room(w);
	assert_int_equal(world_job(w, "default", "after", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_int_equal(m->starts, 2);
}

static void a_hub_whose_very_first_write_finds_no_room_is_born_later(void **state)
{
	struct world *w = *state;

	assert_false(world_exists(w, TYPE_NAMESPACE, "", "default"));
	assert_int_equal(world_job(w, "default", "during", 1, 1, ""), ERR_NO_SPACE);
	assert_non_null(world_query(w, "clusters"));
	assert_non_null(world_query(w, "quota"));
	assert_false(core_has_failed(w->core));
	make_room(w);
	assert_true(world_exists(w, TYPE_NAMESPACE, "", "default"));
	world_join(w, "c1", 2, 8);
	assert_int_equal(world_job(w, "default", "after", 1, 1, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "default", "after-job"), "Suspended");
}

static void a_first_write_that_meets_an_io_error_ends_the_hub(void **state)
{
	struct world *w = *state;

	store_faulty_fail(w->truth, STORE_CALL_APPLY, 1, ERR_INTERNAL, true);
	assert_int_equal(world_job(w, "default", "one", 1, 1, ""), ERR_INTERNAL);
	assert_true(core_has_failed(w->core));
	store_faulty_fail(w->truth, STORE_CALL_APPLY, 0, ERR_NONE, false);
}

static int setup_full(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->full = true;
	world_open(w);
	*state = w;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_full_store_refuses_writes_until_there_is_room,
					    world_setup, world_teardown),
	    cmocka_unit_test_setup_teardown(
		a_hub_that_starts_on_a_full_store_answers_questions_and_recovers, world_setup,
		world_teardown),
	    cmocka_unit_test_setup_teardown(
		a_hub_whose_very_first_write_finds_no_room_is_born_later, setup_full,
		world_teardown),
	    cmocka_unit_test_setup_teardown(a_first_write_that_meets_an_io_error_ends_the_hub,
					    world_setup, world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
