/*
 * Kueue's feature gates that are off unless they are asked for: PriorityBoost,
 * UnadmittedWorkloadsExplicitStatus and ShortWorkloadNames, each beside what is so without it.
 */
#include "world.h"

#include "core/kueue/workload.h"

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

#define LONG_NAME "a-job-whose-name-is-rather-long-since-somebody-puts-all-of-it-there"

/* LocalQueue lq of cq, 4 cpus, whose workloads preempt those of lower priority. */
static void begin(struct world *w, const char *gates)
{
	w->kueue = gates;
	world_restart(w);
	struct model *m = world_join(w, "c1", 2, 8);
	m->run_time = 3600 * USEC_PER_SEC;
	world_flavor(w, "f", "");
	world_cluster_queue(w, "cq", "f", 4,
			    ",'preemption':{'withinClusterQueue':'LowerPriority'}");
	world_local_queue(w, "lq", "cq");
}

static const char *workload_name(struct world *w, const char *job)
{
	return world_record(w, TYPE_JOB, "default", job)->workload->name.ptr;
}

static enum err_kind boost(struct world *w, const char *job, const char *value)
{
	char patch[256];

	(void)snprintf(patch, sizeof(patch),
		       "{'metadata':{'annotations':{'kueue.x-k8s.io/priority-boost':'%s'}}}",
		       value);
	enum err_kind k = world_patch(w, TYPE_WORKLOAD, "default", workload_name(w, job), patch);
	world_settle(w);
	return k;
}

static bool is_admitted(struct world *w, const char *job)
{
	return strcmp(world_workload_condition(w, job, "Admitted", "status"), "True") == 0;
}

/* ---- PriorityBoost ---- */

static void a_boost_orders_and_preempts(void **state)
{
	struct world *w = *state;

	begin(w, "{'featureGates':{'PriorityBoost':true}}");
	world_queued_job(w, "first", "lq", 2, 2, "");
	world_settle(w);
	world_queued_job(w, "second", "lq", 2, 2, "");
	world_queued_job(w, "third", "lq", 2, 2, "");
	world_settle(w);
	assert_true(is_admitted(w, "first"));
	assert_int_equal(boost(w, "third", "7"), 0);
	assert_true(is_admitted(w, "third"));
	assert_false(is_admitted(w, "first"));
	assert_int_equal(world_record(w, TYPE_JOB, "default", "third")->workload->priority, 0);
	assert_string_equal(world_workload(w, "third", "spec.priority"), "0");
	/* and still, after the row was written for another reason, and a restart */
	world_restart(w);
	world_settle(w);
	assert_string_equal(world_field(w, TYPE_WORKLOAD, "default", workload_name(w, "third"),
					"metadata.annotations.kueue!x-k8s!io/priority-boost"),
			    "7");
	assert_int_equal(world_record(w, TYPE_JOB, "default", "third")->workload->boost, 7);
	assert_int_equal(boost(w, "third", "-1"), 0);
	assert_true(is_admitted(w, "first"));
}

static void a_boost_is_a_number_of_32_bits(void **state)
{
	static const char *const wrong[] = {"high", "1.5", "2147483648", " 1", "1 "};
	struct world *w = *state;

	begin(w, "{'featureGates':{'PriorityBoost':true}}");
	world_queued_job(w, "one", "lq", 2, 2, "");
	world_settle(w);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_int_equal(boost(w, "one", wrong[i]), ERR_INVALID);
		assert_non_null(strstr(w->err.text, "must be a valid signed integer"));
	}
	assert_int_equal(boost(w, "one", ""), ERR_INVALID);
	assert_non_null(strstr(w->err.text, "use \"0\" explicitly, empty string is not allowed"));
	assert_string_equal(w->err.field, "metadata.annotations[kueue.x-k8s.io/priority-boost]");
	assert_int_equal(boost(w, "one", "-2147483648"), 0);
	assert_int_equal(workload_priority(world_record(w, TYPE_JOB, "default", "one")->workload),
			 INT32_MIN);
}

static void without_the_gate_a_boost_means_nothing(void **state)
{
	struct world *w = *state;

	begin(w, "{}");
	world_queued_job(w, "first", "lq", 2, 2, "");
	world_settle(w);
	world_queued_job(w, "second", "lq", 2, 2, "");
	world_settle(w);
	assert_int_equal(boost(w, "second", "7"), 0);
	assert_int_equal(boost(w, "second", "high"), 0);
	assert_true(is_admitted(w, "first"));
	assert_false(is_admitted(w, "second"));
}

