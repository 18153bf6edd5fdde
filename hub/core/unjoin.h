#ifndef CORE_UNJOIN_H
#define CORE_UNJOIN_H
/*
 * A Cluster goes: its copies are withdrawn and proven absent, what the hub made there is taken
 * away, and only then the hub's finalizer comes off the object. A member that its operator
 * declared dead (annotation muster.dev/dead: "true") is believed to have nothing left: its jobs are
 * placed elsewhere at once (DESIGN section 7).
 */
#include "core/state.h"

/* The next step for a member that is deleting or dead. */
void unjoin_step(struct core *c, struct member *m);

#endif
