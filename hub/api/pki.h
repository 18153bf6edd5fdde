#ifndef API_PKI_H
#define API_PKI_H
/*
 * The certificates and the token of one API front, kept in a directory (mode 0700, files 0600).
 *
 * The first open makes a CA (EC P-256, 10 years), a serving certificate (localhost, 127.0.0.1,
 * ::1, the host's name and the names given), an admin client certificate (CN=muster-admin,
 * O=system:masters), a random admin token and the key that signs ServiceAccounts' tokens
 * (sa.key; with a new one the tokens of the old are worthless, unless that is among
 * account_key_files). Later opens use what is there, so credentials
 * survive restarts; the serving certificate alone is made again when it expires within 30 days
 * or lacks one of the names. A half-written directory is repaired: every file is written under
 * another name and renamed, the CA first.
 *
 * A struct pki is read-only after pki_open and may be shared by threads.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"

struct pki;

struct pki_options {
	const char *dir; /* DATA_DIR/pki; created */
	const char *const
	    *names; /* more names or addresses of this server; NULL-terminated or NULL */
	/* Keys whose ServiceAccount tokens are good too: PEM files, public or private;
	 * NULL-terminated or NULL. */
	const char *const *account_key_files;
	const char *proxy_ca_file; /* of front proxies (PEM); NULL: there are none */
	usec now;
};

/* ERR_INTERNAL with the path and the cause. */
int pki_open(const struct pki_options *o, struct pki **ret, struct err *reterr) MUST_CHECK;
struct pki *pki_close(struct pki *p); /* NULL is fine; returns NULL */

/* PEM texts, borrowed. */
struct span pki_ca_pem(const struct pki *p);
struct span pki_serving_cert_pem(const struct pki *p);
struct span pki_serving_key_pem(const struct pki *p);
struct span pki_admin_token(const struct pki *p);
struct span pki_account_key_pem(const struct pki *p);
struct span pki_older_account_keys_pem(const struct pki *p); /* one after the other */

struct span pki_proxy_ca_pem(const struct pki *p); /* absent: no front proxies */

/* Writes a kubeconfig (mode 0600) for the admin with everything embedded, replacing `path`
 * atomically; one that says the same is left as it is. `server` is a URL; `cluster_name` names
 * cluster, user and context. ERR_NO_SPACE: the disk is full, and the old one stands. */
int pki_write_kubeconfig(const struct pki *p, const char *server, const char *cluster_name,
			 const char *path, struct err *reterr) MUST_CHECK;

#endif
