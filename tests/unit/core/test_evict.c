/*
 * What takes a queued job's quota back besides preemption, as the core carries it out: stopped
 * queues and checks that do not agree, told in Kueue's words, also over a restart.
 */
#include "base/clock.h"
#include "core/kueue/workload.h"
#include "world.h"

static void check(struct world *w, const char *name)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'AdmissionCheck','metadata'"
		       ":{'name':'%s'},'spec':{'controllerName':'example.com/%s'},"
		       "'status':{'conditions':[{'type':'Active','status':'True','reason':'Active'"
		       ",'message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}]}}",
		       name, name);
	assert_int_equal(world_create(w, TYPE_ADMISSION_CHECK, text), ERR_NONE);
}

/* Room for one job of 2 cpus in queue lq, whose workloads need the checks `budget` and `licence`.
 */
static void begin_with(struct world *w, const char *more)
{
	char text[512];

	world_join(w, "c1", 1, 8);
	check(w, "budget");
	check(w, "licence");
	world_flavor(w, "f", "");
	(void)snprintf(text, sizeof(text),
		       ",'admissionChecksStrategy':{'admissionChecks':[{'name':'budget'},"
		       "{'name':'licence'}]}%s",
		       more);
	world_cluster_queue(w, "cq", "f", 2, text);
	world_local_queue(w, "lq", "cq");
}

static void begin(struct world *w)
{
	begin_with(w, "");
}

/* Both checks' states, with requeueAfterSeconds of the first. */
static void answer(struct world *w, const char *job, const char *budget, int after,
		   const char *licence)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);
	char name[STORE_MAX_NAME + 1], text[1024], when[CLOCK_TEXT_MAX], more[64] = "";

	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	if (after)
		(void)snprintf(more, sizeof(more), ",'requeueAfterSeconds':%d", after);
	clock_format(w->now, when);
	(void)snprintf(text, sizeof(text),
		       "{'status':{'admissionChecks':[{'name':'budget','state':'%s','message':'no',"
		       "'lastTransitionTime':'%s'%s},{'name':'licence','state':'%s','message':'',"
		       "'lastTransitionTime':'%s'}]}}",
		       budget, when, more, licence, when);
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name, text), ERR_NONE);
	world_settle(w);
}

static const char *of(struct world *w, const char *job, const char *condition, const char *field)
{
	return world_workload_condition(w, job, condition, field);
}

static void hold_takes_a_reservation_off_without_an_eviction(void **state)
{
	struct world *w = *state;

	begin(w);
	world_queued_job(w, "one", "lq", 1, 2, "");
	world_settle(w);
	assert_string_equal(of(w, "one", "QuotaReserved", "status"), "True");
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'Hold'}}"),
	    ERR_NONE);
	world_settle(w);
	assert_string_equal(of(w, "one", "QuotaReserved", "status"), "False");
	assert_string_equal(of(w, "one", "Evicted", "status"), "");
	assert_int_equal(
	    world_patch(w, TYPE_CLUSTER_QUEUE, "", "cq", "{'spec':{'stopPolicy':'None'}}"),
	    ERR_NONE);
	world_settle(w);
	assert_string_equal(of(w, "one", "QuotaReserved", "status"), "True");
}

static void who_must_retry_goes_to_the_back_and_stays_there_over_a_restart(void **state)
{
	struct world *w = *state;

	begin(w);
	world_queued_job(w, "one", "lq", 1, 2, "");
	world_settle(w);
	world_advance(w, 10 * USEC_PER_SEC);
	world_queued_job(w, "two", "lq", 1, 2, "");
	world_advance(w, 10 * USEC_PER_SEC);
	world_queued_job(w, "three", "lq", 1, 2, "");
	world_advance(w, 10 * USEC_PER_SEC);
	world_settle(w);
	answer(w, "one", "Retry", 30, "Pending");
	assert_string_equal(of(w, "one", "Evicted", "reason"), "AdmissionCheck");
	assert_string_equal(of(w, "two", "QuotaReserved", "status"), "True");
	world_restart(w);
	world_advance(w, 31 * USEC_PER_SEC);
	world_settle(w);
	/* `one` is the oldest, but counts from its eviction. */
	answer(w, "two", "Rejected", 0, "Ready");
	assert_string_equal(of(w, "three", "QuotaReserved", "status"), "True");
	assert_string_equal(of(w, "one", "QuotaReserved", "status"), "False");
	answer(w, "three", "Rejected", 0, "Ready");
	assert_string_equal(of(w, "one", "QuotaReserved", "status"), "True");
}

static void set_active(struct world *w, const char *job, const char *spec)
{
	const struct job *j = world_record(w, TYPE_JOB, "default", job);
	char name[STORE_MAX_NAME + 1];

	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(world_patch(w, TYPE_WORKLOAD, "default", name, spec), ERR_NONE);
	world_settle(w);
}

/* Kueue's GetQueueOrderTimestamp: the eviction counts while Evicted is True. `one`, which is older,
 * may not be preempted as newer than `two`. */
static void who_had_to_retry_is_as_old_as_it_is_when_it_has_quota_again(void **state)
{
	struct world *w = *state;

	begin_with(w, ",'preemption':{'withinClusterQueue':'LowerOrNewerEqualPriority'}");
	world_queued_job(w, "one", "lq", 1, 2, "");
	world_settle(w);
	world_advance(w, 10 * USEC_PER_SEC);
	world_queued_job(w, "two", "lq", 1, 2, "");
	world_advance(w, 10 * USEC_PER_SEC);
	answer(w, "one", "Retry", 5, "Pending");
	assert_string_equal(of(w, "two", "QuotaReserved", "status"), "True");
	answer(w, "two", "Rejected", 0, "Ready");
	world_advance(w, 10 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(of(w, "one", "QuotaReserved", "status"), "True");
	set_active(w, "two", "{'spec':{'active':true}}");
	assert_string_equal(of(w, "two", "QuotaReserved", "status"), "False");
	assert_string_equal(of(w, "one", "QuotaReserved", "status"), "True");
	assert_string_equal(of(w, "one", "Evicted", "status"), "False");
}

static void rejected_checks_are_named(void **state)
{
	struct world *w = *state;

	begin(w);
	world_queued_job(w, "one", "lq", 1, 2, "");
	world_settle(w);
	answer(w, "one", "Rejected", 0, "Rejected");
	assert_string_equal(of(w, "one", "Evicted", "reason"), "DeactivatedDueToAdmissionCheck");
	assert_string_equal(of(w, "one", "Evicted", "message"),
			    "The workload is deactivated due to AdmissionChecks in Rejected "
			    "state: \"budget\" (no); \"licence\"");
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(hold_takes_a_reservation_off_without_an_eviction),
	    STORY(who_must_retry_goes_to_the_back_and_stays_there_over_a_restart),
	    STORY(who_had_to_retry_is_as_old_as_it_is_when_it_has_quota_again),
	    STORY(rejected_checks_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
