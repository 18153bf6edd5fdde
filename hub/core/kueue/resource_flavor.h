#ifndef CORE_KUEUE_RESOURCE_FLAVOR_H
#define CORE_KUEUE_RESOURCE_FLAVOR_H
/*
 * ResourceFlavors and Cohorts: objects that the engine alone keeps.
 */
#include "core/kueue/kueue.h"

void resource_flavor_observe(struct core *c, const struct store_object *o);
void resource_flavor_forget(struct core *c, struct span name);
void cohort_observe(struct core *c, const struct store_object *o);
void cohort_forget(struct core *c, struct span name);

#endif
