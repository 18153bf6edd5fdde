#ifndef KINDS_POD_PLACEMENT_H
#define KINDS_POD_PLACEMENT_H
/*
 * Rules of where a pod may go: affinities, spreading, tolerations (pkg/apis/core/validation:
 * validateAffinity, validateTopologySpreadConstraints, ValidateTolerations).
 */
#include "kinds/refuse.h"

/* affinity, topologySpreadConstraints and tolerations of a pod's spec at `at`. */
void pod_placement_check(const struct cJSON *pod, const struct at *at, struct field_errors *errors);

#endif
