#ifndef KUBE_CRD_H
#define KUBE_CRD_H
/*
 * What a CustomResourceDefinition itself must be, beyond its own schema: the hooks of that kind.
 * Rules and words of k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation.
 *
 * Not here: what depends on other definitions (accepted names, the type number, deletion):
 * registry/definitions.h.
 */
#include "kube/kind.h"

#define CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

/* Defaults: singular, listKind, conversion; status.storedVersions takes in the storage version. */
void crd_default(const struct kind *k, struct cJSON *object, const struct kind_write *w);
void crd_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		  struct field_errors *errors);

/* Name of the version marked as storage, or NULL. Borrowed. */
const char *crd_storage_version(const struct cJSON *object);
/* The schema of metadata, as the definitions' own kind has it. */
const struct schema *crd_object_meta(const struct kind *crd_kind);

#endif
