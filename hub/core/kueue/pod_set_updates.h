#ifndef CORE_KUEUE_POD_SET_UPDATES_H
#define CORE_KUEUE_POD_SET_UPDATES_H
/*
 * What an admission adds to a job's pod templates when its copy is made (reference/kueue.md 2.11,
 * suspend): node labels and tolerations of the flavors, labels that name queue and pod set, what
 * checks say in podSetUpdates, the topology domain of the placement (core/domain.h), and fewer pods
 * after partial admission. The hub's own object is never touched, so an eviction has nothing to
 * restore: the next copy is made from it again.
 */
#include "core/kueue/workload.h"

/* A JSON array for job_copy_options.pod_set_updates; "[]" for one that holds nothing. */
void workload_pod_set_updates(struct core *c, const struct workload *w, struct buf *out);

#endif
