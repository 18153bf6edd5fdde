#ifndef REGISTRY_NAMESPACES_H
#define REGISTRY_NAMESPACES_H
/*
 * The end of a namespace: while it is Terminating its contents are removed, some rows per batch,
 * and when nothing is left, not even objects that wait for finalizers, it goes itself, unless
 * its spec.finalizers or metadata.finalizers name others, who then are waited for. As long as it
 * stays its conditions say what it waits for (registry/namespace_status.h), counted anew some
 * seconds after something in it changed.
 *
 * A client that empties spec.finalizers through /finalize while something is left ends nothing
 * early, other than upstream, which takes the namespace away and leaves its contents behind in the
 * store: jobs would go on running, hold quota, and belong to no namespace that one could see.
 *
 * The list in memory is read from the store at open (namespaces with a deletionTimestamp).
 */
#include "base/vec.h"
#include "registry/namespace_status.h"
#include "store/store.h"
#include <stdbool.h>

struct registry;
struct registry_batch;

struct namespaces_item {
	char *name;	  /* owned */
	size_t kind;	  /* place in the walk over the kinds */
	char *after;	  /* owned: last name seen of that kind, or NULL */
	size_t remaining; /* objects that this walk left behind, waiting for finalizers */
	bool waiting;	  /* walk done, objects remain */
	bool stale;	  /* something has changed since */
	usec again;	  /* when a stale one is counted anew */
	struct namespace_tally tally; /* of those that remain */
};

struct namespaces {
	struct VEC(struct namespaces_item) terminating;
};

struct namespaces_batch { /* progress of the first item that is not waiting */
	bool moved;
	size_t item, kind, remaining;
	char *after;	    /* owned */
	bool waiting, told; /* told: this batch writes its conditions */
	usec again;
	struct namespace_tally tally;
};

int namespaces_load(struct registry *r, struct err *reterr) MUST_CHECK;
void namespaces_done(struct namespaces *n);
void namespaces_batch_clear(struct namespaces_batch *nb);
/* When there is something to do: 0 at once, INT64_MAX not before a change. */
usec namespaces_due(const struct namespaces *n);
/* At most *rows rows of work. True when more could be done at once. */
bool namespaces_work(struct registry_batch *b, size_t *rows);
/* Other kinds are served from now on: walks start again. */
void namespaces_kinds_changed(struct namespaces *n);
void namespaces_committed(struct registry_batch *b);
/* default, kube-system, kube-public: never deleted. */
bool namespaces_is_immortal(struct span name);

#endif
