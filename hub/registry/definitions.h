#ifndef REGISTRY_DEFINITIONS_H
#define REGISTRY_DEFINITIONS_H
/*
 * The life of a CustomResourceDefinition: its names are accepted or not, it gets its type number,
 * is compiled and served, and when it is deleted its objects go first.
 *
 * A worker has checked it already (kube/crd.h). After the commit that wrote it, registry_work()
 * writes its status and finalizer, and the kind set with it is published when that commit is
 * durable, before anybody is told of it: who sees Established=True can use it. A later change of
 * an established definition is compiled in the commit that makes it.
 *
 * Type numbers are given once and stay in truth's settings, by the definition's uid, together
 * with the version that its rows are written in; they are never reused.
 *
 * The kinds that are compiled in have definitions too, generated from their tables, which nobody
 * may change: creating or updating one leaves it as it is and says so in a warning.
 *
 * Parses JSON on the core's thread; definitions are few and change rarely.
 */
#include "base/vec.h"
#include "kube/kind_set.h"
#include "store/store.h"
#include <stdbool.h>

struct registry;
struct registry_batch;
struct command;
struct cJSON;

/* Of users; further ones are not accepted. */
#define DEFINITIONS_MAX 2000

struct definitions_item {
	char *name; /* owned */
	uint8_t uid[STORE_UID_LEN];
	uint16_t type;		     /* 0: none yet */
	char *stored_version;	     /* owned; with type */
	struct definition *compiled; /* NULL: not served */
	bool dirty;		     /* its status has to be looked at */
	bool waiting;		     /* deleted; its objects wait for their finalizers */
};

struct definitions {
	const struct kind *kind; /* of definitions; NULL: none are served */
	const struct kind_set *base;
	struct kind_source source;
	struct VEC(struct definitions_item) items;
};

struct definitions_batch { /* what a step found out, until it is committed */
	bool moved;
	size_t item;
	uint16_t type;	      /* newly given; 0: none */
	char *stored_version; /* owned; with type */
	bool settled, waiting;
};

int definitions_load(struct registry *r, struct err *reterr) MUST_CHECK;
void definitions_done(struct definitions *d);
void definitions_batch_clear(struct definitions_batch *db);
bool definitions_is_due(const struct definitions *d);
/* At most *rows rows of work. True when more could be done at once. */
bool definitions_work(struct registry_batch *b, size_t *rows);
void definitions_committed(struct registry_batch *b);

/* The set of all kinds that are served now. Owner's thread. */
static inline const struct kind_set *definitions_kinds(const struct definitions *d)
{
	return d->source.current;
}
/* Whether the name is that of a compiled kind's definition. */
bool definitions_is_builtin(const struct definitions *d, const char *name);

#endif
