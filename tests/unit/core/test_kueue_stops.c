/*
 * Quota that is taken back from who runs (reference/kueue.md 2): by preemption, by who lent it, and
 * as a workload is deactivated, its queue drained, its time over or its job deleted.
 */
#include "kueue_words.h"

static void priority_class(struct world *w, const char *name, int value)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'WorkloadPriorityClass',"
		       "'metadata':{'name':'%s'},'value':%d}",
		       name, value);
	assert_int_equal(world_create(w, TYPE_WORKLOAD_PRIORITY_CLASS, text), ERR_NONE);
}

static void classed_job(struct world *w, const char *name, const char *queue, const char *class,
			int cpus)
{
	char more[256];

	(void)snprintf(more, sizeof(more),
		       ",'labels':{'kueue.x-k8s.io/queue-name':'%s','kueue.x-k8s.io/priority-class'"
		       ":'%s'}",
		       queue, class);
	assert_int_equal(world_job(w, "default", name, 1, cpus, more), ERR_NONE);
}

static void a_prod_job_preempts_a_dev_job_which_keeps_its_place(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	priority_class(w, "prod", 1000);
	priority_class(w, "dev", 100);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	classed_job(w, "dev1", "lq", "dev", 4);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "dev1"));
	assert_string_equal(wl(w, "dev1", "spec.priority"), "100");
	assert_string_equal(wl(w, "dev1", "spec.priorityClassRef.name"), "dev");
	classed_job(w, "dev2", "lq", "dev", 4);
	classed_job(w, "prod1", "lq", "prod", 4);
	/* Told at once; its quota is not free while its pods are there. */
	assert_int_equal(used(w, "cq", "f"), 4000);
	assert_string_equal(of_job(w, "dev1", "Evicted", "reason"), "Preempted");
	assert_string_equal(of_job(w, "dev1", "Preempted", "reason"), "InClusterQueue");
	assert_string_equal(of_job(w, "dev1", "QuotaReserved", "status"), "True");
	assert_string_equal(of_job(w, "prod1", "QuotaReserved", "status"), "False");
	world_settle(w);
	assert_true(model_copy(m, "default", "dev1")->suspended);
	assert_string_equal(world_step(w, "default", "dev1-job"), "Parked");
	assert_non_null(model_copy(m, "default", "prod1"));
	assert_int_equal(used(w, "cq", "f"), 4000);
	assert_string_equal(of_job(w, "dev1", "QuotaReserved", "status"), "False");
	assert_string_equal(of_job(w, "dev1", "Requeued", "reason"), "Preempted");
	assert_string_equal(wl(w, "dev1", "status.admission.clusterQueue"), "");
	assert_int_equal(world_events(w, "dev1", "Stopped", "Preempted to accommodate a workload"),
			 1);
	/* dev1 was there before dev2. */
	model_finish(m, model_copy(m, "default", "prod1"), false);
	world_settle(w);
	assert_false(model_copy(m, "default", "dev1")->suspended);
	assert_int_equal(model_copy(m, "default", "dev1")->epoch, 3);
	assert_int_equal(m->deletes, 0);
	assert_null(model_copy(m, "default", "dev2"));
	assert_string_equal(of_job(w, "dev1", "Evicted", "status"), "False");
}

static void a_preemption_survives_a_restart_at_any_moment(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	priority_class(w, "prod", 1000);
	priority_class(w, "dev", 100);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	classed_job(w, "dev1", "lq", "dev", 4);
	world_settle(w);
	classed_job(w, "prod1", "lq", "prod", 4);
	world_restart(w);
	assert_int_equal(used(w, "cq", "f"), 4000);
	world_settle(w);
	world_restart(w);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "prod1"));
	assert_true(model_copy(m, "default", "dev1")->suspended);
	assert_int_equal(used(w, "cq", "f"), 4000);
}

static void a_borrower_gives_back_to_the_queue_that_lent(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 16);

	m->run_time = 600 * USEC_PER_SEC;
	flavor(w, "f", "");
	cluster_queue(w, "a", "f", 4, ",'cohortName':'all'");
	cluster_queue(w, "b", "f", 4,
		      ",'cohortName':'all','preemption':{'reclaimWithinCohort':'Any'}");
	local_queue(w, "qa", "a");
	local_queue(w, "qb", "b");
	queued_job(w, "a1", "qa", 1, 4);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	queued_job(w, "a2", "qa", 1, 4);
	world_settle(w);
	assert_int_equal(used(w, "a", "f"), 8000);
	queued_job(w, "b1", "qb", 1, 4);
	world_settle(w);
	assert_int_equal(used(w, "a", "f"), 4000);
	assert_int_equal(used(w, "b", "f"), 4000);
	assert_non_null(model_copy(m, "default", "b1"));
	/* The newer of equals gives way. */
	assert_string_equal(of_job(w, "a2", "Preempted", "reason"), "InCohortReclamation");
	assert_string_equal(of_job(w, "a1", "Evicted", "status"), "");
}

/* Quota would be free with dev gone, nodes never: 12 cpus on a node of 8. */
static void nobody_is_evicted_for_a_gang_that_could_not_start(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	priority_class(w, "prod", 1000);
	priority_class(w, "dev", 100);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 12, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	classed_job(w, "dev1", "lq", "dev", 4);
	world_settle(w);
	classed_job(w, "prod1", "lq", "prod", 12);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "dev1"));
	assert_string_equal(of_job(w, "dev1", "Evicted", "status"), "");
	assert_string_equal(of_job(w, "prod1", "QuotaReserved", "reason"),
			    "TopologyPlacementFailed");
	/* With a node that would do, dev gives way: quota is for one of them. */
	model_add_node(m, "large", 12, 0);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "prod1"));
	assert_true(model_copy(m, "default", "dev1")->suspended);
}

