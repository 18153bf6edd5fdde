#ifndef KINDS_TAINTS_H
#define KINDS_TAINTS_H
/*
 * Taints and tolerations in specs of fleet kinds: what a schema cannot say of them. Paths and words
 * of Kubernetes' validation of nodes, and of Kueue's rules in its CustomResourceDefinitions.
 */
#include "base/json.h"
#include "kube/field_errors.h"

/* A list of taints at `path`: keys, values, and no two of one key and effect. */
void taints_check(const struct cJSON *taints, const char *path, struct field_errors *errors);
/* Kueue's rules of taints and tolerations: effects and operators that exist, each of which is one
 * error of the whole list at `path`; then the keys. */
void taints_check_flavor(const struct cJSON *taints, const char *path, struct field_errors *errors);
void taints_check_tolerations(const struct cJSON *tolerations, const char *path,
			      struct field_errors *errors);

#endif
