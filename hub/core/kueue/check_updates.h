#ifndef CORE_KUEUE_CHECK_UPDATES_H
#define CORE_KUEUE_CHECK_UPDATES_H
/*
 * What the controllers of checks ask of a workload's pods: podSetUpdates of the checks that are
 * Ready (status.admissionChecks). Node selectors and tolerations among them count when a member is
 * looked for, which happens when all checks are Ready: a gang is not sent where none of its pods
 * could stand. All of them go into the copy (pod_set_updates.h).
 *
 * They add, and never replace: two checks, or a check and a flavor or the pod template, that say
 * different things about one key cannot both be obeyed (Kueue's pkg/podset, Merge). Kueue then ends
 * the workload as failed to start, and its job stays suspended for good; here the workload is
 * deactivated with the same words, so that it may start when a controller has mended what it says.
 * What the hub's own controller of ProvisioningRequests says is asked elsewhere
 * (provisioning_check.h).
 *
 * Read from the Workload's row each time: the row is the only place where they are.
 */
#include "core/kueue/workload.h"

struct job_term;

/* Adds to each pod set's term what checks ask of its nodes. Nothing for a workload that holds no
 * quota: what an earlier admission's checks said is over. Memory from `mem`. */
void check_updates_terms(const struct core *c, const struct workload *w, struct arena *mem,
			 struct job_term *terms, size_t n);
/* Whether they contradict each other, the node labels of the flavors or the job's own pod
 * templates; the words are Kueue's. */
bool check_updates_conflict(const struct core *c, const struct workload *w, struct buf *words);

#endif
