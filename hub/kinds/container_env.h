#ifndef KINDS_CONTAINER_ENV_H
#define KINDS_CONTAINER_ENV_H
/*
 * Rules of a container's environment, and of the references to the pod's own fields that
 * environments and volumes share (pkg/apis/core/validation: ValidateEnv, ValidateEnvFrom).
 */
#include "kinds/refuse.h"

/* env and envFrom of a container at `at`. */
void container_env_check(const struct cJSON *container, const struct at *at,
			 struct field_errors *errors);

/* A fieldRef at `at` that may name one of `paths` (ended by NULL), or one label or annotation. */
void container_env_check_field(const struct cJSON *ref, const char *const *paths,
			       const struct at *at, struct field_errors *errors);
/* A resourceFieldRef at `at`; one of a volume names its container. */
void container_env_check_resource(const struct cJSON *ref, bool of_volume, const struct at *at,
				  struct field_errors *errors);
/* Whether the text may be the key of a ConfigMap or Secret; false with its error added at `at`. */
bool container_env_check_key(const char *key, const struct at *at, struct field_errors *errors);

#endif
