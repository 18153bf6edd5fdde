#ifndef CORE_QUOTA_PREVIEW_H
#define CORE_QUOTA_PREVIEW_H
/*
 * What an edit of the quota tree would do, before it is done: a dry run's warnings name the jobs
 * whose fate changes (DESIGN section 5).
 *
 * Decided by the quota engine on a trial: the new tree and a new set of queues, with every job
 * filed as the edit would file it. A waiting job that the trial offers, and for which some cluster
 * has room now, would start; each is placed by itself, so a cluster may be counted on twice. A
 * running job is never evicted by an edit, but may stand above a max, and hold others up; where the
 * tree has reclaim on, the first round of it is shown. Each
 * kind of change names at most QUOTA_PREVIEW_NAMES jobs, then a number. Nothing is changed.
 */
#include "core/state.h"

#define QUOTA_PREVIEW_NAMES 20

/* `root`: of the tree that would be in force, NULL for none. Lines, each ended by a newline. */
void quota_preview(struct core *c, const struct elastic_node_spec *root, struct buf *warnings);

#endif
