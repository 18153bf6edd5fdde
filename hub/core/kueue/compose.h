#ifndef CORE_KUEUE_COMPOSE_H
#define CORE_KUEUE_COMPOSE_H
/*
 * What a job asks of its queue: its Workload's name, pod sets, priority class and limits, from the
 * digest of the job. Pure; reference/kueue.md 2.1 and 2.11.
 *
 * Pod sets are those of the gang under Kueue's names: lower-cased, a Ray head is "head". A RayJob's
 * submitter is one only where the setting says so (`ray_submitter`): it starts when the cluster is
 * up, and the documents' quotas do not count it; newer Kueue does.
 */
#include "core/kueue/transform.h"
#include "kinds/workload_digest.h"
#include "quota-tree/kueue_spec.h"
#include "store/store.h"

struct compose_options {
	bool ray_submitter;	/* count the submitter of RayJobs */
	bool has_default_class; /* a WorkloadPriorityClass named "default" exists */
};

/* "<lower-case kind>-<job>-<5 hex>": the digits are the first of SHA-1 over kind, group, name and
 * uid, so that any implementation finds the same name. At most `max` characters: the job's name is
 * cut, the digits stay. */
#define COMPOSE_NAME_LONG  STORE_MAX_NAME
#define COMPOSE_NAME_SHORT 63 /* ShortWorkloadNames: it fits into a label's value */
const char *compose_name(const struct kind *kind, const char *job_name, const char *uid_text,
			 int max, char out[STORE_MAX_NAME + 1]);

/*
 * The Workload of a job. Memory from `mem`, or borrowed from the digest. `priority` is left 0: the
 * value of the class is the caller's to look up. A class is, in this order: the one of the label
 * priority-class, else the WorkloadPriorityClass "default" where there is one, else that of the
 * kind's own field, else the first that a pod set names, else none.
 * ERR_INVALID: more pod sets than a Workload may have.
 */
int compose_workload(const struct job_digest *job, uint16_t type,
		     const struct compose_options *options, struct arena *mem,
		     struct workload_digest *ret, struct err *reterr) MUST_CHECK;

/* Pod sets in the engine's words; rules: what of the requests counts, NULL for all; memory from
 * `mem` or borrowed from the digest. */
struct kueue_pod_set *compose_engine_sets(const struct workload_digest *d,
					  const struct transform_rules *rules, struct arena *mem);

#endif
