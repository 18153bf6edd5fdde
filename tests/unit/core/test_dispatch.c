/*
 * The dispatch state machine: its transitions one by one. The guarantee behind them is
 * test_dispatch_simulation.c's.
 */
#include "core/dispatch/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct dispatch_plan feed(struct dispatch_state *s, struct dispatch_event e, usec now)
{
	struct dispatch_plan p = dispatch_next(s, &e, now);
	*s = p.next;
	return p;
}

static void a_decision_is_durable_before_anything_is_sent(void **state)
{
	struct dispatch_state s = {0};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 7}, 1);
	assert_int_equal(s.step, DISPATCH_DECIDED);
	assert_int_equal(s.member, 7);
	assert_int_equal(s.epoch, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_PREPARE);
	assert_true(p.durable);
}

static void the_uid_is_durable_before_the_copy_is_started(void **state)
{
	struct dispatch_state s = {0};
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 1}, 1);
	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_PREPARED}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_CREATE);
	p = feed(&s, (struct dispatch_event){EVENT_CREATED, .uid = "u1", .suspended = true}, 3);
	assert_int_equal(s.step, DISPATCH_SUSPENDED);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	assert_true(p.durable);
	p = feed(&s, (struct dispatch_event){EVENT_DURABLE}, 4);
	assert_int_equal(p.order, DISPATCH_ORDER_START);
	assert_string_equal(p.uid, "u1");
}

static void an_unknown_create_is_read_never_repeated_blindly(void **state)
{
	struct dispatch_state s = {0};
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 1}, 1);
	feed(&s, (struct dispatch_event){EVENT_PREPARED}, 2);
	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_UNKNOWN}, 3);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(&s, (struct dispatch_event){EVENT_READ_ABSENT, .pods_gone = true}, 4);
	assert_int_equal(p.order, DISPATCH_ORDER_PREPARE);
	assert_int_equal(s.step, DISPATCH_CREATING);
}

static void a_withdrawn_job_is_free_only_after_absence_is_read(void **state)
{
	struct dispatch_state s = {
	    .step = DISPATCH_STARTED, .member = 1, .epoch = 1, .uid = "u1", .start_seen = true};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_WITHDRAW}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_DELETE);
	assert_true(p.durable);
	assert_false(p.freed);
	p = feed(&s, (struct dispatch_event){EVENT_DELETE_ANSWERED}, 2);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	p = feed(&s, (struct dispatch_event){EVENT_READ_ABSENT, .pods_gone = false}, 3);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_GONE}, 4);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_ABSENT}, 5);
	assert_int_equal(s.step, DISPATCH_IDLE);
	assert_true(p.freed);
	assert_int_equal(s.epoch, 1);
}

static void pods_that_the_stream_does_not_show_keep_a_job_from_being_free(void **state)
{
	struct dispatch_state s = {
	    .step = DISPATCH_WITHDRAWING, .member = 1, .epoch = 1, .uid = "u1"};
	(void)state;

	struct dispatch_plan p =
	    feed(&s, (struct dispatch_event){EVENT_GONE, .pods_gone = true}, USEC_PER_SEC);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_LEFT}, USEC_PER_SEC);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_true(s.retry_at > USEC_PER_SEC);
	/* Then everything is looked at anew: the copy first. */
	p = feed(&s, (struct dispatch_event){EVENT_TIMER}, s.retry_at);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_ABSENT}, 10 * USEC_PER_SEC);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING); /* of before: it proves nothing now */
	p = feed(&s, (struct dispatch_event){EVENT_READ_ABSENT, .pods_gone = true},
		 10 * USEC_PER_SEC);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_UNKNOWN}, 10 * USEC_PER_SEC);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_true(s.retry_at > 10 * USEC_PER_SEC);
}

static void a_foreign_object_is_a_conflict_and_is_not_touched(void **state)
{
	struct dispatch_state s = {0};
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 1}, 1);
	feed(&s, (struct dispatch_event){EVENT_PREPARED}, 2);
	feed(&s, (struct dispatch_event){EVENT_UNKNOWN}, 3);
	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_READ_FOREIGN}, 4);
	assert_int_equal(s.step, DISPATCH_CONFLICT);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	p = feed(&s, (struct dispatch_event){EVENT_WITHDRAW}, 5);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(&s, (struct dispatch_event){EVENT_READ_FOREIGN, .pods_gone = true}, 6);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_ABSENT}, 7);
	assert_int_equal(s.step, DISPATCH_IDLE);
}

