/* What ends a hold on quota, and when who lost it may come back: reference/kueue.md section 2.8. */
#include "testing.h"

#include "quota-tree/kueue_lifecycle.h"

#define S(seconds) ((int64_t)(seconds)*1000000)

static const struct kueue_wait_for_pods_ready half_hour = {.enabled = true,
							   .timeout = S(1800),
							   .recovery_timeout = S(600),
							   .backoff_base = S(60),
							   .backoff_max = S(3600),
							   .backoff_limit = -1};

static struct kueue_life admitted(void)
{
	return (struct kueue_life){.admitted = true, .admitted_at = S(100)};
}

static void a_workload_in_open_queues_keeps_what_it_has(void **state)
{
	(void)state;
	struct kueue_life w = admitted();
	assert_int_equal(kueue_lifecycle_stopped(&w).loss, KUEUE_KEEPS);
	struct kueue_loss_plan p = kueue_lifecycle_overdue(&w, &half_hour, S(1000000));
	assert_int_equal(p.loss, KUEUE_KEEPS);
	assert_true(p.again_at == INT64_MAX);
	assert_int_equal(kueue_lifecycle_checked(&w, NULL, 0, S(200)).loss, KUEUE_KEEPS);
}

static void hold_takes_a_reservation_and_leaves_the_admitted(void **state)
{
	(void)state;
	struct kueue_life w = admitted();
	w.cluster_stop = KUEUE_STOP_HOLD;
	assert_int_equal(kueue_lifecycle_stopped(&w).loss, KUEUE_KEEPS);
	w.admitted = false;
	assert_int_equal(kueue_lifecycle_stopped(&w).loss, KUEUE_UNRESERVED);
	w.cluster_stop = KUEUE_STOP_NONE;
	w.local_stop = KUEUE_STOP_HOLD;
	assert_int_equal(kueue_lifecycle_stopped(&w).loss, KUEUE_UNRESERVED);
	w.admitted = true;
	assert_int_equal(kueue_lifecycle_stopped(&w).loss, KUEUE_KEEPS);
}

static void hold_and_drain_evicts(void **state)
{
	(void)state;
	struct kueue_life w = admitted();
	w.cluster_stop = KUEUE_STOP_HOLD_AND_DRAIN;
	struct kueue_loss_plan p = kueue_lifecycle_stopped(&w);
	assert_int_equal(p.loss, KUEUE_EVICTS);
	assert_string_equal(p.reason, "ClusterQueueStopped");
	assert_string_equal(p.message, "The ClusterQueue is stopped");
	w.local_stop = KUEUE_STOP_HOLD_AND_DRAIN; /* looked at first */
	assert_string_equal(kueue_lifecycle_stopped(&w).reason, "LocalQueueStopped");
	w.admitted = false;
	assert_int_equal(kueue_lifecycle_stopped(&w).loss, KUEUE_UNRESERVED);
}

static void an_evicted_one_is_not_evicted_again(void **state)
{
	(void)state;
	struct kueue_check no = {.name = SPAN("a"), .state = KUEUE_CHECK_REJECTED};
	struct kueue_life w = admitted();
	w.evicted = w.inactive = true;
	w.max_execution = 1;
	w.cluster_stop = KUEUE_STOP_HOLD_AND_DRAIN;
	assert_int_equal(kueue_lifecycle_stopped(&w).loss, KUEUE_KEEPS);
	assert_int_equal(kueue_lifecycle_overdue(&w, &half_hour, S(9999)).loss, KUEUE_KEEPS);
	assert_int_equal(kueue_lifecycle_checked(&w, &no, 1, S(9999)).loss, KUEUE_KEEPS);
}

static void deactivation_evicts_and_forgets_the_requeues(void **state)
{
	(void)state;
	struct kueue_life w = admitted();
	w.inactive = true;
	w.requeues = 3;
	w.requeue_at = S(500);
	struct kueue_loss_plan p = kueue_lifecycle_stopped(&w);
	assert_int_equal(p.loss, KUEUE_EVICTS);
	assert_string_equal(p.reason, "Deactivated");
	assert_string_equal(p.message, "The workload is deactivated");
	assert_int_equal(p.requeues, 0);
	assert_true(p.requeue_at == 0);
}

