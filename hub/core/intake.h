#ifndef CORE_INTAKE_H
#define CORE_INTAKE_H
/*
 * Commands from the API fronts, before and into the registry: what the hub adds to the generic
 * write path. Jobs and Clusters get the hub's finalizer at birth; quota trees are checked with
 * every rule of their dialect; queries are answered from the structures that decide.
 */
#include "core/state.h"

/* Takes commands while the batch has room, or half of it while decisions wait too. */
void intake_run(struct core *c);
/* More of them, once what was decided is in the batch; no edits of quota, which come before
 * decisions. True when some are left. */
bool intake_fill(struct core *c);
/* Instead of it after a commit that found no space: deletes go into the batch, for they are how
 * room comes back, questions are answered, and other writes refused with ERR_NO_SPACE. True when
 * there are deletes in the batch. */
bool intake_starved(struct core *c);

#endif
