#include "base/log.h"

#include "test.h"

#include <unistd.h>

/* What one log call writes. */
struct sink {
	int fds[2];
	struct log log;
	char text[8192];
};

static void sink_open(struct sink *s, enum log_level level)
{
	assert_int_equal(pipe(s->fds), 0);
	s->log = (struct log){level, s->fds[1]};
}

static void sink_close(struct sink *s)
{
	(void)close(s->fds[1]);
	ssize_t n = read(s->fds[0], s->text, sizeof(s->text) - 1);
	s->text[n > 0 ? n : 0] = '\0';
	(void)close(s->fds[0]);
}

static void a_line_is_time_level_event_and_fields(void **state)
{
	struct sink s;
	(void)state;
	sink_open(&s, LOG_INFO);
	log_warn(&s.log, "member lost", "cluster=%s attempt=%d", "c1", 3);
	sink_close(&s);
	assert_non_null(strstr(s.text, "Z warn \"member lost\" cluster=c1 attempt=3\n"));
}

static void lines_below_the_level_are_dropped(void **state)
{
	struct sink s;
	(void)state;
	sink_open(&s, LOG_WARN);
	log_info(&s.log, "quiet", "a=%d", 1);
	log_error(NULL, "silent", "a=%d", 1);
	sink_close(&s);
	assert_string_equal(s.text, "");
}

static void a_line_break_in_a_value_makes_no_second_line(void **state)
{
	struct sink s;
	(void)state;
	sink_open(&s, LOG_INFO);
	log_info(&s.log, "event", "name=%s", "x\ny\rz");
	sink_close(&s);
	assert_ptr_equal(strchr(s.text, '\n'), s.text + strlen(s.text) - 1);
	assert_non_null(strstr(s.text, "name=x y z\n"));
}

static void long_lines_are_cut(void **state)
{
	struct sink s;
	char big[5000];
	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	sink_open(&s, LOG_INFO);
	log_info(&s.log, "event", "name=%s", big);
	log_info(&s.log, big, "name=%s", big);
	sink_close(&s);
	const char *first = strchr(s.text, '\n');
	assert_non_null(first);
	assert_true(first - s.text < 2048);
	assert_true(strlen(first + 1) < 2048);
}

RUN(T(a_line_is_time_level_event_and_fields), T(lines_below_the_level_are_dropped),
    T(a_line_break_in_a_value_makes_no_second_line), T(long_lines_are_cut))
