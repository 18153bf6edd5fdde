#ifndef CORE_DISPATCH_DEPENDENCY_RECORD_H
#define CORE_DISPATCH_DEPENDENCY_RECORD_H
/*
 * What is known of one dependency on one member (dependency.h): the records of m->dependencies,
 * their rows, and how a restart makes the one from the other. It decides nothing and calls nobody.
 * Private to the dependency_* files. Thread: core.
 */
#include "core/dispatch/dependency_call.h"
#include "core/state.h"

struct dependency_waiter {
	uint64_t job, epoch;
};

struct dependency {
	const struct kind *kind;
	char *path, *ns, *name;	 /* ns "" for cluster scope */
	bool made;		 /* it is ours: a row says so */
	bool foreign;		 /* it is not, and may be used as it is */
	bool stale;		 /* the hub's object changed since it was sent */
	bool absent;		 /* the last answer said so */
	bool refused;		 /* a patch was: the read that follows says why */
	char *trouble;		 /* the words of that refusal */
	char *conflict;		 /* or NULL */
	uint64_t synced, sent;	 /* revisions at the hub */
	uint32_t needed;	 /* placements */
	enum dependency_ask ask; /* under way */
	uint32_t failures;
	usec retry_at; /* 0: nothing to do */
	struct VEC(struct dependency_waiter) waiting;
};

/* NULL when there is none. */
struct dependency *dependency_record_find(const struct member *m, const struct kind *kind,
					  const char *ns, const char *name);
/* `path` is what member_path() makes of the rest; there is none yet. */
struct dependency *dependency_record_add(struct member *m, const struct kind *kind, struct span ns,
					 struct span name, const char *path);
/* By its path on the member; made when it is new. NULL for a path that is none of ours. */
struct dependency *dependency_record_of_path(const struct core *c, struct member *m,
					     struct span path);
void dependency_record_remove(struct member *m, struct dependency *d);
void dependency_record_free_all(struct member *m);

/* Looked at again at `when`. */
void dependency_record_due(struct member *m, struct dependency *d, usec when);
/* It stands on the member as d->synced says, and is the hub's: a row. */
void dependency_record_put_made(struct core *c, const struct member *m, struct dependency *d);
/* It is gone or is not the hub's. */
void dependency_record_drop_made(struct core *c, const struct member *m, struct dependency *d);
/* Of a kind that the hub's jobs share. */
bool dependency_record_is_shared(const struct dependency *d);
/* Reads the rows of a member that was just made. */
void dependency_record_restore(struct core *c, struct member *m);

#endif
