#ifndef API_AUTH_H
#define API_AUTH_H
/*
 * Whether who asks may: RBAC (api/authorizer.h) over what kube-apiserver would make of the
 * request. Who asks, api/authenticator.h knows.
 *
 * The group system:masters may do everything. system:anonymous is let in for the version and
 * health paths alone, and only as far as RBAC has it.
 */
#include "api/authorizer.h"
#include "api/http.h"
#include "api/request_info.h"
#include "base/err.h"

#define AUTH_MAX_GROUPS 64
#define AUTH_MAX_EXTRA	16

struct auth_extra { /* pairs; a key may come again */
	struct span key, value;
};

struct auth_user {
	struct span name, uid; /* uid absent when it has none */
	struct span *groups;
	size_t n_groups;
	struct auth_extra *extra;
	size_t n_extra;
	bool anonymous;
};

bool auth_in_group(const struct auth_user *u, const char *group);
/* A copy with all strings in mem. */
void auth_user_copy(const struct auth_user *u, struct arena *mem, struct auth_user *ret);

/* The user as RBAC knows them; borrows. */
static inline struct rbac_user auth_rbac_user(const struct auth_user *u)
{
	return (struct rbac_user){u->name, u->groups, u->n_groups};
}

/* What the request asks for, as apiserver's RequestInfo has it: the namespace of a request for a
 * Namespace is itself, a list of the one object that a field selector names has its name, the
 * verb of other paths is the method; and the verb of a request for a WebSocket is `create`.
 * Borrows from both. */
void auth_request(const struct request_info *i, const struct http_request *r,
		  struct rbac_request *ret);

/* ERR_FORBIDDEN in the exact words of kubernetes-api.md 1.6; ERR_UNAUTHORIZED for anonymous. */
int auth_authorize(struct authorizer *a, const struct auth_user *u, const struct rbac_request *q,
		   struct err *reterr) MUST_CHECK;

#endif
