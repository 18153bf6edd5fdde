#ifndef KINDS_JOB_REWRITE_H
#define KINDS_JOB_REWRITE_H
/*
 * A suspended copy that stands on a member becomes what the hub would create there now: what an
 * admission added to its pod templates is taken off, and what the present one adds is put there
 * (reference/kueue.md 2.11: restore and inject in one), with the new epoch and count of pods.
 *
 * Only what Kubernetes lets a queue change of a suspended job is touched: labels, annotations, node
 * selector and tolerations of the templates, and a Job's parallelism. Pure; net thread.
 */
#include "kinds/job_digest.h"

/* Appends a merge patch that turns `present` (the copy as it was read) into that, and demands its
 * uid and resourceVersion. `job` as for job_copy_make(). ERR_INVALID when that cannot be: above
 * all when the copy was made of another spec of the job. It has to be made anew then. */
int job_rewrite(const struct kind *k, const struct cJSON *present, struct cJSON *job,
		const struct job_copy_options *o, struct buf *out, struct err *reterr) MUST_CHECK;

#endif
