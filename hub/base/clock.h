#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
/*
 * Time: one unit, UTC microseconds since 1970 (`usec`), and RFC 3339 text in and out.
 *
 * Only the shells (loops, main) read the clock; decisions get `now` as a parameter.
 */
#include "base/compat.h"
#include "base/span.h"
#include <stdint.h>

typedef int64_t usec; /* a number, not a struct: rule A.1 bans _t for structs only */

#define USEC_PER_MS  ((usec)1000)
#define USEC_PER_SEC ((usec)1000000)

usec clock_now(void);	     /* wall clock, UTC */
usec clock_thread_cpu(void); /* CPU time of the calling thread */
usec clock_monotonic(void);  /* for intervals; never compared with clock_now() */

#define CLOCK_TEXT_MAX 32
/* "2026-11-21T03:25:13Z" (whole seconds, as metav1.Time). Returns `out`. */
const char *clock_format(usec t, char out[CLOCK_TEXT_MAX]);
/* "2026-11-21T03:25:13.000123Z" (as metav1.MicroTime). Returns `out`. */
const char *clock_format_micro(usec t, char out[CLOCK_TEXT_MAX]);
/* RFC 3339 with "Z" or an offset, optional fraction. -EINVAL for anything else. */
int clock_parse(struct span text, usec *ret) MUST_CHECK;
/* "5m12s", "3h", "2d4h": the human duration of kubectl's AGE column (AM util/duration,
 * kubernetes-api.md 1.4). Negative durations give "0s". Returns `out`. */
const char *clock_human(usec duration, char out[CLOCK_TEXT_MAX]);

#endif