/* ---- what a workload says that was not looked at ---- */

static void the_status_says_at_once_that_it_waits(void **state)
{
	struct world *w = *state;

	begin(w, "{'featureGates':{'UnadmittedWorkloadsExplicitStatus':true}}");
	world_queued_job(w, "first", "lq", 2, 2, "");
	world_settle(w);
	world_queued_job(w, "second", "lq", 2, 2, "");
	world_queued_job(w, "third", "lq", 1, 3, "");
	world_run(w);
	assert_true(is_admitted(w, "first"));
	/* The head's turn has come, not that of the one behind it, which is like it. */
	assert_string_equal(world_workload_condition(w, "second", "QuotaReserved", "reason"),
			    "WaitingForQuota");
	assert_string_equal(world_workload_condition(w, "third", "QuotaReserved", "status"),
			    "False");
	assert_string_equal(world_workload_condition(w, "third", "Admitted", "reason"),
			    "NoReservation");
	assert_string_equal(world_workload_condition(w, "third", "Admitted", "message"),
			    "The workload has no reservation");
}

static void a_workload_that_waits_is_not_admitted(void **state)
{
	struct world *w = *state;

	begin(w, "{}");
	world_queued_job(w, "first", "lq", 2, 2, "");
	world_queued_job(w, "second", "lq", 2, 2, "");
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "second", "QuotaReserved", "reason"),
			    "WaitingForQuota");
	assert_string_equal(world_workload_condition(w, "second", "Admitted", "status"), "False");
	assert_string_equal(world_workload_condition(w, "second", "Admitted", "reason"),
			    "NoReservation");
}

static void without_observability_there_is_no_such_condition(void **state)
{
	struct world *w = *state;

	begin(w, "{'featureGates':{'UnadmittedWorkloadsObservability':false}}");
	world_queued_job(w, "first", "lq", 2, 2, "");
	world_queued_job(w, "second", "lq", 2, 2, "");
	world_settle(w);
	assert_string_equal(world_workload_condition(w, "second", "QuotaReserved", "reason"),
			    "Pending");
	assert_string_equal(world_workload_condition(w, "second", "Admitted", "status"), "");
}

/* ---- ShortWorkloadNames ---- */

static void names_fit_into_a_label(void **state)
{
	struct world *w = *state;

	begin(w, "{'featureGates':{'ShortWorkloadNames':true}}");
	world_queued_job(w, LONG_NAME, "lq", 2, 2, "");
	world_queued_job(w, "short", "lq", 2, 2, "");
	world_settle(w);
	const char *name = workload_name(w, LONG_NAME);
	assert_int_equal(strlen(name), 63);
	assert_memory_equal(name, "job-" LONG_NAME, 57);
	assert_memory_equal(workload_name(w, "short"), "job-short-", 10);
}

static void assert_kept(struct world *w, const char *gates, size_t name_len)
{
	char was[STORE_MAX_NAME + 1];

	world_queued_job(w, LONG_NAME, "lq", 2, 2, "");
	world_settle(w);
	(void)snprintf(was, sizeof(was), "%s", workload_name(w, LONG_NAME));
	assert_int_equal(strlen(was), name_len);
	w->kueue = gates;
	world_restart(w);
	world_settle(w);
	assert_string_equal(workload_name(w, LONG_NAME), was);
	assert_true(is_admitted(w, LONG_NAME));
	assert_int_equal(world_count(w, TYPE_WORKLOAD, "default"), 1);
}

static void a_job_keeps_its_workload_when_the_gate_changes(void **state)
{
	struct world *w = *state;

	begin(w, "{}");
	assert_kept(w, "{'featureGates':{'ShortWorkloadNames':true}}",
		    strlen("job-" LONG_NAME "-12345"));
}

static void a_job_keeps_its_short_name_when_the_gate_is_gone(void **state)
{
	struct world *w = *state;

	begin(w, "{'featureGates':{'ShortWorkloadNames':true}}");
	assert_kept(w, "{}", 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_boost_orders_and_preempts),
	    STORY(a_boost_is_a_number_of_32_bits),
	    STORY(without_the_gate_a_boost_means_nothing),
	    STORY(the_status_says_at_once_that_it_waits),
	    STORY(a_workload_that_waits_is_not_admitted),
	    STORY(without_observability_there_is_no_such_condition),
	    STORY(names_fit_into_a_label),
	    STORY(a_job_keeps_its_workload_when_the_gate_changes),
	    STORY(a_job_keeps_its_short_name_when_the_gate_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
