#ifndef CORE_TURN_H
#define CORE_TURN_H
/*
 * A turn: one batch, from everything that waits to the commit, and only then what may be told
 * (core_turn() and core_next_time() of core.h). Or, while the store has no room, what stands in
 * for it: writes are refused, deletes tried, memory rebuilt once there is room.
 */
#include "core/state.h"

/* Orders go to the net thread: their decisions are committed. */
void turn_send_orders(struct core *c);

#endif
