#ifndef QUOTA_TREE_KUEUE_LINK_H
#define QUOTA_TREE_KUEUE_LINK_H
/*
 * A ring of things that find each other: a head, and a link in each member. An empty head points at
 * itself, a link that is in no ring nowhere. The order is that of putting.
 */
#include <stdbool.h>
#include <stddef.h>

struct kueue_link {
	struct kueue_link *prev, *next;
};

static inline void kueue_link_init(struct kueue_link *ring)
{
	ring->prev = ring->next = ring;
}

/* Of a member: whether it is in a ring. Of a head: whether somebody is in it. */
static inline bool kueue_link_is_in(const struct kueue_link *l)
{
	return l->next && l->next != l;
}

static inline void kueue_link_put(struct kueue_link *ring, struct kueue_link *l)
{
	l->prev = ring->prev;
	l->next = ring;
	ring->prev->next = l;
	ring->prev = l;
}

static inline void kueue_link_take(struct kueue_link *l)
{
	if (!l->next)
		return;
	l->prev->next = l->next;
	l->next->prev = l->prev;
	l->prev = l->next = NULL;
}

#endif
