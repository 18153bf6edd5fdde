#include "member-sync/credentials.h"

#include "base/base64.h"
#include "base/json.h"

#include <errno.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

static BIO *open_pem(struct span pem)
{
	return pem.len > INT_MAX ? NULL : BIO_new_mem_buf(pem.ptr, (int)pem.len);
}

/* A key that needs a passphrase cannot be used unattended: never prompt on a terminal. */
static int no_passphrase(char *out, int size, int writing, void *arg)
{
	return 0;
}

int credentials_check_ca(struct span pem)
{
	BIO *in = open_pem(pem);
	int found = 0;
	X509 *x;

	if (!in)
		return -EINVAL;
	ERR_clear_error();
	while ((x = PEM_read_bio_X509(in, NULL, no_passphrase, NULL))) {
		found++;
		X509_free(x);
	}
	/* The loop ends with "no start line" at the end, with anything else at a broken one. */
	bool clean = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
	ERR_clear_error();
	BIO_free(in);
	return found && clean ? 0 : -EINVAL;
}

static usec time_of(const ASN1_TIME *t)
{
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1)
		return 0;
	return (usec)timegm(&tm) * USEC_PER_SEC;
}

static int check_match(X509 *x, EVP_PKEY *key, struct err *reterr)
{
	if (!key)
		return err_set_field(reterr, ERR_INVALID, "client-key-data",
				     "holds no unencrypted PEM private key");
	if (X509_check_private_key(x, key) != 1)
		return err_set_field(reterr, ERR_INVALID, "client-key-data",
				     "is not the key of the client certificate");
	return 0;
}

int credentials_check_pair(struct span cert, struct span key, usec *ret_not_before,
			   usec *ret_not_after, struct err *reterr)
{
	BIO *in = open_pem(cert);
	X509 *x = in ? PEM_read_bio_X509(in, NULL, no_passphrase, NULL) : NULL;

	BIO_free(in);
	if (!x) {
		ERR_clear_error();
		return err_set_field(reterr, ERR_INVALID, "client-certificate-data",
				     "holds no PEM certificate");
	}
	in = open_pem(key);
	EVP_PKEY *pkey = in ? PEM_read_bio_PrivateKey(in, NULL, no_passphrase, NULL) : NULL;
	BIO_free(in);
	int r = check_match(x, pkey, reterr);
	if (r == 0) {
		*ret_not_before = time_of(X509_get0_notBefore(x));
		*ret_not_after = time_of(X509_get0_notAfter(x));
	}
	EVP_PKEY_free(pkey);
	X509_free(x);
	ERR_clear_error();
	return r;
}

usec credentials_token_expiry(struct span token)
{
	auto_buf text = BUF_MAX(65536);
	struct span rest = token, exp;
	int64_t seconds;

	(void)span_split(&rest, '.');
	struct span payload = span_split(&rest, '.');
	if (!rest.ptr || base64_read_url(payload, &text) < 0 ||
	    json_check(buf_span(&text), NULL, NULL) < 0 ||
	    json_text_type(buf_span(&text)) != JSON_OBJECT ||
	    json_text_member(buf_span(&text), "exp", &exp) < 0 ||
	    json_text_int64(exp, &seconds) < 0 || seconds <= 0 ||
	    seconds > INT64_MAX / USEC_PER_SEC)
		return 0;
	return seconds * USEC_PER_SEC;
}
