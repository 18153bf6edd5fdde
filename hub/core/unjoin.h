#ifndef CORE_UNJOIN_H
#define CORE_UNJOIN_H
/*
 * A Cluster goes: its copies are withdrawn and proven absent, what the hub made there is taken
 * away, and only then the hub's finalizer comes off the object. A member that its operator
 * declared dead (annotation muster.dev/dead: "true") is believed to have nothing left: its jobs are
 * placed elsewhere at once (DESIGN section 7).
 *
 * The annotation is the only declaration. Users cannot take the hub's finalizer off (intake.c puts
 * it back into what they write): an object forced away would say that nothing is left on a member,
 * which nobody has looked at, and its jobs could run twice.
 */
#include "core/state.h"

/* The next step for a member that is deleting or dead. */
void unjoin_step(struct core *c, struct member *m);

#endif
