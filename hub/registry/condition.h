#ifndef REGISTRY_CONDITION_H
#define REGISTRY_CONDITION_H
/*
 * One condition of a status, as Kubernetes' controllers keep them (API conventions, conditions).
 * Pure, on trees.
 */
#include "base/clock.h"
#include <stdbool.h>

struct cJSON;

/* Sets the condition `type` in status.conditions, which is made when there is none. Its time
 * changes with its status only. False when all of it stood there already. */
bool condition_set(struct cJSON *status, const char *type, bool is, const char *reason,
		   const char *message, usec now);

#endif
