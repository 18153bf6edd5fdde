#ifndef API_AUTH_H
#define API_AUTH_H
/*
 * Who asks, and whether they may.
 *
 * Authentication: a client certificate of the front's CA (CN is the user, each O a group), or the
 * admin token as a bearer token. A request with neither is system:anonymous, which may only read
 * the version and health paths.
 *
 * Authorization for now: system:masters may do everything, any other user is refused in
 * Kubernetes' words. auth_authorize() is where an RBAC evaluator goes in.
 */
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
/* ERR_FORBIDDEN in the exact words of kubernetes-api.md 1.6; ERR_UNAUTHORIZED for anonymous. */
int auth_authorize(const struct auth_user *u, const struct request_info *i,
		   struct err *reterr) MUST_CHECK;

#endif
