#ifndef KUBE_CEL_TIME_H
#define KUBE_CEL_TIME_H
/*
 * Timestamps and durations of CEL: from text and into it, and the parts of a date. Nanoseconds in
 * int64, so that durations reach 292 years and timestamps the years 1678 to 2261 (cel-go: 1 to
 * 9999); what lies beyond is an error, never a wrong number. Pure.
 */
#include "kube/cel/cel_value.h"

/* RFC 3339, or a date alone; CEL_TIMESTAMP or an error. */
struct cel_value cel_timestamp_of(struct span text);
/* Go's "1h2m3.5s"; CEL_DURATION or an error. */
struct cel_value cel_duration_of(struct span text);
void cel_timestamp_print(int64_t ns, struct buf *out);
/* In seconds, as cel-go: "3723.5s". */
void cel_duration_print(int64_t ns, struct buf *out);

enum cel_part {
	CEL_FULL_YEAR,
	CEL_MONTH,	  /* 0: January */
	CEL_DAY_OF_YEAR,  /* from 0 */
	CEL_DAY_OF_MONTH, /* from 0 */
	CEL_DATE,	  /* day of the month from 1 */
	CEL_DAY_OF_WEEK,  /* 0: Sunday */
	CEL_HOURS,
	CEL_MINUTES,
	CEL_SECONDS,
	CEL_MILLISECONDS,
};
/* Of a timestamp in UTC, or the whole of a duration in this unit (from CEL_HOURS on). */
int64_t cel_part_of(const struct cel_value *v, enum cel_part part);

#endif
