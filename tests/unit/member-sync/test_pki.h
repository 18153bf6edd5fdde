#ifndef TESTS_MEMBER_SYNC_TEST_PKI_H
#define TESTS_MEMBER_SYNC_TEST_PKI_H
/*
 * Throw-away authorities and certificates for tests, made in memory (EC P-256).
 */
#include "base/clock.h"

struct test_authority {
	void *cert, *key; /* X509, EVP_PKEY */
	char *pem;	  /* certificate */
};

struct test_certificate {
	char *cert, *key; /* PEM, NUL-terminated */
};

void test_authority_make(struct test_authority *a, const char *name);
void test_authority_done(struct test_authority *a);

/* Valid from now + not_before to now + not_after. `san` like "IP:127.0.0.1,DNS:localhost", or
 * NULL. */
void test_certificate_make(const struct test_authority *a, const char *cn, const char *san,
			   usec not_before, usec not_after, struct test_certificate *ret);
void test_certificate_done(struct test_certificate *c);

/* Base64 of a text; the caller frees. */
char *test_base64(const char *text);

/* A kubeconfig in YAML; any part may be NULL. The caller frees. */
char *test_kubeconfig(const char *server, const char *ca_pem, const struct test_certificate *client,
		      const char *token, const char *more_cluster);

#endif
