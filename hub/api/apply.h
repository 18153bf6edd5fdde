#ifndef API_APPLY_H
#define API_APPLY_H
/*
 * PATCH with application/apply-patch+yaml: server-side apply (kubernetes-api.md section 5).
 *
 * The configuration is merged into the stored object on a worker, and what comes of it goes the
 * way of an update, or of a create when there is no such object. A conflict with another manager
 * is answered 409 with one cause per field.
 */
#include "api/call.h"

void call_apply(struct call *c);

#endif
