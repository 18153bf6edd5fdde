#ifndef CORE_POD_CONSTRAINT_H
#define CORE_POD_CONSTRAINT_H
/* A digest's node requirements in the words of the pure libraries. */
#include "base/arena.h"
#include "kube/constraint.h"
#include "kube/pod_info.h"

/* Node selector, required affinity and tolerations of a pod template. Arrays from `mem`, texts
 * borrowed from the template. */
struct constraint pod_constraint(const struct template_info *pod, struct arena *mem);

#endif