/* Reference 1.4, Requeued. Times in s; now is 100; NULL: Requeued=False with the eviction's reason.
 */
static void what_was_evicted_comes_back_by_its_own_rule(void **state)
{
	static const struct {
		const char *evicted_as;
		bool inactive;
		enum kueue_stop local_stop, cluster_stop;
		int64_t requeue_at;
		bool no_local, no_cluster;
		const char *reason, *message;
	} cases[] = {
	    {"Preempted", .reason = "Preempted"},
	    {"NodeFailures", .reason = "NodeFailures"},
	    {"NodeFailures", .requeue_at = S(900), .reason = "NodeFailures"},
	    {"PodsReadyTimeout", .requeue_at = S(101)},
	    {"PodsReadyTimeout", .requeue_at = S(100), .reason = "BackoffFinished",
	     .message = "The workload backoff was finished"},
	    {"AdmissionCheck", .requeue_at = S(900)},
	    {"AdmissionCheck", .reason = "BackoffFinished",
	     .message = "The workload backoff was finished"},
	    {"Deactivated", .inactive = true},
	    {"DeactivatedDueToAdmissionCheck", .inactive = true},
	    {"DeactivatedDueToRequeuingLimitExceeded", .reason = "Reactivated",
	     .message = "The workload was reactivated"},
	    {"ClusterQueueStopped", .cluster_stop = KUEUE_STOP_HOLD},
	    {"ClusterQueueStopped", .cluster_stop = KUEUE_STOP_HOLD_AND_DRAIN},
	    {"ClusterQueueStopped", .no_cluster = true},
	    {"ClusterQueueStopped", .local_stop = KUEUE_STOP_HOLD,
	     .reason = "ClusterQueueRestarted",
	     .message = "The ClusterQueue was restarted after being stopped"},
	    {"LocalQueueStopped", .local_stop = KUEUE_STOP_HOLD},
	    {"LocalQueueStopped", .no_local = true},
	    {"LocalQueueStopped", .cluster_stop = KUEUE_STOP_HOLD, .reason = "LocalQueueRestarted",
	     .message = "The LocalQueue was restarted after being stopped"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kueue_life w = {.inactive = cases[i].inactive,
				       .local_stop = cases[i].local_stop,
				       .cluster_stop = cases[i].cluster_stop,
				       .requeue_at = cases[i].requeue_at};
		const char *message;
		const char *reason =
		    kueue_lifecycle_back(&w, cases[i].evicted_as, !cases[i].no_local,
					 !cases[i].no_cluster, S(100), &message);
		if (!cases[i].reason) {
			assert_null(reason);
			continue;
		}
		assert_non_null(reason);
		assert_string_equal(reason, cases[i].reason);
		if (cases[i].message)
			assert_string_equal(message, cases[i].message);
		else
			assert_null(message);
	}
}

static void execution_time_counts_over_admissions(void **state)
{
	(void)state;
	struct kueue_life w = admitted();
	w.max_execution = 100;
	w.past_execution = 40; /* 60 s are left: until 160 */
	struct kueue_loss_plan p = kueue_lifecycle_overdue(&w, &half_hour, S(159));
	assert_int_equal(p.loss, KUEUE_KEEPS);
	assert_true(p.again_at == S(160));
	p = kueue_lifecycle_overdue(&w, &half_hour, S(160));
	assert_int_equal(p.loss, KUEUE_DEACTIVATES);
	assert_string_equal(p.cause, "MaximumExecutionTimeExceeded");
	assert_string_equal(p.message, "The workload is deactivated due to exceeding the maximum "
				       "execution time");
	assert_true(p.past_execution == 0);
	w.admitted = false;
	assert_int_equal(kueue_lifecycle_overdue(&w, &half_hour, S(160)).loss, KUEUE_KEEPS);
}

static void pods_that_do_not_start_in_time_are_evicted(void **state)
{
	(void)state;
	struct kueue_life w = admitted();
	w.unready_since = S(100);
	struct kueue_loss_plan p = kueue_lifecycle_overdue(&w, &half_hour, S(1899));
	assert_int_equal(p.loss, KUEUE_KEEPS);
	assert_true(p.again_at == S(1900));
	p = kueue_lifecycle_overdue(&w, &half_hour, S(1900));
	assert_int_equal(p.loss, KUEUE_EVICTS);
	assert_string_equal(p.reason, "PodsReadyTimeout");
	assert_string_equal(p.cause, "WaitForStart");
	assert_int_equal(p.requeues, 1);
	assert_true(p.requeue_at == S(1960));
	assert_true(p.to_back);
}

static void by_creation_it_keeps_its_place(void **state)
{
	(void)state;
	struct kueue_wait_for_pods_ready pods = half_hour;
	struct kueue_life w = admitted();
	w.unready_since = S(100);
	pods.from_creation = true;
	assert_false(kueue_lifecycle_overdue(&w, &pods, S(1900)).to_back);
	pods.enabled = false;
	assert_int_equal(kueue_lifecycle_overdue(&w, &pods, S(1900)).loss, KUEUE_KEEPS);
}

static void pods_that_were_ready_have_the_time_of_recovery(void **state)
{
	(void)state;
	struct kueue_wait_for_pods_ready pods = half_hour;
	struct kueue_life w = admitted();
	w.was_ready = true;
	w.unready_since = S(5000);
	assert_true(kueue_lifecycle_overdue(&w, &pods, S(5599)).again_at == S(5600));
	assert_string_equal(kueue_lifecycle_overdue(&w, &pods, S(5600)).cause, "WaitForRecovery");
	pods.recovery_timeout = -1; /* as the timeout */
	assert_true(kueue_lifecycle_overdue(&w, &pods, S(5600)).again_at == S(6800));
	pods.recovery_timeout = 0; /* never */
	assert_true(kueue_lifecycle_overdue(&w, &pods, S(5600)).again_at == INT64_MAX);
}

static void back_off_doubles_from_the_first_and_is_capped(void **state)
{
	(void)state;
	static const int64_t want[] = {60, 120, 240, 480, 960, 1920, 3600, 3600};
	struct kueue_life w = admitted();
	w.unready_since = S(100);
	for (int32_t n = 0; n < (int32_t)(sizeof(want) / sizeof(want[0])); n++) {
		w.requeues = n;
		struct kueue_loss_plan p = kueue_lifecycle_overdue(&w, &half_hour, S(1900));
		assert_int_equal(p.requeues, n + 1);
		assert_true(p.requeue_at == S(1900 + want[n]));
	}
	w.requeues = INT32_MAX;
	assert_true(kueue_lifecycle_overdue(&w, &half_hour, S(1900)).requeue_at == S(5500));
}

static void the_time_to_come_back_only_moves_later(void **state)
{
	(void)state;
	struct kueue_check again = {
	    .name = SPAN("a"), .state = KUEUE_CHECK_RETRY, .since = S(150), .requeue_after = 30};
	struct kueue_life w = admitted();
	w.unready_since = S(100);
	w.requeue_at = S(9000);
	assert_true(kueue_lifecycle_overdue(&w, &half_hour, S(1900)).requeue_at == S(9000));
	assert_true(kueue_lifecycle_checked(&w, &again, 1, S(160)).requeue_at == S(9000));
}

static void beyond_the_limit_of_retries_it_is_deactivated(void **state)
{
	(void)state;
	struct kueue_wait_for_pods_ready pods = half_hour;
	struct kueue_life w = admitted();
	w.unready_since = S(100);
	pods.backoff_limit = 2;
	w.requeues = 1;
	assert_int_equal(kueue_lifecycle_overdue(&w, &pods, S(1900)).loss, KUEUE_EVICTS);
	w.requeues = 2;
	struct kueue_loss_plan p = kueue_lifecycle_overdue(&w, &pods, S(1900));
	assert_int_equal(p.loss, KUEUE_DEACTIVATES);
	assert_string_equal(p.reason, "Deactivated");
	assert_string_equal(p.cause, "RequeuingLimitExceeded");
	assert_int_equal(p.requeues, 0);
}

static void a_check_that_retries_evicts_until_the_latest_of_them(void **state)
{
	(void)state;
	const struct kueue_check checks[] = {
	    {.name = SPAN("a"), .state = KUEUE_CHECK_RETRY, .since = S(150), .requeue_after = 30},
	    {.name = SPAN("b"), .state = KUEUE_CHECK_RETRY, .since = S(120), .requeue_after = 90},
	    {.name = SPAN("c"), .state = KUEUE_CHECK_READY, .since = S(150), .requeue_after = 999},
	};
	struct kueue_life w = {.admitted = false};
	struct kueue_loss_plan p = kueue_lifecycle_checked(&w, checks, 3, S(160));
	assert_int_equal(p.loss, KUEUE_EVICTS);
	assert_string_equal(p.reason, "AdmissionCheck");
	assert_string_equal(p.message, "");
	assert_true(p.requeue_at == S(210)); /* 150 + 30 = 180; 120 + 90 = 210 */
	assert_true(p.to_back);
	assert_true(kueue_lifecycle_checked(&w, checks, 3, S(211)).requeue_at == 0); /* past */
}

static void a_check_that_rejects_deactivates_whatever_others_say(void **state)
{
	(void)state;
	const struct kueue_check checks[] = {
	    {.name = SPAN("a"), .state = KUEUE_CHECK_RETRY, .since = S(150), .requeue_after = 30},
	    {.name = SPAN("b"), .state = KUEUE_CHECK_REJECTED, .since = S(150)},
	};
	struct kueue_life w = {.admitted = false};
	struct kueue_loss_plan p = kueue_lifecycle_checked(&w, checks, 2, S(160));
	assert_int_equal(p.loss, KUEUE_DEACTIVATES);
	assert_string_equal(p.cause, "AdmissionCheck");
	assert_int_equal(kueue_lifecycle_checked(&w, checks, 0, S(160)).loss, KUEUE_KEEPS);
}

static void times_beyond_all_calendars_do_not_overflow(void **state)
{
	(void)state;
	struct kueue_check far = {.name = SPAN("a"),
				  .state = KUEUE_CHECK_RETRY,
				  .since = INT64_MAX - 1,
				  .requeue_after = INT64_MAX};
	struct kueue_life w = admitted();
	w.max_execution = INT64_MAX;
	assert_true(kueue_lifecycle_overdue(&w, &half_hour, S(1)).again_at == INT64_MAX);
	assert_true(kueue_lifecycle_checked(&w, &far, 1, S(1)).requeue_at == INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_workload_in_open_queues_keeps_what_it_has),
	    cmocka_unit_test(hold_takes_a_reservation_and_leaves_the_admitted),
	    cmocka_unit_test(hold_and_drain_evicts),
	    cmocka_unit_test(an_evicted_one_is_not_evicted_again),
	    cmocka_unit_test(deactivation_evicts_and_forgets_the_requeues),
	    cmocka_unit_test(what_was_evicted_comes_back_by_its_own_rule),
	    cmocka_unit_test(execution_time_counts_over_admissions),
	    cmocka_unit_test(pods_that_do_not_start_in_time_are_evicted),
	    cmocka_unit_test(by_creation_it_keeps_its_place),
	    cmocka_unit_test(pods_that_were_ready_have_the_time_of_recovery),
	    cmocka_unit_test(back_off_doubles_from_the_first_and_is_capped),
	    cmocka_unit_test(the_time_to_come_back_only_moves_later),
	    cmocka_unit_test(beyond_the_limit_of_retries_it_is_deactivated),
	    cmocka_unit_test(a_check_that_retries_evicts_until_the_latest_of_them),
	    cmocka_unit_test(a_check_that_rejects_deactivates_whatever_others_say),
	    cmocka_unit_test(times_beyond_all_calendars_do_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
