#ifndef TESTS_ACCESS_JWT_TEST_H
#define TESTS_ACCESS_JWT_TEST_H
/* Keys and tokens for tests: any algorithm, any claims, signed by OpenSSL alone. */
#include "access/jwt.h"
#include "base/base64.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/rsa.h>

/* The public part as a JWK of that kid. */
static inline void test_add_jwk(struct buf *out, EVP_PKEY *key, const char *kid)
{
	bool rsa = EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
	const char *params[2] = {rsa ? OSSL_PKEY_PARAM_RSA_N : OSSL_PKEY_PARAM_EC_PUB_X,
				 rsa ? OSSL_PKEY_PARAM_RSA_E : OSSL_PKEY_PARAM_EC_PUB_Y};
	const char *names[2] = {rsa ? "n" : "x", rsa ? "e" : "y"};
	int bits = EVP_PKEY_get_bits(key);
	buf_addf(out, "{\"kty\":\"%s\",\"kid\":\"%s\",\"use\":\"sig\"", rsa ? "RSA" : "EC", kid);
	if (!rsa)
		buf_addf(out, ",\"crv\":\"P-%d\"", bits);
	for (int i = 0; i < 2; i++) {
		unsigned char bytes[1024];
		BIGNUM *n = NULL;
		int len;
		assert_int_equal(EVP_PKEY_get_bn_param(key, params[i], &n), 1);
		len = rsa ? BN_bn2bin(n, bytes) : BN_bn2binpad(n, bytes, (bits + 7) / 8);
		BN_free(n);
		buf_addf(out, ",\"%s\":\"", names[i]);
		base64_add_url(out, span_make((const char *)bytes, (size_t)len));
		buf_add_char(out, '"');
	}
	buf_add_char(out, '}');
}

static inline struct jwk_set *test_key_set(EVP_PKEY *key, const char *kid)
{
	struct buf b = BUF_INIT;
	struct jwk_set *s = NULL;
	struct err e = ERR_INIT;
	buf_add_str(&b, "{\"keys\":[");
	test_add_jwk(&b, key, kid);
	buf_add_str(&b, "]}");
	if (jwk_set_parse(buf_span(&b), &s, &e) < 0)
		fail_msg("%s: %s", e.text, b.ptr);
	buf_done(&b);
	return s;
}

static inline void test_add_raw(struct buf *out, const unsigned char *der, size_t n, int bits)
{
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)n);
	unsigned char raw[132];
	int half = (bits + 7) / 8;
	assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, half), half);
	assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + half, half), half);
	base64_add_url(out, span_make((const char *)raw, 2 * (size_t)half));
	ECDSA_SIG_free(sig);
}

/* header and claims are JSON with double quotes. Owned text. */
static inline char *test_token(EVP_PKEY *key, const char *header, const char *claims,
			       const EVP_MD *md, bool pss)
{
	struct buf b = BUF_INIT;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *pctx = NULL;
	unsigned char sig[1024];
	size_t n = sizeof(sig);
	base64_add_url(&b, span_make((const char *)header, strlen(header)));
	buf_add_char(&b, '.');
	base64_add_url(&b, span_make((const char *)claims, strlen(claims)));
	assert_int_equal(EVP_DigestSignInit(ctx, &pctx, md, NULL, key), 1);
	if (pss) {
		EVP_PKEY_CTX_set_rsa_padding(pctx, RSA_PKCS1_PSS_PADDING);
		EVP_PKEY_CTX_set_rsa_pss_saltlen(pctx, RSA_PSS_SALTLEN_DIGEST);
	}
	assert_int_equal(EVP_DigestSign(ctx, sig, &n, (unsigned char *)b.ptr, b.len), 1);
	EVP_MD_CTX_free(ctx);
	buf_add_char(&b, '.');
	if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA)
		base64_add_url(&b, span_make((const char *)sig, n));
	else
		test_add_raw(&b, sig, n, EVP_PKEY_get_bits(key));
	return buf_steal(&b, NULL);
}

#endif
