#ifndef KINDS_POD_VOLUMES_H
#define KINDS_POD_VOLUMES_H
/*
 * Rules of a pod's volumes (ValidateVolumes in pkg/apis/core/validation): one source each, names
 * that differ, and what the common sources must name. Sources that are rare or deprecated are
 * their members' to judge.
 */
#include "base/json.h"
#include "kube/field_errors.h"

/* The volumes of the PodSpec at `path` below `below` (pod_template.c). */
void pod_volumes_check(const struct cJSON *volumes, const char *path, struct field_errors *errors);

#endif