/* 4 cpus more: two dev jobs on c1, or one on c2. */
static void the_member_with_the_fewest_victims_is_taken(void **state)
{
	struct world *w = *state;
	struct model *a = world_join(w, "c1", 1, 4), *b = world_join(w, "c2", 1, 5);

	priority_class(w, "prod", 1000);
	priority_class(w, "dev", 100);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 8, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	classed_job(w, "small1", "lq", "dev", 2);
	classed_job(w, "small2", "lq", "dev", 2);
	world_settle(w);
	classed_job(w, "large", "lq", "dev", 4);
	world_settle(w);
	assert_non_null(model_copy(a, "default", "small1"));
	assert_non_null(model_copy(a, "default", "small2"));
	assert_non_null(model_copy(b, "default", "large"));
	classed_job(w, "prod", "lq", "prod", 4);
	world_settle(w);
	assert_non_null(model_copy(b, "default", "prod"));
	assert_non_null(model_copy(a, "default", "small1"));
	assert_non_null(model_copy(a, "default", "small2"));
	assert_true(model_copy(b, "default", "large")->suspended);
}

static void a_workload_that_its_user_deactivates_stops_and_comes_back_when_told(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);
	char name[STORE_MAX_NAME + 1];

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 4);
	world_settle(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(
	    world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':false}}"), ERR_NONE);
	world_settle(w);
	assert_true(model_copy(m, "default", "one")->suspended);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_string_equal(of_job(w, "one", "Evicted", "reason"), "Deactivated");
	world_restart(w);
	world_settle(w);
	assert_true(model_copy(m, "default", "one")->suspended);
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name, "{'spec':{'active':true}}"),
			 ERR_NONE);
	world_settle(w);
	assert_false(model_copy(m, "default", "one")->suspended);
}

static void hold_lets_run_what_runs_and_drain_takes_it_back(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 16);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 8, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 2);
	world_settle(w);
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'Hold'}}"),
	    ERR_NONE);
	queued_job(w, "two", "lq", 1, 2);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	assert_null(model_copy(m, "default", "two"));
	assert_string_equal(of_job(w, "two", "QuotaReserved", "reason"), "Suspended");
	assert_string_equal(of_job(w, "two", "QuotaReserved", "message"),
			    "ClusterQueue cq is inactive");
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'HoldAndDrain'}}"),
	    ERR_NONE);
	world_settle(w);
	assert_true(model_copy(m, "default", "one")->suspended);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_string_equal(of_job(w, "one", "Requeued", "status"), "False");
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'None'}}"),
	    ERR_NONE);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	assert_non_null(model_copy(m, "default", "two"));
	assert_string_equal(of_job(w, "one", "Requeued", "reason"), "ClusterQueueRestarted");
}

static void a_job_over_its_execution_time_is_deactivated(void **state)
{
	struct world *w = *state;
	struct model *m = world_join(w, "c1", 1, 8);

	m->run_time = 600 * USEC_PER_SEC;
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	assert_int_equal(world_job(w, "default", "one", 1, 2,
				   ",'labels':{'kueue.x-k8s.io/queue-name':'lq',"
				   "'kueue.x-k8s.io/max-exec-time-seconds':'60'}"),
			 ERR_NONE);
	world_settle(w);
	world_advance(w, 59 * USEC_PER_SEC);
	world_settle(w);
	assert_non_null(model_copy(m, "default", "one"));
	world_advance(w, 2 * USEC_PER_SEC);
	world_settle(w);
	assert_true(model_copy(m, "default", "one")->suspended);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_string_equal(of_job(w, "one", "Evicted", "reason"),
			    "DeactivatedDueToMaximumExecutionTimeExceeded");
	assert_string_equal(wl(w, "one", "spec.active"), "false");
}

static void a_deleted_job_frees_its_quota_with_its_copy(void **state)
{
	struct world *w = *state;

	world_join(w, "c1", 1, 8);
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 1, 4);
	queued_job(w, "two", "lq", 1, 4);
	world_settle(w);
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "one"), ERR_NONE);
	assert_int_equal(used(w, "cq", "f"), 4000);
	world_settle(w);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 1);
	assert_string_equal(of_job(w, "two", "Admitted", "status"), "True");
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "two"), ERR_NONE);
	world_settle(w);
	assert_int_equal(used(w, "cq", "f"), 0);
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 0);
	assert_int_equal(w->core->kueue->workloads.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_prod_job_preempts_a_dev_job_which_keeps_its_place),
	    STORY(a_preemption_survives_a_restart_at_any_moment),
	    STORY(a_borrower_gives_back_to_the_queue_that_lent),
	    STORY(nobody_is_evicted_for_a_gang_that_could_not_start),
	    STORY(the_member_with_the_fewest_victims_is_taken),
	    STORY(a_workload_that_its_user_deactivates_stops_and_comes_back_when_told),
	    STORY(hold_lets_run_what_runs_and_drain_takes_it_back),
	    STORY(a_job_over_its_execution_time_is_deactivated),
	    STORY(a_deleted_job_frees_its_quota_with_its_copy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
