#ifndef KINDS_POD_AFFINITY_H
#define KINDS_POD_AFFINITY_H
/* Rules of the label selectors in a pod's affinity and spread constraints (pkg/apis/core/validation
 * of Kubernetes): a selector that cannot be read would never let the pod be scheduled. */
#include "base/json.h"
#include "kube/field_errors.h"

/* spec: the PodSpec at `path`. */
void pod_affinity_check(const struct cJSON *spec, const char *path, struct field_errors *errors);

#endif
