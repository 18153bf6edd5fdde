#ifndef REGISTRY_EXPIRY_H
#define REGISTRY_EXPIRY_H
/*
 * Time to live of Events, without a timer or an index row for each: the watch log is walked from
 * a cursor, and an Event whose log row is older than the limit and is still its newest one is
 * deleted. The cursor is kept with the deletions it led to; it may lag, never lead.
 *
 * When the log was trimmed past the cursor (it is bounded by bytes, too), Events older than its
 * floor are found by one walk over all Events, in bounded steps.
 */
#include "base/clock.h"
#include "store/store.h"
#include <stdbool.h>

struct registry;
struct registry_batch;

struct expiry {
	uint64_t cursor; /* log rows up to it are done */
	usec next;	 /* when the next row is old enough; INT64_MAX: not known, look again */
	bool sweeping;	 /* walking all Events older than sweep_floor */
	uint64_t sweep_floor;
	char *sweep_ns, *sweep_name; /* owned: last one seen, or NULL */
};

struct expiry_batch {
	bool moved;
	struct expiry to; /* owns its strings */
};

int expiry_load(struct registry *r, struct err *reterr) MUST_CHECK;
void expiry_done(struct expiry *e);
/* When expiry_work() has something to do. */
usec expiry_due(const struct expiry *e);
bool expiry_work(struct registry_batch *b, size_t *rows);
void expiry_committed(struct registry_batch *b);
void expiry_batch_clear(struct expiry_batch *eb);

#endif
