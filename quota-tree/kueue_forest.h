#ifndef QUOTA_TREE_KUEUE_FOREST_H
#define QUOTA_TREE_KUEUE_FOREST_H
/*
 * Cohorts, ClusterQueues, flavors, and what is charged to them: the arithmetic of
 * reference/kueue.md section 2.4, and Kueue's words for reading it.
 *
 * Nodes are ClusterQueues (leaves) and cohorts. A cell is one (flavor, resource) of one node, and
 * knows the cell of its parent. Every cohort tree has its own table of cells, compiled when one of
 * its objects has changed and somebody looks; other trees are not touched. What is charged survives
 * an edit; usage above a new quota is debt, which lowers what siblings may take.
 *
 * Why this is a table beside quota_tree.h's: what moves up past a node's local quota is the same
 * rule there, but (1) here rows are sparse, since every queue lists a few of the hundreds of
 * (flavor, resource) pairs of its tree; (2) what is free is read downwards from the root, where
 * debt makes it negative and takes from queues that stay within their own local quota (there, a
 * charge that its own floor absorbs asks nobody above); (3) sums saturate instead of refusing;
 * (4) one object of a live tree is edited in place, and trials are undone in place.
 *
 * Charges are tried in place: kueue_forest_mark() begins a trial, kueue_forest_rollback() undoes
 * all charges and releases since and ends it. Trials nest. No copy is ever made. Nothing is edited
 * while a trial is open.
 *
 * Sums saturate as Kueue's do (pkg/resources/amount.go): quotas at QUOTA_UNLIMITED, bounded sums
 * one below it. A cycle of cohorts disables its whole tree: its queues are inactive and every cell
 * of them stands alone, without a parent; what they hold stays charged.
 *
 * Pure; one thread. Numbers of nodes and flavors are stable while their names live.
 */
#include "base/err.h"
#include "quota-tree/kueue_spec.h"

struct kueue_forest;

struct kueue_forest *kueue_forest_create(const struct kueue_options *options);
/* NULL is accepted; returns NULL. Nobody may be filed in it any more (kueue_workload.h). */
struct kueue_forest *kueue_forest_destroy(struct kueue_forest *f);
const struct kueue_options *kueue_forest_options(const struct kueue_forest *f);

/* Create or replace, by name; everything is copied. ERR_INVALID with a field path beyond the limits
 * of kueue_spec.h, ERR_TOO_MANY beyond those of the forest. */
int kueue_forest_set_flavor(struct kueue_forest *f, const struct kueue_flavor_spec *spec,
			    struct err *reterr) MUST_CHECK;
int kueue_forest_set_cohort(struct kueue_forest *f, const struct kueue_cohort_spec *spec,
			    struct err *reterr) MUST_CHECK;
int kueue_forest_set_queue(struct kueue_forest *f, const struct kueue_queue_spec *spec,
			   struct err *reterr) MUST_CHECK;
/* A flavor whose topology was not set is nobody's alone. (Kueue never gets that far: its queues are
 * inactive with TopologyNotFound, which is core's word here.) */
int kueue_forest_set_topology(struct kueue_forest *f, const struct kueue_topology_spec *spec,
			      struct err *reterr) MUST_CHECK;
void kueue_forest_remove_topology(struct kueue_forest *f, struct span name);
void kueue_forest_remove_flavor(struct kueue_forest *f, struct span name);
void kueue_forest_remove_cohort(struct kueue_forest *f, struct span name);
/* A queue that still holds charges keeps its node until the last is released. */
void kueue_forest_remove_queue(struct kueue_forest *f, struct span name);

/* Numbers, or KUEUE_NONE. A cohort has one as soon as somebody names it as parent, a flavor as soon
 * as some quota names it, and keeps it for ever. Queue names and cohort names are two spaces, node
 * numbers are one. */
uint32_t kueue_forest_queue(const struct kueue_forest *f, struct span name);
uint32_t kueue_forest_cohort(const struct kueue_forest *f, struct span name);
uint32_t kueue_forest_flavor(const struct kueue_forest *f, struct span name);
/* The number of a flavor that no object need have yet: what a recorded admission names. KUEUE_NONE
 * only when the forest is full. */
uint32_t kueue_forest_intern_flavor(struct kueue_forest *f, struct span name);
struct span kueue_forest_name(const struct kueue_forest *f, uint32_t node);
struct span kueue_forest_flavor_name(const struct kueue_forest *f, uint32_t flavor);
uint32_t kueue_forest_parent(const struct kueue_forest *f, uint32_t node); /* or KUEUE_NONE */
/* Of a node in a cycle: the node itself. */
uint32_t kueue_forest_root(const struct kueue_forest *f, uint32_t node);
bool kueue_forest_is_queue(const struct kueue_forest *f, uint32_t node);
/* Children in order of their names, cohorts before queues: the i-th, KUEUE_NONE beyond the last. */
uint32_t kueue_forest_child(const struct kueue_forest *f, uint32_t node, size_t i);
/* As it was set, in the forest's own memory; valid until it is set again. NULL when it is not (a
 * queue that was removed, a flavor that only quotas name). */
const struct kueue_queue_spec *kueue_forest_queue_spec(const struct kueue_forest *f,
						       uint32_t queue);
const struct kueue_flavor_spec *kueue_forest_flavor_spec(const struct kueue_forest *f,
							 uint32_t flavor);

/* Why a queue takes nobody (reference 1.4, Active). */
enum kueue_inactive {
	KUEUE_ACTIVE = 0,
	KUEUE_STOPPED,
	KUEUE_FLAVOR_NOT_FOUND,
	KUEUE_COHORT_CYCLE,
	KUEUE_INACTIVE_BY_CORE,
};
enum kueue_inactive kueue_forest_active(const struct kueue_forest *f, uint32_t queue);

