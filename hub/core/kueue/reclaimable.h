#ifndef CORE_KUEUE_RECLAIMABLE_H
#define CORE_KUEUE_RECLAIMABLE_H
/*
 * status.reclaimablePods (gate ReclaimablePods; KEP-78): pods of a workload that will not run again
 * give their quota back while the others still run.
 *
 * A job's are read off its copy's status (kube/copy_reclaim.h) and told in the row; a workload
 * without a job has what its creator writes there. While quota is held they only grow, as Kueue's
 * webhook has it: what was given back may have been given to others. A job that gave all its quota
 * back begins anew, maybe elsewhere, and asks for all its pods: nothing of it is reclaimable then.
 */
#include "core/kueue/workload_status.h"
#include "kube/copy_info.h"

/* What the copy of its job says now; for a running placement. */
void reclaimable_take(struct core *c, struct workload *w, const struct copy_info *copy);
/* What the row says: written by somebody else, or read at start. */
void reclaimable_read(struct core *c, struct workload *w, const struct workload_digest *d,
		      const struct workload_status *s);
/* A job's quota was given back. */
void reclaimable_forget(struct core *c, struct workload *w);

#endif
