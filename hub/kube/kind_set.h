#ifndef KUBE_KIND_SET_H
#define KUBE_KIND_SET_H
/*
 * Kind sets that change at run time: immutable snapshots, counted, and the place where the newest
 * one is found.
 *
 * Whoever uses kinds for longer than a moment holds the set that they are of. The core makes a new
 * set when a CustomResourceDefinition changes and publishes it; an api loop looks at the source's
 * generation, one atomic read, at the start of each request, and takes the new set when that
 * changed. A lock is taken only then. Old sets go with their last user.
 */
#include "kube/definition.h"
#include "kube/kind.h"
#include <pthread.h>
#include <stdatomic.h>

/* `base` and what the definitions serve, groups together and best version first, without kinds of
 * `base` whose place a definition took (kind.definable). Holds the definitions. One reference, the
 * caller's. */
const struct kind_set *kind_set_create(const struct kind_set *base,
				       struct definition *const *definitions, size_t n);
/* Nothing for sets that live for ever. */
const struct kind_set *kind_set_ref(const struct kind_set *s);
void kind_set_unref(const struct kind_set *s); /* NULL is fine */

/* Negative when version `a` is to be preferred: v2, v1, v1beta2, v1beta1, v1alpha1, others by
 * name (apimachinery's CompareKubeAwareVersionStrings). */
int kind_version_cmp(const char *a, const char *b);

struct kind_source {
	_Atomic uint64_t generation; /* from 1 on */
	pthread_mutex_t lock;
	const struct kind_set *current;
};

void kind_source_init(struct kind_source *s, const struct kind_set *first);
void kind_source_done(struct kind_source *s);
/* Makes a set the current one; takes the reference. */
void kind_source_publish(struct kind_source *s, const struct kind_set *take_set);
/* The current set, with a reference for the caller. */
const struct kind_set *kind_source_get(struct kind_source *s, uint64_t *ret_generation);
static inline uint64_t kind_source_generation(const struct kind_source *s)
{
	return atomic_load_explicit(&s->generation, memory_order_acquire);
}

#endif
