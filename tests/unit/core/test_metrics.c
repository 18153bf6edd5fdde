/* What the core says about the fleet in /metrics. */
#include "kueue_words.h"

#include "core/query.h"

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

static void says_not(struct world *w, const char *words)
{
	const char *text = world_query(w, COMMAND_QUERY_METRICS);

	if (strstr(text, words))
		fail_msg("\"%s\" in:\n%s", words, text);
}

/* cq: 6 cpu, of which one of 6 is taken, while one of 3 waits; its cohort lends without limit. */
static void a_cluster_queue_is_described_in_kueues_names(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 2, 8)->run_time = 24 * 3600 * USEC_PER_SEC;
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, ",'cohortName':'all'");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	world_settle(w);
	says(w, "kueue_pending_workloads{cluster_queue=\"cq\",status=\"active\"} 0\n");
	says(w, "kueue_pending_workloads{cluster_queue=\"cq\",status=\"inadmissible\"} 0\n");
	queued_job(w, "two", "lq", 1, 3);
	world_settle(w);
	says(w, "\nmuster_cluster_queues 1\n");
	says(w, "kueue_pending_workloads{cluster_queue=\"cq\",status=\"active\"} 0\n");
	says(w, "kueue_pending_workloads{cluster_queue=\"cq\",status=\"inadmissible\"} 1\n");
	says(w, "kueue_reserving_active_workloads{cluster_queue=\"cq\"} 1\n");
	says(w, "kueue_admitted_active_workloads{cluster_queue=\"cq\"} 1\n");
	says(w, "kueue_cluster_queue_status{cluster_queue=\"cq\",status=\"active\"} 1\n");
	says(w, "kueue_cluster_queue_status{cluster_queue=\"cq\",status=\"pending\"} 0\n");
	says(w, "kueue_quota_reserved_workloads_total{cluster_queue=\"cq\"} 1\n");
	says(w, "kueue_admitted_workloads_total{cluster_queue=\"cq\"} 1\n");
	says(w, "muster_admission_decisions_total{decision=\"admitted\"} 1\n");
	says(w, "muster_admission_decisions_total{decision=\"waits\"} 1\n");
	says(w, "kueue_admission_attempts_total{result=\"success\"} 1\n");
	says(w,
	     "kueue_cluster_queue_nominal_quota{cluster_queue=\"cq\",cohort=\"all\",flavor=\"f\","
	     "resource=\"cpu\"} 6.000\n");
	says(w, "kueue_cluster_queue_borrowing_limit{cluster_queue=\"cq\",cohort=\"all\",flavor="
		"\"f\",resource=\"cpu\"} +Inf\n");
	says(w,
	     "kueue_cluster_queue_lending_limit{cluster_queue=\"cq\",cohort=\"all\",flavor=\"f\","
	     "resource=\"cpu\"} +Inf\n");
	says(w, "kueue_cluster_queue_resource_reservation{cluster_queue=\"cq\",cohort=\"all\","
		"flavor=\"f\",resource=\"cpu\"} 6.000\n");
	says(w,
	     "kueue_cluster_queue_resource_usage{cluster_queue=\"cq\",cohort=\"all\",flavor=\"f\""
	     ",resource=\"cpu\"} 6.000\n");
	says_not(w, "weighted_share");
	says_not(w, "kueue_evicted_workloads_total{");
}

/* One waits 7 s for its quota: beyond 5 s, within 10. */
static void waits_evictions_and_ends_of_a_cluster_queue_are_counted(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 2, 8);

	m->run_time = 24 * 3600 * USEC_PER_SEC;
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 6, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 3);
	world_settle(w);
	queued_job(w, "two", "lq", 1, 3);
	world_settle(w);
	says_not(w, "le=\"1\"} 2\n");
	world_advance(w, 7 * USEC_PER_SEC);
	model_finish(m, model_copy(m, "default", "one"), false);
	world_settle(w);
	says(w, "kueue_finished_workloads_total{cluster_queue=\"cq\"} 1\n");
	says(w, "kueue_admission_wait_time_seconds_bucket{cluster_queue=\"cq\",le=\"5\"} 1\n"
		"kueue_admission_wait_time_seconds_bucket{cluster_queue=\"cq\",le=\"10\"} 2\n");
	says(w, "kueue_quota_reserved_wait_time_seconds_count{cluster_queue=\"cq\"} 2\n");
	says_not(w, "kueue_admission_checks_wait_time_seconds_count");
	assert_int_equal(world_create(w, TYPE_WORKLOAD_PRIORITY_CLASS,
				      "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':"
				      "'WorkloadPriorityClass','metadata':{'name':'high'},"
				      "'value':1000}"),
			 ERR_NONE);
	assert_int_equal(world_job(w, "default", "three", 2, 3,
				   ",'labels':{'kueue.x-k8s.io/queue-name':'lq',"
				   "'kueue.x-k8s.io/priority-class':'high'}"),
			 ERR_NONE);
	world_settle(w);
	says(w, "kueue_evicted_workloads_total{cluster_queue=\"cq\",reason=\"Preempted\","
		"underlying_cause=\"\"} 1\n");
	says(w, "kueue_preempted_workloads_total{preempting_cluster_queue=\"cq\",reason="
		"\"InClusterQueue\"} 1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(members_jobs_and_quota_are_described),
	    STORY(a_census_of_more_jobs_than_a_step_is_taken_in_portions),
	    STORY(a_cluster_queue_is_described_in_kueues_names),
	    STORY(waits_evictions_and_ends_of_a_cluster_queue_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
