#ifndef BASE_LOG_H
#define BASE_LOG_H
/*
 * One log line, one fact: `<time> <level> <event> key=value ...` on standard error.
 *
 * Programs log, libraries return errors. A struct log is passed down by the program that owns
 * it; lines are written with one write(2), so threads may share it. Never pass secrets.
 */
#include "base/compat.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log {
	enum log_level level; /* lines below it are dropped */
	int fd;		      /* 2 */
};

#define LOG_DEFAULT ((struct log){LOG_INFO, 2})

/* `event` is a few fixed words; `fmt` gives "key=value key=value". log may be NULL (silent). */
void log_line(const struct log *log, enum log_level level, const char *event, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#define log_debug(log, event, ...) log_line((log), LOG_DEBUG, (event), __VA_ARGS__)
#define log_info(log, event, ...)  log_line((log), LOG_INFO, (event), __VA_ARGS__)
#define log_warn(log, event, ...)  log_line((log), LOG_WARN, (event), __VA_ARGS__)
#define log_error(log, event, ...) log_line((log), LOG_ERROR, (event), __VA_ARGS__)

#endif
