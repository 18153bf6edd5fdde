#ifndef CORE_OBSERVE_H
#define CORE_OBSERVE_H
/*
 * From committed objects to the core's memory: what users (and the core itself) wrote.
 *
 * A commit's changes are queued by name and looked at in the next batch, against the store as it
 * is then. So memory never holds what was not committed, the order of changes does not matter,
 * and a restart is the same code over all live objects, and over the changes that the process
 * before did not come to: the watch log has them.
 */
#include "core/state.h"

/* After a commit: queues what it changed. */
void observe_collect(struct core *c);
/* Looks at what is queued while the batch has room. True when more is queued. */
bool observe_run(struct core *c);
/* Notes how far the changes were looked at, when every effect of theirs is in a batch. */
void observe_save(struct core *c);
/* The record of a job whose object is `o`, with its binding's state; NULL when malformed. */
struct job *observe_revive(struct core *c, const struct kind *kind, const struct store_object *o);
/* At start: policies, quota tree, priority classes, members, live jobs. */
int observe_restore(struct core *c, struct err *reterr) MUST_CHECK;

#endif