/* Grows when this queue could take more for a reason of its own: a release there, an edit of its
 * tree. Resume of flavors hangs on it (Kueue's AllocatableResourceGeneration). Trials do not count.
 */
uint64_t kueue_forest_generation(const struct kueue_forest *f, uint32_t queue);
/* Grows by every release or edit anywhere in the node's tree. For wake-up. */
uint64_t kueue_forest_tree_generation(const struct kueue_forest *f, uint32_t node);

/* A part of what a workload holds: each (flavor, resource) once, values > 0. `resource` is the
 * forest's number of its name. */
struct kueue_use {
	uint32_t flavor;
	uint32_t resource;
	int64_t value;
};
/* Interns; KUEUE_NONE only when the forest has KUEUE_MAX_NAMES of them. */
uint32_t kueue_forest_resource(struct kueue_forest *f, struct span name);
uint32_t kueue_forest_find_resource(const struct kueue_forest *f, struct span name);
struct span kueue_forest_resource_name(const struct kueue_forest *f, uint32_t resource);

/* Charges and releases never fail and ask nobody: the caller has asked with the functions below,
 * or restores what already runs. O(depth x uses). Cells that the queue does not list have no quota
 * of their own: all that is charged there counts as borrowed, up to the root. */
void kueue_forest_charge(struct kueue_forest *f, uint32_t queue, const struct kueue_use *uses,
			 size_t n);
void kueue_forest_release(struct kueue_forest *f, uint32_t queue, const struct kueue_use *uses,
			  size_t n);
size_t kueue_forest_mark(struct kueue_forest *f);
void kueue_forest_rollback(struct kueue_forest *f, size_t mark);

/* Whether the queue itself lists the cell: the only ones it may be assigned. */
bool kueue_forest_lists(const struct kueue_forest *f, uint32_t queue, uint32_t flavor,
			uint32_t resource);

/* Whether a resource group of the queue covers the resource. */
bool kueue_forest_covers(const struct kueue_forest *f, uint32_t queue, uint32_t resource);

/* Reading a cell (reference 2.4). Absent cells read as zero. `node` may be a cohort where the
 * name does not say queue. */
int64_t kueue_forest_nominal(const struct kueue_forest *f, uint32_t node, uint32_t flavor,
			     uint32_t resource); /* its own quota */
int64_t kueue_forest_subtree(const struct kueue_forest *f, uint32_t node, uint32_t flavor,
			     uint32_t resource);
int64_t kueue_forest_usage(const struct kueue_forest *f, uint32_t node, uint32_t flavor,
			   uint32_t resource);
int64_t kueue_forest_borrowed(const struct kueue_forest *f, uint32_t queue, uint32_t flavor,
			      uint32_t resource); /* max(0, usage - nominal) */
int64_t kueue_forest_available(const struct kueue_forest *f, uint32_t queue, uint32_t flavor,
			       uint32_t resource); /* clamped to 0 */
int64_t kueue_forest_potential(const struct kueue_forest *f, uint32_t node, uint32_t flavor,
			       uint32_t resource);
bool kueue_forest_fits(const struct kueue_forest *f, uint32_t queue, const struct kueue_use *uses,
		       size_t n);
/* Whether the node uses more than its subtree's quota in any of these cells; values are not looked
 * at. */
bool kueue_forest_borrows_on(const struct kueue_forest *f, uint32_t node,
			     const struct kueue_use *uses, size_t n);
/* Whether the queue would use more than its own nominal in any of these cells with them added. */
bool kueue_forest_borrows_with(const struct kueue_forest *f, uint32_t queue,
			       const struct kueue_use *uses, size_t n);
/* Height of the lowest subtree on the path whose quota would hold `value` more of the cell beside
 * what it uses, else of the whole tree; 0: the queue itself, no borrowing. *ret_may_reclaim (may be
 * NULL): whether that subtree is smaller than the whole tree, so that it could take back what
 * others borrow. */
uint32_t kueue_forest_borrow_level(const struct kueue_forest *f, uint32_t queue, uint32_t flavor,
				   uint32_t resource, int64_t value, bool *ret_may_reclaim);

/* Fair sharing (reference 2.7): the dominant share of a node as it stands (charge a workload first
 * to see the share after it). A root's is 0. */
struct kueue_share {
	double value;	   /* ratio / weight; infinite for weight 0 while ratio > 0 */
	double ratio;	   /* of the dominant resource: borrowed x 1000 / lendable */
	uint32_t resource; /* that resource, or KUEUE_NONE: borrows nothing that is lent */
	bool borrows; /* some of it is above quota, if nothing may be lent too (then it is 0) */
};
struct kueue_share kueue_forest_share(const struct kueue_forest *f, uint32_t node);
/* Negative, 0 or positive: infinite shares are compared by their ratio. */
int kueue_share_cmp(struct kueue_share a, struct kueue_share b);
/* As status.fairSharing.weightedShare shows it: rounded up, INT64_MAX for infinite. */
int64_t kueue_share_status(struct kueue_share share);

/* AdmissionFairSharing: decayed usage by struct kueue_workload.local_queue, for the order of
 * victims in queues that have it on. Borrowed, read during searches; NULL: off. */
void kueue_forest_set_local_usage(struct kueue_forest *f, const double *by_local_queue, size_t n);

/* Recomputes everything from what queues hold and compares; for tests. ERR_INTERNAL with the first
 * difference. */
int kueue_forest_check(struct kueue_forest *f, struct err *reterr) MUST_CHECK;

#endif
