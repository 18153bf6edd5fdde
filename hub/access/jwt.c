#include "access/jwt.h"

#include "base/base64.h"
#include "base/json.h"
#include <errno.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

enum family { RSA_PKCS1, RSA_PSS, ECDSA };

static const struct algorithm {
	const char *name;
	enum family family;
	const EVP_MD *(*digest)(void);
	int curve_bits;
} algorithms[] = {
    {"RS256", RSA_PKCS1, EVP_sha256, 0}, {"RS384", RSA_PKCS1, EVP_sha384, 0},
    {"RS512", RSA_PKCS1, EVP_sha512, 0}, {"PS256", RSA_PSS, EVP_sha256, 0},
    {"PS384", RSA_PSS, EVP_sha384, 0},	 {"PS512", RSA_PSS, EVP_sha512, 0},
    {"ES256", ECDSA, EVP_sha256, 256},	 {"ES384", ECDSA, EVP_sha384, 384},
    {"ES512", ECDSA, EVP_sha512, 521},
};

static int refuse(struct err *reterr, const char *why)
{
	return err_set(reterr, ERR_UNAUTHORIZED, "%s", why);
}

static const struct algorithm *algorithm_of(const struct cJSON *header)
{
	const char *alg = json_str(header, "alg");
	for (size_t i = 0; alg && i < ARRAY_LEN(algorithms); i++)
		if (strcmp(alg, algorithms[i].name) == 0)
			return &algorithms[i];
	return NULL;
}

static struct cJSON *parse_part(struct span part)
{
	static const struct json_limits limits = {.max_bytes = JWT_MAX_BYTES, .max_depth = 16};
	struct buf text = BUF_MAX(JWT_MAX_BYTES);
	struct cJSON *tree = NULL;
	if (base64_read_url(part, &text) < 0 ||
	    json_parse(buf_span(&text), &limits, &tree, NULL) < 0)
		tree = NULL;
	buf_done(&text);
	if (!json_is(tree, JSON_OBJECT)) {
		json_free(tree);
		return NULL;
	}
	return tree;
}

int jwt_parse(struct span token, struct jwt *ret, struct err *reterr)
{
	struct span rest = token, header, claims;
	struct jwt t = {.signature = BUF_MAX(4096)};
	int r = 0;
	*ret = (struct jwt){0};
	if (token.len > JWT_MAX_BYTES)
		return refuse(reterr, "the token is too long");
	header = span_split(&rest, '.');
	claims = span_split(&rest, '.');
	if (!header.len || !claims.len || !rest.len || memchr(rest.ptr, '.', rest.len))
		return refuse(reterr, "not a token of three parts");
	t.signed_part = span_make(token.ptr, header.len + 1 + claims.len);
	if (base64_read_url(rest, &t.signature) < 0)
		r = refuse(reterr, "the token's signature is not base64url");
	if (!r && !(t.header = parse_part(header)))
		r = refuse(reterr, "the token's header is not a JSON object in base64url");
	if (!r && !(t.claims = parse_part(claims)))
		r = refuse(reterr, "the token's claims are not a JSON object in base64url");
	if (!r && json_get(t.header, "crit"))
		r = refuse(reterr, "the token has critical headers");
	if (!r && !algorithm_of(t.header))
		r = refuse(reterr, "the token's algorithm is not supported");
	if (r)
		jwt_done(&t);
	else
		*ret = t;
	return r;
}

void jwt_done(struct jwt *t)
{
	buf_done(&t->signature);
	json_free(t->header);
	json_free(t->claims);
	*t = (struct jwt){0};
}

/* r and s, each half of the text, as OpenSSL wants them: DER. */
static int to_der(struct span raw, unsigned char **ret)
{
	ECDSA_SIG *sig = ECDSA_SIG_new();
	int half = (int)(raw.len / 2), n = -1;
	const unsigned char *at = (const unsigned char *)raw.ptr;
	BIGNUM *r = BN_bin2bn(at, half, NULL), *s = BN_bin2bn(at + half, half, NULL);
	if (sig && r && s && ECDSA_SIG_set0(sig, r, s) == 1)
		n = i2d_ECDSA_SIG(sig, ret);
	else {
		BN_free(r);
		BN_free(s);
	}
	ECDSA_SIG_free(sig);
	return n;
}

static bool fits(const struct algorithm *a, const struct jwk *k)
{
	int type = EVP_PKEY_get_base_id(k->key);
	if (k->alg[0] && strcmp(k->alg, a->name) != 0)
		return false;
	if (a->family == ECDSA)
		return type == EVP_PKEY_EC && EVP_PKEY_get_bits(k->key) == a->curve_bits;
	return type == EVP_PKEY_RSA;
}

static bool verify_bytes(const struct algorithm *a, EVP_PKEY *key, struct span text,
			 const unsigned char *sig, size_t sig_len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *pctx = NULL;
	bool ok = ctx && EVP_DigestVerifyInit(ctx, &pctx, a->digest(), NULL, key) == 1;
	if (ok && a->family == RSA_PSS)
		ok = EVP_PKEY_CTX_set_rsa_padding(pctx, RSA_PKCS1_PSS_PADDING) == 1 &&
		     EVP_PKEY_CTX_set_rsa_pss_saltlen(pctx, RSA_PSS_SALTLEN_DIGEST) == 1;
	ok = ok &&
	     EVP_DigestVerify(ctx, sig, sig_len, (const unsigned char *)text.ptr, text.len) == 1;
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return ok;
}

