#ifndef KINDS_POD_SECURITY_H
#define KINDS_POD_SECURITY_H
/*
 * Rules of the security settings of pods and containers (pkg/apis/core/validation:
 * ValidateSecurityContext, validatePodSpecSecurityContext). Whether a member allows what is set is
 * the member's.
 */
#include "kinds/refuse.h"

/* The securityContext of a container of `pod`, at `at`. */
void pod_security_check_container(const struct cJSON *context, const struct cJSON *pod,
				  const struct at *at, struct field_errors *errors);
/* That of the pod itself, at `at`. */
void pod_security_check(const struct cJSON *context, const struct at *at,
			struct field_errors *errors);

#endif
