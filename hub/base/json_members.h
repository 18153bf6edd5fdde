#ifndef BASE_JSON_MEMBERS_H
#define BASE_JSON_MEMBERS_H
/*
 * An object that is being built from text whose number of keys an outsider chooses: json_set()
 * searches all members each time, this keeps an index once there are many. Internal to base.
 *
 * While it is used nobody else changes the object. Call json_members_done() before handing it on.
 */
#include "base/map.h"
#include "base/span.h"

struct cJSON;

struct json_members {
	struct cJSON *object; /* borrowed */
	size_t n;
	struct map index;
};

static inline struct json_members json_members_of(struct cJSON *empty_object)
{
	return (struct json_members){.object = empty_object};
}

/* key is NUL-terminated. NULL when there is none. */
struct cJSON *json_members_find(const struct json_members *m, struct span key);
/* The key must not be there. */
void json_members_add(struct json_members *m, struct span key, struct cJSON *take_value);
/* Replaces the value in its place when the key is there. */
void json_members_set(struct json_members *m, struct span key, struct cJSON *take_value);
void json_members_done(struct json_members *m);

#endif
