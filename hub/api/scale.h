#ifndef API_SCALE_H
#define API_SCALE_H
/*
 * The scale subresource of users' kinds: an autoscaling/v1 Scale made of the object by the paths
 * of its definition, and replicas written back through it: by updates, patches and applies.
 */
#include "api/call.h"

void call_scale(struct call *c);

#endif