static bool verify_with(const struct jwt *t, const struct algorithm *a, const struct jwk *k)
{
	struct span raw = buf_span(&t->signature);
	unsigned char *der = NULL;
	bool ok = false;
	int n;
	if (!fits(a, k))
		return false;
	if (a->family != ECDSA)
		return verify_bytes(a, k->key, t->signed_part, (const unsigned char *)raw.ptr,
				    raw.len);
	if (raw.len != 2 * (((size_t)a->curve_bits + 7) / 8))
		return false;
	n = to_der(raw, &der);
	if (n > 0)
		ok = verify_bytes(a, k->key, t->signed_part, der, (size_t)n);
	OPENSSL_free(der);
	return ok;
}

int jwt_verify(const struct jwt *t, const struct jwk_set *keys, struct err *reterr)
{
	const struct algorithm *a = algorithm_of(t->header);
	const char *kid = json_str(t->header, "kid");
	bool known = false;
	for (size_t i = 0; a && i < keys->n; i++) {
		const struct jwk *k = &keys->keys[i];
		if (kid && k->kid[0] && strcmp(kid, k->kid) != 0)
			continue;
		known = true;
		if (verify_with(t, a, k))
			return 0;
	}
	(void)refuse(reterr, "the token's signature is not good");
	return known ? err_errno(ERR_UNAUTHORIZED) : -ENOENT;
}

static usec time_of(const struct jwt *t, const char *claim)
{
	struct span text = json_number_text(json_get(t->claims, claim));
	int64_t s = 0;
	const char *dot = text.len ? memchr(text.ptr, '.', text.len) : NULL;
	if (json_int64(t->claims, claim, &s) < 0 && dot) { /* RFC 7519 2: may have a fraction */
		auto_json *whole = json_new_number(span_make(text.ptr, (size_t)(dot - text.ptr)));
		(void)json_value_int64(whole, &s);
	}
	return s > 0 && s < (int64_t)1 << 40 ? s * USEC_PER_SEC : 0;
}

usec jwt_expires(const struct jwt *t)
{
	return time_of(t, "exp");
}

static int check_claims(const struct jwt *t, const char *issuer, usec now, usec leeway,
			bool may_last, struct err *reterr)
{
	const char *iss = json_str(t->claims, "iss");
	usec exp = time_of(t, "exp"), nbf = time_of(t, "nbf");
	if (!iss || strcmp(iss, issuer) != 0)
		return refuse(reterr, "the token is of another issuer");
	if (!(may_last && !json_get(t->claims, "exp")) && (!exp || now - leeway >= exp))
		return refuse(reterr, "the token has expired");
	if (json_get(t->claims, "nbf") && (!nbf || now + leeway < nbf))
		return refuse(reterr, "the token is not good yet");
	return 0;
}

int jwt_check_claims(const struct jwt *t, const char *issuer, usec now, usec leeway,
		     struct err *reterr)
{
	return check_claims(t, issuer, now, leeway, false, reterr);
}

int jwt_check_lasting(const struct jwt *t, const char *issuer, usec now, usec leeway,
		      struct err *reterr)
{
	return check_claims(t, issuer, now, leeway, true, reterr);
}

bool jwt_is_for(const struct jwt *t, const char *audience)
{
	const struct cJSON *aud = json_get(t->claims, "aud");
	if (json_value_str(aud))
		return strcmp(json_value_str(aud), audience) == 0;
	json_foreach (aud, a)
		if (json_value_str(a) && strcmp(json_value_str(a), audience) == 0)
			return true;
	return false;
}

/* DER to r and s of 32 bytes each. */
static bool from_der(const unsigned char *der, size_t n, unsigned char out[64])
{
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)n);
	bool ok = sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, 32) == 32 &&
		  BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + 32, 32) == 32;
	ECDSA_SIG_free(sig);
	return ok;
}

static bool sign_bytes(EVP_PKEY *key, struct span text, unsigned char out[64])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char der[128];
	size_t n = sizeof(der);
	bool ok = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
		  EVP_DigestSign(ctx, der, &n, (const unsigned char *)text.ptr, text.len) == 1 &&
		  from_der(der, n, out);
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return ok;
}

int jwt_sign(const struct cJSON *claims, const struct jwk_set *key, struct buf *out,
	     struct err *reterr)
{
	struct buf header = BUF_INIT, body = BUF_INIT;
	unsigned char sig[64];
	bool ok;
	buf_add_str(&header, "{\"alg\":\"ES256\",\"kid\":");
	buf_add_json_str(&header, span_of(key->keys[0].kid));
	buf_add_char(&header, '}');
	json_print(claims, &body);
	buf_clear(out);
	base64_add_url(out, span_make((const char *)header.ptr, header.len));
	buf_add_char(out, '.');
	base64_add_url(out, span_make((const char *)body.ptr, body.len));
	buf_done(&header);
	buf_done(&body);
	ok = sign_bytes(key->keys[0].key, buf_span(out), sig);
	buf_add_char(out, '.');
	base64_add_url(out, span_make((const char *)sig, sizeof(sig)));
	return ok && buf_ok(out) ? 0 : err_set(reterr, ERR_INTERNAL, "cannot sign a token");
}
