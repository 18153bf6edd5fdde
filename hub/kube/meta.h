#ifndef KUBE_META_H
#define KUBE_META_H
/*
 * What an API server does with an object's metadata on a write (kubernetes-api.md 1.7), on trees
 * and before validation: identity is given and kept by the server, status and the rest are
 * written through different doors, generation counts changes of intent.
 *
 * Pure: time and randomness come with the call. A worker calls
 *	create: meta_prepare_create -> schema_admit -> object_draft_from_tree
 *	update: meta_prepare_update -> schema_admit -> meta_finish_update -> object_draft_from_tree
 * Trees are changed in place; after an error they are not worth anything.
 *
 * Not here: what spans objects (does the namespace exist, may the object go), server-side apply
 * (managedFields are kept as they are stored), conversion between versions.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include "kube/field_errors.h"
#include "kube/kind.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct store_object;

/* Where uids and generated names come from. fill() never fails. */
struct meta_random {
	void (*fill)(void *arg, void *out, size_t n);
	void *arg;
};

struct meta_write {
	const struct kind *kind;
	struct span ns;		 /* of the request's URL; empty for cluster scope */
	struct span name;	 /* of the URL; absent on create */
	const char *subresource; /* "", "status" or "finalize" */
	usec now;
	const struct meta_random *random; /* create only */
	bool is_patch; /* update: the tree is a patched stored object; a custom resource may lose
			* its name in it, upstream too */
	bool lends;    /* update through the door "status": what stays old is lent by it (json_lend)
			* but for metadata, which loses its managedFields */
};

#define META_MAX_ANNOTATIONS	((size_t)256 << 10) /* keys and values together, as upstream */
#define META_GENERATED_SUFFIX	5
#define META_MAX_GENERATED_BASE 58

/* Makes a request's body a new object: apiVersion and kind (must fit, or be absent), namespace,
 * name (or generateName and a random suffix), uid, creationTimestamp, generation 1; what only the
 * server may set is dropped, and so is status where it is a subresource.
 * ERR_BAD_REQUEST: wrong kind or namespace, a resourceVersion. Returns ERR_INVALID's errno when it
 * added to `errors`. */
int meta_prepare_create(struct cJSON *object, const struct meta_write *w,
			struct field_errors *errors, struct err *reterr) MUST_CHECK;

/* Makes a request's body the next state of `old` for the door it came through:
 *   ""	       everything but status (where that is a subresource), identity kept;
 *   "status"  only status; everything else stays old;
 *   "finalize" only spec.finalizers (namespaces).
 * ERR_BAD_REQUEST: wrong kind, namespace or name. ERR_CONFLICT: another uid or resourceVersion.
 * ERR_INVALID's errno when it added to `errors` (a finalizer added while deleting; no
 * resourceVersion where the kind needs one). */
int meta_prepare_update(const struct cJSON *old, struct cJSON *object, const struct meta_write *w,
			struct field_errors *errors, struct err *reterr) MUST_CHECK;

/* After defaulting: counts generation up when anything outside metadata and status differs from
 * old. False when nothing differs at all: then nothing must be written. */
bool meta_finish_update(const struct cJSON *old, struct cJSON *object, const struct meta_write *w);

/* Whether the request's body named a resourceVersion (before meta_prepare_update, which fills it
 * in): without one the server tries again by itself after a conflict. */
bool meta_is_conditional(const struct cJSON *object);

/* Name, labels, annotations, finalizers and owners of a complete object. Adds to `errors` with
 * paths below "metadata". */
void meta_validate(const struct cJSON *object, const struct kind *k, struct field_errors *errors);

/* The parts that pod templates have too; `path` is that of the map. */
void meta_validate_labels(const struct cJSON *labels, const char *path,
			  struct field_errors *errors);
void meta_validate_annotations(const struct cJSON *annotations, const char *path,
			       struct field_errors *errors);

/* ---- deletion ---- */

/* Sets deletionTimestamp and deletionGracePeriodSeconds 0 and counts generation up. False, and
 * nothing changed, when the object is deleting already. */
bool meta_mark_deleting(struct cJSON *object, usec now);
bool meta_is_deleting(const struct cJSON *object);
bool meta_has_finalizer(const struct cJSON *object, const char *name);
/* Each returns whether it changed something; an empty list is removed. */
bool meta_add_finalizer(struct cJSON *object, const char *name);
bool meta_remove_finalizer(struct cJSON *object, const char *name);
/* The finalizers that ask the garbage collector for orphans, or for dependents to go first. */
#define META_ORPHAN	"orphan"
#define META_FOREGROUND "foregroundDeletion"
/* Leaves `finalizer` as the only one of these two, or none for NULL, as a delete with a
 * propagation policy does (registry/generic/registry/store.go). Whether that changed something. */
bool meta_set_collection(struct cJSON *object, const char *finalizer);
/* The preconditions of DeleteOptions (uid, resourceVersion) against a stored row. ERR_CONFLICT
 * with the texts of upstream; options may be NULL. */
int meta_check_preconditions(const struct cJSON *delete_options, const struct kind *k,
			     const struct store_object *o, struct err *reterr) MUST_CHECK;

/* ---- pieces, for objects that the hub itself makes ---- */

#define META_UID_TEXT 37
/* A random (version 4) UUID as text. Returns `out`. */
const char *meta_new_uid(const struct meta_random *random, char out[META_UID_TEXT]);
/* base, cut to META_MAX_GENERATED_BASE, and a suffix of letters and digits without vowels. */
#define META_GENERATED_NAME (META_MAX_GENERATED_BASE + META_GENERATED_SUFFIX + 1)
const char *meta_generate_name(const char *base, const struct meta_random *random,
			       char out[META_GENERATED_NAME]);
/* A tree with apiVersion, kind and metadata (name, namespace, uid, creationTimestamp and, where
 * the kind has one, generation). Owned. */
struct cJSON *meta_new_object(const struct meta_write *w, struct span name);

#endif
