#ifndef API_AUTH_H
#define API_AUTH_H
/*
 * Who asks, and whether they may.
 *
 * Authentication: a client certificate of the front's CA (CN is the user, each O a group), or the
 * admin token as a bearer token. A request with neither is system:anonymous, which is let in for
 * the version and health paths alone.
 *
 * Authorization: RBAC (api/authorizer.h) over what kube-apiserver would make of the request. The
 * group system:masters may do everything.
 */
#include "api/authorizer.h"
#include "api/http.h"
#include "api/pki.h"
#include "api/request_info.h"
#include "base/err.h"

#define AUTH_MAX_GROUPS 32

struct auth_user {
	struct span name;
	struct span groups[AUTH_MAX_GROUPS];
	size_t n_groups;
	bool anonymous;
};

/* Borrows from the request and its peer. ERR_UNAUTHORIZED for credentials that are not good. */
int auth_authenticate(const struct pki *pki, const struct http_request *r, struct auth_user *ret,
		      struct err *reterr) MUST_CHECK;
bool auth_in_group(const struct auth_user *u, const char *group);
/* The user as RBAC knows them; borrows. */
static inline struct rbac_user auth_rbac_user(const struct auth_user *u)
{
	return (struct rbac_user){u->name, u->groups, u->n_groups};
}

/* What the request asks for, as apiserver's RequestInfo has it: the namespace of a request for a
 * Namespace is itself, a list of the one object that a field selector names has its name, the
 * verb of other paths is the method. Borrows from both. */
void auth_request(const struct request_info *i, const struct http_request *r,
		  struct rbac_request *ret);

/* ERR_FORBIDDEN in the exact words of kubernetes-api.md 1.6; ERR_UNAUTHORIZED for anonymous. */
int auth_authorize(struct authorizer *a, const struct auth_user *u, const struct rbac_request *q,
		   struct err *reterr) MUST_CHECK;

#endif
