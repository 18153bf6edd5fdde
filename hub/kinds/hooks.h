#ifndef KINDS_HOOKS_H
#define KINDS_HOOKS_H
/*
 * The hooks that the YAML files name; struct kind (kube/kind.h) says what each must do. All are
 * pure, run on any thread, and see trees that passed the kind's schema, except cells, which see
 * stored objects and take nothing for granted.
 */
#include "kube/kind.h"

#define HOOK_DEFAULT(name)                                                                         \
	void name(const struct kind *k, struct cJSON *object, const struct kind_write *w)
#define HOOK_VALIDATE(name)                                                                        \
	void name(const struct kind *k, const struct cJSON *object, const struct kind_write *w,    \
		  struct field_errors *errors)
#define HOOK_CONVERT(name)                                                                         \
	void name(const struct kind *k, struct cJSON *object, enum kind_conversion way)
#define HOOK_CELLS(name)                                                                           \
	void name(const struct kind *k, const struct cJSON *object, usec now, struct cJSON *cells)

/* job_index.c: the digest of every job kind (job_digest.h) */
int job_index(const struct kind *k, const struct cJSON *object, struct buf *out,
	      struct err *reterr);
/* workload_digest.c: the digest of Workloads */
int workload_index(const struct kind *k, const struct cJSON *object, struct buf *out,
		   struct err *reterr);

/* kubeflow.c */
HOOK_DEFAULT(pytorch_job_default);
HOOK_VALIDATE(pytorch_job_validate);
HOOK_DEFAULT(tf_job_default);
HOOK_VALIDATE(tf_job_validate);
HOOK_DEFAULT(mpi_job_default);
HOOK_VALIDATE(mpi_job_validate);
HOOK_DEFAULT(training_job_default); /* those without rules of their own */
HOOK_VALIDATE(training_job_validate);

/* batch_job.c, job_set.c, ray_job.c */
HOOK_DEFAULT(job_default);
HOOK_VALIDATE(job_validate);
HOOK_DEFAULT(job_set_default);
HOOK_VALIDATE(job_set_validate);
HOOK_DEFAULT(ray_job_default);
HOOK_VALIDATE(ray_job_validate);
HOOK_DEFAULT(ray_cluster_default);
HOOK_VALIDATE(ray_cluster_validate);

/* propagation_policy.c, fleet_kinds.c */
HOOK_VALIDATE(propagation_policy_validate);
HOOK_VALIDATE(cluster_validate);
HOOK_CELLS(cluster_cells);
HOOK_VALIDATE(elastic_quota_tree_validate);

/* cluster_queue.c, workload.c, kueue_kinds.c */
HOOK_DEFAULT(cluster_queue_default);
HOOK_VALIDATE(cluster_queue_validate);
HOOK_DEFAULT(cohort_default);
HOOK_VALIDATE(cohort_validate);
HOOK_VALIDATE(local_queue_validate);
HOOK_VALIDATE(workload_validate);
HOOK_VALIDATE(resource_flavor_validate);
HOOK_VALIDATE(topology_validate);
HOOK_VALIDATE(admission_check_validate);
HOOK_VALIDATE(multi_kueue_cluster_validate);
HOOK_VALIDATE(provisioning_request_config_validate);
HOOK_VALIDATE(provisioning_request_validate);

/* kueue_convert.c: v1beta1 */
HOOK_DEFAULT(cluster_queue_v1beta1_default);
HOOK_VALIDATE(cluster_queue_v1beta1_validate);
HOOK_VALIDATE(workload_v1beta1_validate);
HOOK_CONVERT(cluster_queue_convert);
HOOK_CONVERT(local_queue_convert);
HOOK_CONVERT(admission_check_convert);
HOOK_CONVERT(multi_kueue_cluster_convert);
HOOK_CONVERT(workload_convert);

/* core_kinds.c, config_kinds.c */
HOOK_DEFAULT(namespace_default);
HOOK_VALIDATE(namespace_validate);
HOOK_DEFAULT(service_account_default);
HOOK_DEFAULT(pod_default);
HOOK_VALIDATE(pod_validate);
HOOK_DEFAULT(pod_template_default);
HOOK_VALIDATE(pod_template_validate);
HOOK_DEFAULT(lease_default);
HOOK_VALIDATE(priority_class_validate);
HOOK_VALIDATE(config_map_validate);
HOOK_DEFAULT(secret_default);
HOOK_VALIDATE(secret_validate);

/* event_kind.c */
HOOK_VALIDATE(event_validate);
HOOK_CONVERT(event_convert);

/* volume_claim.c */
HOOK_DEFAULT(persistent_volume_claim_default);
HOOK_VALIDATE(persistent_volume_claim_validate);

/* rbac_kinds.c */
HOOK_DEFAULT(role_default);
HOOK_VALIDATE(role_validate);
HOOK_DEFAULT(role_binding_default);
HOOK_VALIDATE(role_binding_validate);
HOOK_CELLS(role_binding_cells);

/* kube/crd.c */
HOOK_DEFAULT(crd_default);
HOOK_VALIDATE(crd_validate);

/* core_cells.c, job_cells.c, pod_cells.c */
HOOK_CELLS(config_map_cells);
HOOK_CELLS(secret_cells);
HOOK_CELLS(service_account_cells);
HOOK_CELLS(persistent_volume_claim_cells);
HOOK_CELLS(pod_template_cells);
HOOK_CELLS(priority_class_cells);
HOOK_CELLS(service_cells);
HOOK_CELLS(event_cells);
HOOK_CELLS(job_cells);
HOOK_CELLS(pod_cells);
HOOK_CELLS(node_cells);

#endif
