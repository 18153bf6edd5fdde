#ifndef REGISTRY_REGISTRY_H
#define REGISTRY_REGISTRY_H
/*
 * The generic write path of an API server: what every kind has in common, and nothing of fleets.
 *
 * A registry stands over a kind set and one or two stores (truth, and a mirror for kinds that are
 * marked mirrored). Its owner, one core thread, works in batches:
 *
 *	registry_begin -> registry_execute / get / put / delete ... -> registry_work
 *	-> registry_commit -> registry_changes (in-process observers) -> registry_reply
 *	-> registry_end
 *
 * A batch reads its own writes: registry_get() looks at the pending changes first, then at a
 * snapshot. Several changes of one object merge into one row. Nothing in memory or on disk
 * changes before registry_commit() returned 0; after a failed commit nothing is released, every
 * executed command carries the error, and registry_end() forgets the batch.
 *
 * What it adds to the store (kubernetes-api.md 1.6, 1.7, 1.13):
 *  - preconditions: expected revision and uid, existence, the namespace of a new object;
 *  - finalizers: an update that leaves a deleting object without finalizers removes it;
 *  - no-op detection: an update with the same bytes keeps the revision;
 *  - owner garbage collection: Background, Foreground and Orphan, in bounded steps, from a work
 *    list that is in the store and so survives a restart;
 *  - namespace lifecycle: label and finalizer at birth, what every one has
 *    (registry/belongings.h), Terminating, contents deleted in bounded steps, then gone;
 *  - CustomResourceDefinitions: names, type numbers, the set of kinds, deletion with their objects
 *    (registry/definitions.h);
 *  - Events older than their time to live are deleted, found by a walk now and then.
 *  - the system's PriorityClasses stay;
 *  - Secrets of ServiceAccounts get their tokens (registry/token_secrets.h).
 * What it does not: generation, defaulting, validation, managed fields (the workers did; of what
 * the registry writes itself it is the manager), quota, dispatch.
 *
 * Mirror and truth are two transactions: the mirror's comes first, since what it holds can be
 * learned again; a truth that then fails leaves rows in the mirror that repeat harmlessly.
 * Thread: all functions on the owner's one thread.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include "kube/kind.h"
#include "kube/object.h"
#include "store/store.h"
#include "wire/command.h"
#include "wire/token_maker.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct registry;
struct kind_source;
struct registry_batch;

/* The server's own name in metadata.managedFields. */
#define REGISTRY_MANAGER "musterd"

struct registry_options {
	const struct kind_set *kinds; /* borrowed, as are the stores */
	struct store *truth;
	struct store *mirror; /* NULL: mirrored kinds live in truth */
	uint64_t seed;	      /* of the uids that the registry gives; the same seed over the same
			       * store and batches gives the same rows */
	usec event_ttl;	      /* 0: one hour */
	/* Whether somebody who uses the object ends it, as a kubelet does with a pod: its deletion
	 * gives it a deletionTimestamp, and it stays until registry_delete(), or a forced DELETE.
	 * May be NULL: nothing is like that. */
	bool (*in_use)(void *arg, const struct kind *k, const struct store_object *o);
	void *in_use_arg;
	/* What a job with finalizers controls is the server's own record of it: no orphan, it goes
	 * when the job does. */
	bool job_records;
};

/* Reads the waiting work (garbage, terminating namespaces) from the stores. */
int registry_open(const struct registry_options *o, struct registry **ret,
		  struct err *reterr) MUST_CHECK;
struct registry *registry_close(struct registry *r); /* NULL is fine; returns NULL */

/* The certificate (PEM) that verifies this server: from now on every namespace publishes it. Before
 * the first batch that has work to do. */
void registry_set_root_ca(struct registry *r, struct span pem);

/* Who makes the tokens of Secrets of ServiceAccounts (registry/token_secrets.h); none are filled
 * without. The same moment. */
void registry_set_token_maker(struct registry *r, const struct token_maker *m);

/* The kinds served now, users' ones too; until the next commit. */
const struct kind_set *registry_kinds(const struct registry *r);
/* Where other threads find them. */
struct kind_source *registry_kind_source(struct registry *r);
/* The store in which objects of a kind live. */
struct store *registry_store(const struct registry *r, const struct kind *k);

/* A random (version 4) uid from the seeded source. */
void registry_new_uid(struct registry *r, uint8_t ret[STORE_UID_LEN]);

/* ---- a batch ---- */

/* Opens the one batch of this registry (a second one is a programmer's error). `now` never goes
 * back: an earlier one than the last is replaced by it. */
int registry_begin(struct registry *r, usec now, struct registry_batch **ret,
		   struct err *reterr) MUST_CHECK;
usec registry_now(const struct registry_batch *b);
struct registry *registry_of(const struct registry_batch *b);

/* Rows that still fit: at most STORE_MAX_CHANGES per store, the fuller one counts. A caller that
 * needs n rows for one thing asks before it starts; putting without room is an assertion. */
size_t registry_batch_room(const struct registry_batch *b);
/* The same of the store that holds objects of this kind. */
size_t registry_batch_room_of(const struct registry_batch *b, const struct kind *k);
/* Less than REGISTRY_RESERVE rows of room, or 1 MiB of bytes: commit before taking more. One
 * command takes at most REGISTRY_RESERVE rows. */
#define REGISTRY_RESERVE     8
#define REGISTRY_BATCH_BYTES ((size_t)1 << 20)
bool registry_batch_full(const struct registry_batch *b);
bool registry_batch_empty(const struct registry_batch *b); /* no change pending */

