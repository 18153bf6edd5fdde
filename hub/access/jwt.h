#ifndef ACCESS_JWT_H
#define ACCESS_JWT_H
/*
 * JSON Web Tokens in the compact form (RFC 7515, 7519): parsed strictly, verified with public
 * keys, made with this server's own.
 *
 * Parsing trusts nothing: a bounded token of three parts, base64url without padding, headers and
 * claims JSON objects without duplicate keys, no `crit`. The algorithm is one of RS, PS and ES
 * (never `none`, never a shared secret), and must be the one for the key's type and curve, so that
 * a token cannot choose how it is verified.
 *
 * Times and audiences are checked by jwt_check_claims(); whom a token stands for is for others.
 */
#include "access/jwk.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"

struct cJSON;

#define JWT_MAX_BYTES 16384

struct jwt {
	struct span signed_part; /* of the token: header and claims */
	struct buf signature;
	struct cJSON *header, *claims;
};

/* Borrows the token. ERR_UNAUTHORIZED with what is wrong. */
int jwt_parse(struct span token, struct jwt *ret, struct err *reterr) MUST_CHECK;
void jwt_done(struct jwt *t);

/* Whether one of the keys (of its kid, when it names one that is there) made the signature.
 * -ENOENT in place of ERR_UNAUTHORIZED's errno when no key of its kid is in the set. */
int jwt_verify(const struct jwt *t, const struct jwk_set *keys, struct err *reterr) MUST_CHECK;

/* iss is the issuer's; exp is there and not passed, nbf has come, with `leeway` for clocks that
 * differ. ERR_UNAUTHORIZED. */
int jwt_check_claims(const struct jwt *t, const char *issuer, usec now, usec leeway,
		     struct err *reterr) MUST_CHECK;
/* The same of a token that something else ends: exp may be absent. */
int jwt_check_lasting(const struct jwt *t, const char *issuer, usec now, usec leeway,
		      struct err *reterr) MUST_CHECK;
/* Whether `aud`, a string or a list, names the audience. */
bool jwt_is_for(const struct jwt *t, const char *audience);
/* exp; 0 when absent or out of range. */
usec jwt_expires(const struct jwt *t);

/* A token over claims, signed with ES256 by the one key of the set. ERR_INTERNAL. */
int jwt_sign(const struct cJSON *claims, const struct jwk_set *key, struct buf *out,
	     struct err *reterr) MUST_CHECK;

#endif
