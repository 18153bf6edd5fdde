/* What a simulated container prints, and which part of it is asked for. */
#include "member-sync/sim/pod_log.h"
#include "sim_test.h"

#define START (1000 * S)

static struct pod_log_run a_run(void)
{
	return (struct pod_log_run){.container = SPAN("main"),
				    .pod = SPAN("p"),
				    .node = SPAN("n"),
				    .started = START,
				    .duration = 10 * S,
				    .time_scale = 1,
				    .seed = 7};
}

static void assert_line(const struct pod_log_run *r, int64_t k, bool timestamps, const char *want)
{
	auto_buf b = BUF_INIT;
	pod_log_line(r, k, timestamps, &b);
	buf_add_char(&b, '\0');
	assert_string_equal(b.ptr, want);
}

static void a_run_prints_two_lines_per_simulated_second(void **state)
{
	struct pod_log_run r = a_run();
	assert_int_equal(pod_log_count(&r, START - 1), 0);
	assert_int_equal(pod_log_count(&r, START), 1);
	assert_int_equal(pod_log_count(&r, START + S), 3);
	assert_int_equal(pod_log_count(&r, START + 10 * S), 21);
	assert_int_equal(pod_log_count(&r, START + 99 * S), 21); /* the last is said by the end */
	r.time_scale = 10;
	assert_int_equal(pod_log_count(&r, START + S), 21);
}

static void the_end_says_how_it_ended(void **state)
{
	struct pod_log_run r = a_run();
	r.ended = START + 10 * S;
	r.exit_code = 3;
	assert_int_equal(pod_log_count(&r, START + 99 * S), 22);
	assert_line(&r, 21, false, "muster-sim: the simulated run is over, exit code 3\n");
	assert_line(&r, 0, true,
		    "1970-01-01T00:16:40.000000Z muster-sim: a simulated run of container main, "
		    "pod p, node n\n");
	r.killed = true;
	r.ended = START + 2 * S;
	assert_int_equal(pod_log_count(&r, START + 99 * S), 5);
}

static void lines_are_the_same_whenever_they_are_read(void **state)
{
	struct pod_log_run r = a_run(), later = a_run();
	auto_buf a = BUF_INIT, b = BUF_INIT;
	later.ended = START + 10 * S;
	for (int64_t k = 0; k < 21; k++) {
		pod_log_line(&r, k, true, &a);
		pod_log_line(&later, k, true, &b);
	}
	assert_true(span_eq(buf_span(&a), buf_span(&b)));
}

static void a_part_is_found_without_counting_lines(void **state)
{
	struct pod_log_run r = a_run();
	struct pod_log_options o = {.tail = 4};
	assert_int_equal(pod_log_first(&r, &o, START + 5 * S), 7);
	o.tail = 100;
	assert_int_equal(pod_log_first(&r, &o, START + 5 * S), 0);
	o.tail = 0;
	assert_int_equal(pod_log_first(&r, &o, START + 5 * S), 11);
	o = (struct pod_log_options){.tail = -1, .since_seconds = 2};
	assert_int_equal(pod_log_first(&r, &o, START + 5 * S), 6);
	o.tail = 3;
	assert_int_equal(pod_log_first(&r, &o, START + 5 * S), 8);
	r.forever = true;
	o = (struct pod_log_options){.tail = 1};
	assert_int_equal(pod_log_first(&r, &o, START + 86400 * S), 86400 * 2);
}

static void parameters_are_read_as_kubernetes_reads_them(void **state)
{
	struct pod_log_options o;
	struct err e = ERR_INIT;
	assert_int_equal(pod_log_parse(SPAN("follow=true&container=a%2Db&tailLines=0&limitBytes=9&"
					    "timestamps=1&previous=false&unknown"),
				       &o, &e),
			 0);
	assert_true(o.follow && o.timestamps && !o.previous);
	assert_string_equal(o.container, "a-b");
	assert_int_equal(o.tail, 0);
	assert_int_equal(o.limit, 9);
	assert_int_equal(pod_log_parse(SPAN("sinceTime=1970-01-01T00%3A00%3A05Z"), &o, &e), 0);
	assert_int_equal(o.since_time, 5 * S);
	static const char *const bad[] = {"tailLines=-1",
					  "tailLines=x",
					  "limitBytes=0",
					  "sinceSeconds=0",
					  "sinceTime=now",
					  "tailLines=%zz",
					  "sinceSeconds=1&sinceTime=1970-01-01T00:00:05Z"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		e = ERR_INIT;
		assert_true(pod_log_parse(span_of(bad[i]), &o, &e) < 0);
		assert_int_equal(e.kind, ERR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_run_prints_two_lines_per_simulated_second),
	    cmocka_unit_test(the_end_says_how_it_ended),
	    cmocka_unit_test(lines_are_the_same_whenever_they_are_read),
	    cmocka_unit_test(a_part_is_found_without_counting_lines),
	    cmocka_unit_test(parameters_are_read_as_kubernetes_reads_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
