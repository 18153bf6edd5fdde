#ifndef CORE_FACTS_H
#define CORE_FACTS_H
/*
 * Facts on their way from the queue to those who act on them, each with the cursor of its stream.
 * A stale one (of a member that left, or of another incarnation) is dropped here.
 */
#include "core/state.h"

/* Takes facts while the batch has room. True when more are waiting. */
bool facts_run(struct core *c);

#endif
