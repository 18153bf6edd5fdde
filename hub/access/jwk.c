#include "access/jwk.h"

#include "base/base64.h"
#include "base/json.h"
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>

#define MIN_RSA_BITS 2048
#define MAX_RSA_BITS 16384

static const struct {
	const char *name, *group;
	size_t bytes;
} curves[] = {{"P-256", "prime256v1", 32}, {"P-384", "secp384r1", 48}, {"P-521", "secp521r1", 66}};

static EVP_PKEY *from_params(const char *type, OSSL_PARAM_BLD *build)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *key = NULL;
	if (!params || !ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
	    EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	return key;
}

static int read_bytes(const struct cJSON *jwk, const char *member, struct buf *out)
{
	const char *text = json_str(jwk, member);
	return text && base64_read_url(span_of(text), out) == 0 && out->len ? 0 : -1;
}

static EVP_PKEY *read_rsa(const struct cJSON *jwk)
{
	struct buf n = BUF_MAX(4096), e = BUF_MAX(16);
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	BIGNUM *bn = NULL, *be = NULL;
	EVP_PKEY *key = NULL;
	if (read_bytes(jwk, "n", &n) == 0 && read_bytes(jwk, "e", &e) == 0) {
		bn = BN_bin2bn((unsigned char *)n.ptr, (int)n.len, NULL);
		be = BN_bin2bn((unsigned char *)e.ptr, (int)e.len, NULL);
	}
	if (build && bn && be && BN_num_bits(bn) >= MIN_RSA_BITS &&
	    BN_num_bits(bn) <= MAX_RSA_BITS &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, bn) == 1 &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, be) == 1)
		key = from_params("RSA", build);
	BN_free(bn);
	BN_free(be);
	OSSL_PARAM_BLD_free(build);
	buf_done(&n);
	buf_done(&e);
	return key;
}

/* X9.62 uncompressed: 4, x, y, each as long as the curve's field. */
static bool read_point(const struct cJSON *jwk, size_t bytes, struct buf *out)
{
	struct buf x = BUF_MAX(128), y = BUF_MAX(128);
	bool ok = read_bytes(jwk, "x", &x) == 0 && read_bytes(jwk, "y", &y) == 0 &&
		  x.len == bytes && y.len == bytes;
	buf_add_char(out, 4);
	if (ok) {
		buf_add_span(out, buf_span(&x));
		buf_add_span(out, buf_span(&y));
	}
	buf_done(&x);
	buf_done(&y);
	return ok;
}

static EVP_PKEY *read_ec(const struct cJSON *jwk)
{
	const char *crv = json_str(jwk, "crv");
	struct buf point = BUF_MAX(256);
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	EVP_PKEY *key = NULL;
	size_t i = 0;
	while (i < ARRAY_LEN(curves) && (!crv || strcmp(crv, curves[i].name) != 0))
		i++;
	if (build && i < ARRAY_LEN(curves) && read_point(jwk, curves[i].bytes, &point) &&
	    OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, curves[i].group,
					    0) == 1 &&
	    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point.ptr,
					     point.len) == 1)
		key = from_params("EC", build);
	OSSL_PARAM_BLD_free(build);
	buf_done(&point);
	return key;
}

static void add_key(struct jwk_set *s, const struct cJSON *jwk)
{
	const char *kty = json_str(jwk, "kty"), *use = json_str(jwk, "use");
	const char *kid = json_str(jwk, "kid"), *alg = json_str(jwk, "alg");
	EVP_PKEY *key = NULL;
	if (s->n == JWK_MAX_KEYS || !kty || (use && strcmp(use, "sig") != 0))
		return;
	if (strcmp(kty, "RSA") == 0)
		key = read_rsa(jwk);
	else if (strcmp(kty, "EC") == 0)
		key = read_ec(jwk);
	ERR_clear_error();
	if (key)
		s->keys[s->n++] =
		    (struct jwk){xstrdup(kid ? kid : ""), xstrdup(alg ? alg : ""), key};
}

static struct jwk_set *set_create(void)
{
	struct jwk_set *s = xcalloc(1, sizeof(*s));
	s->refs = 1;
	s->keys = xcalloc(JWK_MAX_KEYS, sizeof(*s->keys));
	return s;
}

