#ifndef CORE_DISPATCH_COPY_ORDER_H
#define CORE_DISPATCH_COPY_ORDER_H
/*
 * The HTTP requests behind dispatch orders: create the suspended copy, read it, start it, stop it,
 * write it anew while it is suspended, amend it while it runs, delete it, and list its job's pods.
 * Bodies of copies are built on the net thread from the job's stored bytes.
 *
 * A rewrite may take two requests: of a Job that ran, the first only forgets the start time, and
 * its answer still shows the old epoch.
 */
#include "core/state.h"

/* NULL when the job's object cannot be read (it is being looked at again later). */
struct order *copy_order_make(struct core *c, struct job *j, const struct member *m,
			      enum dispatch_order what);
/* DELETE of `path` with a uid precondition, in the foreground: the copy is gone only when its pods
 * are, so that a 404 proves both. */
struct order *copy_order_delete(const struct member *m, const char *path, const char *uid);

#endif
