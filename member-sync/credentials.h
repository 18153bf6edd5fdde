#ifndef MEMBER_SYNC_CREDENTIALS_H
#define MEMBER_SYNC_CREDENTIALS_H
/*
 * What can be learned from certificates, keys and tokens without connecting anywhere.
 * Pure functions on OpenSSL; nothing is kept. Texts of errors never hold secrets.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"

/* 0 when the PEM text holds at least one certificate and each one parses; -EINVAL. */
int credentials_check_ca(struct span pem) MUST_CHECK;

/* Whether the first certificate of `cert` parses and belongs to `key`, an unencrypted private
 * key; its validity. ERR_INVALID with field "client-certificate-data" or "client-key-data". */
int credentials_check_pair(struct span cert, struct span key, usec *ret_not_before,
			   usec *ret_not_after, struct err *reterr) MUST_CHECK;

/* The `exp` of a token that is a JWT (RFC 7519), unverified: it is our own token and the server
 * has the last word. 0 when it is not one, or does not expire. */
usec credentials_token_expiry(struct span token);

#endif
