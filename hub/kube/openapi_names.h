#ifndef KUBE_OPENAPI_NAMES_H
#define KUBE_OPENAPI_NAMES_H
/*
 * What the two OpenAPI documents share: the definitions that a set of kinds needs, each once, in
 * the order in which they are met, and the names of the kinds' own definitions.
 *
 * A kind's definition is named after its group, version and kind (two groups may share one
 * schema); every other named schema keeps its name. Memory of the list is bounded by the tables.
 */
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "kube/kind.h"
#include "kube/schema.h"

struct openapi_definitions {
	struct VEC(const struct schema *) list; /* named schemas below the kinds' roots */
	struct map seen;
};

/* "org.kubeflow.v1.PyTorchJob", "io.k8s.api.core.v1.Namespace": the names that Kubernetes uses,
 * which clients show in messages. Returns out. */
/* "batch" and "events.k8s.io", "": the groups that Kubernetes itself defines. */
bool openapi_is_own_group(struct span group);
#define OPENAPI_NAME_MAX 320
const char *openapi_kind_name(const struct kind *k, char out[OPENAPI_NAME_MAX]);

/* Adds every named schema that the kind's schema refers to, directly or not. */
void openapi_definitions_add(struct openapi_definitions *d, const struct kind *k);
void openapi_definitions_done(struct openapi_definitions *d);

/* "string", "object", ...; NULL for anything goes. */
const char *openapi_type(const struct schema *s);
/* "int32", "date-time", "int-or-string", ...; NULL when there is none. */
const char *openapi_format(const struct schema *s);

#endif
