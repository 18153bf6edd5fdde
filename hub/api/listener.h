#ifndef API_LISTENER_H
#define API_LISTENER_H
/*
 * One address of the front and what is behind it: a backend, its kinds and their documents, the
 * feeds of its stores, and who may do what there (struct api_listener is in api/call.h; making one
 * is api_add_listener() in api/api.h).
 *
 * The kinds are those that the backend served when the listener last looked; it looks at every
 * request and once a second, so that a definition that was added is found by the next request.
 * Belongs to the loop's thread once that runs, to the program's before and after.
 */
#include "api/call.h"

/* Takes the backend's kinds if they changed; watches of a kind that went end. */
void listener_refresh_kinds(struct api_listener *l);

/* Whether objects of the kind, in any of its versions, are served still. */
bool listener_serves(const struct api_listener *l, const struct kind *k);

/* The kind that a path names, of a set that a call took from its listener; NULL when it is not
 * served. */
const struct kind *listener_kind(struct api_listener *l, const struct kind_set *kinds,
				 const struct request_info *i);

/* Begins to read roles, and the keys of an OpenID Connect issuer; before the thread starts. */
int listener_start(struct api_listener *l, struct err *reterr) MUST_CHECK;

/* Frees it; after the HTTP server. */
void listener_destroy(struct api_listener *l);

#endif
