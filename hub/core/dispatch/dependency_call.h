#ifndef CORE_DISPATCH_DEPENDENCY_CALL_H
#define CORE_DISPATCH_DEPENDENCY_CALL_H
/*
 * The requests about one dependency on a member, and how its answer is read: no state. Bodies are
 * made from the hub's object; what identifies and owns it there stays there.
 */
#include "core/state.h"

enum dependency_ask { ASK_NOTHING, ASK_CREATE, ASK_READ, ASK_PATCH, ASK_DELETE };

struct dependency_name {
	const struct kind *kind;
	const char *ns, *name, *path;
};

/* NULL when it needs the hub's object and there is none. PATCH tests that the object carries the
 * hub's uid; DELETE has `uid` as precondition. *ret_sent (CREATE, PATCH): revision of what goes. */
struct order *dependency_call_make(struct core *c, const struct member *m,
				   const struct dependency_name *what, enum dependency_ask ask,
				   const char *uid, uint64_t *ret_sent);

struct dependency_seen {
	bool ours, deleting;
	bool same_value; /* PriorityClass: value as at the hub */
	char uid[DISPATCH_UID_MAX];
};
/* The answer to a READ; `at_hub` or NULL. -EINVAL when it is no object. */
int dependency_call_read(const struct core *c, struct span body, const struct store_object *at_hub,
			 struct dependency_seen *ret);
/* What is wrong, as a sentence; owned. */
char *dependency_call_conflict(struct core *c, const struct kind *kind, const char *name);

/* The kind, namespace and name of a path that member_path() made, borrowed from it; NULL. */
const struct kind *dependency_call_kind(const struct kind_set *kinds, struct span path,
					struct span *ret_ns, struct span *ret_name);

#endif