static void a_restart_looks_before_it_creates(void **state)
{
	struct dispatch_state s = {.step = DISPATCH_DECIDED, .member = 1, .epoch = 3};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_RESTARTED}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	assert_int_equal(s.step, DISPATCH_CREATING);
	p = feed(&s, (struct dispatch_event){EVENT_WITHDRAW}, 2);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
}

/* ---- parked ---- */

static struct dispatch_state running(void)
{
	return (struct dispatch_state){
	    .step = DISPATCH_STARTED, .member = 1, .epoch = 4, .uid = "u1", .start_seen = true};
}

static void an_evicted_job_is_suspended_first_and_free_when_its_pods_are_gone(void **state)
{
	struct dispatch_state s = running();
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_STOP}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_STOP);
	assert_string_equal(p.uid, "u1");
	assert_int_equal(p.copy_epoch, 4);
	assert_true(p.durable);
	assert_false(p.freed);
	p = feed(&s, (struct dispatch_event){EVENT_STOPPED, .epoch = 5, .pods_gone = false}, 2);
	assert_int_equal(s.step, DISPATCH_STOPPING);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_GONE}, 3);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_ABSENT}, 4);
	assert_int_equal(s.step, DISPATCH_PARKED);
	assert_true(p.freed && p.durable && dispatch_is_free(&s));
	assert_int_equal(s.epoch, 5);
	assert_string_equal(s.uid, "u1");
}

static void the_answer_to_a_stop_counts_when_it_is_of_this_stop(void **state)
{
	struct dispatch_state s = running();
	(void)state;

	/* The copy says what it said before: of an earlier stop, so it is looked at. */
	(void)feed(&s, (struct dispatch_event){EVENT_STOP}, 1);
	struct dispatch_plan p =
	    feed(&s, (struct dispatch_event){EVENT_STOPPED, .epoch = 4, .pods_gone = true}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	assert_false(s.copy_stopped);
	/* Nor does it when it is withdrawn meanwhile. */
	s = running();
	(void)feed(&s, (struct dispatch_event){EVENT_STOP}, 1);
	(void)feed(&s, (struct dispatch_event){EVENT_WITHDRAW}, 2);
	p = feed(&s, (struct dispatch_event){EVENT_STOPPED, .epoch = 5, .pods_gone = true}, 3);
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_int_equal(p.order, DISPATCH_ORDER_DELETE);
}

static struct dispatch_state parked(void)
{
	return (struct dispatch_state){
	    .step = DISPATCH_PARKED, .member = 1, .epoch = 5, .uid = "u1", .released = true};
}

static void placed_where_it_is_parked_the_copy_is_rewritten_and_resumed(void **state)
{
	struct dispatch_state s = parked();
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 1}, 1);
	assert_int_equal(s.step, DISPATCH_RESUMING);
	assert_int_equal(s.epoch, 6);
	assert_true(p.durable && !s.released);
	p = feed(&s, (struct dispatch_event){EVENT_PREPARED}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(
	    &s,
	    (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 5, .suspended = true},
	    3);
	assert_int_equal(p.order, DISPATCH_ORDER_REWRITE);
	p = feed(&s, (struct dispatch_event){EVENT_REWRITTEN}, 4);
	assert_int_equal(s.step, DISPATCH_SUSPENDED);
	assert_true(p.durable);
	p = feed(&s, (struct dispatch_event){EVENT_DURABLE}, 5);
	assert_int_equal(p.order, DISPATCH_ORDER_START);
	assert_int_equal(p.copy_epoch, 6);
}

static void a_rewrite_that_nobody_answered_is_read_before_it_is_repeated(void **state)
{
	struct dispatch_state s = parked();
	(void)state;

	s.step = DISPATCH_RESUMING;
	s.epoch = 6;
	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_RESTARTED}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_PREPARE);
	p = feed(&s, (struct dispatch_event){EVENT_PREPARED}, 2);
	p = feed(
	    &s,
	    (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 6, .suspended = true},
	    3);
	assert_int_equal(s.step, DISPATCH_SUSPENDED);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
}

