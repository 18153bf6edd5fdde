#ifndef API_DELETE_H
#define API_DELETE_H
/* What DELETE of one object and of a collection share; on workers. */
#include "api/call.h"

struct cJSON;

struct delete_options {
	struct cJSON *tree; /* owned */
	enum command_propagation propagation;
};

/* Also sets c->dry_run. */
int delete_options_read(struct call *c, struct delete_options *ret, struct err *reterr) MUST_CHECK;
/* The command that deletes a stored object: DELETE, or for one with finalizers an UPDATE with its
 * deletionTimestamp. 1 when it is being deleted already: nothing to do. ERR_CONFLICT for a
 * precondition. */
int delete_plan(struct call *c, const struct store_object *o, const struct delete_options *options,
		struct command **ret, struct err *reterr) MUST_CHECK;

#endif
