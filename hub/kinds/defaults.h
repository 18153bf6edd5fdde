#ifndef KINDS_DEFAULTS_H
#define KINDS_DEFAULTS_H
/* Filling in what a user left out. */
#include "base/json.h"

/* Adds the member unless it is there, or `object` is none. Takes the value in any case. */
static inline void defaults_set(struct cJSON *object, const char *key, struct cJSON *take_value)
{
	if (!json_is(object, JSON_OBJECT) || json_get(object, key))
		json_free(take_value);
	else
		json_add(object, key, take_value);
}

#endif
