#ifndef MEMBER_SYNC_KUBECONFIG_H
#define MEMBER_SYNC_KUBECONFIG_H
/*
 * A kubeconfig's current context as what a client needs: where, whom to trust, who we are.
 *
 * The text is untrusted. Everything that can be known without connecting is checked here, so
 * that a bad file is refused with the field's path instead of failing later in a handshake: the
 * server is an https URL, the CA holds certificates, certificate and key are PEM and belong
 * together. What would run or read something on the hub (exec plugins, auth providers, file
 * paths) is refused; the command line, which runs where the files are, may have them read in.
 * What would change who we are without us (impersonation, user and password, which servers
 * ignore since 1.19) is refused too rather than dropped.
 *
 * Memory that held secrets is wiped by kubeconfig_done(), as are the tree and the buffers that
 * the parse goes through; libyaml's own buffers are not within reach.
 * Sources: kubernetes-api.md section 3; client-go clientcmd for names and precedence.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>

#define KUBECONFIG_MAX_BYTES ((size_t)1 << 20)

struct kubeconfig_blob {
	char *ptr; /* owned, NUL-terminated; NULL when absent */
	size_t len;
};

struct kubeconfig {
	char *server;			  /* "https://host:port/prefix", no slash at the end */
	char *tls_server_name;		  /* or NULL: the server's host */
	char *proxy_url;		  /* or NULL: direct, whatever the environment says */
	bool insecure;			  /* the server's certificate is not verified */
	struct kubeconfig_blob ca;	  /* PEM; absent: the system's authorities */
	struct kubeconfig_blob cert, key; /* PEM; both or none */
	struct kubeconfig_blob token;	  /* bearer token */
	usec not_before, not_after;	  /* of the client certificate, or of a token that is a JWT
					   * with exp; 0: unknown */
};

/* Parses YAML or JSON. `dir` NULL: file references are refused; else they are read, relative to
 * `dir` when relative. ERR_BAD_REQUEST for text that is no YAML, ERR_TOO_LARGE,
 * ERR_INVALID with the field's path for all else. An expired certificate is NOT an error here:
 * see kubeconfig_check_time(). Texts of errors never contain secrets. */
int kubeconfig_parse(struct span text, const char *dir, struct kubeconfig *ret,
		     struct err *reterr) MUST_CHECK;

/* ERR_UNAUTHORIZED with the date when the client certificate or token is not valid at `now`. */
int kubeconfig_check_time(const struct kubeconfig *k, usec now, struct err *reterr) MUST_CHECK;

/* A self-contained kubeconfig in JSON: one cluster, user and context, all inline. Holds secrets;
 * the caller wipes it (explicit_bzero). */
void kubeconfig_print(const struct kubeconfig *k, struct buf *out);

/* Wipes and frees the content. A zeroed struct is fine. */
void kubeconfig_done(struct kubeconfig *k);
#define auto_kubeconfig AUTO(kubeconfig_done) struct kubeconfig

#endif
