#ifndef CORE_KUEUE_ACTIVE_CONDITION_H
#define CORE_KUEUE_ACTIVE_CONDITION_H
/*
 * The condition Active that the hub writes into objects whose controller it is: AdmissionChecks and
 * MultiKueueClusters.
 */
#include "core/state.h"

/* Writes it with this batch, unless it stands so already. */
void active_condition_write(struct core *c, const struct kind *kind, struct span name, bool active,
			    const char *reason, const char *message);

#endif
