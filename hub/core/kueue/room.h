#ifndef CORE_KUEUE_ROOM_H
#define CORE_KUEUE_ROOM_H
/*
 * Preemption in a fleet: victims serve two wants, quota and nodes (DESIGN section 5).
 *
 * For each member that could gain the engine's search is run with the member's nodes beside the
 * quota: Kueue's candidates in Kueue's order, of which those count that free quota that is short or
 * nodes that are useful there, until both tests pass. Of the members the one with the fewest
 * victims that do not go already is taken, then the least work lost, then the best place. Nobody is
 * evicted for a gang that then cannot start: it claims the nodes that it was found (claim.h). An
 * entry whose quota fits finds victims for nodes alone.
 *
 * Members that could gain are those where candidates run and, when quota is short, the one that has
 * nodes already and placement likes best. Costs a search for each of them, and what the pods of
 * their candidates cost.
 */
#include "core/kueue/workload.h"

/* Puts the victims of the best member into the entry, which wants to preempt; admission_ask() has
 * made its job's ask. False, and nothing changed, when no member gains. */
bool room_choose(struct core *c, struct kueue_entry *e);

#endif
