#include "sim_test.h"

#include "member-sync/sim/provisioning.h"

static struct provisioning_view view(usec after)
{
	return (struct provisioning_view){
	    .now = T0 + after,
	    .pool = "a100",
	    .need = 4,
	    .pool_room = 8,
	    .quota_room = 8,
	    .quota = 8,
	    .delay = 30 * S,
	    .booking = 600 * S,
	    .max_run = 3600 * S,
	    .scan = 10 * S,
	};
}

static const struct condition *condition(const struct provisioning_state *s, const char *type)
{
	const struct condition *c = conditions_get(&s->conditions, type);
	assert_non_null(c);
	return c;
}

static void a_request_is_accepted_then_its_nodes_come_all_at_once(void **state)
{
	struct provisioning_state s = {0};
	struct provisioning_plan p;
	struct provisioning_view v = view(0);
	assert_true(provisioning_decide(&v, &s, &p));
	assert_true(conditions_true(&s.conditions, "Accepted"));
	assert_string_equal(condition(&s, "Provisioned")->reason, "NotProvisioned");
	assert_int_equal(p.action, PROVISIONING_KEEP);
	assert_int_equal(p.again, T0 + 30 * S);
	assert_true(provisioning_holds_room(&s));
	v = view(30 * S);
	assert_false(provisioning_decide(&v, &s, &p));
	assert_int_equal(p.action, PROVISIONING_CREATE);
	assert_false(conditions_true(&s.conditions, "Provisioned"));
	v.nodes = 4;
	assert_true(provisioning_decide(&v, &s, &p));
	assert_true(conditions_true(&s.conditions, "Provisioned"));
	assert_false(provisioning_holds_room(&s));
}

static void three_of_four_nodes_are_not_provisioned(void **state)
{
	struct provisioning_state s = {0};
	struct provisioning_plan p;
	struct provisioning_view v = view(0);
	provisioning_decide(&v, &s, &p);
	v = view(31 * S);
	v.nodes = 3;
	provisioning_decide(&v, &s, &p);
	assert_int_equal(p.action, PROVISIONING_CREATE);
	assert_false(conditions_true(&s.conditions, "Provisioned"));
}

static void a_quota_that_is_too_small_is_told_and_waited_for(void **state)
{
	struct provisioning_state s = {0};
	struct provisioning_plan p;
	struct provisioning_view v = view(0);
	v.quota = v.quota_room = 3;
	assert_true(provisioning_decide(&v, &s, &p));
	assert_string_equal(condition(&s, "Provisioned")->reason, "QuotaExceeded");
	assert_string_equal(condition(&s, "Provisioned")->message,
			    "Quota 'a100' exceeded. Limit: 3.");
	assert_false(provisioning_holds_room(&s));
	v = view(60 * S);
	assert_true(provisioning_decide(&v, &s, &p));
	assert_string_equal(condition(&s, "Provisioned")->reason, "NotProvisioned");
	assert_int_equal(p.again, T0 + 90 * S);
}

static void a_pool_that_is_full_now_is_waited_for(void **state)
{
	struct provisioning_state s = {0};
	struct provisioning_plan p;
	struct provisioning_view v = view(0);
	v.pool_room = 3;
	assert_true(provisioning_decide(&v, &s, &p));
	assert_string_equal(condition(&s, "Provisioned")->reason, "NotProvisioned");
	assert_false(provisioning_holds_room(&s));
	assert_int_equal(p.again, INT64_MAX);
}

static void what_no_pool_can_hold_fails(void **state)
{
	struct provisioning_state s = {0};
	struct provisioning_plan p;
	struct provisioning_view v = view(0);
	v.refusal = "no pool";
	assert_true(provisioning_decide(&v, &s, &p));
	assert_true(conditions_true(&s.conditions, "Failed"));
	assert_null(conditions_get(&s.conditions, "Accepted"));
	assert_false(provisioning_decide(&v, &s, &p)); /* and stays so */
}

