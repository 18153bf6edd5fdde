#ifndef KUBE_MANAGED_FIELDS_H
#define KUBE_MANAGED_FIELDS_H
/*
 * metadata.managedFields: which manager owns which fields of an object, and server-side apply,
 * which lives on it (KEP-555, kubernetes-api.md section 5).
 *
 * An entry belongs to a manager name, an operation (Apply, or Update for every other write), a
 * subresource and, for Update, an apiVersion. A struct managed is the list of one object while a
 * write works on it:
 *
 *	managed_read -> managed_update, or managed_apply -> managed_write_to
 *
 * An Update takes what it changes away from everybody else and owns it. An Apply owns what its
 * configuration says: where that differs from what another manager owns it is a conflict, unless
 * forced; where it says the same, both own it; and what it owned before and does not say any more
 * is removed, unless another manager owns it too.
 *
 * What a plain create costs. An object that one manager made and nobody else has written to is
 * owned by that manager as a whole. Its one entry says so in short: fieldsV1 is {}, which no entry
 * has otherwise, since one that owns nothing is dropped. It is spelled out from the object by the
 * first write to which it matters: one through the same door by another manager, an apply, or the
 * same manager's in another version.
 *
 * With the subresource status the short form says that the manager owns all of the status but
 * what the other updates through that door own, if any: the server's own controllers write theirs
 * so (managed_draft.h), and a client's patch of one condition does not make their entry long. No
 * two updates own the same field, so nothing is lost by that: what somebody takes is no longer
 * in the rest, and what is taken back is in it again. An apply, or an update in another version,
 * spells it out. The short form of the object itself says the same beside the entry of one field
 * that the server took (spec.suspend of a queued job), until the next write through that door.
 * So a GET, a LIST and a watch send the stored bytes as they are, with every
 *manager's name and time; a job that is only ever created costs no sets, and not half as many bytes
 *again in the row, the watch log and on the way to each reader. What a client misses is the list of
 * fields of what has one owner. An object that has no entries at all (its owners were reset) gets
 * none by an update; the first apply gives all it has to the manager before-first-apply, as
 * upstream does with objects from before the feature.
 *
 * Pure, any thread. Sets and texts live in the struct's arena and borrow from the trees given,
 * which must outlive it.
 */
#include "base/clock.h"
#include "base/vec.h"
#include "kube/field_set.h"
#include "kube/kind.h"
#include "kube/status.h"

struct managed_entry {
	const char *manager, *api_version, *subresource; /* subresource "" for the object itself */
	const char *time;				 /* RFC 3339, or NULL */
	bool applied;					 /* operation Apply */
	bool whole; /* owns all that the object has but its status, or all of that (subresource
		     * status); the set is empty */
	struct field_set set;
	const struct cJSON *stored; /* as it was read, while nothing about it has changed */
};

struct managed {
	struct arena mem;
	struct VEC(struct managed_entry) entries;
	struct VEC(struct cJSON *) trees; /* owned: what sets of other versions borrow from */
};

#define MANAGED_INIT ((struct managed){0})
/* Managers of updates that one object names; the oldest beyond become one, ancient-changes. */
#define MANAGED_MAX_UPDATERS 10
#define MANAGED_MAX_ENTRIES  1000
#define MANAGED_MAX_NAME     128 /* bytes of a manager's name */

struct managed_write {
	const struct kind_set *kinds; /* to find the kinds of entries in other versions */
	const struct kind *kind;      /* of the request */
	const char *manager;	      /* "" is "unknown" */
	const char *subresource;      /* "", "status", ... */
	usec now;
};

/* What stands in the way of an apply. In the arena of the struct managed. */
struct managed_conflicts {
	size_t n;
	const char *message; /* "Apply failed with 1 conflict: ..." */
	struct status_cause *causes;
	size_t n_causes; /* at most MANAGED_MAX_CAUSES */
};
#define MANAGED_MAX_CAUSES 1000

/* Reads a list of entries. list may be NULL: none. ERR_BAD_REQUEST: not such a list; the struct is
 * then empty. */
int managed_read(struct managed *m, const struct cJSON *list, struct err *reterr) MUST_CHECK;
void managed_done(struct managed *m);

/* Records a write that was no apply. old is NULL on create. Neither tree needs its managedFields.
 */
void managed_update(struct managed *m, const struct managed_write *w, const struct cJSON *old,
		    const struct cJSON *now);

/* Merges `config` into `live` (NULL: it does not exist yet) and records it. *ret is a new, owned
 * tree without managedFields. *ret_changed: some entry's fields changed; when that is false and
 * the object is still as it was once defaults are filled in, nothing must be written (only a time
 * would change).
 * ERR_BAD_REQUEST: the configuration is not fit to be applied. ERR_CONFLICT: *ret_conflicts says
 * with whom, and the struct is not worth anything any more. */
int managed_apply(struct managed *m, const struct managed_write *w, const struct cJSON *live,
		  const struct cJSON *config, bool force, struct cJSON **ret, bool *ret_changed,
		  struct managed_conflicts *ret_conflicts, struct err *reterr) MUST_CHECK;

/* Gives entries that own the object or its status as a whole the set of what `object` has. For
 * whoever looks at sets; managed_update and managed_apply do it by themselves where it matters. */
void managed_spell_out(struct managed *m, const struct managed_write *w,
		       const struct cJSON *object);

/* Puts the entries into metadata.managedFields, in upstream's order; removes it when there are
 * none. The tree is then for printing: the sets in it are text. */
void managed_write_to(const struct managed *m, struct cJSON *object);

/* The whole of it for create, update and patch: `sent` is what the request's object said in
 * managedFields (NULL: nothing), `old` is NULL on create. A list that is [] or [{}] drops all
 * entries; one that cannot be read, or none, leaves the stored ones. Sets object's managedFields,
 * for printing as above; both trees' own are ignored, but old's are read. */
void managed_record(const struct managed_write *w, const struct cJSON *old, struct cJSON *object,
		    const struct cJSON *sent);

/* The manager's name of a request that does not give one: its user agent up to the first slash,
 * without what cannot be printed. */
const char *managed_name_from_agent(struct span user_agent, char out[MANAGED_MAX_NAME + 1]);

#endif
