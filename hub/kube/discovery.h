#ifndef KUBE_DISCOVERY_H
#define KUBE_DISCOVERY_H
/*
 * The discovery documents of a kind set, as JSON (kubernetes-api.md 1.1).
 *
 * They depend on nothing but the set: build each once, keep it with its ETag.
 */
#include "base/buf.h"
#include "base/span.h"
#include "kube/kind.h"
#include <stdbool.h>

/* GET /api: APIVersions. server_address may be NULL. */
void discovery_core_versions(const char *server_address, struct buf *out);
/* GET /apis: APIGroupList. */
void discovery_groups(const struct kind_set *set, struct buf *out);
/* Whether some kind is in the group; "" is core. */
bool discovery_has_group(const struct kind_set *set, struct span group);
/* GET /apis/<group>: APIGroup. False, and nothing written, when no kind is in it. */
bool discovery_group(const struct kind_set *set, struct span group, struct buf *out);
/* GET /api/v1 (group "") or /apis/<group>/<version>: APIResourceList. False when not served. */
bool discovery_resources(const struct kind_set *set, struct span group, struct span version,
			 struct buf *out);

#define DISCOVERY_V2_TYPE "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define DISCOVERY_V2BETA1_TYPE                                                                     \
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
/* The aggregated form for /api (core true) or /apis; version "v2" or "v2beta1". Both list full
 * resources; the answer carries the content type above. */
void discovery_aggregated(const struct kind_set *set, bool core, const char *version,
			  struct buf *out);

#endif
