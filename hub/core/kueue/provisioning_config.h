#ifndef CORE_KUEUE_PROVISIONING_CONFIG_H
#define CORE_KUEUE_PROVISIONING_CONFIG_H
/*
 * Admission checks of the hub's own controller kueue.x-k8s.io/provisioning-request, and their
 * ProvisioningRequestConfigs. Read from the store when they are asked for: that is rare.
 *
 * The condition Active of such a check is the hub's to write: it is what lets the queues that name
 * it admit anybody.
 */
#include "core/kueue/kueue.h"
#include "policies/provision.h"

#define PROVISIONING_CONTROLLER "kueue.x-k8s.io/provisioning-request"

/* spec.podSetMergePolicy: which pod sets are asked for as one. */
enum provisioning_merge {
	PROVISIONING_MERGE_NONE,
	PROVISIONING_MERGE_TEMPLATES,	 /* IdenticalPodTemplates: equal in everything */
	PROVISIONING_MERGE_REQUIREMENTS, /* IdenticalWorkloadSchedulingRequirements: in all that
					    scheduling looks at */
};

struct provisioning_config {
	struct cJSON *tree; /* owns all below */
	const char *class;
	const struct cJSON *parameters;	   /* object or NULL */
	const struct cJSON *managed;	   /* managedResources: array or NULL */
	const struct cJSON *node_selector; /* podSetUpdates.nodeSelector: array or NULL */
	enum provisioning_merge merge;
	struct provision_options options; /* retryStrategy; the rest as the hub is set up */
};

bool provisioning_config_is_check(const struct core *c, const char *check);
/* The config that a check names. -ENOENT: it has none; the words are in reterr. */
int provisioning_config_read(struct core *c, const char *check, struct provisioning_config *ret,
			     struct err *reterr) MUST_CHECK;
void provisioning_config_done(struct provisioning_config *p);

/* A check or a config came, changed or went. */
void provisioning_config_changed(struct core *c);
/* Writes the condition Active of the checks that need it, while the batch has room. True when all
 * are as they should be. */
bool provisioning_config_flush(struct core *c);

#endif
