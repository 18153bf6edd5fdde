#ifndef KUBE_STATUS_DRAFT_H
#define KUBE_STATUS_DRAFT_H
/*
 * What comes out of the status door as a draft: the stored text with another status and other
 * managers in it. Nothing else of an object can have changed there, so nothing else is printed,
 * and flags, owners and digest are the stored ones. Pure, any thread.
 */
#include "kube/object.h"

/* `object`: the tree that the door made of `o`; of it only the status and metadata.managedFields
 * are read. -ENOENT when one of the two has managers and the other has none: then a draft is to be
 * made from the tree. ERR_TOO_LARGE over STORE_MAX_OBJECT. */
int status_draft_make(const struct kind *k, const struct store_object *o,
		      const struct cJSON *object, struct object_draft *ret,
		      struct err *reterr) MUST_CHECK;

#endif
