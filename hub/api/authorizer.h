#ifndef API_AUTHORIZER_H
#define API_AUTHORIZER_H
/*
 * What the RBAC rows of one listener's store allow, kept current from its watch log.
 *
 * At start the built-in roles are put in, then what the store holds, so that the first request is
 * judged like the last; authorizer_start() brings the stored built-in roles up to date. From then
 * on the feed hands over every row of the RBAC kinds before the answer to the write that made it
 * is sent: whoever was told that a binding exists may use it. Rules of aggregated ClusterRoles are
 * written back when they change, as the clusterrole-aggregation controller does.
 *
 * A backend without the RBAC kinds (the simulator) has the built-in roles alone.
 *
 * Thread: changes on the loop; questions on any thread (a read lock, held for the question).
 */
#include "access/rbac.h"
#include "api/feed.h"
#include "base/log.h"
#include "wire/backend.h"

struct authorizer;

struct authorizer *authorizer_create(struct backend *backend, struct feed *truth,
				     const struct log *log);
struct authorizer *authorizer_destroy(struct authorizer *a); /* NULL is fine; returns NULL */

/* Creates or completes the stored built-in roles and bindings, by commands to the backend. */
void authorizer_start(struct authorizer *a);

/* rbac_allows() under the lock. */
bool authorizer_allows(struct authorizer *a, const struct rbac_user *u,
		       const struct rbac_request *q, struct buf *reason);

/* For longer questions: what authorizer_rbac() gives holds until the unlock. */
const struct rbac *authorizer_lock(struct authorizer *a);
void authorizer_unlock(struct authorizer *a);

#endif
