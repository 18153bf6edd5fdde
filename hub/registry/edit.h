#ifndef REGISTRY_EDIT_H
#define REGISTRY_EDIT_H
/*
 * The few edits of metadata that the registry itself makes, as pending changes of a batch.
 *
 * They parse and print one object on the core thread, so they are for deletions with finalizers,
 * orphans and births of namespaces, not for the daily path. All return 0 or a negative errno.
 */
#include "kube/meta.h"
#include "registry/namespace_status.h"
#include "registry/registry.h"

#define EDIT_FOREGROUND META_FOREGROUND
#define EDIT_ORPHAN	META_ORPHAN

/* Sets deletionTimestamp (and deletionGracePeriodSeconds, 0 unless it is in use, generation + 1)
 * unless it is set, and adds `finalizer` when not NULL. A namespace also gets status.phase
 * Terminating. */
int edit_begin_deletion(struct registry_batch *b, const struct kind *k,
			const struct store_object *o, const char *finalizer) MUST_CHECK;
/* Drops one finalizer; when it was the last of a deleting object, the object. */
int edit_drop_finalizer(struct registry_batch *b, const struct kind *k,
			const struct store_object *o, const char *finalizer) MUST_CHECK;
/* Drops the owner references to `uid`. */
int edit_drop_owner(struct registry_batch *b, const struct kind *k, const struct store_object *o,
		    const uint8_t uid[STORE_UID_LEN]) MUST_CHECK;
/* A namespace whose contents are gone waits for what others put into its spec.finalizers;
 * `kubernetes` leaves the list, and they are told by that. *ret_others: whether there are any. */
int edit_namespace_emptied(struct registry_batch *b, const struct kind *k,
			   const struct store_object *o, bool *ret_others) MUST_CHECK;
/* What remains in a namespace that goes, as its conditions. *ret_changed: they were others. */
int edit_namespace_status(struct registry_batch *b, const struct kind *k,
			  const struct store_object *o, const struct namespace_tally *t,
			  bool *ret_changed) MUST_CHECK;
/* The label and the finalizer that every namespace is born with, put into a draft. */
int edit_namespace_birth(const struct kind *k, struct object_draft *draft, struct span name,
			 struct err *reterr) MUST_CHECK;

#endif
