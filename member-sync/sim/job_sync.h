#ifndef MEMBER_SYNC_SIM_JOB_SYNC_H
#define MEMBER_SYNC_SIM_JOB_SYNC_H
/*
 * One look of a job controller at one job: what it sees, what it decides (batch_job.h,
 * training.h, job_set.h, ray_job.h), and carrying that out in the running step's batch.
 */
#include "member-sync/sim/cluster_priv.h"

/* Writes its status, pods, services and children as far as the batch takes them; what is left is
 * queued again. The record may be gone afterwards: a job that is over, and that nobody will ask
 * about, is forgotten. */
void job_sync(struct cluster *c, struct sim_job *j);

#endif
