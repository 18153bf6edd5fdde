#ifndef KINDS_CONTAINER_RULES_H
#define KINDS_CONTAINER_RULES_H
/*
 * Rules of the containers of a pod (pkg/apis/core/validation: validateContainers,
 * validateInitContainers).
 */
#include "kinds/refuse.h"

/* containers and initContainers of a pod's spec at `at`. Its volumes were checked before: one with
 * an error in `errors` counts as absent. */
void container_rules_check(const struct cJSON *pod, const struct at *at,
			   struct field_errors *errors);

#endif
