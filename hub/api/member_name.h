#ifndef API_MEMBER_NAME_H
#define API_MEMBER_NAME_H
/*
 * Names of members' nodes and pods at the hub: <member>.<name> (DESIGN section 2). A Cluster's name
 * has no dot (it is refused at its creation), so that the first dot divides.
 */
#include "api/call.h"

/* Divides `name`; both parts are borrowed from it. False when it does not have the form, or no
 * Cluster of that name exists. */
bool member_name_split(const struct call *c, struct span name, struct span *ret_member,
		       struct span *ret_name);

#endif
