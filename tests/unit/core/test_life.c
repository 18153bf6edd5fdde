/*
 * The life of one job through the core, from its creation to its end: what is written, what is
 * sent, in which order (DESIGN sections 4 and 7).
 */
#include "world.h"

static void a_job_runs_to_its_end(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	assert_int_equal(world_job(w, "default", "one", 2, 3, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Suspended");
	assert_int_equal(m->starts, 1);
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(m->finished, 1);
	assert_string_equal(world_step(w, "default", "one-job"), "Finished");
	assert_null(world_record(w, TYPE_JOB, "default", "one"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_job_runs_to_its_end, world_setup, world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
