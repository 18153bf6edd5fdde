#ifndef KINDS_JOB_AMEND_H
#define KINDS_JOB_AMEND_H
/*
 * What users write into a job whose copy stands on a member, carried over to that copy.
 *
 * Edits are kept as paths: an object shaped like a merge patch, {"metadata":{"labels":{"a":null}},
 * "spec":{"parallelism":null}}, in which null stands where something was written and says nothing
 * of what. Paths of several edits are joined, and the patch takes each path's value from the job
 * as it is when the patch is made, so that it may be made again, of a later job, without harm
 * whatever became of an earlier one. Lists are one value.
 *
 * No paths: what belongs to the hub on a copy (its marks, the queue's name, suspend, the time to
 * live that the hub keeps itself) and everything outside of labels, annotations and spec. Pure.
 */
#include "kinds/job_digest.h"

/* Appends the paths in which two versions of a job differ (checked JSON text); nothing when a copy
 * would be the same. ERR_TOO_LARGE into reterr when `out` has no room for them. */
int job_edit_paths(const struct kind *k, struct span was, struct span is, struct buf *out,
		   struct err *reterr) MUST_CHECK;

/* Appends the paths of both (texts of the function above); one that ends earlier stands for all
 * below it. ERR_INTERNAL when they are not what they ought to be. */
int job_edit_join(struct span a, struct span b, struct buf *out, struct err *reterr) MUST_CHECK;

/* Appends of the paths that member of the object, or all but that one; nothing when none is left.
 */
void job_edit_part(struct span paths, const char *member, bool others, struct buf *out);

/* "metadata.labels.a, spec.parallelism", as far as `out` has room. */
void job_edit_words(const struct cJSON *paths, struct buf *out);

/* Appends the merge patch by which the copy `present`, as it was read, has at these paths what one
 * made of `job` now has there, and demands its uid and resourceVersion. `job` as for
 * job_copy_make(). ERR_INVALID when no copy can be made of the job. */
int job_amend(const struct kind *k, const struct cJSON *present, struct cJSON *job,
	      const struct cJSON *paths, const struct job_copy_options *o, struct buf *out,
	      struct err *reterr) MUST_CHECK;

#endif
