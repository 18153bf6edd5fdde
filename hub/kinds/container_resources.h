#ifndef KINDS_CONTAINER_RESOURCES_H
#define KINDS_CONTAINER_RESOURCES_H
/*
 * Rules of what containers and pods need (pkg/apis/core/validation: validateResourceRequirements).
 * That amounts are quantities and not negative is the schema's.
 */
#include "kinds/refuse.h"

/* The requirements of a container at `at`; its claims are among the spec's resourceClaims. */
void container_resources_check(const struct cJSON *resources, const struct cJSON *pod,
			       const struct at *at, struct field_errors *errors);
/* Those of the pod as a whole. */
void container_resources_check_pod(const struct cJSON *pod, const struct at *at,
				   struct field_errors *errors);
/* The overhead of a pod at `at`, which counts as limits. */
void container_resources_check_overhead(const struct cJSON *overhead, const struct at *at,
					struct field_errors *errors);

#endif
