#ifndef KUBE_PATCH_H
#define KUBE_PATCH_H
/*
 * The three patch types of the Kubernetes API (kubernetes-api.md 1.8) on trees: JSON patch
 * (RFC 6902), JSON merge patch (RFC 7386) and strategic merge patch (apimachinery's
 * strategicpatch). Server-side apply is not one of them.
 *
 * A patch works on a copy: the object is never half patched. What an outsider sends decides the
 * work, so every step of a walk is counted, and a patch that needs more than PATCH_MAX_STEPS of
 * them is refused; so is one that copies parts of the object into itself beyond
 * PATCH_MAX_COPIED or nests deeper than JSON_MAX_DEPTH. Pure, any thread.
 */
#include "base/err.h"
#include "base/span.h"
#include "kube/kind.h"

struct cJSON;

#define PATCH_MAX_OPS	 10000		   /* of a JSON patch, as upstream */
#define PATCH_MAX_STEPS	 20000000	   /* visited nodes: about 0.1 s */
#define PATCH_MAX_COPIED ((size_t)4 << 20) /* bytes that `copy` operations add */

enum patch_type {
	PATCH_JSON,	 /* application/json-patch+json */
	PATCH_MERGE,	 /* application/merge-patch+json */
	PATCH_STRATEGIC, /* application/strategic-merge-patch+json */
	PATCH_TYPE_MAX,
};

/* By media type, parameters ignored; -ENOENT. */
int patch_type_from_media(struct span content_type, enum patch_type *ret);
const char *patch_type_media(enum patch_type t);

/* *ret is a new, owned tree: the patched object. The kind gives a strategic patch its merge keys.
 * ERR_BAD_REQUEST: the patch itself is malformed. ERR_INVALID: it does not fit the object (a
 * failed test, a path that is not there, a list element without its merge key).
 * ERR_TOO_LARGE: over the limits above. */
int patch_apply(enum patch_type type, const struct kind *k, const struct cJSON *object,
		const struct cJSON *patch, struct cJSON **ret, struct err *reterr) MUST_CHECK;

/* The same, of a patch of which only what it makes of metadata and `part` counts: where it is a
 * merge patch that says nothing of the object's other members, those are lent (json_lend). */
int patch_apply_part(enum patch_type type, const struct kind *k, const struct cJSON *object,
		     const struct cJSON *patch, const char *part, struct cJSON **ret,
		     struct err *reterr) MUST_CHECK;

/* The merge patch that turns one object into the other: what is gone becomes null. Owned. Nulls
 * inside `to` cannot be expressed and are left out. */
struct cJSON *patch_merge_diff(const struct cJSON *from, const struct cJSON *to);

#endif
