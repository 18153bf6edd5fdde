#ifndef CORE_KUEUE_PROVISIONING_SPEC_H
#define CORE_KUEUE_PROVISIONING_SPEC_H
/*
 * What an admission check asks for a Workload: the ProvisioningRequest and its PodTemplate as
 * objects, and what the pods are told when the nodes are there (reference/kueue.md 2.8).
 *
 * One pod set per request of the class PROVISIONING_QUEUED_CLASS, as queued provisioning has it: of
 * several templates the one that requests most, for the pods of all of them. To other classes the
 * workload's pod sets go as they are, those that the config's podSetMergePolicy calls alike as one
 * under the first's name. Parameters are the config's, then those that the job
 * names in annotations provreq.kueue.x-k8s.io/PARAMETER; a maxRunDurationSeconds beyond 7 days is 7
 * days. No state.
 */
#include "core/kueue/provisioning_config.h"
#include "kinds/workload_digest.h"

#define PROVISIONING_QUEUED_CLASS "queued-provisioning.gke.io"

struct provisioning_spec {
	const struct provisioning_config *config;
	const struct workload_digest *digest;
	const bool *managed; /* by pod set */
};

/* Which pod sets request something that the check manages; how many. `managed` has room for all. */
size_t provisioning_spec_managed(const struct provisioning_config *config,
				 const struct workload_digest *d, bool *managed);
/* The managed pod set whose pods request most: of the managed resources, then devices, cpu, memory;
 * the first among equals. */
size_t provisioning_spec_largest(const struct provisioning_spec *s);
/* Pods of all managed sets, at most INT32_MAX. */
int64_t provisioning_spec_pods(const struct provisioning_spec *s);

/* One pod set of the request. */
struct provisioning_group {
	size_t set; /* whose template and name it has */
	int64_t count;
};
/* How many the request has, of at least one that is managed; ret has room for every pod set.
 * `templates`: of the managed pod sets, with what their flavors add. */
size_t provisioning_spec_groups(const struct provisioning_spec *s,
				const struct cJSON *const *templates,
				struct provisioning_group *ret);

/* "<workload>-<check>-<attempt>", cut with a hash where it would be too long. */
void provisioning_spec_name(struct span workload, const char *check, int32_t attempt,
			    struct buf *out);
void provisioning_spec_template_name(const char *request, struct span set, struct buf *out);

/* JSON of the spec of the request of that name. `annotations`: of the job, an object or NULL. */
void provisioning_spec_request(const struct provisioning_spec *s, const char *request,
			       const struct provisioning_group *groups, size_t n_groups,
			       const struct cJSON *annotations, struct buf *out);
/* JSON of the check's podSetUpdates; `status`: of the request. */
void provisioning_spec_updates(const struct provisioning_spec *s, const char *request,
			       const struct cJSON *status, struct buf *out);

#endif
