#ifndef POLICIES_JOB_SHAPE_H
#define POLICIES_JOB_SHAPE_H
/*
 * The shape of a job: a list of pod sets (master and worker, head and groups, replicated jobs),
 * without who asked.
 *
 * Two jobs of one shape share all work of placement, so a kept shape is canonical: pairs, terms
 * and tolerations are sorted, zero requests dropped, and every pod asks for one slot of `pods`
 * without saying so. The struct is a view; fleet_shape_ref() keeps a canonical copy.
 */
#include "policies/pod_set.h"

struct job_shape {
	const struct pod_set *sets;
	size_t n_sets;
	/* alpha.jobset.sigs.k8s.io/exclusive-topology: a node label; each group of each set gets
	 * a domain that holds no other exclusive group. Absent: none. */
	struct span exclusive_topology;
};

/* Checks limits and signs. ERR_INVALID with the field path (podSets[1].count) and both numbers. */
int job_shape_check(const struct job_shape *shape, struct err *reterr) MUST_CHECK;

/* A canonical deep copy in `a`, see pod_set_canonical(). Set order is kept: it is what users see.
 * The shape must have passed job_shape_check(). */
struct job_shape job_shape_canonical(struct arena *a, const struct job_shape *shape);

/* Appends bytes that are equal exactly when two canonical shapes are. */
void job_shape_key(const struct job_shape *shape, struct buf *out);

/* Pods over all sets. */
int64_t job_shape_pods(const struct job_shape *shape);

#endif
