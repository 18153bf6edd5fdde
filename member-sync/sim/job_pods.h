#ifndef MEMBER_SYNC_SIM_JOB_PODS_H
#define MEMBER_SYNC_SIM_JOB_PODS_H
/*
 * Making the pods of a job as its controller does: names, labels, annotations and owner
 * (kubernetes-api.md section 4), and the headless services beside a training job's pods.
 *
 * Names follow from the job's uid and the slot, so doing it twice makes one pod. JobSets make
 * Jobs, not pods: cluster_children.c.
 */
#include "member-sync/sim/cluster_priv.h"

/* Makes the pod of a slot (and its service) pending in the batch, and says so in an Event.
 * -EEXIST: a pod of that name is still there. Other errors are the registry's. */
int job_pods_create(struct cluster *c, struct sim_job *j, const struct plan_create *slot);
/* Deletes the service of a training job's slot; none is fine. */
void job_pods_drop_service(struct cluster *c, struct sim_job *j, const struct plan_create *slot);
/* The component that its Events come from; `out` holds it where it is not static. */
const char *job_pods_controller(const struct sim_job *j, char out[80]);

#endif
