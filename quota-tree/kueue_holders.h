#ifndef QUOTA_TREE_KUEUE_HOLDERS_H
#define QUOTA_TREE_KUEUE_HOLDERS_H
/*
 * Those that hold quota, filed with their queue in the order in which they would be victims:
 * evicted first, then lower priority, later reserved, lower uid (reference/kueue.md section 2.6).
 * A search for victims reads these lists and never looks at who waits.
 *
 * What the order looks at must not change while one is filed.
 */
#include "quota-tree/kueue_workload.h"

/* Charges w->uses to its queue and files it. Its state is RESERVING, ADMITTED or EVICTED. */
void kueue_holders_add(struct kueue_forest *f, struct kueue_workload *w);
/* Releases w->uses and takes it out. */
void kueue_holders_remove(struct kueue_forest *f, struct kueue_workload *w);
/* Around a change of state, priority or reserved_at of one that is filed; charges stay. */
void kueue_holders_unfile(struct kueue_forest *f, struct kueue_workload *w);
void kueue_holders_file(struct kueue_forest *f, struct kueue_workload *w);

/* w->taken: its quota is released on trial already (a victim of an earlier entry of the cycle), so
 * that searches pass over it. */
static inline void kueue_holders_set_taken(struct kueue_workload *w, bool taken)
{
	w->taken = taken;
}

/* Victim order within one queue: total. Negative when a goes first. */
int kueue_holders_cmp(const struct kueue_workload *a, const struct kueue_workload *b);
size_t kueue_holders_count(const struct kueue_forest *f, uint32_t queue);
/* The place-th to be a victim of the queue; NULL beyond the last. O(log n). */
struct kueue_workload *kueue_holders_at(const struct kueue_forest *f, uint32_t queue, size_t place);

#endif
