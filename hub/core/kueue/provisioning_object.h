#ifndef CORE_KUEUE_PROVISIONING_OBJECT_H
#define CORE_KUEUE_PROVISIONING_OBJECT_H
/*
 * The objects behind a provisioning check: makes the ProvisioningRequest of a workload, owned by
 * its Workload, and the PodTemplates, owned by the request. Templates are those of the Workload
 * with the node labels and tolerations of the flavors that it got.
 */
#include "core/kueue/provisioning_check.h"
#include "core/kueue/provisioning_spec.h"
#include "core/kueue/workload.h"

enum provisioning_made {
	PROVISIONING_MADE,
	PROVISIONING_STANDS,	 /* it was made before */
	PROVISIONING_NOT_NEEDED, /* no pod set requests what the check manages */
	PROVISIONING_FOREIGN,	 /* somebody else's object has the name */
	PROVISIONING_BAD_CONFIG,
};

/* Of one check of the workload's list; pod sets of those before it are not its own. At most
 * REGISTRY_RESERVE rows. */
enum provisioning_made provisioning_object_make(struct core *c, struct workload *w,
						const struct provisioning_check *by);
/* Which pod sets it asks for, a bit each; all where that cannot be known. */
uint64_t provisioning_object_managed(struct core *c, struct workload *w,
				     const struct provisioning_check *by);
/* Its podSetUpdates; `status`: of the request or NULL. */
int provisioning_object_updates(struct core *c, struct workload *w,
				const struct provisioning_check *by, const struct cJSON *status,
				struct buf *out);

#endif
