#ifndef REGISTRY_GARBAGE_H
#define REGISTRY_GARBAGE_H
/*
 * Owner garbage collection: what becomes of the dependents of an object that goes.
 *
 * Work is a list of owner uids in an auxiliary table of truth, written in the transaction that
 * makes the work, so nothing is forgotten by a crash; the list in memory repeats it.
 *  - background: the owner is gone: dependents without another living owner are removed, others
 *    lose the reference;
 *  - orphan: dependents lose the reference; then the owner loses its finalizer "orphan". A job's
 *    own records (registry_options.job_records) keep it, and go with the job;
 *  - foreground: the owner waits with its finalizer "foregroundDeletion"; dependents are removed
 *    first, and when none that blocks is left, the owner loses the finalizer. While the owner has
 *    the hub's finalizer too, its dependents are left alone: they say where the job is.
 * An owner that does not ask for it any more (a later delete changed its mind) ends either.
 * A dependent with finalizers is only told to go; background does not wait for it, foreground
 * does.
 */
#include "base/arena.h"
#include "base/vec.h"
#include "kube/kind.h"
#include "store/store.h"
#include "wire/command.h"
#include <stdbool.h>

struct registry;
struct registry_batch;
struct registry_change;

enum garbage_mode { GARBAGE_BACKGROUND = 'B', GARBAGE_ORPHAN = 'O', GARBAGE_FOREGROUND = 'F' };

struct garbage_item {
	uint8_t uid[STORE_UID_LEN];
	enum garbage_mode mode;
	bool waiting;	 /* foreground: until a dependent goes */
	bool gone;	 /* finished, about to leave the list */
	uint16_t type;	 /* of the owner that waits; 0 when it is gone already */
	char *ns, *name; /* owned */
};

struct garbage {
	struct VEC(struct garbage_item) items; /* worked off from the front */
};

struct garbage_batch { /* what this batch adds and finishes; made true by garbage_committed() */
	struct VEC(struct garbage_item) added;
	struct VEC(struct garbage_item) finished; /* uid and mode only */
	struct VEC(struct garbage_item) waiting;
};

int garbage_load(struct registry *r, struct err *reterr) MUST_CHECK;
void garbage_done(struct garbage *g);
void garbage_batch_clear(struct garbage_batch *gb);
void garbage_batch_done(struct garbage_batch *gb);

/* Makes work for the dependents of `uid`. owner: the object that waits with a finalizer, or NULL.
 * One auxiliary row. */
void garbage_add(struct registry_batch *b, const uint8_t uid[STORE_UID_LEN], enum garbage_mode mode,
		 const struct kind *k, const struct store_key *owner);
/* Whether anything names `uid` as an owner, in the store or in this batch. */
bool garbage_has_dependents(struct registry_batch *b, const uint8_t uid[STORE_UID_LEN]);
/* A new object with owner references: makes work when none of its owners exists. */
void garbage_check_owners(struct registry_batch *b, const struct store_object *o);
/* At most *rows rows of work. True when more could be done at once. */
bool garbage_work(struct registry_batch *b, size_t *rows);
bool garbage_is_due(const struct garbage *g);
void garbage_committed(struct registry_batch *b);

#endif
