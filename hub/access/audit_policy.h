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

/* When an event is written (audit.k8s.io/v1). */
enum audit_stage {
	AUDIT_REQUEST_RECEIVED,
	AUDIT_RESPONSE_STARTED, /* of long-running requests: the headers are out */
	AUDIT_RESPONSE_COMPLETE,
	AUDIT_PANIC, /* here: an answer that could not be made */
	AUDIT_STAGE_MAX,
};
const char *audit_stage_name(enum audit_stage s);

#define AUDIT_MAX_RULES 1000

/* From the Policy as a tree. ERR_INVALID with the path of what is wrong. */
int audit_policy_read(const struct cJSON *policy, struct audit_policy **ret,
		      struct err *reterr) MUST_CHECK;
struct audit_policy *audit_policy_free(struct audit_policy *p); /* NULL is fine; returns NULL */

/* AUDIT_NONE for a stage that omitStages names, of the rule or of the policy, too. */
enum audit_level audit_policy_level(const struct audit_policy *p, const struct rbac_user *u,
				    const struct rbac_request *q, enum audit_stage stage);

#endif
