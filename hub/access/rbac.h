#ifndef ACCESS_RBAC_H
#define ACCESS_RBAC_H
/*
 * Who may do what: the roles and bindings of one API server, indexed so that a check looks at the
 * rules that are granted to the caller and at nothing else (Kubernetes' RBAC authorizer,
 * plugin/pkg/auth/authorizer/rbac: a union of what is allowed, no denial).
 *
 * A binding is found by each of its subjects and its namespace; a service account is the user
 * system:serviceaccount:<namespace>:<name>. A check costs two look-ups for the user and two for
 * each of their groups, and a comparison of words for each rule found: a microsecond or two,
 * however many bindings there are.
 *
 * Pure: no clock, store or socket. Not locked: the owner guards it (api/access.h). Everything that
 * is put in is copied.
 */
#include "access/rbac_rule.h"

struct cJSON;
struct rbac;

/* system:masters is above RBAC: it may do everything, whatever the rows say. */
#define RBAC_MASTERS "system:masters"
#define RBAC_GROUP   "rbac.authorization.k8s.io"

struct rbac_user {
	struct span name;
	const struct span *groups;
	size_t n_groups;
};

struct rbac *rbac_create(void);
struct rbac *rbac_destroy(struct rbac *r); /* NULL is fine; returns NULL */

/* ---- its content: complete objects as trees; what is there under the same name is replaced ----
 */

/* ns "": a ClusterRole, a ClusterRoleBinding. */
void rbac_put_role(struct rbac *r, struct span ns, struct span name, const struct cJSON *object);
void rbac_remove_role(struct rbac *r, struct span ns, struct span name);
void rbac_put_binding(struct rbac *r, struct span ns, struct span name, const struct cJSON *object);
void rbac_remove_binding(struct rbac *r, struct span ns, struct span name);
void rbac_clear(struct rbac *r);

/* ---- questions ---- */

bool rbac_is_master(const struct rbac_user *u);
/* `reason`, unless NULL, gets what allows it ("RBAC: allowed by ClusterRoleBinding ..."), or, when
 * a binding of the user names a role that does not exist and nothing else allows it, "RBAC:
 * clusterrole... not found". Masters are allowed. */
bool rbac_allows(const struct rbac *r, const struct rbac_user *u, const struct rbac_request *q,
		 struct buf *reason);

/* The rules that a user has in a namespace ("": at cluster scope), cluster bindings first, into
 * an array in mem; their words are borrowed from r until its next change. Masters get none
 * beyond what bindings say. */
void rbac_rules_of(const struct rbac *r, const struct rbac_user *u, struct span ns,
		   struct arena *mem, struct rbac_rule **ret, size_t *ret_n);

/* What upstream calls an evaluation error: the roles that bindings of the user name there and that
 * do not exist, in words; nothing when there is none. */
void rbac_missing_of(const struct rbac *r, const struct rbac_user *u, struct span ns,
		     struct buf *out);

/* The rules of a role; -ENOENT. Borrowed until the next change. */
int rbac_role_rules(const struct rbac *r, struct span ns, struct span name,
		    const struct rbac_rule **ret, size_t *ret_n);

/* ---- aggregation ---- */

/* Calls `each` for every ClusterRole whose aggregationRule gives it other rules than it has, with
 * those it should have: the rules of the roles it selects, in order of their names, none twice. */
void rbac_each_stale_aggregate(const struct rbac *r,
			       void (*each)(void *arg, struct span name,
					    const struct rbac_rule *rules, size_t n),
			       void *arg);

#endif
