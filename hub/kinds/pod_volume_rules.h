#ifndef KINDS_POD_VOLUME_RULES_H
#define KINDS_POD_VOLUME_RULES_H
/*
 * Rules of the volumes of Kubernetes' own kinds (pkg/apis/core/validation: ValidateVolumes);
 * kinds/pod_volumes.h has those of the others. Of the sources that Kubernetes calls deprecated only
 * that there is one alone is checked here, beside what the schema asks for.
 */
#include "kinds/refuse.h"

/* volumes of a pod's spec at `at`. */
void pod_volume_rules_check(const struct cJSON *pod, const struct at *at,
			    struct field_errors *errors);

#endif
