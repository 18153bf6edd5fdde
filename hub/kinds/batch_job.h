#ifndef KINDS_BATCH_JOB_H
#define KINDS_BATCH_JOB_H
/* Rules of batch/v1 JobSpecs that Job and JobSet share. */
#include "base/json.h"
#include "kube/field_errors.h"

/* The spec of a job in a JobSet at `path`, which may leave out restartPolicy and the completions of
 * Indexed jobs; its pods are judged as those of other CustomResourceDefinitions are. */
void batch_job_check_spec(const struct cJSON *spec, const char *path, struct field_errors *errors);

/* A copy of a pod template without what a queue may change while its job is suspended: labels,
 * annotations, nodeSelector, tolerations, schedulingGates, and for Jobs affinity. Owned. */
struct cJSON *batch_job_fixed_template(const struct cJSON *pod_template, bool affinity_too);

#endif
