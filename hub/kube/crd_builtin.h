#ifndef KUBE_CRD_BUILTIN_H
#define KUBE_CRD_BUILTIN_H
/*
 * CustomResourceDefinitions of the kinds that are compiled in, for those who look whether a
 * kind is there: operators, and kubectl before it validates.
 *
 * Generated from the tables. Types that several kinds share (a pod template) are not spelled out
 * again: a schema says that what is in them is kept. `kubectl explain` has them from OpenAPI.
 * Pure.
 */
#include "kube/kind.h"

struct cJSON;

/* Marks a generated definition: metadata.annotations. */
#define CRD_BUILTIN_ANNOTATION "muster.dev/built-in"

/* Whether kinds[i] is the first of a resource that upstream has as a CustomResourceDefinition. */
bool crd_builtin_is_first(const struct kind_set *set, size_t i);
/* Whether "plural.group" is such a resource. NULLs are fine. */
bool crd_builtin_has(const struct kind_set *set, const char *name);
/* spec and status of that resource's definition, all versions; owned. */
struct cJSON *crd_builtin_spec(const struct kind_set *set, size_t i);
struct cJSON *crd_builtin_status(const struct kind_set *set, size_t i, const char *time);

#endif
