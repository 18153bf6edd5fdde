/*
 * The rules of a workload's life (reference/kueue.md section 2.8): each step with its numbers.
 * Seconds are microseconds x 10^6; the clock is `now`.
 */
#include "testing.h"

#include "quota-tree/kueue_lifecycle.h"

#define S(n) ((int64_t)(n)*1000000)

static struct kueue_wait_for_pods_ready pods(void)
{
	return kueue_wait_for_pods_ready_default();
}

/* A pending workload in a queue that runs, created at 10 s. */
static struct kueue_life pending(void)
{
	return (struct kueue_life){
	    .name = SPAN("team/job"),
	    .active = true,
	    .created = S(10),
	    .max_execution = -1,
	    .queue_name = SPAN("lq"),
	    .local_exists = true,
	    .cluster_queue = SPAN("cq"),
	    .cluster_exists = true,
	    .cluster_active = true,
	    .requeue_at = -1,
	    .past_execution = -1,
	    .observability = true,
	};
}

static void set(struct kueue_life *w, enum kueue_condition_type type, enum kueue_status status,
		const char *reason, const char *message, int64_t since)
{
	w->conditions[type] = (struct kueue_condition){.status = status,
						       .reason = span_of(reason),
						       .message = span_of(message),
						       .since = since};
}

static struct kueue_life reserving(void)
{
	struct kueue_life w = pending();
	w.has_admission = true;
	set(&w, KUEUE_COND_QUOTA_RESERVED, KUEUE_TRUE, "QuotaReserved",
	    "Quota reserved in ClusterQueue cq", S(100));
	return w;
}

static struct kueue_life admitted(void)
{
	struct kueue_life w = reserving();
	set(&w, KUEUE_COND_ADMITTED, KUEUE_TRUE, "Admitted", "The workload is admitted", S(100));
	return w;
}

static const struct kueue_change *change(const struct kueue_plan *p, enum kueue_condition_type type)
{
	for (size_t i = 0; i < p->n_changes; i++) {
		if (p->changes[i].type == type)
			return &p->changes[i];
	}
	return NULL;
}

static void expect(const struct kueue_plan *p, enum kueue_condition_type type,
		   enum kueue_status status, const char *reason, const char *message)
{
	const struct kueue_change *c = change(p, type);
	assert_non_null(c);
	assert_int_equal(c->status, status);
	assert_string_equal(c->reason, reason);
	assert_string_equal(c->message, message);
}

static bool step(const struct kueue_life *w, int64_t now, struct kueue_plan *p)
{
	const struct kueue_wait_for_pods_ready config = pods();
	return kueue_lifecycle_step(w, &config, 0, now, p);
}

static void a_workload_in_a_running_queue_has_nothing_to_do(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = pending();
	assert_false(step(&w, S(20), &p));
	assert_true(p.again_at == INT64_MAX);
	set(&w, KUEUE_COND_FINISHED, KUEUE_TRUE, "Succeeded", "", S(30));
	w.active = false;
	assert_false(step(&w, S(40), &p));
}

static void a_reservation_tells_how_long_it_was_waited_for(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = pending();
	set(&w, KUEUE_COND_EVICTED, KUEUE_TRUE, "Preempted", "made room", S(50));
	set(&w, KUEUE_COND_PREEMPTED, KUEUE_TRUE, "InClusterQueue", "made room", S(50));
	set(&w, KUEUE_COND_REQUEUED, KUEUE_TRUE, "Preempted", "made room", S(60));
	w.checks[0] = (struct kueue_check){.name = SPAN("prov"), .requeue_after = -1};
	w.n_checks = 1;
	kueue_lifecycle_reserved(&w, S(95), &p);
	expect(&p, KUEUE_COND_QUOTA_RESERVED, KUEUE_TRUE, "QuotaReserved",
	       "Quota reserved in ClusterQueue cq");
	expect(&p, KUEUE_COND_EVICTED, KUEUE_FALSE, "QuotaReserved", "Previously: made room");
	expect(&p, KUEUE_COND_PREEMPTED, KUEUE_FALSE, "QuotaReserved", "Previously: made room");
	assert_null(change(&p, KUEUE_COND_ADMITTED)); /* a check is Pending */
	assert_int_equal(p.n_events, 1);
	/* Queued again at 60 s: 35 s. */
	assert_string_equal(p.events[0].message, "Quota reserved in ClusterQueue cq, wait time "
						 "since queued was 35s");
	w.checks[0].state = KUEUE_CHECK_READY;
	kueue_lifecycle_reserved(&w, S(95), &p);
	expect(&p, KUEUE_COND_ADMITTED, KUEUE_TRUE, "Admitted", "The workload is admitted");
	assert_int_equal(p.n_events, 2);
	assert_string_equal(p.events[1].reason, "Admitted");
}

