#ifndef ACCESS_JWK_H
#define ACCESS_JWK_H
/*
 * Public keys that sign tokens, as a JSON Web Key Set (RFC 7517, 7518): RSA from 2048 bits, and EC
 * on P-256, P-384, P-521. Keys of other types, and those for encryption, are passed over.
 *
 * A set does not change once it is made; it is counted, and may be shared by threads.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include <openssl/evp.h>
#include <stdbool.h>

struct jwk {
	char *kid; /* "" when the key has none */
	char *alg; /* "" when the key is not bound to one */
	EVP_PKEY *key;
};

struct jwk_set {
	_Atomic unsigned refs;
	struct jwk *keys;
	size_t n;
};

#define JWK_MAX_KEYS 64

/* ERR_INVALID for what is not a key set or holds no key of use. *ret has one reference. */
int jwk_set_parse(struct span json, struct jwk_set **ret, struct err *reterr) MUST_CHECK;
/* A set of one key, an EC key on P-256: kid is the digest of its public part, alg ES256. */
int jwk_set_of(EVP_PKEY *key, struct jwk_set **ret, struct err *reterr) MUST_CHECK;
/* One more key to verify with, of the same kind, before the set is shared; one that is there is
 * fine. The first key stays the one that signs (jwt.h). */
int jwk_set_add(struct jwk_set *s, EVP_PKEY *key, struct err *reterr) MUST_CHECK;
struct jwk_set *jwk_set_ref(struct jwk_set *s);
struct jwk_set *jwk_set_unref(struct jwk_set *s); /* NULL is fine; returns NULL */

/* The public parts as {"keys":[...]}: EC keys on P-256 only, which is what this server signs with.
 */
void jwk_set_print(const struct jwk_set *s, struct buf *out);

#endif
