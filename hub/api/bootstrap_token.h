#ifndef API_BOOTSTRAP_TOKEN_H
#define API_BOOTSTRAP_TOKEN_H
/*
 * Bootstrap tokens: "abcdef.0123456789abcdef", known by a Secret of type
 * bootstrap.kubernetes.io/token in kube-system (bootstrap-token-abcdef), with which agents that
 * join introduce themselves. The user is system:bootstrap:<id>, in system:bootstrappers and the
 * groups that the Secret adds (which begin with system:bootstrappers:). Any thread.
 */
#include "api/auth.h"
#include "base/arena.h"
#include "wire/backend.h"

/* Whether a bearer token has the form of one. */
bool bootstrap_token_has_form(struct span token);
/* ERR_UNAUTHORIZED; strings of *ret are in mem. */
int bootstrap_token_authenticate(struct span token, const struct backend *b, usec now,
				 struct arena *mem, struct auth_user *ret,
				 struct err *reterr) MUST_CHECK;

#endif
