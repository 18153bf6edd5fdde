#ifndef QUOTA_TREE_KUEUE_PARKED_H
#define QUOTA_TREE_KUEUE_PARKED_H
/*
 * What a parked class lacks, written down so that what could help it finds it. Internal to the
 * queues.
 *
 * A class is hopeless because one of its pod sets found no flavor for one resource group. For each
 * flavor of that group that is not ruled out until an edit (taints, labels, potential), some
 * resource is short: more is needed than could be there with all that the queue could possibly
 * preempt or reclaim (kueue_bound.h). As long as that bound lies below the need, the flavor cannot
 * serve it, whatever else changes; so one such cell for each flavor proves the class hopeless, and
 * the class is filed there by its need (kueue_wait.h).
 */
#include "quota-tree/kueue_assign.h"
#include "quota-tree/kueue_wait.h"

/* Files a class that was just parked after this attempt. `reserves`: a try of it would hold
 * capacity for the round. */
void kueue_parked_file(struct kueue_queues *q, struct kueue_class *c,
		       const struct kueue_assignment *a, bool reserves);
/* Files a wait under the first of its class' demands that its flavor lacks; false, and in no group,
 * when it lacks none. */
bool kueue_parked_refile(struct kueue_queues *q, struct kueue_wait *w);
/* Forgets what it lacks. */
void kueue_parked_clear(struct kueue_queues *q, struct kueue_class *c);
/* Nothing tells what it lacks: it is tried at every release in its tree. */
void kueue_parked_make_restless(struct kueue_class *c);
/* Around a change of its head. */
void kueue_parked_lift(struct kueue_class *c);
void kueue_parked_drop(struct kueue_class *c);

#endif
