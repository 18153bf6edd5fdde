#ifndef API_MEMBER_GET_H
#define API_MEMBER_GET_H
/*
 * GET of a member's node or pod by its name at the hub, <member>.<name> (DESIGN section 2).
 *
 * LIST and WATCH of nodes are served from the mirror's rows, which hold kubectl's columns alone
 * (kube/node_view.h); LIST and WATCH of pods from the pods of the hub's own jobs, which are there
 * whole. A row for each of a million other pods, written again with each of their changes, would
 * cost more than all else the hub does, so they are in no list: a GET reaches every one of them,
 * and clusters/NAME/proxy lists them. A GET goes through to the member: the object is the
 * member's as it is now, under its name at the hub, with the label muster.dev/cluster and without
 * what means nothing here (managedFields, owner references). Its resourceVersion is the hub's, so
 * that a watch may start from it.
 */
#include "api/call.h"

/* Takes the call when it asks for such an object: true, and it is answered. False: the hub's own
 * store has what it asks for, or nobody has. */
bool member_get(struct call *c);

#endif
