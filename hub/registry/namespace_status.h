#ifndef REGISTRY_NAMESPACE_STATUS_H
#define REGISTRY_NAMESPACE_STATUS_H
/*
 * What a Terminating namespace says of itself: which kinds still have objects in it and which
 * finalizers hold them, in five conditions with the reasons and words of Kubernetes' namespace
 * controller (pkg/controller/namespace/deletion). Pure.
 *
 * Discovery and the deletion itself cannot fail here without failing the batch, so three of the
 * five never say True.
 */
#include "base/clock.h"
#include "base/span.h"
#include "base/vec.h"
#include "store/store.h"
#include <stdbool.h>

struct cJSON;
struct kind;

#define NAMESPACE_TALLY_MAX 256 /* different words; what comes later is not counted */

struct namespace_count {
	char *word; /* owned: "configmaps.", a finalizer */
	size_t n;
};

struct namespace_counts VEC(struct namespace_count);

struct namespace_tally {
	struct namespace_counts resources, finalizers;
};

/* One object that is left behind. */
void namespace_tally_add(struct namespace_tally *t, const struct kind *k,
			 const struct store_object *o);
void namespace_tally_copy(const struct namespace_tally *from, struct namespace_tally *ret);
void namespace_tally_clear(struct namespace_tally *t); /* ready for the next */

/* False when the conditions stood there already. */
bool namespace_status_set(struct cJSON *object, const struct namespace_tally *t, usec now);

#endif
