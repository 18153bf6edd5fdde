#ifndef KUBE_DEFINITION_H
#define KUBE_DEFINITION_H
/*
 * A CustomResourceDefinition as kinds: one struct kind for each served version, over one type.
 *
 * Compiled once, by the core thread, from an accepted object; then immutable, shared by all
 * threads and counted: it goes with the last kind_set that holds it. All its memory is one arena
 * and the JSON tree that the arena borrows from. The stored form of its objects is that of the
 * version that was the storage version when the type was given; versions of a definition differ
 * in nothing but apiVersion (conversion strategy None), so that never has to change.
 */
#include "base/err.h"
#include "base/span.h"
#include "kube/kind.h"

struct definition;
struct cJSON;

struct definition_options {
	struct span json;	 /* the CustomResourceDefinition, checked */
	uint64_t defaults_since; /* struct kind's, of versions whose schema has defaults */
	uint16_t type;
	const char *stored_version;
	const struct schema *object_meta;
};

/* ERR_INTERNAL when the object is no definition at all. */
int definition_compile(const struct definition_options *o, struct definition **ret,
		       struct err *reterr) MUST_CHECK;
struct definition *definition_ref(struct definition *d);
void definition_unref(struct definition *d); /* NULL is fine */

/* The served versions, and the one in which rows are written. */
const struct kind *definition_kinds(const struct definition *d, size_t *ret_n);
const struct kind *definition_stored(const struct definition *d);
bool definition_is_namespaced(const struct definition *d);

#endif
