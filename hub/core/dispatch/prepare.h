#ifndef CORE_DISPATCH_PREPARE_H
#define CORE_DISPATCH_PREPARE_H
/*
 * What a copy needs on its member before it comes: the namespace, the PriorityClasses that its
 * pods name, and its dependencies (ConfigMaps, Secrets, PVCs, ServiceAccounts) when the policy
 * says propagateDeps.
 *
 * One thing after the other, each created if missing. Namespaces and PriorityClasses are
 * remembered per member; dependencies are brought up to date with every dispatch. What the hub
 * created is noted in truth, so that an unjoin can take it away again; what was there before is
 * left alone.
 */
#include "core/state.h"

struct call;

/* Goes on with the job's list; feeds EVENT_PREPARED at its end. */
void prepare_step(struct core *c, struct job *j, struct member *m);
/* The outcome of a step; j may be gone. */
void prepare_outcome(struct core *c, struct member *m, struct job *j, const struct call *call,
		     const struct order_outcome *r);
/* A create was refused: the namespace may have been deleted under us. */
void prepare_forget(struct core *c, struct member *m, const struct job *j);
/* Deletes what was created on a member; true when nothing is left. */
bool prepare_clean(struct core *c, struct member *m);
/* A delete of prepare_clean() was answered (0: not). */
void prepare_cleaned(struct core *c, struct member *m, const char *path, int http_code);

#endif
