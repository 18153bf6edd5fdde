#ifndef REGISTRY_EXPIRY_H
#define REGISTRY_EXPIRY_H
/*
 * Time to live of Events, without a timer or an index row for each: all Events are walked now and
 * then, some per batch, and those that are too old are deleted.
 *
 * An Event's age counts from the latest of its creation and its last observation. A walk starts
 * when the oldest Event that the last one left may be too old, but not before a twentieth of the
 * time to live has passed since: so an Event lives at most that much longer than it should, and
 * walking a million of them stays cheap. Nothing is stored: a restart walks at once.
 * (The watch log would say the age too, but it is bounded by bytes and may be shorter than the
 * time to live under load.)
 */
#include "base/clock.h"
#include "store/store.h"
#include <stdbool.h>

struct registry;
struct registry_batch;

struct expiry {
	usec next; /* when the next walk starts; INT64_MAX: there is no Event */
	bool walking;
	usec oldest;	 /* of this walk: when the first Event that it leaves is too old */
	char *ns, *name; /* owned: last one looked at, or NULL */
};

struct expiry_batch {
	bool moved;
	struct expiry to; /* owns its strings */
};

void expiry_load(struct registry *r);
void expiry_done(struct expiry *e);
/* When expiry_work() has something to do. */
usec expiry_due(const struct expiry *e);
/* At most *rows rows of work. True when more could be done at once. */
bool expiry_work(struct registry_batch *b, size_t *rows);
void expiry_committed(struct registry_batch *b);
void expiry_batch_clear(struct expiry_batch *eb);

#endif
