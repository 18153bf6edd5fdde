#include "base/log.h"

#include "base/clock.h"

#include <stdarg.h>
#include <unistd.h>

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_line(const struct log *log, enum log_level level, const char *event, const char *fmt, ...)
{
	char line[2048];
	char when[CLOCK_TEXT_MAX];
	va_list ap;

	if (!log || level < log->level)
		return;
	int n = snprintf(line, sizeof(line) - 1, "%s %s \"%s\" ",
			 clock_format_micro(clock_now(), when), level_names[level], event);
	if (n < 0)
		return;
	size_t len = (size_t)n < sizeof(line) - 2 ? (size_t)n : sizeof(line) - 2;
	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof(line) - 1 - len, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	len += (size_t)n;
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	/* A line break in a value would forge a second fact. */
	for (size_t i = 0; i < len; i++)
		if (line[i] == '\n' || line[i] == '\r')
			line[i] = ' ';
	line[len++] = '\n';
	ssize_t written = write(log->fd, line, len);
	(void)written;
}