static void ready_checks_admit_once(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = reserving();
	w.n_checks = 2;
	w.checks[0] = (struct kueue_check){
	    .name = SPAN("a"), .state = KUEUE_CHECK_READY, .requeue_after = -1};
	w.checks[1] = (struct kueue_check){.name = SPAN("b"), .requeue_after = -1};
	assert_false(step(&w, S(130), &p));
	w.checks[1].state = KUEUE_CHECK_READY;
	w.topology_pending = true;
	assert_false(step(&w, S(130), &p));
	w.topology_pending = false;
	assert_true(step(&w, S(130), &p));
	expect(&p, KUEUE_COND_ADMITTED, KUEUE_TRUE, "Admitted", "The workload is admitted");
	assert_string_equal(p.events[0].message,
			    "Admitted by ClusterQueue cq, wait time since reservation was 30s");
}

static void a_check_that_retries_evicts_and_waits_for_the_latest(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = reserving();
	/* a: from 110 s wait 60 s = 170 s; b: from 140 s wait 20 s = 160 s. The later counts. */
	w.n_checks = 3;
	w.checks[0] = (struct kueue_check){.name = SPAN("a"),
					   .state = KUEUE_CHECK_RETRY,
					   .since = S(110),
					   .requeue_after = S(60),
					   .retry_count = 1};
	w.checks[1] = (struct kueue_check){
	    .name = SPAN("b"), .state = KUEUE_CHECK_RETRY, .since = S(140), .requeue_after = S(20)};
	w.checks[2] = (struct kueue_check){
	    .name = SPAN("c"), .state = KUEUE_CHECK_READY, .retry_count = 4, .requeue_after = -1};
	assert_true(step(&w, S(150), &p));
	expect(&p, KUEUE_COND_EVICTED, KUEUE_TRUE, "AdmissionCheck",
	       "At least one admission check is false");
	assert_true(p.flags & KUEUE_PLAN_EVICT);
	assert_true(p.flags & KUEUE_PLAN_REQUEUE);
	assert_true(p.requeue_at == S(170));
	assert_int_equal(p.requeue_count, 0); /* only pods that are not ready count */
	assert_true(p.flags & KUEUE_PLAN_CHECKS);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(p.checks[i].state, KUEUE_CHECK_PENDING);
	assert_int_equal(p.checks[0].retry_count, 2);
	assert_int_equal(p.checks[1].retry_count, 1);
	assert_int_equal(p.checks[2].retry_count, 0);
	assert_true(
	    span_is(p.checks[0].message, "Reset to Pending after eviction. Previously: Retry"));
	/* An earlier requeueAt never replaces a later one. */
	w.has_requeue_state = true;
	w.requeue_at = S(500);
	assert_true(step(&w, S(150), &p));
	assert_true(p.requeue_at == S(500));
}

static void a_check_that_rejects_deactivates(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = reserving();
	w.n_checks = 2;
	w.checks[0] = (struct kueue_check){
	    .name = SPAN("a"), .state = KUEUE_CHECK_REJECTED, .message = SPAN("no")};
	w.checks[1] = (struct kueue_check){.name = SPAN("b"), .state = KUEUE_CHECK_REJECTED};
	assert_true(step(&w, S(150), &p));
	expect(&p, KUEUE_COND_DEACTIVATION_TARGET, KUEUE_TRUE, "AdmissionCheck",
	       "Admission check(s): a,b, were rejected");
	assert_true(p.events[0].warning);
	assert_string_equal(p.events[0].message,
			    "Deactivating workload because AdmissionCheck for a was Rejected: no");
	/* The next step writes active=false, the one after evicts for it. */
	set(&w, KUEUE_COND_DEACTIVATION_TARGET, KUEUE_TRUE, "AdmissionCheck",
	    "Admission check(s): a,b, were rejected", S(150));
	assert_true(step(&w, S(151), &p));
	assert_int_equal(p.flags, KUEUE_PLAN_DEACTIVATE);
	w.active = false;
	assert_true(step(&w, S(152), &p));
	expect(&p, KUEUE_COND_EVICTED, KUEUE_TRUE, "DeactivatedDueToAdmissionCheck",
	       "The workload is deactivated due to Admission check(s): a,b, were rejected");
	assert_int_equal(change(&p, KUEUE_COND_DEACTIVATION_TARGET)->status, KUEUE_ABSENT);
	assert_string_equal(p.evicted_reason, "Deactivated");
	assert_string_equal(p.evicted_cause, "AdmissionCheck");
	assert_string_equal(p.events[0].reason, "EvictedDueToDeactivatedDueToAdmissionCheck");
}

