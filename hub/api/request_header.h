#ifndef API_REQUEST_HEADER_H
#define API_REQUEST_HEADER_H
/*
 * Users that a front proxy has authenticated and names in headers, as kube-apiserver takes them
 * (its --requestheader-* flags; k8s.io/apiserver/pkg/authentication/request/headerrequest).
 *
 * Only the engine tells who is a front proxy: a TLS client whose certificate verifies against
 * the proxies' own CA. What anybody else sends in these headers is never looked at.
 */
#include "api/auth.h"
#include "api/http.h"

struct request_header_config {
	char *client_ca_file; /* NULL: there are no front proxies */
	/* Lists are ended by NULL, or NULL themselves. */
	char **allowed_names;  /* common names of proxies; none: any that the CA signed */
	char **user_headers;   /* none: X-Remote-User; the first that is not empty counts */
	char **uid_headers;    /* none: no uid */
	char **group_headers;  /* none: X-Remote-Group; all that are not empty count */
	char **extra_prefixes; /* none: X-Remote-Extra- */
};

/* In effect: given, or the default. */
char *const *request_header_user_headers(const struct request_header_config *c);

/* 1: *ret is the user, in mem. 0: the request comes from no front proxy that is allowed, or names
 * no user. ERR_UNAUTHORIZED: it is a proxy's, and could not be read. */
int request_header_authenticate(const struct request_header_config *c, const struct http_request *r,
				struct arena *mem, struct auth_user *ret,
				struct err *reterr) MUST_CHECK;

/* Whether the CA's PEM can be used. A proxies' CA that signs users too, as the hub's own (`own`)
 * does, takes allowedNames: else each user were a proxy. ERR_INVALID. */
int request_header_check(const struct request_header_config *c, struct span ca, struct span own,
			 struct err *reterr) MUST_CHECK;

#endif
