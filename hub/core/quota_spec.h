#ifndef CORE_QUOTA_SPEC_H
#define CORE_QUOTA_SPEC_H
/*
 * An ElasticQuotaTree object to the plain spec of quota-tree/elastic_tree.h, and what is wrong
 * with it as field errors.
 */
#include "base/arena.h"
#include "kube/field_errors.h"
#include "quota-tree/elastic_tree.h"

struct cJSON;

/* Decodes spec.root; everything in *ret lives in `mem` and in the tree. Quantities that cannot be
 * parsed, are negative or overflow are added to `errors` with their paths. Returns 0, or
 * ERR_INVALID's errno when there is no root or it is nested too deeply. */
int quota_spec_decode(const struct cJSON *object, struct arena *mem, struct elastic_node_spec *ret,
		      struct field_errors *errors) MUST_CHECK;

/* Decodes and validates with every rule of the dialect. Warnings are appended to `warnings` (may
 * be NULL), each ended by a newline. 0, or ERR_INVALID's errno with `errors` filled. */
int quota_spec_check(const struct cJSON *object, struct field_errors *errors,
		     struct buf *warnings) MUST_CHECK;

#endif
