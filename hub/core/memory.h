#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H
/*
 * The core's memory as a whole: read from the store at start, thrown away at the end, and both in a
 * row after a commit that failed (core_rebuild, state.h).
 */
#include "core/state.h"

/* The first time with what a hub is born with: its namespaces and definitions. On failure memory
 * stands as far as it was read, good for questions only; ERR_NO_SPACE: it is worth trying again
 * (after memory_close). */
int memory_open(struct core *c, struct err *reterr) MUST_CHECK;
void memory_close(struct core *c);

#endif
