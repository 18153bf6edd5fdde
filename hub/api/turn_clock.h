#ifndef API_TURN_CLOCK_H
#define API_TURN_CLOCK_H
/*
 * How long a loop works at a stretch: CPU time of its thread between two looks at its sockets.
 *
 * A request waits for what is done before it in the same turn, so this is the part of its latency
 * that is ours: DESIGN section 2 wants a handler to give way after a millisecond. Time in which the
 * machine ran something else does not count. Belongs to the loop's thread.
 */
#include "base/clock.h"
#include <stdint.h>
#include <uv.h>

#define TURN_CLOCK_BUCKETS 8

struct turn_times {
	uint64_t bucket[TURN_CLOCK_BUCKETS + 1]; /* last: beyond all bounds */
	uint64_t count;
	int64_t sum_ns, max_ns;
};

struct turn_clock {
	uv_check_t check;
	int64_t before; /* CPU time at the end of the last turn; 0: none yet */
	struct turn_times times;
};

/* Upper bound of bucket i, as text in seconds. */
const char *turn_clock_bound(size_t i);

int turn_clock_open(struct turn_clock *c, uv_loop_t *loop);
/* The handle closes in a later turn of the loop. */
void turn_clock_close(struct turn_clock *c);
/* A turn of that length was seen. */
void turn_times_add(struct turn_times *t, int64_t ns);

#endif
