#ifndef API_REQUEST_INFO_H
#define API_REQUEST_INFO_H
/*
 * What a request asks for, read from its method, path and parameters alone: a resource of the
 * API (group, version, namespace, resource, name, subresource and the API verb), or any other
 * path (apiserver's RequestInfo; verb table of kubernetes-api.md 1.12).
 *
 * The path is decoded already. Everything is borrowed from it. Nothing here knows which kinds
 * exist.
 */
#include "api/http.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>

enum api_verb {
	API_GET,
	API_LIST,
	API_WATCH,
	API_CREATE,
	API_UPDATE,
	API_PATCH,
	API_DELETE,
	API_DELETE_COLLECTION,
	API_VERB_MAX,
};
const char *api_verb_name(enum api_verb v); /* "get", "deletecollection": words of RBAC */

struct request_info {
	bool is_resource; /* else only path and verb (lower-case method) mean something */
	bool watch_path;  /* /api/v1/watch/...: the verb is WATCH, whatever the method */
	enum api_verb verb;
	struct span path;
	struct span group, version; /* group "" for core */
	struct span ns;		    /* absent when the path has none */
	struct span resource;
	struct span name;	 /* absent for collections */
	struct span subresource; /* absent when none */
	struct span rest;	 /* what follows the subresource ("proxy/api/v1/..."): absent or
				  * starting with '/' */
};

/* Always succeeds: what is not a resource path is another path. `watch` as a parameter, with
 * Kubernetes' idea of a boolean, makes a LIST a WATCH. So does `watch` as the segment after the
 * version, the older way, which can name one object too (apiserver's "special verbs"). */
void request_info_parse(const struct http_request *r, struct request_info *ret);

/* Kubernetes' idea of a boolean parameter: absent, "0" and "false" are false, all else is true. */
bool request_bool(struct span value);

/* Appends a query string ("?a=b&c=d", or nothing) with everything that needs it encoded. */
struct buf;
void request_encode_query(const struct http_request *r, struct buf *out);
/* Appends a path with everything that needs it encoded; '/' stays. */
void request_encode_path(struct span path, struct buf *out);

#endif
