#ifndef CORE_POD_CONSTRAINT_H
#define CORE_POD_CONSTRAINT_H
/* What a pod template asks of a node, in the words of the pure libraries. */
#include "core/state.h"
#include "kube/constraint.h"
#include "kube/pod_info.h"

/* Node selector, required affinity and tolerations of a pod template. Arrays from `mem`, texts
 * borrowed from the template. */
struct constraint pod_constraint(const struct template_info *pod, struct arena *mem);
/* What it requests, as the fleet counts resources, into the set; from `mem`. Fails where the fleet
 * knows too many resources. */
int pod_requests(struct core *c, const struct template_info *pod, struct arena *mem,
		 struct pod_set *set, struct err *reterr) MUST_CHECK;

#endif
