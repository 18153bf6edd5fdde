#ifndef KUBE_COPY_RECLAIM_H
#define KUBE_COPY_RECLAIM_H
/*
 * How many pods of a job's copy will never be needed again: pods that succeeded and that its
 * controller will not follow up. Their quota goes to others while the rest of the job still runs
 * (reference/kueue.md 1.8, gate ReclaimablePods; KEP-78).
 *
 * Of batch/v1 Jobs and JobSets, the kinds that Kueue knows this of. A Job's pods follow each other
 * until `completions` of them succeeded: only when fewer are left to run than run side by side, the
 * difference is free. A JobSet's replicated job gives the pods of each replica that succeeded as a
 * whole. Pure.
 */
#include "base/arena.h"
#include "base/span.h"
#include <stddef.h>
#include <stdint.h>

#define COPY_MAX_RECLAIM 64 /* pod sets, as many as a job may have */

/* Pods by pod set, in the order of the job's sets; into `mem`. Returns how many sets there are, 0
 * where nothing is free (*ret is NULL then). `spec` and `status` are checked JSON text of the copy,
 * absent where it has none. What is malformed counts as absent. */
size_t copy_reclaim_read(uint16_t type, struct span spec, struct span status, struct arena *mem,
			 const int32_t **ret);

#endif
