#ifndef CORE_MEMBER_VIEW_H
#define CORE_MEMBER_VIEW_H
/*
 * A member as others see it: its place in the policies' view, from the Cluster's spec and what its
 * streams say; and the Cluster's status.
 */
#include "core/state.h"

/* Brings the placement view in line with condition, streams and spec. */
void member_view_refresh(struct core *c, struct member *m);

/* Writes what is due of Cluster statuses; stops when the batch is full. */
void member_view_flush(struct core *c);
/* Earliest time at which member_view_flush() has something to do; INT64_MAX when nothing. */
usec member_view_due(const struct core *c);

/* Reason of the condition Ready. */
const char *member_view_reason(enum member_condition condition);

#endif
