#ifndef KINDS_BATCH_POLICIES_H
#define KINDS_BATCH_POLICIES_H
/*
 * Rules of a Job's podFailurePolicy and successPolicy (pkg/apis/batch/validation of Kubernetes
 * 1.36). Of Jobs alone: the policies in a JobSet are checked when its controller makes the Jobs.
 */
#include "base/json.h"
#include "kube/field_errors.h"

/* spec: a JobSpec at `path`. */
void batch_policies_check(const struct cJSON *spec, const char *path, struct field_errors *errors);

#endif
