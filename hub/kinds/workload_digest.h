#ifndef KINDS_WORKLOAD_DIGEST_H
#define KINDS_WORKLOAD_DIGEST_H
/*
 * What the core indexes of a kueue.x-k8s.io Workload's spec (v1beta2): kept in the row beside the
 * JSON, whoever wrote it, so that a restart reads no pod template. What the status says is not in
 * it: the core reads that from its text (core/kueue/workload_status.h).
 */
#include "kinds/job_digest.h"

/* Group of spec.priorityClassRef. */
enum workload_priority_source {
	WORKLOAD_PRIORITY_NONE,
	WORKLOAD_PRIORITY_CLASS,     /* kueue.x-k8s.io WorkloadPriorityClass */
	WORKLOAD_PRIORITY_POD_CLASS, /* scheduling.k8s.io PriorityClass */
};

struct workload_digest {
	struct span queue_name; /* absent: none, the workload waits for one */
	enum workload_priority_source priority_source;
	struct span priority_class;
	int32_t priority; /* 0 when absent */
	bool inactive;	  /* spec.active: false */
	int64_t max_execution_seconds;
	/* topologyRequest.podSetGroupName of each pod set stands in `groups_of`. Names, counts,
	 * min_count and pods as in a job; sets of no pods are kept. */
	struct job_pod_set *pod_sets;
	struct span *groups_of;
	size_t n_pod_sets;
};

void workload_digest_pack(const struct workload_digest *d, struct buf *out);
/* Borrows strings from bytes. -EINVAL on a malformed digest. */
int workload_digest_unpack(struct span bytes, struct arena *mem,
			   struct workload_digest *ret) MUST_CHECK;

#endif