static void backoff_doubles_from_the_first_and_is_capped(void **state)
{
	(void)state;
	/* 60 s x 2^(n-1), at most 3600 s: 60 120 240 480 960 1920 3600. */
	static const int64_t want[] = {60, 120, 240, 480, 960, 1920, 3600, 3600};
	for (int32_t n = 1; n <= (int32_t)ARRAY_LEN(want); n++)
		assert_true(kueue_lifecycle_backoff(60, 3600, n, 0) == S(want[n - 1]));
	/* At most 1/10000 more: 6 ms of 60 s. */
	assert_true(kueue_lifecycle_backoff(60, 3600, 1, 999) <= S(60) + 6000);
	assert_true(kueue_lifecycle_backoff(60, 3600, 1, 999) > S(60));
	assert_true(kueue_lifecycle_backoff(60, 3600, INT32_MAX, 0) == S(3600));
}

static void pods_that_are_not_ready_in_time_are_evicted_with_backoff(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = admitted();
	/* Admitted at 100 s, 30 min: until 1900 s. */
	assert_false(step(&w, S(1899), &p));
	assert_true(p.again_at == S(1900));
	w.has_requeue_state = true;
	w.requeue_count = 2;
	assert_true(step(&w, S(1900), &p));
	expect(&p, KUEUE_COND_EVICTED, KUEUE_TRUE, "PodsReadyTimeout",
	       "Exceeded the PodsReady timeout team/job");
	assert_string_equal(p.evicted_cause, "WaitForStart");
	assert_int_equal(p.requeue_count, 3);
	assert_true(p.requeue_at == S(1900 + 240)); /* the third wait */
	/* Ready: nobody waits any more. */
	set(&w, KUEUE_COND_PODS_READY, KUEUE_TRUE, "Started", "", S(200));
	assert_false(step(&w, S(5000), &p));
	assert_true(p.again_at == INT64_MAX);
	/* Lost again at 3000 s: recovery until 4800 s. */
	set(&w, KUEUE_COND_PODS_READY, KUEUE_FALSE, "WaitForRecovery", "", S(3000));
	assert_false(step(&w, S(4799), &p));
	assert_true(step(&w, S(4800), &p));
	assert_string_equal(p.evicted_cause, "WaitForRecovery");
}

static void beyond_the_limit_of_retries_it_is_deactivated(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = admitted();
	struct kueue_wait_for_pods_ready config = pods();
	config.backoff_limit = 2;
	w.has_requeue_state = true;
	w.requeue_count = 1;
	assert_true(kueue_lifecycle_step(&w, &config, 0, S(1900), &p));
	assert_int_equal(p.requeue_count, 2); /* 1 + 1 <= 2 */
	w.requeue_count = 2;
	assert_true(kueue_lifecycle_step(&w, &config, 0, S(1900), &p));
	expect(&p, KUEUE_COND_DEACTIVATION_TARGET, KUEUE_TRUE, "RequeuingLimitExceeded",
	       "exceeding the maximum number of re-queuing retries");
	assert_null(change(&p, KUEUE_COND_EVICTED));
}

static void an_evicted_one_comes_back_when_its_backoff_is_over(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = admitted();
	set(&w, KUEUE_COND_EVICTED, KUEUE_TRUE, "PodsReadyTimeout", "too slow", S(1900));
	w.has_requeue_state = true;
	w.requeue_count = 1;
	w.requeue_at = S(1960);
	kueue_lifecycle_released(&w, S(1905), &p);
	expect(&p, KUEUE_COND_REQUEUED, KUEUE_FALSE, "PodsReadyTimeout", "too slow");
	expect(&p, KUEUE_COND_QUOTA_RESERVED, KUEUE_FALSE, "PendingEvaluation", "too slow");
	expect(&p, KUEUE_COND_ADMITTED, KUEUE_FALSE, "NoReservation",
	       "The workload has no reservation");
	/* It ran from 100 s to 1905 s. */
	assert_true(p.past_execution == 1805);
	assert_true(p.flags & KUEUE_PLAN_CLEAR_ADMISSION);
	assert_true(p.flags & KUEUE_PLAN_HOLD);

	w = pending();
	set(&w, KUEUE_COND_EVICTED, KUEUE_TRUE, "PodsReadyTimeout", "too slow", S(1900));
	set(&w, KUEUE_COND_REQUEUED, KUEUE_FALSE, "PodsReadyTimeout", "too slow", S(1905));
	w.has_requeue_state = true;
	w.requeue_at = S(1960);
	assert_true(kueue_lifecycle_backs_off(&w, S(1959)));
	assert_false(step(&w, S(1959), &p));
	assert_true(p.again_at == S(1960));
	assert_true(step(&w, S(1960), &p));
	expect(&p, KUEUE_COND_REQUEUED, KUEUE_TRUE, "BackoffFinished",
	       "The workload backoff was finished");
	assert_true(p.flags & KUEUE_PLAN_UNHOLD);
	assert_true(p.requeue_at == -1);
	/* It stands behind those created before its eviction, unless counted from creation. */
	assert_true(kueue_lifecycle_queue_order(&w, false) == S(1900));
	assert_true(kueue_lifecycle_queue_order(&w, true) == S(10));
}