static void placed_elsewhere_nothing_begins_there_before_the_parked_copy_is_gone(void **state)
{
	struct dispatch_state s = parked();
	uint32_t where;
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 2}, 1);
	assert_int_equal(s.step, DISPATCH_LEAVING);
	assert_int_equal(p.order, DISPATCH_ORDER_DELETE);
	assert_true(dispatch_holds(&s, &where));
	assert_int_equal(where, 2);
	p = feed(&s, (struct dispatch_event){EVENT_DELETE_ANSWERED}, 2);
	p = feed(&s, (struct dispatch_event){EVENT_GONE, .pods_gone = true}, 3);
	assert_int_equal(p.order, DISPATCH_ORDER_READ_PODS);
	p = feed(&s, (struct dispatch_event){EVENT_PODS_ABSENT}, 4);
	assert_int_equal(s.step, DISPATCH_DECIDED);
	assert_int_equal(s.member, 2);
	assert_int_equal(s.epoch, 6);
	assert_string_equal(s.uid, "");
	assert_true(p.durable && !p.freed);
	assert_int_equal(p.order, DISPATCH_ORDER_PREPARE);
}

static void a_member_that_does_not_answer_keeps_no_room_elsewhere(void **state)
{
	struct dispatch_state s = parked();
	struct dispatch_plan p = {0};
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_DECIDED, .member = 2}, 1);
	for (int i = 0; i < 12 && s.step == DISPATCH_LEAVING; i++) {
		p = feed(&s, (struct dispatch_event){EVENT_NOT_SENT}, s.retry_at + 1);
		if (s.step == DISPATCH_LEAVING)
			feed(&s, (struct dispatch_event){EVENT_TIMER}, s.retry_at);
	}
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_true(p.freed && s.released);
	assert_int_equal(s.member, 1);
}

static void a_member_that_refuses_to_suspend_has_its_copy_deleted(void **state)
{
	struct dispatch_state s = running();
	struct dispatch_plan p = {0};
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_STOP}, 1);
	for (int i = 0; i < 8 && s.step == DISPATCH_STOPPING; i++) {
		p = feed(&s, (struct dispatch_event){EVENT_REFUSED}, 10);
		if (s.step != DISPATCH_STOPPING)
			break;
		feed(&s, (struct dispatch_event){EVENT_TIMER}, s.retry_at);
		feed(&s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 4}, 20);
	}
	assert_int_equal(s.step, DISPATCH_WITHDRAWING);
	assert_int_equal(p.order, DISPATCH_ORDER_DELETE);
	assert_false(p.freed || s.released);
}

static void a_job_that_ends_before_the_stop_lands_has_finished(void **state)
{
	struct dispatch_state s = running();
	(void)state;

	feed(&s, (struct dispatch_event){EVENT_STOP}, 1);
	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_FINISHED}, 2);
	assert_int_equal(s.step, DISPATCH_FINISHED);
	assert_true(p.freed);
}

static void a_parked_copy_that_somebody_starts_is_stopped_again(void **state)
{
	struct dispatch_state s = parked();
	(void)state;

	/* What the stream tells late is of before. */
	feed(&s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 4}, 1);
	assert_int_equal(s.step, DISPATCH_PARKED);
	struct dispatch_plan p =
	    feed(&s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 5}, 2);
	assert_int_equal(s.step, DISPATCH_STOPPING);
	assert_int_equal(p.order, DISPATCH_ORDER_STOP);
	assert_int_equal(p.copy_epoch, 5);
	uint32_t where;
	assert_false(dispatch_holds(&s, &where));
}

/* ---- edits ---- */