static void more_than_1000_nodes_fail(void **state)
{
	struct provisioning_state s = {0};
	struct provisioning_plan p;
	struct provisioning_view v = view(0);
	v.need = 1001;
	assert_true(provisioning_decide(&v, &s, &p));
	assert_string_equal(condition(&s, "Failed")->reason, "TooManyNodes");
}

static void the_hundred_and_first_accepted_request_fails(void **state)
{
	struct provisioning_state s = {0};
	struct provisioning_plan p;
	struct provisioning_view v = view(0);
	v.accepted = 100;
	assert_true(provisioning_decide(&v, &s, &p));
	assert_string_equal(condition(&s, "Failed")->reason, "QuotaExceeded");
	s = (struct provisioning_state){0};
	v.accepted = 99;
	assert_true(provisioning_decide(&v, &s, &p));
	assert_true(conditions_true(&s.conditions, "Accepted"));
}

static struct provisioning_state provisioned(void)
{
	struct provisioning_state s = {0};
	struct provisioning_plan p;
	struct provisioning_view v = view(-30 * S);
	provisioning_decide(&v, &s, &p);
	v = view(0);
	v.nodes = 4;
	provisioning_decide(&v, &s, &p);
	assert_true(conditions_true(&s.conditions, "Provisioned"));
	return s;
}

static void a_booking_expires_and_only_idle_nodes_go(void **state)
{
	struct provisioning_state s = provisioned();
	struct provisioning_plan p;
	struct provisioning_view v = view(599 * S);
	v.nodes = 4;
	assert_false(provisioning_decide(&v, &s, &p));
	assert_int_equal(p.action, PROVISIONING_KEEP);
	v = view(600 * S);
	v.nodes = 4;
	assert_true(provisioning_decide(&v, &s, &p));
	assert_true(conditions_true(&s.conditions, "BookingExpired"));
	assert_int_equal(p.action, PROVISIONING_KEEP); /* all four have pods */
	v.idle = 1;
	assert_false(provisioning_decide(&v, &s, &p));
	assert_int_equal(p.action, PROVISIONING_REMOVE_IDLE);
}

static void at_the_end_of_their_time_nodes_go_with_their_pods(void **state)
{
	struct provisioning_state s = provisioned();
	struct provisioning_plan p;
	struct provisioning_view v = view(3600 * S);
	v.nodes = 4;
	assert_true(provisioning_decide(&v, &s, &p));
	assert_true(conditions_true(&s.conditions, "CapacityRevoked"));
	assert_int_equal(p.action, PROVISIONING_REMOVE_ALL);
	/* those that were left over when a batch was full go later */
	assert_false(provisioning_decide(&v, &s, &p));
	assert_int_equal(p.action, PROVISIONING_REMOVE_ALL);
}

static void nodes_of_a_deleted_request_go_when_idle(void **state)
{
	struct provisioning_state s = provisioned();
	struct provisioning_plan p;
	struct provisioning_view v = view(10 * S);
	v.gone = true;
	v.nodes = 4;
	assert_false(provisioning_decide(&v, &s, &p));
	assert_int_equal(p.action, PROVISIONING_KEEP);
	assert_int_equal(p.again, T0 + 20 * S);
	v.idle = 4;
	provisioning_decide(&v, &s, &p);
	assert_int_equal(p.action, PROVISIONING_REMOVE_IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_request_is_accepted_then_its_nodes_come_all_at_once),
	    cmocka_unit_test(three_of_four_nodes_are_not_provisioned),
	    cmocka_unit_test(a_quota_that_is_too_small_is_told_and_waited_for),
	    cmocka_unit_test(a_pool_that_is_full_now_is_waited_for),
	    cmocka_unit_test(what_no_pool_can_hold_fails),
	    cmocka_unit_test(more_than_1000_nodes_fail),
	    cmocka_unit_test(the_hundred_and_first_accepted_request_fails),
	    cmocka_unit_test(a_booking_expires_and_only_idle_nodes_go),
	    cmocka_unit_test(at_the_end_of_their_time_nodes_go_with_their_pods),
	    cmocka_unit_test(nodes_of_a_deleted_request_go_when_idle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
