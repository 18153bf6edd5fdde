#ifndef CORE_POLICY_SPEC_H
#define CORE_POLICY_SPEC_H
/*
 * PropagationPolicy and ClusterPropagationPolicy objects to the plain structs of
 * policies/propagation.h (federation.md 2.1, ack-fleet.md 1.3). Unknown fields are kept out;
 * the schema has already checked types.
 */
#include "base/arena.h"
#include "policies/propagation.h"

struct cJSON;

/* Everything in *ret lives in `mem` and in the tree. cluster_wide: a ClusterPropagationPolicy. */
void policy_spec_decode(const struct cJSON *object, bool cluster_wide, struct arena *mem,
			struct propagation_policy *ret);

#endif
