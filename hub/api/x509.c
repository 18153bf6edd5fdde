#include "api/x509.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static int failed(struct err *reterr, const char *what)
{
	char text[256];
	ERR_error_string_n(ERR_get_error(), text, sizeof(text));
	ERR_clear_error();
	return err_set(reterr, ERR_INTERNAL, "cannot %s: %s", what, text);
}

static X509 *read_cert(struct span pem)
{
	BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
	BIO_free(bio);
	return cert;
}

static EVP_PKEY *read_key(struct span pem)
{
	BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
	BIO_free(bio);
	return key;
}

static bool is_address(const char *name)
{
	unsigned char bytes[16];
	return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static void alt_names(const char *const *names, struct buf *out)
{
	for (; names && *names; names++)
		buf_addf(out, "%s%s:%s", out->len ? "," : "", is_address(*names) ? "IP" : "DNS",
			 *names);
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;
	bool ok;
	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = ext && X509_add_ext(cert, ext, -1) == 1;
	X509_EXTENSION_free(ext);
	return ok;
}

static bool add_extensions(X509 *cert, X509 *issuer, const struct x509_request *r)
{
	struct buf names = BUF_MAX(65536);
	bool ok;
	if (r->use == X509_CA)
		return add_extension(cert, issuer, NID_basic_constraints, "critical,CA:TRUE") &&
		       add_extension(cert, issuer, NID_key_usage,
				     "critical,keyCertSign,cRLSign,digitalSignature") &&
		       add_extension(cert, issuer, NID_subject_key_identifier, "hash");
	ok = add_extension(cert, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
	     add_extension(cert, issuer, NID_key_usage, "critical,digitalSignature") &&
	     add_extension(cert, issuer, NID_ext_key_usage,
			   r->use == X509_SERVER ? "serverAuth" : "clientAuth") &&
	     add_extension(cert, issuer, NID_authority_key_identifier, "keyid:always");
	alt_names(r->names, &names);
	if (ok && names.len)
		ok = add_extension(cert, issuer, NID_subject_alt_name, names.ptr);
	buf_done(&names);
	return ok;
}

static bool set_serial(X509 *cert)
{
	unsigned char bytes[16];
	BIGNUM *n;
	bool ok;
	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	bytes[0] &= 0x7f;
	n = BN_bin2bn(bytes, sizeof(bytes), NULL);
	ok = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));
	BN_free(n);
	return ok;
}

static bool add_name(X509_NAME *subject, const char *field, const char *value)
{
	return !value || X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8,
						    (const unsigned char *)value, -1, -1, 0) == 1;
}

static bool fill(X509 *cert, const struct x509_request *r, X509 *issuer, EVP_PKEY *key,
		 EVP_PKEY *issuer_key)
{
	X509_NAME *subject = X509_get_subject_name(cert);
	return X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
	       ASN1_TIME_set(X509_getm_notBefore(cert), r->not_before / USEC_PER_SEC) &&
	       ASN1_TIME_set(X509_getm_notAfter(cert), r->not_after / USEC_PER_SEC) &&
	       add_name(subject, "O", r->organization) && add_name(subject, "CN", r->common_name) &&
	       X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1 &&
	       X509_set_pubkey(cert, key) == 1 && add_extensions(cert, issuer, r) &&
	       X509_sign(cert, issuer_key, EVP_sha256()) > 0;
}

/* Arguments are evaluated in any order: the length, which sets the pointer, comes first. */
static void add_memory(BIO *bio, struct buf *out)
{
	char *bytes = NULL;
	long n = BIO_get_mem_data(bio, &bytes);

	if (n > 0)
		buf_add(out, bytes, (size_t)n);
}

static bool print(X509 *cert, EVP_PKEY *key, struct buf *ret_cert, struct buf *ret_key)
{
	BIO *bio = BIO_new(BIO_s_mem());
	bool ok = bio && PEM_write_bio_X509(bio, cert) == 1;
	if (ok)
		add_memory(bio, ret_cert);
	/* SEC1, "EC PRIVATE KEY": fabric8's client takes PKCS #8 for RSA. */
	ok = ok && BIO_reset(bio) == 1 &&
	     PEM_write_bio_PrivateKey_traditional(bio, key, NULL, NULL, 0, NULL, NULL) == 1;
	if (ok)
		add_memory(bio, ret_key);
	BIO_free(bio);
	return ok && buf_ok(ret_cert) && buf_ok(ret_key);
}

int x509_make(const struct x509_request *r, struct buf *ret_cert, struct buf *ret_key,
	      struct err *reterr)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	X509 *issuer = r->ca_cert.ptr ? read_cert(r->ca_cert) : cert;
	EVP_PKEY *issuer_key = r->ca_key.ptr ? read_key(r->ca_key) : key;
	bool ok = key && cert && issuer && issuer_key && fill(cert, r, issuer, key, issuer_key) &&
		  print(cert, key, ret_cert, ret_key);
	int n = ok ? 0 : failed(reterr, "make a certificate");
	if (issuer != cert)
		X509_free(issuer);
	if (issuer_key != key)
		EVP_PKEY_free(issuer_key);
	X509_free(cert);
	EVP_PKEY_free(key);
	return n;
}

int x509_make_key(struct buf *ret_key, struct err *reterr)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	BIO *bio = BIO_new(BIO_s_mem());
	bool ok = key && bio && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1;
	if (ok)
		add_memory(bio, ret_key);
	BIO_free(bio);
	EVP_PKEY_free(key);
	return ok && buf_ok(ret_key) ? 0 : failed(reterr, "make a key");
}

static bool covers(X509 *cert, const char *const *names)
{
	for (; names && *names; names++) {
		int r = is_address(*names) ? X509_check_ip_asc(cert, *names, 0)
					   : X509_check_host(cert, *names, 0, 0, NULL);
		if (r != 1)
			return false;
	}
	return true;
}

bool x509_is_fit(struct span cert_pem, struct span key_pem, struct span ca_pem,
		 const char *const *names, usec until)
{
	X509 *cert = read_cert(cert_pem);
	EVP_PKEY *key = read_key(key_pem);
	X509 *ca = ca_pem.ptr ? read_cert(ca_pem) : NULL;
	time_t t = (time_t)(until / USEC_PER_SEC);
	bool ok = cert && key && X509_check_private_key(cert, key) == 1 && covers(cert, names) &&
		  X509_cmp_time(X509_get0_notAfter(cert), &t) > 0;
	if (ok && ca_pem.ptr)
		ok = ca && X509_verify(cert, X509_get0_pubkey(ca)) == 1;
	X509_free(cert);
	X509_free(ca);
	EVP_PKEY_free(key);
	ERR_clear_error();
	return ok;
}

size_t x509_count(struct span bundle, struct span ca_pem, bool *ret_same)
{
	BIO *bio = BIO_new_mem_buf(bundle.ptr, (int)bundle.len);
	X509 *ca = read_cert(ca_pem), *cert;
	size_t n = 0;
	*ret_same = false;
	for (; bio && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)); n++) {
		if (ca && EVP_PKEY_eq(X509_get0_pubkey(cert), X509_get0_pubkey(ca)) == 1)
			*ret_same = true;
		X509_free(cert);
	}
	BIO_free(bio);
	X509_free(ca);
	ERR_clear_error();
	return n;
}