int jwk_set_parse(struct span json, struct jwk_set **ret, struct err *reterr)
{
	static const struct json_limits limits = {.max_bytes = (size_t)1 << 20, .max_depth = 16};
	struct jwk_set *s;
	auto_json *tree = NULL;
	struct err e = ERR_INIT;
	if (json_parse(json, &limits, &tree, &e) < 0)
		return err_set(reterr, ERR_INVALID, "not a key set: %s", e.text);
	s = set_create();
	json_foreach (json_get(tree, "keys"), jwk)
		add_key(s, jwk);
	if (!s->n) {
		jwk_set_unref(s);
		return err_set(reterr, ERR_INVALID,
			       "the key set holds no RSA or EC key to verify "
			       "signatures with");
	}
	*ret = s;
	return 0;
}

static char *digest_of(EVP_PKEY *key)
{
	struct buf text = BUF_INIT;
	unsigned char *der = NULL, md[32];
	unsigned n = 0;
	int len = i2d_PUBKEY(key, &der);
	if (len > 0 && EVP_Digest(der, (size_t)len, md, &n, EVP_sha256(), NULL) == 1)
		base64_add_url(&text, span_make((const char *)md, n));
	OPENSSL_free(der);
	return buf_steal(&text, NULL);
}

int jwk_set_add(struct jwk_set *s, EVP_PKEY *key, struct err *reterr)
{
	char *kid;
	if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC || EVP_PKEY_get_bits(key) != 256)
		return err_set(reterr, ERR_INVALID, "the key that signs tokens is not EC P-256");
	kid = digest_of(key);
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->keys[i].kid, kid) == 0) {
			free(kid);
			return 0;
		}
	}
	if (s->n == JWK_MAX_KEYS) {
		free(kid);
		return err_set(reterr, ERR_INVALID, "there are more than %d keys", JWK_MAX_KEYS);
	}
	EVP_PKEY_up_ref(key);
	s->keys[s->n++] = (struct jwk){kid, xstrdup("ES256"), key};
	return 0;
}

int jwk_set_of(EVP_PKEY *key, struct jwk_set **ret, struct err *reterr)
{
	struct jwk_set *s = set_create();
	int r = jwk_set_add(s, key, reterr);
	if (r) {
		jwk_set_unref(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct jwk_set *jwk_set_ref(struct jwk_set *s)
{
	s->refs++;
	return s;
}

struct jwk_set *jwk_set_unref(struct jwk_set *s)
{
	if (!s || --s->refs)
		return NULL;
	for (size_t i = 0; i < s->n; i++) {
		free(s->keys[i].kid);
		free(s->keys[i].alg);
		EVP_PKEY_free(s->keys[i].key);
	}
	free(s->keys);
	free(s);
	return NULL;
}

static bool add_coordinate(EVP_PKEY *key, const char *param, const char *member, struct buf *out)
{
	unsigned char bytes[32];
	BIGNUM *n = NULL;
	bool ok = EVP_PKEY_get_bn_param(key, param, &n) == 1 && BN_bn2binpad(n, bytes, 32) == 32;
	BN_free(n);
	buf_addf(out, ",\"%s\":\"", member);
	if (ok)
		base64_add_url(out, span_make((const char *)bytes, sizeof(bytes)));
	buf_add_char(out, '"');
	return ok;
}

void jwk_set_print(const struct jwk_set *s, struct buf *out)
{
	buf_add_str(out, "{\"keys\":[");
	for (size_t i = 0; i < s->n; i++) {
		buf_addf(out, "%s{\"use\":\"sig\",\"kty\":\"EC\",\"kid\":", i ? "," : "");
		buf_add_json_str(out, span_of(s->keys[i].kid));
		buf_addf(out, ",\"crv\":\"P-256\",\"alg\":\"%s\"", s->keys[i].alg);
		(void)add_coordinate(s->keys[i].key, OSSL_PKEY_PARAM_EC_PUB_X, "x", out);
		(void)add_coordinate(s->keys[i].key, OSSL_PKEY_PARAM_EC_PUB_Y, "y", out);
		buf_add_char(out, '}');
	}
	buf_add_str(out, "]}");
}
