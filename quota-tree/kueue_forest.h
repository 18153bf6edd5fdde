#ifndef QUOTA_TREE_KUEUE_FOREST_H
#define QUOTA_TREE_KUEUE_FOREST_H
/*
 * Cohorts, ClusterQueues, flavors, and what is charged to them: the arithmetic of
 * reference/kueue.md section 2.4, and Kueue's words for reading it.
 *
 * Nodes are ClusterQueues (leaves) and cohorts. A cell is one (flavor, resource) of one node. Every
 * cohort tree has its own dense table of cells, compiled when one of its objects has changed and
 * somebody looks; other trees are not touched. What is charged survives an edit; usage above a new
 * quota is debt, which lowers what siblings may take.
 *
 * Charges are tried in place: kueue_forest_mark() begins a trial, kueue_forest_rollback() undoes
 * all charges and releases since. Trials nest. No copy is ever made.
 *
 * Sums saturate at QUOTA_UNLIMITED, as Kueue's do. A cycle of cohorts disables its whole tree: its
 * queues are inactive, what they hold stays charged.
 *
 * Pure; one thread. Numbers of nodes and flavors are stable while their names live.
 */
#include "base/err.h"
#include "quota-tree/kueue_spec.h"

struct kueue_forest;

struct kueue_forest *kueue_forest_create(const struct kueue_options *options);
struct kueue_forest *kueue_forest_destroy(struct kueue_forest *f);

/* Create or replace, by name; everything is copied. ERR_INVALID with a field path beyond the limits
 * of kueue_spec.h. */
int kueue_forest_set_flavor(struct kueue_forest *f, const struct kueue_flavor_spec *spec,
			    struct err *reterr) MUST_CHECK;
int kueue_forest_set_cohort(struct kueue_forest *f, const struct kueue_cohort_spec *spec,
			    struct err *reterr) MUST_CHECK;
int kueue_forest_set_queue(struct kueue_forest *f, const struct kueue_queue_spec *spec,
			   struct err *reterr) MUST_CHECK;
void kueue_forest_remove_flavor(struct kueue_forest *f, struct span name);
void kueue_forest_remove_cohort(struct kueue_forest *f, struct span name);
/* A queue that still holds charges keeps its node until the last is released. */
void kueue_forest_remove_queue(struct kueue_forest *f, struct span name);

uint32_t kueue_forest_queue(const struct kueue_forest *f, struct span name);  /* or KUEUE_NONE */
uint32_t kueue_forest_cohort(const struct kueue_forest *f, struct span name); /* or KUEUE_NONE */
uint32_t kueue_forest_flavor(const struct kueue_forest *f, struct span name); /* or KUEUE_NONE */
struct span kueue_forest_name(const struct kueue_forest *f, uint32_t node);
struct span kueue_forest_flavor_name(const struct kueue_forest *f, uint32_t flavor);
uint32_t kueue_forest_parent(const struct kueue_forest *f, uint32_t node);
uint32_t kueue_forest_root(const struct kueue_forest *f, uint32_t node);
/* The queue as it was set, in the forest's own memory; valid until it is set again. */
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

/* Grows by every change that could let a queue of this tree take more: an edit, a release. For
 * resume and wake-up rules. */
uint64_t kueue_forest_generation(const struct kueue_forest *f, uint32_t node);

/* A part of what a workload holds: sorted by (flavor, resource), values > 0. `resource` is the
 * forest's number of its name. */
struct kueue_use {
	uint32_t flavor;
	uint32_t resource;
	int64_t value;
};
uint32_t kueue_forest_resource(struct kueue_forest *f, struct span name); /* interns */
uint32_t kueue_forest_find_resource(const struct kueue_forest *f, struct span name);
struct span kueue_forest_resource_name(const struct kueue_forest *f, uint32_t resource);

/* Charges and releases never fail and ask nobody: the caller has asked with the functions below,
 * or restores what already runs. O(depth x uses). Uses of cells that the queue does not list are
 * counted at the queue and never compared. */
void kueue_forest_charge(struct kueue_forest *f, uint32_t queue, const struct kueue_use *uses,
			 size_t n);
void kueue_forest_release(struct kueue_forest *f, uint32_t queue, const struct kueue_use *uses,
			  size_t n);
size_t kueue_forest_mark(struct kueue_forest *f);
void kueue_forest_rollback(struct kueue_forest *f, size_t mark);

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
bool kueue_forest_lists(const struct kueue_forest *f, uint32_t queue, uint32_t flavor,
			uint32_t resource);
bool kueue_forest_fits(const struct kueue_forest *f, uint32_t queue, const struct kueue_use *uses,
		       size_t n);
/* Height of the lowest subtree on the path whose quota would hold `value` more of the cell beside
 * what it uses; 0: the queue itself, no borrowing. *ret_may_reclaim (may be NULL): whether a
 * smaller subtree could hold it if others gave back what they borrowed. */
uint32_t kueue_forest_borrow_level(const struct kueue_forest *f, uint32_t queue, uint32_t flavor,
				   uint32_t resource, int64_t value, bool *ret_may_reclaim);

/* Fair sharing (reference 2.7): the share of a node with `uses` (may be none) added to it; the
 * resource that decides it; infinite for weight 0 while borrowing. A root's share is 0. */
struct kueue_share {
	double value;
	uint32_t resource; /* or KUEUE_NONE: borrows nothing */
};
struct kueue_share kueue_forest_share(struct kueue_forest *f, uint32_t node);
/* As status.fairSharing.weightedShare shows it. */
int64_t kueue_share_status(struct kueue_share share);

/* Recomputes everything from what queues hold and compares; for tests. */
int kueue_forest_check(struct kueue_forest *f, struct err *reterr) MUST_CHECK;

#endif
