#ifndef API_ACCOUNT_TOKEN_H
#define API_ACCOUNT_TOKEN_H
/*
 * Tokens of ServiceAccounts: made by the TokenRequest subresource, signed with the key in pki/
 * (ES256), checked with that key and with older ones that are still trusted, and good for as long
 * as their account exists under the same uid, and, when bound to a Pod, a Secret or a Node, that
 * object too (KEP-1205). One without an end is the entry of a Secret, and good as long as that
 * holds this very text.
 *
 * The claims are kube-apiserver's: sub system:serviceaccount:<namespace>:<name>, aud, exp, iat,
 * nbf, jti and kubernetes.io with names and uids. Any thread; nothing is kept between calls but
 * the key.
 */
#include "access/jwt.h"
#include "base/arena.h"
#include "wire/backend.h"

struct account_issuer;

/* What a token says of its account; in the arena it was read into. */
struct account_token {
	struct span ns, name, uid;
	struct span bound_kind, bound_name, bound_uid; /* "Pod", "Secret", "Node"; absent: none */
	struct span node_name,
	    node_uid;	/* of a Pod's node, when it has one; the uid may be absent */
	struct span id; /* jti */
	usec expires;	/* ACCOUNT_TOKEN_LASTS: not before the Secret holds it no longer */
	struct span
	    text; /* of such a one, for account_token_check_live(): who verified it sets it */
};

#define ACCOUNT_TOKEN_LASTS ((usec)1 << 60)

struct account_wish {
	struct account_token account; /* id and expires are filled in */
	const char *const *audiences;
	size_t n_audiences;
	int64_t seconds; /* 0, of one that is bound to a Secret: without an end */
};

/* key_pem: the private key that signs. older_pem: public or private keys, one after the other,
 * whose tokens are good too. issuer: the iss of its tokens, and the audience that means this
 * server. */
int account_issuer_create(struct span key_pem, struct span older_pem, const char *issuer,
			  struct account_issuer **ret, struct err *reterr) MUST_CHECK;
struct account_issuer *account_issuer_destroy(struct account_issuer *i);
const char *account_issuer_name(const struct account_issuer *i);
const struct jwk_set *account_issuer_keys(const struct account_issuer *i);

/* Appends a token; wish->account.expires is when it ends. */
int account_token_make(const struct account_issuer *i, struct account_wish *wish, usec now,
		       struct buf *out, struct err *reterr) MUST_CHECK;

/* Whether the parsed token is of this issuer, by its own words. */
bool account_token_is_ours(const struct account_issuer *i, const struct jwt *t);
/* Checks signature, times and form, not the audience. ERR_UNAUTHORIZED. */
int account_token_verify(const struct account_issuer *i, const struct jwt *t, usec now,
			 struct arena *mem, struct account_token *ret,
			 struct err *reterr) MUST_CHECK;
/* Whether what the token stands on is (still) there. ERR_UNAUTHORIZED. */
int account_token_check_live(const struct account_token *t, const struct backend *b,
			     struct err *reterr) MUST_CHECK;

#endif
