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

static int count_row(void *arg, const struct store_log_row *row)
{
	*(int *)arg += span_is(row->object.key.ns, "team-a");
	return 0;
}

/* DESIGN section 2: at most 10 rows of truth in the life of a queued job. */
static void a_queued_job_takes_few_rows_of_truth(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 2, 8);
	world_teams(w, 8, 8);
	world_settle(w);
	uint64_t before = store_revision(w->truth);
	assert_int_equal(world_job(w, "team-a", "one", 2, 3, ""), ERR_NONE);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "one-job"), "Suspended");
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(world_step(w, "team-a", "one-job"), "Finished");
	struct store_reader *r;
	int rows = 0;
	assert_int_equal(store_read_begin(w->truth, &r, NULL), 0);
	assert_int_equal(store_log_scan(r, before, count_row, &rows), 0);
	store_read_end(r);
	/* Three each of the job, its binding and its queue unit. */
	assert_in_range(rows, 6, 9);
}

static void a_create_that_landed_unheard_is_found_after_a_restart(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);
	struct order *create;

	assert_int_equal(world_job(w, "default", "one", 2, 3, ""), ERR_NONE);
	while (!(create = world_find(w, "POST", "/jobs"))) {
		assert_true(w->orders.len > 0);
		world_answer(w, w->orders.items[0]);
		world_run(w);
	}
	assert_string_equal(world_step(w, "default", "one-job"), "Decided");
	world_lose(w, create, true);
	world_restart(w);
	assert_string_equal(world_step(w, "default", "one-job"), "Decided");
	world_settle(w);
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_int_equal(m->starts, 1);
	assert_int_equal(m->finished, 1);
	assert_string_equal(world_step(w, "default", "one-job"), "Finished");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_queued_job_takes_few_rows_of_truth, world_setup,
					    world_teardown),
	    cmocka_unit_test_setup_teardown(a_create_that_landed_unheard_is_found_after_a_restart,
					    world_setup, world_teardown),
	    cmocka_unit_test_setup_teardown(a_job_runs_to_its_end, world_setup, world_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
