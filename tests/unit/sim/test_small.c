/* duration, runs, options and conditions: small files, small tests. */
#include "base/buf.h"
#include "base/json.h"
#include "member-sync/sim/conditions.h"
#include "member-sync/sim/duration.h"
#include "member-sync/sim/options.h"
#include "member-sync/sim/runs.h"
#include "sim_test.h"
#include <fcntl.h>
#include <unistd.h>

static void durations_are_read_as_go_writes_them(void **state)
{
	static const struct {
		const char *text;
		usec want;
	} good[] = {{"10s", 10 * S}, {"250ms", 250000}, {"1h30m", 5400 * S},
		    {"0", 0},	     {"1.5s", 1500000}, {"0s", 0},
		    {"3us", 3},	     {".5s", 500000},	{"1m0.5s", 60500000}};
	static const char *const bad[] = {"", "10", "s", "-1s", "1x", "1s ", "99999999999h", "1.s"};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		usec d = -1;
		assert_int_equal(duration_parse(span_of(good[i].text), &d), 0);
		assert_int_equal(d, good[i].want);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		usec d;
		assert_int_equal(duration_parse(span_of(bad[i]), &d), -EINVAL);
	}
}

static size_t lines_of(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, size - 1);
	size_t lines = 0;
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	for (ssize_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

static void a_run_is_written_once_across_restarts(void **state)
{
	char path[] = "/tmp/muster-runs-XXXXXX", text[4096];
	struct err e = ERR_INIT;
	struct runs *r;
	struct runs_line line = {.job_uid = SPAN("u1"),
				 .epoch = SPAN("3"),
				 .ns = SPAN("team"),
				 .job = SPAN("j"),
				 .pod = SPAN("j-0"),
				 .pod_uid = SPAN("p1"),
				 .node = SPAN("n1"),
				 .start = 5,
				 .end = 9,
				 .result = "Succeeded"};
	close(mkstemp(path));
	assert_int_equal(runs_open(path, &r, &e), 0);
	assert_int_equal(runs_append(r, &line, &e), 0);
	runs_close(r);
	/* a process that died in the middle of its last line */
	int fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "{\"jobUid\":", 10), 10);
	close(fd);
	assert_int_equal(runs_open(path, &r, &e), 0);
	assert_int_equal(runs_append(r, &line, &e), 0);
	line.start = 10;
	assert_int_equal(runs_append(r, &line, &e), 0);
	runs_close(r);
	assert_int_equal(lines_of(path, text, sizeof(text)), 2);
	*strchr(text, '\n') = '\0';
	assert_string_equal(text,
			    "{\"jobUid\":\"u1\",\"epoch\":\"3\",\"ns\":\"team\",\"job\":\"j\","
			    "\"pod\":\"j-0\",\"podUid\":\"p1\",\"node\":\"n1\",\"start\":5,"
			    "\"end\":9,\"result\":\"Succeeded\"}");
	unlink(path);
}

static int parse(struct options *o, struct err *e, int argc, ...)
{
	char *argv[16] = {0};
	static char texts[16][64];
	va_list ap;
	va_start(ap, argc);
	for (int i = 0; i < argc; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s", va_arg(ap, const char *));
		argv[i] = texts[i];
	}
	va_end(ap);
	return options_parse(argc, argv, o, e);
}

static void options_are_read_or_refused(void **state)
{
	struct options o;
	struct err e = ERR_INIT;
	char text[64];
	assert_int_equal(parse(&o, &e, 7, "x", "--name", "m1", "--nodes=f", "--count", "3",
			       "--listen=127.0.0.1:7000"),
			 0);
	assert_string_equal(o.name, "m1");
	assert_int_equal(o.count, 3);
	assert_int_equal(o.time_scale, 1);
	options_numbered(&o, "a.b/c", 2, text, sizeof(text));
	assert_string_equal(text, "a.b/c-2");
	options_numbered(&o, "a/c.kubeconfig", 2, text, sizeof(text));
	assert_string_equal(text, "a/c-2.kubeconfig");
	assert_int_equal(options_listen(&o, 2, text, sizeof(text), &e), 0);
	assert_string_equal(text, "127.0.0.1:7002");
	assert_true(parse(&o, &e, 3, "x", "--name", "m1") < 0);
	assert_string_equal(e.text, "--nodes is missing");
	assert_true(parse(&o, &e, 2, "x", "--bogus=1") < 0);
	assert_string_equal(e.text, "unknown option --bogus");
	assert_true(parse(&o, &e, 2, "x", "--count=0") < 0);
	assert_true(parse(&o, &e, 2, "x", "--time-scale=-3") < 0);
	assert_true(parse(&o, &e, 2, "x", "--name") < 0);
	assert_int_equal(parse(&o, &e, 2, "x", "--help"), 0);
}

static void conditions_survive_print_and_parse(void **state)
{
	struct conditions c = {0}, back;
	static const enum conditions_style styles[] = {CONDITIONS_TRAINING, CONDITIONS_BATCH,
						       CONDITIONS_META};
	assert_true(conditions_set(&c, "Suspended", true, "R", "with \"quotes\"", T0));
	assert_false(conditions_set(&c, "Suspended", true, "R", "other words", T0 + S));
	assert_true(conditions_set(&c, "Suspended", false, "R2", "m", T0 + S));
	assert_true(conditions_set(&c, "Complete", true, "R3", "m", T0 + 2 * S));
	for (size_t i = 0; i < ARRAY_LEN(styles); i++) {
		auto_buf out = BUF_INIT;
		conditions_print(&c, styles[i], &out);
		assert_int_equal(json_check(buf_span(&out), NULL, NULL), 0);
		conditions_parse(buf_span(&out), &back);
		assert_true(conditions_equal(&c, &back));
	}
	conditions_parse(SPAN_NONE, &back);
	assert_int_equal(back.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(durations_are_read_as_go_writes_them),
	    cmocka_unit_test(a_run_is_written_once_across_restarts),
	    cmocka_unit_test(options_are_read_or_refused),
	    cmocka_unit_test(conditions_survive_print_and_parse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
