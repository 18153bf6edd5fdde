#ifndef CORE_DOMAIN_GROUPS_H
#define CORE_DOMAIN_GROUPS_H
/*
 * The domains of a JobSet with an exclusive topology: one for each child Job of a pod set, in the
 * order of their indexes. Private to core/domain.c, whose text this is; what is held there, why,
 * and when not, is said in core/domain.h.
 */
#include "core/state.h"

/* Appends the set's part of the text: [{},{key: value},pods, ...]. True when it is held; else {}:
 * the decision has not a domain of its own for each child Job. A Job whose domain is chosen again
 * keeps it: the others take what is left, in the order of their values. */
bool domain_groups_add(const struct core *c, const struct job *j,
		       const struct placement_decision *d, uint32_t set, struct buf *out);

#endif
