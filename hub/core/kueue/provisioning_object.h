#ifndef CORE_KUEUE_PROVISIONING_OBJECT_H
#define CORE_KUEUE_PROVISIONING_OBJECT_H
/*
 * The objects behind a provisioning check: makes the ProvisioningRequest of a workload, owned by
 * its Workload, and the PodTemplate, owned by the request. Templates are those of the Workload with
 * the node labels and tolerations of the flavors that it got.
 */
#include "core/kueue/provisioning_spec.h"
#include "core/kueue/workload.h"

enum provisioning_made {
	PROVISIONING_MADE,
	PROVISIONING_STANDS,	 /* it was made before */
	PROVISIONING_NOT_NEEDED, /* no pod set requests what the check manages */
	PROVISIONING_FOREIGN,	 /* somebody else's object has the name */
	PROVISIONING_BAD_CONFIG,
};

/* Of w->provisioning. At most REGISTRY_RESERVE rows. */
enum provisioning_made provisioning_object_make(struct core *c, struct workload *w);
/* Which pod sets its check manages, a bit each; all where that cannot be known. */
uint64_t provisioning_object_managed(struct core *c, struct workload *w);
/* podSetUpdates of its check; `status`: of the request or NULL. */
int provisioning_object_updates(struct core *c, struct workload *w, const struct cJSON *status,
				struct buf *out);

#endif
