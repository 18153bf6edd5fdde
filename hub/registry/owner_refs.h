#ifndef REGISTRY_OWNER_REFS_H
#define REGISTRY_OWNER_REFS_H
/*
 * metadata.ownerReferences and metadata.finalizers, read from an object's text without a tree.
 * Stateless; any thread.
 */
#include "base/span.h"
#include "store/store.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct owner_ref {
	struct span api_version, kind, name; /* borrowed from the object's text */
	uint8_t uid[STORE_UID_LEN];
	bool block;	 /* blockOwnerDeletion */
	bool controller; /* the one owner that manages the object */
};

/* Reads the next reference; *pos starts at 0. References that are not well formed are skipped.
 * False at the end. */
bool owner_refs_next(const struct store_object *o, size_t *pos, struct owner_ref *ret);
/* The next of metadata.finalizers, borrowed; *pos starts at 0. False at the end. */
bool owner_refs_next_finalizer(const struct store_object *o, size_t *pos, struct span *ret);
/* Whether metadata.finalizers names `finalizer`. */
bool owner_refs_has_finalizer(const struct store_object *o, const char *finalizer);

#endif
