#ifndef MEMBER_SYNC_SIM_DURATION_H
#define MEMBER_SYNC_SIM_DURATION_H
/* Durations as Go writes them: "10s", "250ms", "1h30m", "1.5s", "0". No state. */
#include "base/clock.h"
#include "base/span.h"

#define DURATION_MAX ((usec)10 * 365 * 86400 * USEC_PER_SEC)

/* -EINVAL for anything else, for negative ones, and over DURATION_MAX. */
int duration_parse(struct span text, usec *ret) MUST_CHECK;

#endif