static void a_preempted_one_goes_back_at_once_to_its_old_place(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = admitted();
	kueue_lifecycle_preempted(&w, "InClusterQueue", "Preempted to accommodate x", S(200), &p);
	expect(&p, KUEUE_COND_EVICTED, KUEUE_TRUE, "Preempted", "Preempted to accommodate x");
	expect(&p, KUEUE_COND_PREEMPTED, KUEUE_TRUE, "InClusterQueue",
	       "Preempted to accommodate x");
	assert_string_equal(p.events[0].reason, "EvictedDueToPreempted");
	assert_string_equal(p.events[1].reason, "Preempted");
	set(&w, KUEUE_COND_EVICTED, KUEUE_TRUE, "Preempted", "Preempted to accommodate x", S(200));
	assert_true(kueue_lifecycle_queue_order(&w, false) == S(10));
	kueue_lifecycle_released(&w, S(210), &p);
	expect(&p, KUEUE_COND_REQUEUED, KUEUE_TRUE, "Preempted", "Preempted to accommodate x");
	assert_false(p.flags & KUEUE_PLAN_HOLD);
}

static void execution_time_counts_over_evictions(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = admitted();
	set(&w, KUEUE_COND_PODS_READY, KUEUE_TRUE, "Started", "", S(101));
	w.max_execution = 300;
	w.past_execution = 120;
	/* 180 s are left from 100 s on. */
	assert_false(step(&w, S(279), &p));
	assert_true(p.again_at == S(280));
	assert_true(step(&w, S(280), &p));
	expect(&p, KUEUE_COND_DEACTIVATION_TARGET, KUEUE_TRUE, "MaximumExecutionTimeExceeded",
	       "exceeding the maximum execution time");
	assert_true(p.flags & KUEUE_PLAN_EXECUTION);
	assert_true(p.past_execution == -1);
	assert_string_equal(p.events[0].message, "The maximum execution time (300s) exceeded");
}

static void stop_policies_take_the_reservation_or_drain(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = reserving(), run = admitted();
	w.n_checks = 1;
	w.checks[0] = (struct kueue_check){.name = SPAN("a"), .requeue_after = -1};
	set(&run, KUEUE_COND_PODS_READY, KUEUE_TRUE, "Started", "", S(101));
	w.cluster_stop = run.cluster_stop = KUEUE_STOP_HOLD;
	assert_true(step(&w, S(200), &p));
	expect(&p, KUEUE_COND_QUOTA_RESERVED, KUEUE_FALSE, "Suspended",
	       "ClusterQueue cq is stopped");
	assert_true(p.flags & KUEUE_PLAN_CLEAR_ADMISSION);
	assert_false(p.flags & KUEUE_PLAN_EVICT);
	assert_false(step(&run, S(200), &p)); /* runs on */
	run.cluster_stop = KUEUE_STOP_HOLD_AND_DRAIN;
	assert_true(step(&run, S(200), &p));
	expect(&p, KUEUE_COND_EVICTED, KUEUE_TRUE, "ClusterQueueStopped",
	       "The ClusterQueue is stopped");
	run.cluster_stop = KUEUE_STOP_NONE;
	run.local_stop = KUEUE_STOP_HOLD_AND_DRAIN;
	assert_true(step(&run, S(200), &p));
	expect(&p, KUEUE_COND_EVICTED, KUEUE_TRUE, "LocalQueueStopped",
	       "The LocalQueue is stopped");
}

