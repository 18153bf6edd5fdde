#include "base/compat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include "api/turn_clock.h"
#include <cmocka.h>

static void a_turn_is_counted_by_its_length(void **state)
{
	struct turn_times t = {0};
	(void)state;
	turn_times_add(&t, 100000); /* bounds belong to their bucket */
	turn_times_add(&t, 100001);
	turn_times_add(&t, 3000000);
	turn_times_add(&t, 900000000);
	assert_int_equal(t.bucket[0], 1);
	assert_int_equal(t.bucket[1], 1);
	assert_string_equal(turn_clock_bound(5), "0.005");
	assert_int_equal(t.bucket[5], 1);
	assert_int_equal(t.bucket[TURN_CLOCK_BUCKETS], 1);
	assert_int_equal(t.count, 4);
	assert_int_equal(t.max_ns, 900000000);
	assert_int_equal(t.sum_ns, 903200001);
}

static void burn(uv_timer_t *timer)
{
	uint64_t until = uv_hrtime() + 3000000;
	(void)timer;
	while (uv_hrtime() < until)
		;
}

static void work_counts_and_waiting_does_not(void **state)
{
	struct turn_clock c = {0};
	uv_loop_t loop;
	uv_timer_t timer;
	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(turn_clock_open(&c, &loop), 0);
	assert_int_equal(uv_timer_init(&loop, &timer), 0);
	assert_int_equal(uv_timer_start(&timer, burn, 30, 0), 0);
	for (int i = 0; i < 4 && uv_is_active((uv_handle_t *)&timer); i++)
		(void)uv_run(&loop, UV_RUN_ONCE);
	(void)uv_run(&loop, UV_RUN_NOWAIT);
	assert_true(c.times.count >= 1);
	assert_true(c.times.max_ns > 0);
	assert_true(c.times.sum_ns < 30000000);
	uv_close((uv_handle_t *)&timer, NULL);
	turn_clock_close(&c);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_turn_is_counted_by_its_length),
	    cmocka_unit_test(work_counts_and_waiting_does_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
