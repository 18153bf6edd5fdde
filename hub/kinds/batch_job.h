#ifndef KINDS_BATCH_JOB_H
#define KINDS_BATCH_JOB_H
/* Rules of batch/v1 JobSpecs that Job and JobSet share. */
#include "base/json.h"
#include "kube/field_errors.h"

/* restart_required: absent restartPolicy and completions of Indexed jobs are errors (a JobSet has
 * defaults for them). */
void batch_job_check_spec(const struct cJSON *spec, const char *path, bool restart_required,
			  struct field_errors *errors);

/* A copy of a pod template without what a queue may change while its job is suspended: labels,
 * annotations, nodeSelector, tolerations, schedulingGates, and for Jobs affinity. Owned. */
struct cJSON *batch_job_fixed_template(const struct cJSON *pod_template, bool affinity_too);

#endif