static void a_restarted_queue_lets_its_workloads_back(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = pending();
	set(&w, KUEUE_COND_REQUEUED, KUEUE_FALSE, "LocalQueueStopped", "The LocalQueue is stopped",
	    S(50));
	w.local_stop = KUEUE_STOP_HOLD;
	assert_true(step(&w, S(60), &p)); /* tells why it waits */
	expect(&p, KUEUE_COND_QUOTA_RESERVED, KUEUE_FALSE, "Suspended",
	       "LocalQueue lq is inactive");
	w.local_stop = KUEUE_STOP_NONE;
	assert_true(step(&w, S(60), &p));
	expect(&p, KUEUE_COND_REQUEUED, KUEUE_TRUE, "LocalQueueRestarted",
	       "The LocalQueue was restarted after being stopped");
	set(&w, KUEUE_COND_REQUEUED, KUEUE_FALSE, "ClusterQueueStopped", "", S(50));
	assert_true(step(&w, S(60), &p));
	expect(&p, KUEUE_COND_REQUEUED, KUEUE_TRUE, "ClusterQueueRestarted",
	       "The ClusterQueue was restarted after being stopped");
}

static void reactivation_resets_the_requeue_state(void **state)
{
	(void)state;
	struct kueue_plan p;
	struct kueue_life w = admitted();
	w.has_requeue_state = true;
	w.requeue_count = 5;
	w.active = false;
	assert_true(step(&w, S(200), &p));
	expect(&p, KUEUE_COND_EVICTED, KUEUE_TRUE, "Deactivated", "The workload is deactivated");
	assert_true(p.flags & KUEUE_PLAN_REQUEUE);
	assert_false(p.has_requeue_state);
	assert_int_equal(p.requeue_count, 0);
	w = pending();
	set(&w, KUEUE_COND_REQUEUED, KUEUE_FALSE, "DeactivatedDueToRequeuingLimitExceeded", "",
	    S(210));
	assert_true(step(&w, S(300), &p));
	expect(&p, KUEUE_COND_REQUEUED, KUEUE_TRUE, "Reactivated", "The workload was reactivated");
}

static void a_queue_that_is_missing_or_inactive_is_told_once(void **state)
{
	(void)state;
	static const struct {
		bool local, cluster, active;
		const char *reason, *message;
	} cases[] = {
	    {false, true, true, "Misconfigured", "LocalQueue lq doesn't exist"},
	    {true, false, false, "Misconfigured", "ClusterQueue cq doesn't exist"},
	    {true, true, false, "Suspended", "ClusterQueue cq is inactive"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kueue_plan p;
		struct kueue_life w = pending();
		w.local_exists = cases[i].local;
		w.cluster_exists = cases[i].cluster;
		w.cluster_active = cases[i].active;
		assert_true(step(&w, S(20), &p));
		expect(&p, KUEUE_COND_QUOTA_RESERVED, KUEUE_FALSE, cases[i].reason,
		       cases[i].message);
		set(&w, KUEUE_COND_QUOTA_RESERVED, KUEUE_FALSE, cases[i].reason, cases[i].message,
		    S(20));
		assert_false(step(&w, S(21), &p));
		/* Without the gate there is one reason for all. */
		w.observability = false;
		assert_true(step(&w, S(21), &p));
		expect(&p, KUEUE_COND_QUOTA_RESERVED, KUEUE_FALSE, "Inadmissible",
		       cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_workload_in_a_running_queue_has_nothing_to_do),
	    cmocka_unit_test(a_reservation_tells_how_long_it_was_waited_for),
	    cmocka_unit_test(ready_checks_admit_once),
	    cmocka_unit_test(a_check_that_retries_evicts_and_waits_for_the_latest),
	    cmocka_unit_test(a_check_that_rejects_deactivates),
	    cmocka_unit_test(backoff_doubles_from_the_first_and_is_capped),
	    cmocka_unit_test(pods_that_are_not_ready_in_time_are_evicted_with_backoff),
	    cmocka_unit_test(beyond_the_limit_of_retries_it_is_deactivated),
	    cmocka_unit_test(an_evicted_one_comes_back_when_its_backoff_is_over),
	    cmocka_unit_test(a_preempted_one_goes_back_at_once_to_its_old_place),
	    cmocka_unit_test(execution_time_counts_over_evictions),
	    cmocka_unit_test(stop_policies_take_the_reservation_or_drain),
	    cmocka_unit_test(a_restarted_queue_lets_its_workloads_back),
	    cmocka_unit_test(reactivation_resets_the_requeue_state),
	    cmocka_unit_test(a_queue_that_is_missing_or_inactive_is_told_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
