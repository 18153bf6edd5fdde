#ifndef KINDS_RESOURCE_GROUPS_H
#define KINDS_RESOURCE_GROUPS_H
/*
 * The quotas of Kueue's ClusterQueue and Cohort: spec.resourceGroups, and spec.fairSharing.
 *
 * Rules, paths and words of Kueue's webhooks and of the rules in its CustomResourceDefinitions
 * (reference/kueue.md 1.3). One leniency: coveredResources that are missing are those of the
 * group's first flavor, in its order.
 */
#include "kube/kind.h"

/* Infers missing coveredResources, and says so in a warning. */
void resource_groups_default(struct cJSON *groups, struct buf *warnings);

struct resource_groups_rules {
	const char *parent; /* what limits need: "cohort" or "parent" */
	bool has_parent;    /* there is one */
	bool lend_own_only; /* lendingLimit may not be above nominalQuota */
};
/* All errors of a list at spec.resourceGroups; warnings for quotas that look like a slip. */
void resource_groups_check(const struct cJSON *groups, const struct resource_groups_rules *rules,
			   struct buf *warnings, struct field_errors *errors);
void resource_groups_check_sharing(const struct cJSON *fair_sharing, struct field_errors *errors);

#endif
