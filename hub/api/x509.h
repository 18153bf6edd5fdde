#ifndef API_X509_H
#define API_X509_H
/*
 * Making keys and certificates (EC P-256, SHA-256) with OpenSSL, as PEM texts.
 *
 * Only what pki.c needs; the subject is always built here, never taken from a request.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>

enum x509_use { X509_CA, X509_SERVER, X509_CLIENT };

struct x509_request {
	enum x509_use use;
	const char *common_name;
	const char *organization; /* or NULL */
	const char *const *names; /* SERVER: names and addresses; NULL-terminated */
	usec not_before, not_after;
	struct span ca_cert, ca_key; /* PEM of the issuer; absent: self-signed */
};

/* Appends a new key and the certificate for it. ERR_INTERNAL with OpenSSL's words. */
int x509_make(const struct x509_request *r, struct buf *ret_cert, struct buf *ret_key,
	      struct err *reterr) MUST_CHECK;
/* Appends a new private key alone (EC P-256, PEM). */
int x509_make_key(struct buf *ret_key, struct err *reterr) MUST_CHECK;
/* Whether a PEM certificate is valid until `until` at least, covers all names, matches the key,
 * and was signed by ca (absent: not checked). */
bool x509_is_fit(struct span cert, struct span key, struct span ca, const char *const *names,
		 usec until);

/* How many certificates a PEM text holds; *ret_same: one of them has the key of `ca`. */
size_t x509_count(struct span bundle, struct span ca, bool *ret_same);

#endif
