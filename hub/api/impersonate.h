#ifndef API_IMPERSONATE_H
#define API_IMPERSONATE_H
/*
 * Acting as somebody else: the Impersonate-User, -Group, -Uid and -Extra headers, as kube-apiserver
 * takes them (endpoints/filters/impersonation.go). Each of them takes the verb `impersonate` on
 * users, groups, uids, userextras/<key> or, for system:serviceaccount: names, the ServiceAccount.
 */
#include "api/auth.h"
#include "base/arena.h"

/* Replaces *user by the one that the headers name; does nothing when there are none. What is made
 * is in mem. ERR_FORBIDDEN; ERR_BAD_REQUEST for groups, a uid or extra without a user. */
int impersonate(struct authorizer *a, const struct http_request *r, struct arena *mem,
		struct auth_user *user, struct err *reterr) MUST_CHECK;

#endif
