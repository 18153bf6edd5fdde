#ifndef KUBE_CRD_VERSION_H
#define KUBE_CRD_VERSION_H
/*
 * What the versions of a CustomResourceDefinition must be: names, schemas, printer columns,
 * selectable fields, scale. Part of crd.h's validation, which alone calls it.
 *
 * Upstream checks its internal form, where what all versions share is kept once, so a refusal says
 * spec.additionalPrinterColumns[0] when all have the same columns and
 * spec.versions[0].additionalPrinterColumns[0] when they do not.
 */
#include "base/buf.h"
#include "kube/crd.h"
#include "kube/field_errors.h"

struct crd_check {
	struct buf path; /* of what is looked at; grows and is cut again */
	struct field_errors *errors;
};

/* Refuses c->path, or the member below it unless that is NULL. */
void crd_refuse(struct crd_check *c, const char *member, enum field_reason reason,
		const struct cJSON *value, const char *words);
/* Cuts the path back to `at` bytes. */
void crd_cut(struct crd_check *c, size_t at);

/* spec.versions; k is the definitions' own kind. */
void crd_check_versions(struct crd_check *c, const struct kind *k, const struct cJSON *versions);

#endif
