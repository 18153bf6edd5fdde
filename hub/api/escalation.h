#ifndef API_ESCALATION_H
#define API_ESCALATION_H
/*
 * Nobody grants what they do not have: checks on writes of roles and bindings, as kube-apiserver's
 * policy-based RBAC storage makes them (pkg/registry/rbac).
 *
 * A role's rules must be covered by its author's own in that namespace, unless the author may
 * `escalate` it; a binding's role must be covered likewise, unless the author may `bind` it. To
 * set or change an aggregationRule takes every right. system:masters are not asked.
 */
#include "api/call.h"

struct cJSON;

/* For a complete object about to be written; old NULL on create. Fine at once for other kinds.
 * ERR_FORBIDDEN with what is missing, ERR_NOT_FOUND when the bound role does not exist. */
int escalation_check(const struct call *c, const struct cJSON *object, const struct cJSON *old,
		     struct err *reterr) MUST_CHECK;

#endif
