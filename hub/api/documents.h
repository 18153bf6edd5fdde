#ifndef API_DOCUMENTS_H
#define API_DOCUMENTS_H
/*
 * The documents that depend on the kinds alone: discovery and OpenAPI. Each is made on a worker
 * when it is first asked for, kept with its ETag, and as gzip when it is large.
 */
#include "api/call.h"

/* Holds the set. */
struct documents *documents_create(const struct kind_set *kinds);
/* Other kinds are served from now on: all is made again when it is asked for. Loop. */
void documents_set_kinds(struct documents *d, const struct kind_set *kinds);
struct documents *documents_destroy(struct documents *d);

/* Whether the path is one of theirs. */
bool documents_has(const struct request_info *i);
/* Answers the call; loop. */
void call_document(struct call *c);

#endif
