#ifndef CORE_OBSERVE_H
#define CORE_OBSERVE_H
/*
 * From committed objects to the core's memory: what users (and the core itself) wrote.
 *
 * A commit's changes are queued by name and looked at in the next batch, against the store as it
 * is then. So memory never holds what was not committed, the order of changes does not matter,
 * and a restart is the same code over all live objects, and over the changes that the process
 * before did not come to: the watch log has them (restore.h).
 */
#include "core/state.h"

/* After a commit: queues what it changed. */
void observe_collect(struct core *c);
/* Looks at what is queued while the batch has room. True when more is queued. */
bool observe_run(struct core *c);
/* Notes how far the changes were looked at, when every effect of theirs is in a batch. */
void observe_save(struct core *c);
/* Looks at one object that is in the store. */
void observe_present(struct core *c, const struct kind *kind, const struct store_object *o);
/* Queues one object by name, unless it is queued already or means nothing to the core. */
void observe_enqueue(struct core *c, const struct kind *kind, const struct store_key *k);
/* The key of the row (STORE_AUX_CURSOR) that says how far the changes were looked at. */
struct span observe_saved_key(void);

#endif
