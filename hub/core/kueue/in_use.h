#ifndef CORE_KUEUE_IN_USE_H
#define CORE_KUEUE_IN_USE_H
/*
 * Flavors, AdmissionChecks and Topologies that are being deleted while somebody names them: a
 * ClusterQueue a flavor or a check, a flavor a topology. As in Kueue they stay, and go on meaning
 * what they mean, until nobody does; that is what their finalizer kueue.x-k8s.io/resource-in-use
 * waits for (pkg/controller/core/resourceflavor_controller.go, admissioncheck_controller.go,
 * pkg/controller/tas/topology_controller.go). A ClusterQueue's own finalizer: queue_status.h.
 *
 * Derived: a restart sees the same objects. Core thread.
 */
#include "core/kueue/kueue.h"

/* Whether objects of this kind are kept while they are in use. */
bool in_use_keeps(const struct kind *kind);

/* An object of Kueue's kinds was committed, or is gone: it may be one that leaves, or one that
 * named it. */
void in_use_observe(struct core *c, const struct kind *kind, const struct store_object *o);
void in_use_forget(struct core *c, const struct kind *kind, struct span name);

/* Lets those go that nobody names, as far as the batch has room. */
void in_use_flush(struct core *c);
/* c->now when there is something to look at, else INT64_MAX. */
usec in_use_due(const struct core *c);
void in_use_done(struct kueue *k);

#endif
