#ifndef KUBE_MANAGED_CONFLICTS_H
#define KUBE_MANAGED_CONFLICTS_H
/*
 * The conflicts of one apply as a Status says them. Internal to managed_*.c.
 *
 * Words and order are those of apimachinery's managedfields package: kubectl prints the message as
 * it is, and tools read the causes.
 */
#include "kube/managed_priv.h"

struct managed_conflict {
	const struct managed_entry *entry;
	struct field_set set; /* what it owns of that which would change */
};

/* A conflict over replicas as it is told to who applies a Scale: in the Scale's words. */
struct managed_conflict managed_conflict_of_scale(struct arena *mem, const struct managed_entry *e);

/* Sorts the list by manager and fills *out, in the arena. Empty sets are left out. */
void managed_conflicts_tell(struct arena *mem, struct managed_conflict *list, size_t n,
			    struct managed_conflicts *out);

#endif
