#ifndef API_API_H
#define API_API_H
/*
 * The HTTPS front: a Kubernetes API server over any backend (wire/backend.h).
 *
 * One struct api is one thread with its own libuv loop and libwebsockets context, and a small
 * pool of workers. It serves one or more listeners; each is an address, a backend and a pki. The
 * hub has one; the simulator adds one listener per simulated cluster. Several apis may live in
 * one process and share nothing.
 *
 * Reads open short snapshots of the backend's stores. Writes become commands (wire/command.h)
 * and go to the backend; their answers come back on the core's thread and are handed over here.
 * What this room does not do: it never writes to a store, and decides nothing that spans objects.
 *
 * Order: api_create, api_add_listener..., api_start, api_stop, api_destroy. All of these are
 * called from one thread, the program's. The backends outlive the api, and must be quiet (no
 * commits, no answers) when api_destroy is called; after api_stop they may still answer and commit.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "wire/backend.h"
#include "wire/token_maker.h"
#include <stdbool.h>
#include <stdint.h>

struct api;
struct api_listener;
struct pki;		      /* api/pki.h */
struct oidc_config;	      /* access/oidc.h */
struct request_header_config; /* api/request_header.h */

struct meta_random;

struct api_options {
	const struct log *log; /* borrowed; NULL: silent */
	int n_workers;	       /* 0: 2 */
	/* The audit log: a policy (audit.k8s.io/v1) and the file to write; NULL: none. */
	const char *audit_policy_file, *audit_log_file;
	int max_connections; /* 0: 20,000, at most what RLIMIT_NOFILE allows */
	int seats;	     /* of fair queuing (api/fair_queue.h); 0: 256 */
	int max_watches;     /* and other long-running requests; 0: 10,000 */
	/* Requests of one user that wait for a seat, their bytes, and the bytes of all users; 0:
	 * 1,000, 16 MiB and 64 MiB. */
	int queue_per_user;
	size_t queue_bytes_per_user, queue_bytes;
	usec drain; /* how long api_stop() still takes requests; 0: not at all */
	const struct meta_random
	    *random; /* of uids and generated names; borrowed; NULL: OpenSSL's */
};

struct api_listener_options {
	const char *listen;	 /* "127.0.0.1:6443", "[::1]:0", ":6443"; port 0 picks a free one */
	struct backend *backend; /* borrowed */
	const struct pki *pki;	 /* borrowed: certificates and the admin token */
	const char *issuer;	 /* of ServiceAccount tokens; NULL: kubeadm's name for itself */
	const struct oidc_config *oidc; /* borrowed; NULL: no OpenID Connect issuer */
	/* Borrowed; NULL: no front proxies, else pki has their CA. */
	const struct request_header_config *request_header;
};

/* ERR_INTERNAL when the loop cannot be made. */
int api_create(const struct api_options *o, struct api **ret, struct err *reterr) MUST_CHECK;

/* Binds the address at once, so that its port is known before api_start; connections wait in the
 * kernel until then. *ret is borrowed from the api. ERR_BAD_REQUEST for an address that cannot be
 * parsed, ERR_UNAVAILABLE (with the address) when it cannot be bound. */
int api_add_listener(struct api *a, const struct api_listener_options *o, struct api_listener **ret,
		     struct err *reterr) MUST_CHECK;

/* The make of a struct token_maker whose arg is a listener; until api_destroy. Any thread. */
int api_make_secret_token(void *listener, const struct token_subject *s, usec now,
			  struct buf *out) MUST_CHECK;

/* "https://127.0.0.1:41234": what a client on this machine dials (an address of all interfaces
 * becomes 127.0.0.1). Borrowed. */
const char *api_listener_url(const struct api_listener *l);
int api_listener_port(const struct api_listener *l);

/* Starts the thread and the workers. */
int api_start(struct api *a, struct err *reterr) MUST_CHECK;

/* Reads the audit policy again. ERR_INVALID: what is wrong with it, and the old one stays. */
int api_reload(struct api *a, struct err *reterr) MUST_CHECK;

/* Graceful, in this order: /readyz fails; for options.drain requests are still taken, so that
 * whoever balances load can look elsewhere; then new requests get 503, running ones finish, and
 * watches end with a bookmark (where asked for) and a clean last chunk. Returns when all is
 * written or `grace` has passed. */
void api_stop(struct api *a, usec grace);

/* Frees everything; stops first (without grace) when needed. NULL is fine; returns NULL. */
struct api *api_destroy(struct api *a);

#endif
