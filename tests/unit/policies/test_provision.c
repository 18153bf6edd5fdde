#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policies/provision.h"

#define S ((int64_t)1000000)

enum { EAST = 3, WEST = 5, NORTH = 9 };
static const uint32_t all[] = {EAST, WEST, NORTH};

static struct provision_plan decide(uint32_t parallel, const struct provision_try *tries, size_t n,
				    int32_t attempt, bool admitted, int64_t now)
{
	struct provision_options o = provision_options_default();
	struct provision_plan p;
	o.parallel = parallel;
	struct provision_view v = {.options = &o,
				   .candidates = all,
				   .n_candidates = 3,
				   .tries = tries,
				   .n_tries = n,
				   .attempt = attempt,
				   .admitted = admitted,
				   .now_us = now};
	provision_decide(&v, &p);
	return p;
}

static void the_first_candidate_is_asked_alone(void **state)
{
	struct provision_plan p = decide(1, NULL, 0, 1, false, 0);
	assert_int_equal(p.verdict, PROVISION_WAIT);
	assert_int_equal(p.n_create, 1);
	assert_int_equal(p.create[0], EAST);
	const struct provision_try asked[] = {{EAST, PROVISION_ACCEPTED, 0}};
	p = decide(1, asked, 1, 1, false, 5 * S);
	assert_int_equal(p.n_create, 0);
	assert_int_equal(p.again_us, 600 * S);
}

static void a_failure_asks_the_next(void **state)
{
	const struct provision_try t[] = {{EAST, PROVISION_FAILED, 0}};
	struct provision_plan p = decide(1, t, 1, 1, false, 5 * S);
	assert_int_equal(p.n_create, 1);
	assert_int_equal(p.create[0], WEST);
	assert_int_equal(p.n_cancel, 0);
}

static void patience_ends_and_the_next_takes_the_place(void **state)
{
	const struct provision_try t[] = {{EAST, PROVISION_ACCEPTED, 0}};
	struct provision_plan p = decide(1, t, 1, 1, false, 600 * S);
	assert_int_equal(p.n_cancel, 1);
	assert_int_equal(p.cancel[0], EAST);
	assert_int_equal(p.create[0], WEST);
}

static void a_request_that_nobody_accepts_moves_on_sooner(void **state)
{
	const struct provision_try t[] = {{EAST, PROVISION_PENDING, 0}};
	struct provision_plan p = decide(1, NULL, 0, 1, false, 0);
	assert_int_equal(p.again_us, 60 * S);
	p = decide(1, t, 1, 1, false, 59 * S);
	assert_int_equal(p.n_cancel, 0);
	assert_int_equal(p.again_us, 60 * S);
	p = decide(1, t, 1, 1, false, 60 * S);
	assert_int_equal(p.cancel[0], EAST);
	assert_int_equal(p.create[0], WEST);
}

static void the_last_candidate_is_waited_for_without_end(void **state)
{
	const struct provision_try t[] = {{EAST, PROVISION_CANCELLED, 0},
					  {WEST, PROVISION_FAILED, 600 * S},
					  {NORTH, PROVISION_PENDING, 700 * S}};
	struct provision_plan p = decide(1, t, 3, 1, false, 99999 * S);
	assert_int_equal(p.verdict, PROVISION_WAIT);
	assert_int_equal(p.n_cancel, 0);
	assert_int_equal(p.again_us, INT64_MAX);
}

static void of_several_the_first_provisioned_wins(void **state)
{
	struct provision_plan p = decide(2, NULL, 0, 1, false, 0);
	assert_int_equal(p.n_create, 2);
	const struct provision_try t[] = {{EAST, PROVISION_ACCEPTED, 0},
					  {WEST, PROVISION_PROVISIONED, 0}};
	p = decide(2, t, 2, 1, false, 60 * S);
	assert_int_equal(p.verdict, PROVISION_READY);
	assert_int_equal(p.cluster, WEST);
	assert_int_equal(p.n_cancel, 1);
	assert_int_equal(p.cancel[0], EAST);
}

static void a_round_that_failed_everywhere_is_retried_with_backoff(void **state)
{
	const struct provision_try t[] = {{EAST, PROVISION_FAILED, 0},
					  {WEST, PROVISION_BOOKING_EXPIRED, 0},
					  {NORTH, PROVISION_FAILED, 0}};
	/* 60 x 2^(n-1): 60, 120, 240; the fourth attempt is past the limit of 3 */
	static const int64_t waits[] = {60 * S, 120 * S, 240 * S};
	for (int32_t n = 1; n <= 3; n++) {
		struct provision_plan p = decide(1, t, 3, n, false, 5 * S);
		assert_int_equal(p.verdict, PROVISION_RETRY);
		assert_int_equal(p.retry_after_us, waits[n - 1]);
	}
	struct provision_plan p = decide(1, t, 3, 4, false, 5 * S);
	assert_int_equal(p.verdict, PROVISION_REJECT);
}

