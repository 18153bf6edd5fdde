#ifndef KINDS_TOPOLOGY_ASSIGNMENT_H
#define KINDS_TOPOLOGY_ASSIGNMENT_H
/*
 * Where the pods of a pod set go: Kueue's TopologyAssignment in both its forms.
 *
 * v1beta1 lists domains, each with a value for every level and a count. v1beta2 has slices of
 * domains, and says once what all domains of a slice share (prefix, suffix, the one value, the one
 * count). Here: the rules of v1beta2, and the conversion both ways.
 */
#include "base/json.h"
#include "kube/field_errors.h"

/* A v1beta2 assignment at `path`; NULL is fine. */
void topology_assignment_check(const struct cJSON *assignment, const char *path,
			       struct field_errors *errors);

/* In place; NULL is fine. The slices are one, with what all its domains share said once; values and
 * counts come back as they were, domain by domain. A domain with fewer values than there are levels
 * leaves a slice that the rules refuse. */
void topology_assignment_to_slices(struct cJSON *assignment);
void topology_assignment_to_domains(struct cJSON *assignment);

#endif
