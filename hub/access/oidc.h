#ifndef ACCESS_OIDC_H
#define ACCESS_OIDC_H
/*
 * Users of an OpenID Connect issuer: which claims of its tokens name the user and their groups
 * (the settings of kube-apiserver's --oidc-* flags and of AuthenticationConfiguration).
 *
 * Pure: the token was verified by the caller.
 */
#include "access/jwt.h"

struct oidc_config {
	char *issuer;		/* iss: an https URL */
	char *client_id;	/* aud */
	char *username_claim;	/* "sub" when NULL */
	char *username_prefix;	/* NULL: "<issuer>#" unless the claim is email; "-": none */
	char *groups_claim;	/* NULL: no groups */
	char *groups_prefix;	/* NULL: none */
	char **required_claims; /* "claim=value", ended by NULL; or NULL */
	char *jwks_file;	/* keys from a file, or */
	char *jwks_url;		/* from this URL, or, with neither, where the issuer's discovery
				 * document says */
	char *ca_file;		/* of the issuer's certificate; NULL: the system's */
};

#define OIDC_MAX_GROUPS 256

struct oidc_identity {
	struct span name;
	struct span groups[OIDC_MAX_GROUPS]; /* more are not taken */
	size_t n_groups;
	struct span token_id; /* jti; absent when it has none */
};

/* ERR_UNAUTHORIZED with what is missing; strings in mem. A prefix may not lead into system: names:
 * a name or group that would begin with "system:" is refused, or left out. Groups that are neither
 * text nor a list of texts are refused, as is a token without a required claim, or one whose groups
 * are elsewhere (a distributed claim, OpenID Connect Core 5.6.2, which nobody here fetches): the
 * user would come without them. */
int oidc_identify(const struct oidc_config *o, const struct jwt *t, struct arena *mem,
		  struct oidc_identity *ret, struct err *reterr) MUST_CHECK;

#endif