static void a_round_is_not_over_while_a_candidate_cannot_be_asked_yet(void **state)
{
	const struct provision_try t[] = {{EAST, PROVISION_FAILED, 0}};
	struct provision_options o = provision_options_default();
	struct provision_plan p;
	struct provision_view v = {.options = &o,
				   .candidates = all,
				   .n_candidates = 1,
				   .more = true,
				   .tries = t,
				   .n_tries = 1,
				   .attempt = 4,
				   .now_us = 5 * S};
	(void)state;
	provision_decide(&v, &p);
	assert_int_equal(p.verdict, PROVISION_WAIT);
	v.more = false;
	provision_decide(&v, &p);
	assert_int_equal(p.verdict, PROVISION_REJECT);
}

static void backoff_is_capped(void **state)
{
	struct provision_options o = provision_options_default();
	assert_int_equal(provision_backoff(&o, 5), 960 * S);
	assert_int_equal(provision_backoff(&o, 6), 1800 * S);
	assert_int_equal(provision_backoff(&o, 1000000), 1800 * S);
}

static void after_admission_only_revoked_capacity_counts(void **state)
{
	const struct provision_try expired[] = {{EAST, PROVISION_BOOKING_EXPIRED, 0}};
	struct provision_plan p = decide(1, expired, 1, 1, true, 700 * S);
	assert_int_equal(p.verdict, PROVISION_READY);
	assert_int_equal(p.n_create, 0);
	const struct provision_try revoked[] = {{EAST, PROVISION_CAPACITY_REVOKED, 0}};
	p = decide(1, revoked, 1, 1, true, 700 * S);
	assert_int_equal(p.verdict, PROVISION_REJECT);
}

static void requests_that_go_together_are_as_far_as_the_last_and_end_with_the_first(void **state)
{
	static const struct {
		enum provision_phase a, b, want;
	} table[] = {
	    {PROVISION_PROVISIONED, PROVISION_PENDING, PROVISION_PENDING},
	    {PROVISION_ACCEPTED, PROVISION_PROVISIONED, PROVISION_ACCEPTED},
	    {PROVISION_PROVISIONED, PROVISION_PROVISIONED, PROVISION_PROVISIONED},
	    {PROVISION_PROVISIONED, PROVISION_FAILED, PROVISION_FAILED},
	    {PROVISION_PENDING, PROVISION_BOOKING_EXPIRED, PROVISION_BOOKING_EXPIRED},
	    {PROVISION_CAPACITY_REVOKED, PROVISION_CANCELLED, PROVISION_CAPACITY_REVOKED},
	    {PROVISION_CAPACITY_REVOKED, PROVISION_FAILED, PROVISION_CAPACITY_REVOKED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(provision_phase_join(table[i].a, table[i].b), table[i].want);
		assert_int_equal(provision_phase_join(table[i].b, table[i].a), table[i].want);
	}
}

static void without_candidates_it_waits(void **state)
{
	struct provision_options o = provision_options_default();
	struct provision_plan p;
	struct provision_view v = {.options = &o, .attempt = 1};
	provision_decide(&v, &p);
	assert_int_equal(p.verdict, PROVISION_WAIT);
	assert_int_equal(p.n_create, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_candidate_is_asked_alone),
	    cmocka_unit_test(a_failure_asks_the_next),
	    cmocka_unit_test(patience_ends_and_the_next_takes_the_place),
	    cmocka_unit_test(a_request_that_nobody_accepts_moves_on_sooner),
	    cmocka_unit_test(the_last_candidate_is_waited_for_without_end),
	    cmocka_unit_test(of_several_the_first_provisioned_wins),
	    cmocka_unit_test(a_round_that_failed_everywhere_is_retried_with_backoff),
	    cmocka_unit_test(a_round_is_not_over_while_a_candidate_cannot_be_asked_yet),
	    cmocka_unit_test(backoff_is_capped),
	    cmocka_unit_test(after_admission_only_revoked_capacity_counts),
	    cmocka_unit_test(
		requests_that_go_together_are_as_far_as_the_last_and_end_with_the_first),
	    cmocka_unit_test(without_candidates_it_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
