#ifndef POLICIES_NODE_CLASS_H
#define POLICIES_NODE_CLASS_H
/*
 * Classes: nodes that no row can tell apart but by amounts. Private to this folder; see fleet.h.
 */
#include "policies/fleet.h"

/* Matching on a node's own name (matchFields) is matching on this label, which no node has. */
#define NODE_CLASS_NAME_KEY SPAN("field:metadata.name")

/* The class of a node as it is now, with one more reference; made when new. */
uint32_t node_class_of(struct fleet *f, const struct node *n);
uint32_t node_class_dup(struct fleet *f, uint32_t class_id);
void node_class_unref(struct fleet *f, uint32_t class_id);
/* Asks the row of `lane` of all classes. */
void node_class_fill_lane(struct fleet *f, uint32_t lane);
void node_class_done(struct fleet *f);

static inline bool node_class_accepts(const struct node_class *c, uint32_t lane)
{
	return c->accepts[lane / 64] >> (lane % 64) & 1;
}

#endif
