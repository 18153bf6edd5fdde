#ifndef KINDS_POD_TEMPLATE_H
#define KINDS_POD_TEMPLATE_H
/*
 * Rules of the pod templates in kinds of CustomResourceDefinitions that a schema cannot say, with
 * the paths and words of Kubernetes' validation of core/v1 (pkg/apis/core/validation); those of
 * Kubernetes' own kinds are in kinds/pod_rules.h.
 *
 * Checked: what the hub's own decisions rest on and what every member would refuse anyway, so
 * that a job fails at submission and not hours later. What members may judge differently
 * (security, volume types, probes) is theirs.
 */
#include "base/json.h"
#include "kube/field_errors.h"

/* A PodTemplateSpec at `path`. */
void pod_template_check(const struct cJSON *pod_template, const char *path,
			struct field_errors *errors);
/* Requires a container of this name, as the training operator does. */
void pod_template_require_container(const struct cJSON *pod_template, const char *path,
				    const char *name, struct field_errors *errors);

#endif
