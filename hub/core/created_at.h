#ifndef CORE_CREATED_AT_H
#define CORE_CREATED_AT_H
/*
 * When an object was created, from its own text: so that its place in a queue survives restarts.
 */
#include "base/clock.h"
#include "store/store.h"

/* In whole seconds; `otherwise` when the object does not say it. */
usec created_at(const struct store_object *o, usec otherwise);

#endif
