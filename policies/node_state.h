#ifndef POLICIES_NODE_STATE_H
#define POLICIES_NODE_STATE_H
/*
 * States: (class, free amounts), shared by all nodes that are in them, with what they hold of
 * every lane. Private to this folder; see fleet.h.
 */
#include "policies/fleet.h"
#include "policies/row.h"

/* The state (class, free), with one more reference. Consumes one reference on the class. */
uint32_t node_state_ref(struct fleet *f, uint32_t take_class, const int64_t *free);
/* The state after `times` pods of the row came (negative: went), with one more reference. */
uint32_t node_state_step(struct fleet *f, uint32_t state, const struct row *r, int64_t times);
void node_state_unref(struct fleet *f, uint32_t state);
/* `n` nodes went from one state to another, of which one reference is held already. */
void node_state_shift(struct fleet *f, uint32_t from, uint32_t to, uint32_t n);

static inline const int64_t *node_state_free(const struct fleet *f, uint32_t state)
{
	return f->state_free + (size_t)state * f->stride;
}

static inline const uint16_t *node_state_fills(const struct fleet *f, uint32_t state)
{
	return f->state_fill + (size_t)state * f->cap_lanes;
}

/* Devices of which a vector has some free. */
uint64_t node_state_devices(const struct fleet *f, const int64_t *free);
/* The fill of any row, with or without a lane. */
uint16_t node_state_fill(const struct fleet *f, uint32_t state, const struct row *r);

/* Linear in the amounts. */
uint64_t node_state_hash(const struct fleet *f, uint32_t class_id, const int64_t *free);
/* What one pod of a row adds to the hash of a state. */
uint64_t node_state_hash_step(const struct row *r);

void node_state_fill_lane(struct fleet *f, uint32_t lane);
void node_state_widen(struct fleet *f, uint32_t stride);    /* more resources */
void node_state_add_lanes(struct fleet *f, uint32_t lanes); /* more lanes */
void node_state_done(struct fleet *f);

#endif
