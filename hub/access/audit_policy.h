#ifndef ACCESS_AUDIT_POLICY_H
#define ACCESS_AUDIT_POLICY_H
/*
 * Which requests are written to the audit log, and how much of them: audit.k8s.io/v1 Policy, the
 * file that kube-apiserver's --audit-policy-file takes. The first rule that matches decides; what
 * no rule matches is not logged.
 *
 * Bodies of Secrets, and of what carries tokens, are never logged, whatever the policy says: for
 * those a level above Metadata is Metadata.
 *
 * Pure and read-only once read; any thread.
 */
#include "access/rbac.h"

struct cJSON;
struct audit_policy;

enum audit_level {
	AUDIT_NONE,
	AUDIT_METADATA,
	AUDIT_REQUEST,
	AUDIT_REQUEST_RESPONSE,
	AUDIT_LEVEL_MAX,
};
const char *audit_level_name(enum audit_level l);

#define AUDIT_MAX_RULES 1000

/* From the Policy as a tree. ERR_INVALID with the path of what is wrong. */
int audit_policy_read(const struct cJSON *policy, struct audit_policy **ret,
		      struct err *reterr) MUST_CHECK;
struct audit_policy *audit_policy_free(struct audit_policy *p); /* NULL is fine; returns NULL */

enum audit_level audit_policy_level(const struct audit_policy *p, const struct rbac_user *u,
				    const struct rbac_request *q);

#endif
