#ifndef CORE_DISPATCH_DEPENDENCY_LOOK_H
#define CORE_DISPATCH_DEPENDENCY_LOOK_H
/*
 * The level-triggered step of one dependency (dependency.h): who needs it, what is asked of the
 * member next, and what its answer means. At most one call is under way per record. Private to the
 * dependency_* files but for the answer, which courier.c brings. Thread: core.
 */
#include "core/dispatch/dependency_record.h"

/* Does the next thing; `verify`: look at the member even if nothing changed at the hub. The record
 * may be gone afterwards when nobody waits for it; no other is. */
void dependency_look_once(struct core *c, struct member *m, struct dependency *d, bool verify);
/* The answer to the call about `path`. */
void dependency_look_outcome(struct core *c, struct member *m, const char *path,
			     const struct order_outcome *r);

#endif
