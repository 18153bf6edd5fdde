#include "test_pki.h"

#include "base/buf.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

static char *pem_of(X509 *cert, EVP_PKEY *key)
{
	BIO *out = BIO_new(BIO_s_mem());
	char *bytes;

	if (cert)
		PEM_write_bio_X509(out, cert);
	else
		PEM_write_bio_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL);
	long len = BIO_get_mem_data(out, &bytes);
	char *text = xstrndup(bytes, (size_t)len);
	BIO_free(out);
	return text;
}

static void add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	assert(e);
	X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
}

static X509 *make(const char *cn, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key,
		  const char *san, usec not_before, usec not_after)
{
	static long serial = 1;
	X509 *x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x),
			 __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED));
	X509_time_adj_ex(X509_getm_notBefore(x), 0, (long)(not_before / USEC_PER_SEC), NULL);
	X509_time_adj_ex(X509_getm_notAfter(x), 0, (long)(not_after / USEC_PER_SEC), NULL);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1, 0);
	X509_set_issuer_name(x, issuer ? X509_get_subject_name(issuer) : name);
	X509_set_pubkey(x, key);
	if (!issuer) {
		add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE");
		add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign");
	}
	if (san)
		add_extension(x, issuer ? issuer : x, NID_subject_alt_name, san);
	int ok = X509_sign(x, issuer_key ? issuer_key : key, EVP_sha256());
	assert(ok > 0);
	return x;
}

void test_authority_make(struct test_authority *a, const char *name)
{
	a->key = EVP_EC_gen("P-256");
	a->cert = make(name, a->key, NULL, NULL, NULL, -86400 * USEC_PER_SEC, 86400 * USEC_PER_SEC);
	a->pem = pem_of(a->cert, NULL);
}

void test_authority_done(struct test_authority *a)
{
	X509_free(a->cert);
	EVP_PKEY_free(a->key);
	free(a->pem);
}

void test_certificate_make(const struct test_authority *a, const char *cn, const char *san,
			   usec not_before, usec not_after, struct test_certificate *ret)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = make(cn, key, a->cert, a->key, san, not_before, not_after);

	ret->cert = pem_of(x, NULL);
	ret->key = pem_of(NULL, key);
	X509_free(x);
	EVP_PKEY_free(key);
}

void test_certificate_done(struct test_certificate *c)
{
	free(c->cert);
	free(c->key);
}

char *test_base64(const char *text)
{
	size_t len = strlen(text);
	char *out = xcalloc(1, len / 3 * 4 + 8);

	EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len);
	return out;
}

static void add_data(struct buf *b, const char *key, const char *text)
{
	char *data = text ? test_base64(text) : NULL;

	if (data)
		buf_addf(b, "    %s: %s\n", key, data);
	free(data);
}

char *test_kubeconfig(const char *server, const char *ca_pem, const struct test_certificate *client,
		      const char *token, const char *more_cluster)
{
	struct buf b = BUF_INIT;

	buf_addf(&b, "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n");
	if (server)
		buf_addf(&b, "    server: %s\n", server);
	add_data(&b, "certificate-authority-data", ca_pem);
	if (more_cluster)
		buf_addf(&b, "    %s\n", more_cluster);
	buf_addf(&b, "users:\n- name: u\n  user:\n    x: y\n");
	add_data(&b, "client-certificate-data", client ? client->cert : NULL);
	add_data(&b, "client-key-data", client ? client->key : NULL);
	if (token)
		buf_addf(&b, "    token: %s\n", token);
	buf_addf(&b, "contexts:\n- name: x\n  context:\n    cluster: c\n    user: u\n"
		     "current-context: x\n");
	return buf_steal(&b, NULL);
}