/* The object with this batch's changes. -ENOENT when absent, -EIO and such from the store. A
 * pending object has revision 0 and empty resourceVersion digits. Borrowed until the next change
 * of the same object, at most until registry_end(). */
int registry_get(struct registry_batch *b, const struct kind *k, struct span ns, struct span name,
		 struct store_object *ret);
/* A snapshot of the store of a kind, without this batch's changes; until registry_end(). */
int registry_reader(struct registry_batch *b, const struct kind *k, struct store_reader **ret,
		    struct err *reterr) MUST_CHECK;

/* Creates or replaces; no checks. Takes the draft's content, also on failure. -EINPROGRESS when
 * this batch deletes the same key (a new object needs a batch of its own). */
int registry_put(struct registry_batch *b, const struct kind *k, struct span ns, struct span name,
		 struct object_draft *take_draft) MUST_CHECK;
/* A row that stands and changes in this batch is committed after all others that are in it by now:
 * what a command wrote into it came earlier, and the rest may rest on rows between. */
void registry_put_last(struct registry_batch *b, const struct kind *k, struct span ns,
		       struct span name);
/* Removes the row now, whatever its finalizers, and leaves its dependents to the collector
 * (ORPHAN: which will only strip their owner reference). -ENOENT when absent. Two rows. */
int registry_delete(struct registry_batch *b, const struct kind *k, struct span ns,
		    struct span name, enum command_propagation how) MUST_CHECK;
/* As a user's DELETE would: an object with finalizers (or FOREGROUND with dependents, or in use, or
 * a namespace) gets its deletionTimestamp, any other is removed. Fine when already deleting.
 * -ENOENT when absent. Two rows. */
int registry_remove(struct registry_batch *b, const struct kind *k, struct span ns,
		    struct span name, enum command_propagation how) MUST_CHECK;

/* Auxiliary rows of truth, or with `mirror` of the mirror (of truth when there is none). */
void registry_put_aux(struct registry_batch *b, bool mirror, enum store_aux table, struct span key,
		      struct span value);
void registry_delete_aux(struct registry_batch *b, bool mirror, enum store_aux table,
			 struct span key);
int registry_get_aux(struct registry_batch *b, bool mirror, enum store_aux table, struct span key,
		     struct span *ret);

/* Definitions of the compiled kinds that are not Kubernetes' own, as they are now. */
int registry_seed_definitions(struct registry_batch *b, struct err *reterr) MUST_CHECK;
/* A namespace with all that belongs to it, unless it exists. Three rows. */
int registry_ensure_namespace(struct registry_batch *b, const char *name,
			      struct err *reterr) MUST_CHECK;
/* The two PriorityClasses that a cluster is born with, unless they exist. Two rows. */
int registry_ensure_system_classes(struct registry_batch *b, struct err *reterr) MUST_CHECK;

/* ---- commands ---- */

/* Checks a command against the batch and makes its changes pending. The command stays the
 * caller's until registry_reply(); its err says what was refused. Returns
 *	0	 made pending (or a no-op, or a dry run that would succeed),
 *	-EINPROGRESS not taken: the key is deleted by this batch; execute it again in the next one,
 *	other	 refused: c->err holds kind and words.
 * COMMAND_QUERY is refused (ERR_NOT_FOUND): it is the core's.
 * A DELETE of an object that must stay for a while (a namespace, dependents in the foreground)
 * becomes an update; its answer's revision is then that of the deleting object, which is still
 * there to be read. */
int registry_execute(struct registry_batch *b, struct command *c);
/* Records a command that the caller answered itself, so that registry_reply() releases it in
 * order, after the commit. */
void registry_answer(struct registry_batch *b, struct command *c);

/* ---- background work ---- */

/* Adds at most `max_rows` rows of garbage collection, namespace deletion and expiry to the
 * batch. True when more is waiting that could be done at once. A failure to read shows up as
 * the commit's error. */
bool registry_work(struct registry_batch *b, size_t max_rows);
/* When registry_work() should be called again: 0 at once, INT64_MAX not before a change. */
usec registry_due(const struct registry *r);

/* ---- commit ---- */

/* Applies the batch: mirror, then truth. 0 also for an empty one. On failure (store_apply's
 * kinds) nothing is released and every executed command that was not refused gets the error. */
int registry_commit(struct registry_batch *b, struct err *reterr) MUST_CHECK;

struct registry_change {
	const struct kind *kind;
	enum store_op op; /* STORE_PUT or STORE_DELETE */
	bool created;	  /* PUT of an object that did not exist */
	/* New state, or for a DELETE the last one; json holds no resourceVersion digits after a
	 * PUT. revision is the committed one (0 for a DELETE: the log has it). */
	struct store_object object;
	const struct object_draft *draft; /* PUT: of the new state */
};

/* What a successful commit changed, in its order, auxiliary rows left out. Borrowed until
 * registry_end(). */
const struct registry_change *registry_changes(const struct registry_batch *b, size_t *ret_n);
/* Last revisions of the stores that were written by this commit; 0 when it did not write one. */
uint64_t registry_truth_revision(const struct registry_batch *b);
uint64_t registry_mirror_revision(const struct registry_batch *b);

/* Calls done() of every command given to this batch, in order. They are no longer ours. */
void registry_reply(struct registry_batch *b);
/* Ends the batch, committed or abandoned. NULL is fine; returns NULL. */
struct registry_batch *registry_end(struct registry_batch *b);

#endif
