/*
 * Pods that succeeded give their quota back while the rest of their job runs (KEP-78;
 * reference/kueue.md 1.8, gate ReclaimablePods).
 */
#include "kueue_words.h"

/* Queue lq of cq with 8 cpus; members with 8 and 8. */
static struct model *begin(struct world *w)
{
	struct model *m = world_join(w, "c1", 2, 8);

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 8, ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	local_queue(w, "lq", "cq");
	return m;
}

static int64_t cpus(struct world *w)
{
	return used(w, "cq", "f");
}

static void say(struct world *w, struct model *m, const char *job, const char *status)
{
	model_set_status(m, model_copy(m, "default", job), status);
	world_run(w);
	world_streams(w);
	world_run(w);
}

/* 4 pods of 2 cpus side by side, 6 to complete. When 4 have succeeded 2 are left, so 2 x 2 cpus are
 * free: `next` with 4 takes them; with 3 succeeded 3 are left, and 2 cpus free are too few. */
static void what_a_job_will_not_run_again_is_given_to_the_next(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w);

	m->run_time = 3600 * USEC_PER_SEC;
	queued_job(w, "one", "lq", 4, 2);
	world_settle(w);
	queued_job(w, "next", "lq", 1, 4);
	world_settle(w);
	assert_string_equal(of_job(w, "next", "QuotaReserved", "reason"), "WaitingForQuota");
	say(w, m, "one", "{'active':3,'succeeded':1}");
	assert_string_equal(wl(w, "one", "status.reclaimablePods.0.name"), "main");
	assert_string_equal(wl(w, "one", "status.reclaimablePods.0.count"), "1");
	assert_int_equal(cpus(w), 6000);
	assert_string_equal(of_job(w, "next", "Admitted", "status"), "False");
	say(w, m, "one", "{'active':2,'succeeded':2}");
	world_settle(w);
	assert_string_equal(wl(w, "one", "status.reclaimablePods.0.count"), "2");
	assert_string_equal(of_job(w, "next", "Admitted", "status"), "True");
	assert_int_equal(cpus(w), 8000);
	/* What is told stands beside what was assigned, as in Kueue. */
	assert_string_equal(wl(w, "one", "status.admission.podSetAssignments.0.count"), "4");
}

static void a_restart_remembers_what_was_given_back(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w);

	m->run_time = 3600 * USEC_PER_SEC;
	queued_job(w, "one", "lq", 4, 2);
	world_settle(w);
	say(w, m, "one", "{'active':1,'succeeded':3}");
	assert_int_equal(cpus(w), 2000);
	world_restart(w);
	assert_int_equal(cpus(w), 2000);
	world_settle(w);
	assert_int_equal(cpus(w), 2000);
}

/* A creator's own Workload: 3 of its 4 pods of 2 cpus. */
static void a_restart_remembers_what_a_creator_gave_back(void **state)
{
	struct world *w = *state;

	begin(w);
	assert_int_equal(
	    world_create(w, TYPE_WORKLOAD,
			 "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Workload','metadata':"
			 "{'name':'own','namespace':'default'},'spec':{'queueName':'lq','podSets':"
			 "[{'name':'main','count':4,'template':{'spec':{'containers':[{'name':'c',"
			 "'resources':{'requests':{'cpu':2}}}]}}}]}}"),
	    ERR_NONE);
	world_settle(w);
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", "own",
				     "{'status':{'reclaimablePods':[{'name':'main','count':3}]}}"),
			 ERR_NONE);
	assert_int_equal(cpus(w), 2000);
	world_restart(w);
	assert_int_equal(cpus(w), 2000);
}

/* Its copy counts less after its controller began anew: what was given back stays given. */
static void what_was_given_back_is_not_taken_again(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w);

	m->run_time = 3600 * USEC_PER_SEC;
	queued_job(w, "one", "lq", 4, 2);
	world_settle(w);
	say(w, m, "one", "{'active':2,'succeeded':2}");
	say(w, m, "one", "{'active':4,'succeeded':0}");
	say(w, m, "one", "{'active':3,'succeeded':1}");
	assert_int_equal(cpus(w), 4000);
	assert_string_equal(wl(w, "one", "status.reclaimablePods.0.count"), "2");
}

/* It starts over somewhere: all of its pods are asked for. */
static void an_evicted_job_asks_for_all_its_pods_again(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w);

	world_priority(w, "high", 100);
	m->run_time = 3600 * USEC_PER_SEC;
	queued_job(w, "one", "lq", 4, 2);
	world_settle(w);
	say(w, m, "one", "{'active':1,'succeeded':3}");
	world_queued_job(w, "boss", "lq", 1, 8, ",'kueue.x-k8s.io/priority-class':'high'");
	world_settle(w);
	assert_string_equal(of_job(w, "boss", "Admitted", "status"), "True");
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "False");
	assert_string_equal(wl(w, "one", "status.reclaimablePods"), "");
	assert_int_equal(cpus(w), 8000);
	world_restart(w);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "QuotaReserved", "status"), "False");
	assert_int_equal(world_delete(w, TYPE_JOB, "default", "boss"), ERR_NONE);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "Admitted", "status"), "True");
	assert_int_equal(cpus(w), 8000);
}

/* Gate ReclaimablePods off. */
static void without_the_gate_all_stays_charged(void **state)
{
	struct world *w = *state;
	struct model *m = begin(w);

	w->kueue = "{'featureGates':{'ReclaimablePods':false}}";
	world_restart(w);
	m->run_time = 3600 * USEC_PER_SEC;
	queued_job(w, "one", "lq", 4, 2);
	world_settle(w);
	say(w, m, "one", "{'active':1,'succeeded':3}");
	assert_int_equal(cpus(w), 8000);
	assert_string_equal(wl(w, "one", "status.reclaimablePods"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(what_a_job_will_not_run_again_is_given_to_the_next),
	    STORY(a_restart_remembers_what_was_given_back),
	    STORY(a_restart_remembers_what_a_creator_gave_back),
	    STORY(what_was_given_back_is_not_taken_again),
	    STORY(an_evicted_job_asks_for_all_its_pods_again),
	    STORY(without_the_gate_all_stays_charged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
