#ifndef CORE_KUEUE_MULTIKUEUE_H
#define CORE_KUEUE_MULTIKUEUE_H
/*
 * MultiKueue's words in a hub that places whole jobs by itself: an AdmissionCheck of controller
 * kueue.x-k8s.io/multikueue names a MultiKueueConfig, whose clusters are the candidates of the
 * queue's jobs, in its order. A name there is that of a member cluster; a MultiKueueCluster of the
 * name says whether it has joined, its credentials are not read. Nothing is raced: the check is
 * Ready, and status.clusterName written, in the commit that places the job.
 * (reference/kueue.md 2.9.)
 */
#include "core/kueue/kueue.h"
#include "policies/placement_spec.h"

#define MULTIKUEUE_CONTROLLER "kueue.x-k8s.io/multikueue"

struct admission_check;

/* ---- objects ---- */

void multikueue_observe_config(struct core *c, const struct store_object *o);
void multikueue_forget_config(struct core *c, struct span name);
void multikueue_observe_cluster(struct core *c, const struct store_object *o);
void multikueue_forget_cluster(struct core *c, struct span name);
/* A member cluster has joined or left. */
void multikueue_members_changed(struct core *c);
void multikueue_done(struct kueue *k);

/* ---- checks ---- */

bool multikueue_is_check(const struct core *c, struct span check);
/* How many of these checks are others, which an admission waits for. */
size_t multikueue_others(const struct core *c, const char *const *checks, size_t n);
/* The check's Active condition: its reason, and the sentence into `out`. */
const char *multikueue_activity(const struct core *c, const struct admission_check *a,
				bool *ret_active, struct buf *out);
/* Why the queue cannot use its checks, as a reason of Active, and in words appended to `out`; NULL:
 * it is not for this reason, the `which`-th of MULTIKUEUE_PROBLEMS. */
enum { MULTIKUEUE_PROBLEMS = 3 };
const char *multikueue_problem(const struct core *c, const struct cluster_queue *q, size_t which,
			       struct buf *out);
/* Writes Active of the MultiKueueClusters where it has changed; false: no room for all. */
bool multikueue_flush_clusters(struct core *c);

/* ---- jobs ---- */

/* Narrows the placement of the job to what its queue's check names, in that order; memory from
 * `mem`. Jobs of other queues go where they may. */
void multikueue_narrow(const struct core *c, const struct job *j, struct arena *mem,
		       struct placement_spec *placement);
/* Its job was placed: the check is Ready, and the Workload says where. */
void multikueue_placed(struct core *c, struct workload *w);

#endif
