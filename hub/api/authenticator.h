#ifndef API_AUTHENTICATOR_H
#define API_AUTHENTICATOR_H
/*
 * From credentials to a user: what a front proxy says (api/request_header.h), client certificates
 * of the front's CA (CN is the user, each O a group), the admin token, ServiceAccount tokens,
 * bootstrap tokens, and tokens of an OpenID Connect issuer, if one is configured. No credentials:
 * system:anonymous.
 *
 * A signature is checked once: the loop keeps what it learned of a token under its digest, until
 * the token ends or room is needed. What the token stands on (account, bound object) is looked up
 * on every request, so that it ends with them at once.
 *
 * Why credentials were refused is not told to whoever sent them: 401, "Unauthorized".
 */
#include "access/oidc.h"
#include "api/account_token.h"
#include "api/auth.h"
#include "api/pki.h"
#include "api/request_header.h"

struct authenticator;

struct authenticator_options {
	const struct pki *pki; /* borrowed, as all here */
	struct backend *backend;
	const char *issuer;				    /* of ServiceAccount tokens */
	const struct oidc_config *oidc;			    /* NULL: none */
	const struct request_header_config *request_header; /* NULL: no front proxies */
};

int authenticator_create(const struct authenticator_options *o, struct authenticator **ret,
			 struct err *reterr) MUST_CHECK;
struct authenticator *authenticator_destroy(struct authenticator *a); /* NULL is fine */

/* Loop only. What *ret holds is in mem. ERR_UNAUTHORIZED. */
int authenticator_request(struct authenticator *a, const struct http_request *r, usec now,
			  struct arena *mem, struct auth_user *ret, struct err *reterr) MUST_CHECK;

/* Any thread, for reviews: whose token it is, and for which of `audiences` it is meant (none
 * given: this server). *ret_audiences is an array in mem. ERR_UNAUTHORIZED with the reason. */
int authenticator_review(struct authenticator *a, struct span token, const struct span *audiences,
			 size_t n_audiences, usec now, struct arena *mem, struct auth_user *ret,
			 struct span **ret_audiences, size_t *ret_n, struct err *reterr) MUST_CHECK;

const struct account_issuer *authenticator_issuer(const struct authenticator *a);

/* The OpenID Connect issuer's keys, from any thread: takes the reference. Tokens are verified
 * again with them. */
void authenticator_set_keys(struct authenticator *a, struct jwk_set *take_keys);
/* Whether a token came that the keys do not verify; asking forgets it. Any thread. */
bool authenticator_lacks_key(struct authenticator *a);

#endif
