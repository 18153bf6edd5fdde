/* TLS of the libwebsockets engine: the listener's certificates, and whom a client's names. */
#include "api/http_lws.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/* Cost of a handshake counts when thousands of watches reconnect: tickets let them resume. */
#define SESSION_SECS 3600

/* Clients that have several certificates choose by these names. */
static void name_proxy_cas(SSL_CTX *ctx, X509_STORE *cas)
{
	STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(cas);
	for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
		X509 *ca = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));
		if (ca)
			SSL_CTX_add_client_CA(ctx, ca);
	}
}

X509_STORE *http_lws_proxy_store(struct span pem)
{
	BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	X509_STORE *store = X509_STORE_new();
	size_t n = 0;
	X509 *ca;
	while (bio && store && (ca = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		n += X509_STORE_add_cert(store, ca) == 1;
		X509_free(ca);
	}
	BIO_free(bio);
	ERR_clear_error();
	if (n) /* whatever is in the file is trusted, its intermediates, too */
		X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
	else
		X509_STORE_free(store);
	return n ? store : NULL;
}

/* `pem` is CA, serving certificate and key, one after the other (http_server_listen). */
void http_lws_load_ca(SSL_CTX *ctx, const struct http_listener *l)
{
	struct span pem = l->client_ca_pem;
	BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	X509 *ca = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
	if (ca) {
		X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), ca);
		SSL_CTX_add_client_CA(ctx, ca);
	}
	if (cert && key) {
		SSL_CTX_use_certificate(ctx, cert);
		SSL_CTX_use_PrivateKey(ctx, key);
	}
	if (l->proxy_cas)
		name_proxy_cas(ctx, l->proxy_cas);
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_timeout(ctx, SESSION_SECS);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* stateless tickets only */
	SSL_CTX_set_num_tickets(ctx, 1);
	X509_free(ca);
	X509_free(cert);
	EVP_PKEY_free(key);
	BIO_free(bio);
	ERR_clear_error();
}

static void add_name(struct buf *out, X509_NAME_ENTRY *entry)
{
	unsigned char *utf8 = NULL;
	int n = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
	/* A NUL inside a name is a trick: such a name names nobody. */
	if (n > 0 && !memchr(utf8, 0, (size_t)n)) {
		buf_add(out, utf8, (size_t)n);
		buf_add_char(out, '\0');
	}
	OPENSSL_free(utf8);
}

/* The attribute by which kube-apiserver (1.34) reads a uid from a subject: one, of any kind of text
 * that is not empty. */
#define UID_OBJECT "1.3.6.1.4.1.57683.2"

static void read_uid(X509_NAME *subject, struct http_peer *ret)
{
	ASN1_OBJECT *type = OBJ_txt2obj(UID_OBJECT, 1);
	int at = type ? X509_NAME_get_index_by_OBJ(subject, type, -1) : -1;
	struct buf out = BUF_MAX(16384);

	if (at >= 0) {
		add_name(&out, X509_NAME_get_entry(subject, at));
		ret->uid_unreadable =
		    !out.len || X509_NAME_get_index_by_OBJ(subject, type, at) >= 0;
		ret->uid = buf_steal(&out, NULL);
	}
	buf_done(&out);
	ASN1_OBJECT_free(type);
}

static void read_digest(X509 *cert, struct http_peer *ret)
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (X509_digest(cert, EVP_sha256(), bytes, &n) != 1)
		n = 0;
	for (unsigned i = 0; i < n && 2 * i + 2 < sizeof(ret->digest); i++)
		snprintf(ret->digest + 2 * (size_t)i, 3, "%02x", bytes[i]);
}

static char *names_of(X509_NAME *subject, int nid)
{
	struct buf out = BUF_MAX(16384);
	int at = -1;
	while ((at = X509_NAME_get_index_by_NID(subject, nid, at)) >= 0)
		add_name(&out, X509_NAME_get_entry(subject, at));
	buf_add_char(&out, '\0');
	return buf_steal(&out, NULL);
}

/* By the file's certificates alone: what a client sends of its chain is not there any more when
 * its session is resumed. */
static bool is_proxy(X509_STORE *cas, X509 *cert)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	bool ok = ctx && X509_STORE_CTX_init(ctx, cas, cert, NULL) == 1 &&
		  X509_STORE_CTX_set_default(ctx, "ssl_client") == 1 && X509_verify_cert(ctx) == 1;
	X509_STORE_CTX_free(ctx);
	ERR_clear_error();
	return ok;
}

void http_lws_read_peer(struct http_conn *c)
{
	SSL *ssl = lws_get_ssl(c->wsi);
	const struct http_listener *l = lws_get_vhost_user(lws_get_vhost(c->wsi));
	X509 *cert = ssl ? SSL_get1_peer_certificate(ssl) : NULL;
	if (!lws_get_peer_simple(c->wsi, c->peer.address, sizeof(c->peer.address)))
		c->peer.address[0] = '\0';
	if (!cert)
		return;
	c->peer.presented = true;
	c->peer.verified = SSL_get_verify_result(ssl) == X509_V_OK;
	c->peer.proxy = l && l->proxy_cas && is_proxy(l->proxy_cas, cert);
	c->peer.common_name = names_of(X509_get_subject_name(cert), NID_commonName);
	c->peer.organizations = names_of(X509_get_subject_name(cert), NID_organizationName);
	read_uid(X509_get_subject_name(cert), &c->peer);
	read_digest(cert, &c->peer);
	X509_free(cert);
}

void http_lws_peer_done(struct http_peer *p)
{
	free(p->common_name);
	free(p->organizations);
	free(p->uid);
	*p = (struct http_peer){0};
}
