#ifndef KINDS_POD_RULES_H
#define KINDS_POD_RULES_H
/*
 * All rules of core/v1 for pods (pkg/apis/core/validation of Kubernetes 1.36: ValidatePodSpec),
 * for the kinds that are Kubernetes' own: Job, PodTemplate, Pod. A kind of a
 * CustomResourceDefinition is not judged by them upstream, and has those of kinds/pod_template.h
 * here.
 *
 * Enumerations, ranges of numbers and what is required are the schema's. Errors have upstream's
 * paths and reasons, which are not always those of the field that is wrong. Left out: pods of
 * Windows, sources of volumes that are deprecated, and annotations of old versions.
 */
#include "base/json.h"
#include "kube/field_errors.h"

/* A PodTemplateSpec at `path`, unless it is `old`, which was judged when it was written: rules
 * that came later do not make an object unwritable. old may be NULL. */
void pod_rules_check_template(const struct cJSON *pod_template, const struct cJSON *old,
			      const char *path, struct field_errors *errors);
/* A PodSpec at `path`, of a Pod. */
void pod_rules_check_spec(const struct cJSON *spec, const char *path, struct field_errors *errors);

#endif
