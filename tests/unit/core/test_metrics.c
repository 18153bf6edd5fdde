/* What the core says about the fleet in /metrics. */
#include "world.h"

#include "core/query.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static void says(struct world *w, const char *line)
{
	const char *text = world_query(w, COMMAND_QUERY_METRICS);

	if (!strstr(text, line))
		fail_msg("no \"%s\" in:\n%s", line, text);
}

static void members_jobs_and_quota_are_described(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 3, 64);
	world_teams(w, 16, 4);
	assert_int_equal(world_job(w, "team-a", "runs", 3, 1, ""), ERR_NONE);
	assert_int_equal(world_job(w, "team-a", "waits", 2, 1, ""), ERR_NONE);
	world_settle(w);
	says(w, "muster_member_ready{cluster=\"c1\"} 1\n");
	says(w, "muster_member_nodes{cluster=\"c1\",state=\"usable\"} 3\n");
	says(w, "muster_jobs{phase=\"Queued\"} 1\n");
	says(w, "muster_quota{quota=\"root/a\",resource=\"cpu\",value=\"used\"} 3.000\n");
	says(w, "muster_quota{quota=\"root/a\",resource=\"cpu\",value=\"max\"} 4.000\n");
	says(w, "muster_queue_pending{quota=\"root/a\"} 1\n");
	says(w, "\nmuster_store_starved 0\n");
	assert_null(strstr(world_query(w, COMMAND_QUERY_METRICS), "_seconds_count 0\n"));
}

static void a_census_of_more_jobs_than_a_step_is_taken_in_portions(void **state)
{
	struct world *w = *state;
	struct job_census *s = &w->core->census;

	assert_int_equal(world_job(w, "default", "one", 1, 1, ""), ERR_NONE);
	s->at = w->core->jobs_by_number.n_entries;
	s->counting[JOB_RUNNING] = 123456; /* of the portions before */
	says(w, "muster_jobs{phase=\"Running\"} 123456\n");
	says(w, "muster_jobs{phase=\"Running\"} 0\n");
	says(w, "muster_jobs{phase=\"Queued\"} 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(members_jobs_and_quota_are_described),
	    STORY(a_census_of_more_jobs_than_a_step_is_taken_in_portions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
