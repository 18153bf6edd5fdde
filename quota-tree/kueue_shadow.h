#ifndef QUOTA_TREE_KUEUE_SHADOW_H
#define QUOTA_TREE_KUEUE_SHADOW_H
/*
 * When quota for one that waits will be there, and who may take some of it until then: the shadow
 * time of EASY backfill (reference/reliability-performance.md section E.1), for the quota of a
 * cohort tree instead of the nodes of a cluster.
 *
 * The shadow time is the first at which it fits if everybody who holds quota keeps it until his
 * end and nobody new comes; it is searched by halves, so that of one that would be admitted after
 * some end and not after a later one (its pod sets take each other's flavors then, or it would
 * rather preempt) it may be a later time at which it fits.
 *
 * Several that wait are looked at one after the other: each finds the quota of those before it
 * charged already, from now until they end. So a later one is promised nothing that an earlier one
 * needs.
 *
 * Until then somebody else may be charged where that does not matter (kueue_shadow_lets): in other
 * cells; within the quota of his own side of the cohort, for what is lent out is never kept from
 * its lender (reference/kueue.md section 2.4: borrowing is using what others leave); when he ends
 * before the shadow time; or when it fits beside him then. The last is read from the slack: how
 * much more could be charged at each node of its path without it ceasing to fit.
 *
 * Whoever must borrow is promised nothing for certain: `lender` is the one that could take back
 * the most of what it would borrow, if it would fit no more once every lender used all that is his
 * (one whose own quota has no end needs nothing of what he lends).
 *
 * Pure; one thread. Who waits, in which order, and who ends when, is core's to know.
 */
#include "base/vec.h"
#include "quota-tree/kueue_workload.h"

#define KUEUE_SHADOW_NEVER INT64_MAX

/* Somebody who holds quota of the tree. */
struct kueue_ending {
	int64_t at; /* KUEUE_SHADOW_NEVER: not known */
	uint32_t queue;
	const struct kueue_use *uses;
	size_t n_uses;
	struct kueue_workload *holder; /* or NULL: one that is filed with nobody */
};

/* What a side of the cohort has of its own at the shadow time and does not use: one use of the
 * one that waits. */
struct kueue_side_room {
	uint32_t side, use;
	int64_t room;
};

struct kueue_shadow {
	/* in: who waits, and how long he will hold it (KUEUE_SHADOW_NEVER: not known). Of a
	 * workload the flavors are found by the engine's rules (kueue_assign.h), those that come
	 * free first; without one the uses are given. */
	uint32_t queue;
	const struct kueue_workload *workload;
	int64_t limit;
	/* in or out: what it would be charged; of a workload, memory of `found` */
	const struct kueue_use *uses;
	size_t n_uses;
	struct VEC(struct kueue_use) found;
	/* out */
	int64_t at;	 /* the shadow time; KUEUE_SHADOW_NEVER: at no time that is known */
	uint32_t lender; /* queue or cohort, KUEUE_NONE: the time holds whatever lenders do */
	bool borrows;	 /* its queue would stand above its own nominal quota with it */
	/* By node of the path from the queue up, n_uses of each; only where `at` is known. */
	struct VEC(int64_t) slack;
	/* Of sides that have any; only without a lender, the slack is beside these. */
	struct VEC(struct kueue_side_room) rooms;
};

void kueue_shadow_done(struct kueue_shadow *s);

/* By their ends; of equal ends the order does not matter. */
void kueue_ending_sort(struct kueue_ending *endings, size_t n);

/* Fills the outs of all of them, first to last; all of one cohort tree. `endings` are all that is
 * charged in the tree, sorted; ends that have passed count as now. Leaves the forest as it was.
 * O(n_shadows x (endings x depth + nodes of the tree + log(endings) x a try)). */
void kueue_shadow_cast(struct kueue_forest *f, struct kueue_shadow *const *shadows,
		       size_t n_shadows, const struct kueue_ending *endings, size_t n, int64_t now);

/* Whether these may be charged to a queue until `ends_at` (KUEUE_SHADOW_NEVER: nobody knows)
 * without delaying it: asks as above; where no shadow time is known only its own queue is refused.
 */
bool kueue_shadow_lets(const struct kueue_forest *f, const struct kueue_shadow *s, uint32_t queue,
		       const struct kueue_use *uses, size_t n, int64_t ends_at);
/* They were charged: the slack is less by them, until it is cast anew. */
void kueue_shadow_took(const struct kueue_forest *f, struct kueue_shadow *s, uint32_t queue,
		       const struct kueue_use *uses, size_t n, int64_t ends_at);

/* The last nodes before the two paths meet; false when one queue is the other, or they never do. */
bool kueue_shadow_sides(const struct kueue_forest *f, uint32_t a, uint32_t b, uint32_t *ret_a,
			uint32_t *ret_b);

#endif
