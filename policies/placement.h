#ifndef POLICIES_PLACEMENT_H
#define POLICIES_PLACEMENT_H
/*
 * Which cluster takes a gang: candidates, fit, score, and the reasons for all others.
 *
 * An ask is (shape, placement of a policy, API kind): all jobs with the same ask share one ordered
 * structure over the clusters. A decision first looks again at the clusters that changed since
 * this ask was last decided, then takes the best; it never walks all clusters. Asks are counted
 * references: core holds one for each job that waits or runs.
 *
 * Candidate: selected by an affinity group of the policy, not excluded, taints tolerated, API kind
 * served, not cordoned, Ready and fresh. Of the candidates on which the whole gang fits, the best
 * has, compared in this order:
 *   1. the earliest affinity group;
 *   2. the smallest holes to fill: a hole is what pods of the (largest) set fit on a node, on a
 *      scale of powers of two; nodes with free devices that the pod does not ask for come after all
 * others;
 *   3. the tightest fit: the fewest pods of that kind still fitting afterwards, so that large
 *      room stays in one piece elsewhere;
 *   4. the lowest load (largest share of any resource in use, in thousandths);
 *   5. the smaller name.
 * So a decision depends on the present content of the fleet alone, not on how it came about.
 *
 * Deciding changes nothing: core charges it with ledger_assume() in the commit that records it.
 * To ask "what if these jobs were gone", release, decide, and charge again.
 */
#include "policies/fit.h"
#include "policies/propagation.h"
#include "policies/verdict.h"

struct placer;
struct ask;

struct placer *placer_create(struct fleet *f);	 /* the fleet must outlive it */
struct placer *placer_destroy(struct placer *p); /* all asks must have been given back */

/* The ask for (shape, placement, kind), with one more reference. `placement` is copied; its limits
 * are those of propagation_policy_check(). ERR_INVALID with a field path beyond them. */
int placer_ask_ref(struct placer *p, struct shape *shape, const struct placement_spec *placement,
		   const struct api_kind *kind, struct ask **ret, struct err *reterr) MUST_CHECK;
struct ask *ask_dup_ref(struct ask *a);
void placer_ask_unref(struct placer *p, struct ask *a); /* NULL is fine */
struct shape *ask_shape(const struct ask *a);		/* borrowed */
uint32_t ask_id(const struct ask *a);			/* dense, reused after the last unref */

/* A cluster that this job must not go to now: it was refused there, or is being taken back, or the
 * cluster is kept free for a gang that starves. */
struct placement_exclusion {
	uint32_t cluster;
	int64_t until_us; /* counts while now_us < until_us */
	bool reserved;	  /* reservation.h */
};

/* Whether one of the n keeps the cluster out now. */
bool placement_is_excluded(const struct placement_exclusion *excluded, size_t n, uint32_t cluster,
			   int64_t now_us);

struct placement_decision {
	uint32_t cluster;	      /* CLUSTER_NONE: nowhere now */
	uint32_t group;		      /* affinity group it was found in */
	const struct fit_slot *slots; /* borrowed until the next fit or decision on this fleet */
	size_t n_slots;
};

/* Decides. True when some cluster takes the whole gang. At most 64 exclusions count. */
bool placement_decide(struct placer *p, struct ask *a, const struct placement_exclusion *excluded,
		      size_t n_excluded, int64_t now_us, struct placement_decision *ret);

/* One cluster only, whatever its score: for a job bound to a member (a Workload, a
 * ProvisioningRequest) and for trials. False when it is no candidate or the gang does not fit. */
bool placement_decide_on(struct placer *p, struct ask *a, uint32_t cluster,
			 struct placement_decision *ret);

/*
 * The verdict of every cluster, in order of name, computed now and from scratch: the same answer as
 * placement_decide() without any cache. Fills at most `cap` and returns how many clusters there
 * are. Verdicts borrow from fleet and ask until either changes.
 */
size_t placement_explain(struct placer *p, struct ask *a,
			 const struct placement_exclusion *excluded, size_t n_excluded,
			 int64_t now_us, struct verdict *verdicts, size_t cap);

/* Whether the verdicts say that the job can never run as fleet and policy are. */
bool placement_never_fits(const struct verdict *verdicts, size_t n);

/* What placement costs and does, for metrics. */
struct placer_stats {
	uint64_t decisions;	  /* asked */
	uint64_t placed;	  /* answered with a cluster */
	uint64_t rescored;	  /* (ask, cluster) pairs looked at again */
	uint64_t packings;	  /* fits computed node by node */
	uint64_t failed_packings; /* of those, refused */
	uint32_t asks;
};
void placer_stats(const struct placer *p, struct placer_stats *ret);

#endif
