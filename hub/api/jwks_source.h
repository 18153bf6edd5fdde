#ifndef API_JWKS_SOURCE_H
#define API_JWKS_SOURCE_H
/*
 * The keys of an OpenID Connect issuer, kept fresh on a thread of its own: from a file, from a
 * URL, or from where the issuer's discovery document says (https only, 1 MiB, 10 s).
 *
 * They are read at the start, every five minutes, and, at most every ten seconds, when a token
 * came that they do not verify. A failure is logged, keeps the keys there are, and is tried again
 * after ten seconds.
 */
#include "access/oidc.h"
#include "base/log.h"

struct jwks_source;

struct jwks_source_options {
	const struct oidc_config *oidc; /* borrowed */
	const struct log *log;
	/* On the source's thread, with a reference for the taker. */
	void (*keys)(void *arg, struct jwk_set *take_keys);
	void *arg;
};

int jwks_source_create(const struct jwks_source_options *o, struct jwks_source **ret,
		       struct err *reterr) MUST_CHECK;
struct jwks_source *jwks_source_destroy(struct jwks_source *s); /* NULL is fine; waits for it */
/* Any thread: a key may be missing. */
void jwks_source_kick(struct jwks_source *s);

#endif