static void an_edit_of_a_running_copy_is_read_first_and_sent_once(void **state)
{
	struct dispatch_state s = {
	    .step = DISPATCH_STARTED, .member = 1, .epoch = 1, .uid = "u1", .start_seen = true};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_EDITED}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	/* What the stream tells meanwhile is not the answer. */
	const struct dispatch_event seen = {EVENT_READ_OURS, .uid = "u1", .epoch = 1};
	p = feed(&s, seen, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	assert_true(s.in_flight);
	p = feed(
	    &s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 1, .has_text = true},
	    3);
	assert_int_equal(p.order, DISPATCH_ORDER_AMEND);
	/* Nobody knows whether it landed. */
	p = feed(&s, (struct dispatch_event){EVENT_UNKNOWN}, 4);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(
	    &s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 1, .has_text = true},
	    5);
	p = feed(&s, (struct dispatch_event){EVENT_AMENDED}, 6);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	p = feed(&s, seen, 7);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	assert_false(s.in_flight || s.edited);
}

static void an_edit_while_the_copy_starts_waits_until_it_has(void **state)
{
	struct dispatch_state s = {
	    .step = DISPATCH_SUSPENDED, .member = 1, .epoch = 1, .uid = "u1"};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_EDITED}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	p = feed(&s, (struct dispatch_event){EVENT_DURABLE}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_START);
	p = feed(&s, (struct dispatch_event){EVENT_STARTED}, 3);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
}

static void a_refused_edit_is_not_tried_again_by_itself(void **state)
{
	struct dispatch_state s = {.step = DISPATCH_STARTED,
				   .member = 1,
				   .epoch = 1,
				   .uid = "u1",
				   .start_seen = true,
				   .edited = true,
				   .in_flight = true};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_AMEND_REFUSED}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	assert_int_equal(s.retry_at, 0);
	p = feed(&s, (struct dispatch_event){EVENT_EDITED}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
}

/* Evicted while its amendment is out: what that leaves behind is looked at first. */
static void a_stop_goes_before_an_edit(void **state)
{
	struct dispatch_state s = {.step = DISPATCH_STARTED,
				   .member = 1,
				   .epoch = 1,
				   .uid = "u1",
				   .start_seen = true,
				   .edited = true,
				   .in_flight = true};
	(void)state;

	struct dispatch_plan p = feed(&s, (struct dispatch_event){EVENT_STOP}, 1);
	assert_int_equal(p.order, DISPATCH_ORDER_NONE);
	p = feed(&s, (struct dispatch_event){EVENT_AMENDED}, 2);
	assert_int_equal(p.order, DISPATCH_ORDER_READ);
	p = feed(&s, (struct dispatch_event){EVENT_READ_OURS, .uid = "u1", .epoch = 1}, 3);
	assert_int_equal(p.order, DISPATCH_ORDER_STOP);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_decision_is_durable_before_anything_is_sent),
	    cmocka_unit_test(the_uid_is_durable_before_the_copy_is_started),
	    cmocka_unit_test(an_unknown_create_is_read_never_repeated_blindly),
	    cmocka_unit_test(a_withdrawn_job_is_free_only_after_absence_is_read),
	    cmocka_unit_test(pods_that_the_stream_does_not_show_keep_a_job_from_being_free),
	    cmocka_unit_test(a_foreign_object_is_a_conflict_and_is_not_touched),
	    cmocka_unit_test(a_restart_looks_before_it_creates),
	    cmocka_unit_test(an_evicted_job_is_suspended_first_and_free_when_its_pods_are_gone),
	    cmocka_unit_test(the_answer_to_a_stop_counts_when_it_is_of_this_stop),
	    cmocka_unit_test(placed_where_it_is_parked_the_copy_is_rewritten_and_resumed),
	    cmocka_unit_test(a_rewrite_that_nobody_answered_is_read_before_it_is_repeated),
	    cmocka_unit_test(placed_elsewhere_nothing_begins_there_before_the_parked_copy_is_gone),
	    cmocka_unit_test(a_member_that_does_not_answer_keeps_no_room_elsewhere),
	    cmocka_unit_test(a_member_that_refuses_to_suspend_has_its_copy_deleted),
	    cmocka_unit_test(a_job_that_ends_before_the_stop_lands_has_finished),
	    cmocka_unit_test(a_parked_copy_that_somebody_starts_is_stopped_again),
	    cmocka_unit_test(an_edit_of_a_running_copy_is_read_first_and_sent_once),
	    cmocka_unit_test(an_edit_while_the_copy_starts_waits_until_it_has),
	    cmocka_unit_test(a_refused_edit_is_not_tried_again_by_itself),
	    cmocka_unit_test(a_stop_goes_before_an_edit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
